import { formatMs } from '../platform/time/clock.ts';
import { limits } from '../platform/config/limits.ts';
import { pick, type Random } from '../platform/crypto/random.ts';
import type { GroupKey, GroupType, PlannedGroup } from './data/training-provider.ts';
import type { PlannedLearner } from './data/plan.ts';
import {
  abilityAtRung,
  type AmendableFields,
  amendmentOf,
  normal,
  outcomeAt,
  type PlannedRecord,
  rungsOf,
  withdrawalReason,
} from './data/results.ts';
import { type Subject, subjects } from '../engine/scoring/levels.ts';

/**
 * A learner in the sandbox. `groups`: active memberships of client-managed groups. `results`: completed results, oldest
 * first.
 */
export type KnownLearner = {
  ref: string | null;
  full_name: string;
  groups: readonly GroupKey[];
  results: readonly PlannedRecord[];
};

/** What `nextChange` may use. `learners`: a new random sample of about 20 learners. */
export type SandboxState = {
  nowMs: number;
  learners: readonly KnownLearner[];
  /** Client-managed groups, including archived groups. */
  groups: readonly PlannedGroup[];
  nextLearner: PlannedLearner;
};

export type Change =
  | { kind: 'completion'; record: PlannedRecord }
  | { kind: 'move'; learner_ref: string; remove: GroupKey[]; add: GroupKey[] }
  | { kind: 'amendment'; assessment_id: string; reason: string; fields: AmendableFields }
  | { kind: 'withdrawal'; assessment_id: string; reason: string }
  | {
      kind: 'enrolment';
      learner: { ref: string | null; full_name: string; groups: { type: GroupType; ref: string; name: string }[] };
    }
  | { kind: 'rename'; group: GroupKey; name: string };

export const changeShares: readonly (readonly [Change['kind'], number])[] = [
  ['completion', 45],
  ['move', 25],
  ['amendment', 12],
  ['withdrawal', 6],
  ['enrolment', 7],
  ['rename', 5],
];

/** Types of groups that learners change during a year. */
const movableTypes: readonly GroupType[] = [
  'class',
  'teaching_group',
  'registration_group',
  'caseload',
  'employer',
  'campus',
];
const nameEndings = ['', ' (room B12)', ' (room C3)', ' (new time)', ' (moved online)'];

function completion(random: Random, state: SandboxState): Change | null {
  // Learners without a reference get no second result, because nothing would show that both belong to one learner.
  const named = state.learners.filter((learner) => learner.ref !== null);
  if (named.length === 0) return null;
  const learner = pick(random, named);
  const last = learner.results.at(-1);
  const subject: Subject = last !== undefined && random.float() < 0.55 ? last.subject : pick(random, subjects);
  const before = learner.results.findLast((result) => result.subject === subject && result.working_level !== null);
  const rung = before === undefined ? -1 : rungsOf(subject).indexOf(before.working_level!);
  const ability = rung < 0 ? normal(random) : abilityAtRung(subject, rung) + 0.28 + 0.3 * normal(random);
  // The `luck` (see `drawOutcome`) of a stored level is unknown, so a value around the middle is drawn.
  const luck = rung < 0 ? random.float() : 0.35 + 0.3 * random.float();
  return {
    kind: 'completion',
    record: {
      assessment_id: random.uuid(),
      learner: { ref: learner.ref, full_name: learner.full_name },
      assessed_at: formatMs(state.nowMs),
      ...outcomeAt(subject, ability, luck),
    },
  };
}

function move(random: Random, state: SandboxState): Change | null {
  const named = state.learners.filter((learner) => learner.ref !== null);
  if (named.length === 0) return null;
  const learner = pick(random, named);
  const held = learner.groups.filter((group) => movableTypes.includes(group.type));
  const from = held.length === 0 ? null : pick(random, held);
  const type = from?.type ?? 'class';
  const open = state.groups.filter(
    (group) =>
      group.type === type &&
      !group.archived &&
      !learner.groups.some((own) => own.type === type && own.ref === group.ref),
  );
  const target = open.length === 0 ? null : pick(random, open);
  const style = random.float();
  const leaves = from !== null && (target === null || style < 0.85);
  const joins = target !== null && (from === null || style < 0.65 || style >= 0.85);
  if (!leaves && !joins) return null;
  return {
    kind: 'move',
    learner_ref: learner.ref!,
    remove: leaves ? [{ type: from.type, ref: from.ref }] : [],
    add: joins ? [{ type: target.type, ref: target.ref }] : [],
  };
}

function withResult(random: Random, state: SandboxState, make: (record: PlannedRecord) => Change): Change | null {
  const withResults = state.learners.filter((learner) => learner.results.length > 0);
  return withResults.length === 0 ? null : make(pick(random, pick(random, withResults).results));
}

function enrolment(state: SandboxState): Change {
  const { ref, full_name, groups } = state.nextLearner;
  return {
    kind: 'enrolment',
    learner: {
      ref,
      full_name,
      groups: groups.flatMap((key) => {
        const group = state.groups.find((one) => one.type === key.type && one.ref === key.ref && !one.archived);
        return group === undefined ? [] : [{ type: group.type, ref: group.ref, name: group.name }];
      }),
    },
  };
}

/** Renames a group. A new ending replaces the previous ending, so that names stay readable after weeks. */
function rename(random: Random, state: SandboxState): Change | null {
  const active = state.groups.filter((group) => !group.archived);
  if (active.length === 0) return null;
  const group = pick(random, active);
  const ending = nameEndings.find((one) => one !== '' && group.name.endsWith(one)) ?? '';
  const plain = group.name.slice(0, group.name.length - ending.length);
  const name =
    plain +
    pick(
      random,
      nameEndings.filter((one) => one !== ending),
    );
  return name.length > limits.groupNameChars
    ? null
    : { kind: 'rename', group: { type: group.type, ref: group.ref }, name };
}

function drawKind(random: Random): Change['kind'] {
  let left = random.float() * changeShares.reduce((sum, [, share]) => sum + share, 0);
  for (const [kind, share] of changeShares) {
    left -= share;
    if (left < 0) return kind;
  }
  return 'completion';
}

const makers: Record<Change['kind'], (random: Random, state: SandboxState) => Change | null> = {
  completion,
  move,
  amendment: (random, state) =>
    withResult(random, state, (record) => ({
      kind: 'amendment',
      assessment_id: record.assessment_id,
      ...amendmentOf(random, record),
    })),
  withdrawal: (random, state) =>
    withResult(random, state, (record) => ({
      kind: 'withdrawal',
      assessment_id: record.assessment_id,
      reason: withdrawalReason(random),
    })),
  enrolment: (_random, state) => enrolment(state),
  rename,
};

/** If the drawn kind finds nothing to change, the change is a completion or an enrolment. */
export function nextChange(random: Random, state: SandboxState): Change {
  return makers[drawKind(random)](random, state) ?? completion(random, state) ?? enrolment(state);
}
