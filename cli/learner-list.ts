import type { App } from '../src/app.ts';
import { limits } from '../src/limits.ts';
import { listLookups } from '../src/lookups/lookups.ts';
import { isStorableText } from '../src/personal-data.ts';
import type { LearnerFilter, LearnerListed, LearnerPage, LearnerSort } from '../src/records/browse.ts';
import { browseLearners, learnerSorts, looked, placements } from '../src/records/browse.ts';
import { invitationStates } from '../src/records/invitation-state.ts';
import { findLearnerHead, readRecord } from '../src/records/record.ts';
import { standingOf } from '../src/records/standing.ts';
import { subjects } from '../src/scoring/levels.ts';
import { isUuid } from '../src/uuid.ts';
import type { Call, Command, Output } from './command.ts';
import { Misuse } from './command.ts';
import { namedLearner, readLearner } from './named-learner.ts';
import {
  act,
  numberOption,
  option,
  organisationOf,
  requiredOption,
  table,
  timeOption,
  withApp,
  wordOption,
} from './open.ts';

/** Learners as the console shows them: looked for, one by one, and who looked at them. */

function uuidOption(call: Call, name: string): string | null {
  const given = option(call, name);
  if (given !== undefined && !isUuid(given)) throw new Misuse(`--${name} must be a UUID`);
  return given?.toLowerCase() ?? null;
}

function readFilter(call: Call): LearnerFilter {
  const text = option(call, 'find') ?? null;
  if (text !== null && !isStorableText(text, limits.fullNameChars))
    throw new Misuse('--find must be a part of a name or a reference, and never a National Insurance number');
  const groupIds = [uuidOption(call, 'group'), uuidOption(call, 'team')].filter((one) => one !== null);
  return {
    text,
    groupIds: [...new Set(groupIds)],
    subject: wordOption(call, 'subject', subjects) ?? null,
    placement: wordOption(call, 'placement', Object.keys(placements) as (keyof typeof placements)[]) ?? null,
    state: wordOption(call, 'state', [...invitationStates, 'none'] as const) ?? null,
  };
}

function readOrder(call: Call): { by: LearnerSort; descending: boolean } {
  const given = option(call, 'sort') ?? 'name';
  const by = learnerSorts.find((one) => one === given.replace(/^-/, ''));
  if (by === undefined)
    throw new Misuse(`--sort must be one of ${learnerSorts.join(', ')}, with - in front for the other way round`);
  return { by, descending: given.startsWith('-') };
}

const iso = (us: number | null) => (us === null ? null : new Date(us / 1000).toISOString());

const listedOf = (row: LearnerListed) => ({
  learner_id: row.learner_id,
  ref: row.ref,
  full_name: row.full_name,
  invitation: row.state,
  groups: row.groups,
  last_assessed_at: iso(row.last_assessed_at),
  updated_at: iso(row.position),
});

/** What the page leaves out, in words. */
function beyond({ extent, passed }: LearnerPage, next: string | null): string {
  const some =
    extent === 'some'
      ? `\nMore than ${looked} are called like that, and these are some of them: give more of the name.`
      : '';
  const far = extent === 'looked' ? `; ${passed} learners were looked through for this page` : '';
  return `${some}${next === null ? '' : `\nThere may be more: --after ${next}${far}`}`;
}

/** What was asked for, for the audit log: never what a name was looked for by. */
function askedFor(call: Call): string {
  const query = new URLSearchParams();
  for (const name of ['group', 'team', 'subject', 'placement', 'state', 'sort', 'after', 'limit']) {
    const value = option(call, name);
    if (value !== undefined) query.set(name, value);
  }
  return query.size === 0 ? 'learners' : `learners: ${query.toString()}`.slice(0, 500);
}

async function runList(call: Call): Promise<Output> {
  const id = requiredOption(call, 'organisation');
  const filter = readFilter(call);
  const order = readOrder(call);
  const after = uuidOption(call, 'after');
  const limit = numberOption(call, 'limit', limits.consoleRows, 1, 1000);
  return withApp(async (app) => {
    const { organisation_id: organisationId } = await organisationOf(app, id);
    const place = after === null ? null : { after };
    const now = new Date(app.clock.nowMs());
    const page = await browseLearners(app.db, organisationId, null, filter, order, place, { limit, now });
    const data = page.learners.map(listedOf);
    const next = page.next !== null && 'after' in page.next ? page.next.after : null;
    await act(app, organisationId, 'learner list', async () => ({ result: null, resource: askedFor(call) }));
    return {
      json: { data, next, extent: page.extent, looked_through: page.passed },
      text: `${table([
        ['learner_id', 'ref', 'name', 'invitation', 'last_assessed_at'],
        ...data.map((row) => [
          row.learner_id,
          row.ref ?? '',
          row.full_name,
          row.invitation,
          row.last_assessed_at ?? '',
        ]),
      ])}${beyond(page, next)}`,
    };
  });
}

/** What the console's page of the learner shows. */
async function recordOf(app: App, organisationId: number, learnerId: string) {
  const head = (await findLearnerHead(app.db, organisationId, null, learnerId))!;
  const record = await readRecord(app.db, organisationId, null, learnerId, {
    limit: limits.consoleRows,
    now: new Date(app.clock.nowMs()),
  });
  return {
    learner_id: head.learner_id,
    ref: head.ref,
    full_name: head.full_name,
    email: head.email,
    created_at: head.created_at.toISOString(),
    updated_at: iso(head.position),
    results: record.results.map((row) => {
      const standing = standingOf(row);
      return {
        assessment_id: row.assessment_id,
        status: row.deleted ? 'deleted' : 'completed',
        assessed_at: iso(row.assessed_at),
        subject: standing?.subject ?? null,
        level: standing?.level ?? null,
        interval: standing?.interval == null ? null : [standing.interval.from, standing.interval.to],
      };
    }),
    invitations: record.invitations.map(({ last_seen_at, created_at, expires_at, ...row }) => ({
      ...row,
      created_at: created_at.toISOString(),
      expires_at: expires_at.toISOString(),
      last_seen_at: last_seen_at?.toISOString() ?? null,
    })),
    groups: record.memberships.map(({ joined_position, left_position, ...row }) => ({
      ...row,
      joined_at: iso(joined_position),
      left_at: iso(left_position),
    })),
    history: record.changes.map(({ at, ...row }) => ({ at: at.toISOString(), ...row })),
  };
}

async function runShow(call: Call): Promise<Output> {
  const id = requiredOption(call, 'organisation');
  const who = readLearner(call);
  return withApp(async (app) => {
    const { organisation_id: organisationId } = await organisationOf(app, id);
    const { learner_id: learnerId } = await namedLearner(app, organisationId, who);
    const shown = await recordOf(app, organisationId, learnerId);
    await act(app, organisationId, 'learner show', async () => ({ result: null, resource: learnerId }));
    const part = (head: string[], rows: (string | null)[][]) =>
      rows.length === 0 ? '' : `\n\n${table([head, ...rows.map((row) => row.map((cell) => cell ?? ''))])}`;
    return {
      json: shown,
      text: `${shown.full_name}, ${shown.ref ?? 'without a reference'}, ${shown.learner_id}${part(
        ['result', 'subject', 'level', 'assessed_at', 'status'],
        shown.results.map((row) => [row.assessment_id, row.subject, row.level, row.assessed_at, row.status]),
      )}${part(
        ['invitation', 'state', 'subjects', 'expires_at'],
        shown.invitations.map((row) => [row.invitation_id, row.state, row.subjects.join(', '), row.expires_at]),
      )}${part(
        ['group', 'type', 'name', 'joined_at', 'left_at'],
        shown.groups.map((row) => [row.group_id, row.type, row.name, row.joined_at, row.left_at]),
      )}${part(
        ['changed', 'what', 'by', 'reason'],
        shown.history.map((row) => [row.at, row.kind, row.actor, row.reason]),
      )}`,
    };
  });
}

async function runLookups(call: Call): Promise<Output> {
  const id = requiredOption(call, 'organisation');
  const who = readLearner(call);
  const limit = numberOption(call, 'limit', 100, 1, 1000);
  const beforeUs = timeOption(call, 'before');
  return withApp(async (app) => {
    const { organisation_id: organisationId } = await organisationOf(app, id);
    const { learner_id: learnerId } = await namedLearner(app, organisationId, who);
    const before = beforeUs === null ? null : new Date(beforeUs / 1000);
    const rows = await listLookups(app.db, organisationId, learnerId, { before, limit: limit + 1 });
    const more = rows.length > limit;
    const data = rows.slice(0, limit).map(({ at, user_id, page }) => ({ at: at.toISOString(), user_id, page }));
    await act(app, organisationId, 'learner lookups', async () => ({ result: null, resource: learnerId }));
    return {
      json: { learner_id: learnerId, data, more },
      text: `${table([['at', 'user_id', 'page'], ...data.map((row) => [row.at, row.user_id, row.page])])}${more ? '\nThere are older ones: --before takes the time of the last one.' : ''}`,
    };
  });
}

const text = { type: 'string' } as const;
const named = '--organisation ID REF|--learner-id ID';

export const listCommands: Command[] = [
  {
    name: 'learner list',
    usage:
      '--organisation ID [--find TEXT] [--group ID] [--team ID] [--subject S] [--placement P] [--state S] [--sort KEY] [--after LEARNER_ID] [--limit N]',
    summary: 'Find learners by parts of a name or by reference, or by what is known of them',
    positionals: [0, 0],
    options: {
      ...{ organisation: text, find: text, group: text, team: text, subject: text, placement: text },
      ...{ state: text, sort: text, after: text, limit: text },
    },
    run: runList,
  },
  {
    name: 'learner show',
    usage: named,
    summary: 'Show a learner: results, invitations, groups, and what was changed',
    positionals: [0, 1],
    options: { organisation: text, 'learner-id': text },
    run: runShow,
  },
  {
    name: 'learner lookups',
    usage: `${named} [--before TIME] [--limit N]`,
    summary: 'List who looked at a learner in the console',
    positionals: [0, 1],
    options: { organisation: text, 'learner-id': text, before: text, limit: text },
    run: runLookups,
  },
];
