import type { App } from '../../../src/platform/app.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { readAccessLog } from '../../../src/governance/access-log/access-log.ts';
import { isStorableText } from '../../../src/platform/validation/personal-data.ts';
import type { LearnerPage } from '../../../src/records/directory/browse.ts';
import { browseLearners, learnerSorts, maxScanned, placements } from '../../../src/records/directory/browse.ts';
import { invitationStates } from '../../../src/records/directory/invitation-state.ts';
import { findLearnerHead, readRecord } from '../../../src/records/directory/learner-page.ts';
import { keepApart, listAlike, listWithoutRef } from '../../../src/governance/deduplication/matching.ts';
import { learnerStateOf } from '../../../src/records/directory/learner-state.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import { isUuid } from '../../../src/platform/crypto/random.ts';
import { type Command, Failure, Misuse } from '../../kit/command.ts';
import { learnerCommand, namedLearner } from '../../kit/learner-argument.ts';
import { operator, organisationCommand } from '../../kit/open.ts';
import { checked, count, limit, or, sortKey, text, time, uuid, word } from '../../kit/options.ts';
import { pick, tableOf } from '../../kit/table.ts';

const iso = (us: number | null) => (us === null ? null : new Date(us / 1000).toISOString());

function moreWords({ extent, scanned }: LearnerPage, next: string | null): string {
  const some =
    extent === 'some'
      ? `\nMore than ${maxScanned} are called like that, and these are some of them: give more of the name.`
      : '';
  const far = extent === 'scanned' ? `; ${scanned} learners were looked through for this page` : '';
  return `${some}${next === null ? '' : `\nThere may be more: --after ${next}${far}`}`;
}

async function recordOf(app: App, organisationId: number, learnerId: string) {
  const head = (await findLearnerHead(app.db, organisationId, null, learnerId))!;
  const record = await readRecord(app.db, organisationId, null, learnerId, {
    limit: limits.consoleRows,
    now: new Date(app.clock.nowMs()),
  });
  return {
    ...pick(head, 'learner_id', 'ref', 'full_name', 'email', 'created_at'),
    updated_at: iso(head.position),
    results: record.results.map((row) => {
      const state = learnerStateOf(row);
      return {
        assessment_id: row.assessment_id,
        status: row.deleted ? 'deleted' : 'completed',
        assessed_at: iso(row.assessed_at),
        subject: state?.subject ?? null,
        level: state?.level ?? null,
        interval: state?.interval == null ? null : [state.interval.from, state.interval.to],
      };
    }),
    invitations: record.invitations,
    groups: record.memberships.map(({ joined_position, left_position, ...row }) => ({
      ...row,
      joined_at: iso(joined_position),
      left_at: iso(left_position),
    })),
    history: record.changes,
  };
}

const states = [...invitationStates, 'none'] as const;

export const listCommands: Command[] = [
  organisationCommand({
    name: 'learner list',
    summary: 'Find learners by name, reference or state',
    examples: ['--organisation $ORG --find riv', '--organisation $ORG --subject maths --state none --limit 50'],
    about: {
      find: 'The beginning of a name, or a reference',
      group: 'Only learners of this group',
      team: 'Only learners of this team',
      subject: 'The subject that --placement and --state are about',
      placement: 'Only learners at this level',
      state: 'Only learners in this state',
      sort: 'The order: a column, with - in front for descending',
      after: 'The last learner of the page before',
      limit: 'The most rows to print',
    },
    options: {
      find: or(
        checked('TEXT', 'a part of a name or a reference, and never a National Insurance number', (input) =>
          isStorableText(input, limits.fullNameChars),
        ),
        null,
      ),
      group: uuid(),
      team: uuid(),
      subject: or(word(subjects, 'S'), null),
      placement: or(word(Object.keys(placements) as (keyof typeof placements)[], 'P'), null),
      state: or(word(states, 'S'), null),
      sort: sortKey(learnerSorts),
      after: uuid('LEARNER_ID'),
      limit: count(1, 1000),
    },
    run: async ({ app, organisationId, note, options }) => {
      const { find, group, team, subject, placement, state, sort, after } = options;
      const order = sort ?? { by: 'name', descending: false };
      const groupIds = [...new Set([group, team].filter((one) => one !== undefined))];
      const filter = { text: find, groupIds, subject, placement, state };
      const pageToken = after === undefined ? null : { after };
      const size = { limit: options.limit ?? limits.consoleRows, now: new Date(app.clock.nowMs()) };
      const page = await browseLearners(app.db, organisationId, null, filter, order, pageToken, size);
      const data = page.learners.map((row) => ({
        ...pick(row, 'learner_id', 'ref', 'full_name', 'groups'),
        invitation: row.state,
        last_assessed_at: iso(row.last_assessed_at),
        updated_at: iso(row.position),
      }));
      const next = page.next !== null && 'after' in page.next ? page.next.after : null;
      // The audit log must not contain the name that was searched for, so `logged` leaves it out.
      const sorting = sort && `${sort.descending ? '-' : ''}${sort.by}`;
      const logged = { group, team, subject, placement, state, sort: sorting, after, limit: options.limit };
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries(logged)) if (value != null) query.set(name, String(value));
      await note(query.size === 0 ? 'learners' : `learners: ${query.toString()}`);
      return {
        json: { data, next, extent: page.extent, looked_through: page.scanned },
        text: `${tableOf(data, ['learner_id', 'ref', ['name', 'full_name'], 'invitation', 'last_assessed_at'])}${moreWords(page, next)}`,
      };
    },
  }),
  learnerCommand({
    name: 'learner show',
    summary: 'Show a learner with results, invitations and groups',
    examples: ['--organisation $ORG L-1001', '--organisation $ORG --learner-id LEARNER_ID --json'],
    run: async ({ app, organisationId, note, who }) => {
      const { learner_id: learnerId } = await namedLearner(app, organisationId, who);
      const shown = await recordOf(app, organisationId, learnerId);
      await note(learnerId);
      const part = <Row>(rows: Row[], columns: Parameters<typeof tableOf<Row>>[1]) =>
        rows.length === 0 ? [] : ['', tableOf(rows, columns)];
      return {
        json: shown,
        text: [
          `${shown.full_name}, ${shown.ref ?? 'without a reference'}, ${shown.learner_id}`,
          ...part(shown.results, [['result', 'assessment_id'], 'subject', 'level', 'assessed_at', 'status']),
          ...part(shown.invitations, [['invitation', 'invitation_id'], 'state', 'subjects', 'expires_at']),
          ...part(shown.groups, [['group', 'group_id'], 'type', 'name', 'joined_at', 'left_at']),
          ...part(shown.history, [['changed', 'at'], ['what', 'kind'], ['by', 'actor'], 'reason']),
        ].join('\n'),
      };
    },
  }),
  learnerCommand({
    name: 'learner lookups',
    summary: 'Show who opened a learner in the console',
    examples: ['--organisation $ORG L-1001', '--organisation $ORG L-1001 --limit 20'],
    about: { before: 'Only visits before this time', limit: 'The most rows to print' },
    options: { before: or(time(), null), limit: limit(100, 1000) },
    run: async ({ app, organisationId, note, who, options: { before, limit: max } }) => {
      const { learner_id: learnerId } = await namedLearner(app, organisationId, who);
      const rows = await readAccessLog(app.db, organisationId, learnerId, { before, limit: max + 1 });
      const more = rows.length > max;
      const data = rows.slice(0, max).map((row) => pick(row, 'at', 'user_id', 'page'));
      await note(learnerId);
      return {
        json: { learner_id: learnerId, data, more },
        text: `${tableOf(data, ['at', 'user_id', 'page'])}${more ? '\nThere are older ones: --before takes the time of the last one.' : ''}`,
      };
    },
  }),
  organisationCommand({
    name: 'learner matching',
    summary: 'List learners without a reference, or possible duplicates',
    examples: ['--organisation $ORG', '--organisation $ORG --kind name'],
    about: {
      kind: 'Learners without a reference, with one name, or with references written differently',
      after: 'Where the page before has ended',
      limit: 'The most rows to print',
    },
    options: {
      kind: or(word(['without', 'name', 'reference']), 'without' as const),
      after: or(text('A'), null),
      limit: limit(25, 100),
    },
    prepare({ options: { kind, after } }) {
      const isToken = kind === 'without' ? isUuid : (input: string) => /^\d{1,15}$/.test(input);
      if (after !== null && !isToken(after)) throw new Misuse('--after must be the next of the list before');
    },
    run: async ({ app, organisationId, options: { kind, after, limit: max } }) => {
      if (kind === 'without') {
        const rows = await listWithoutRef(app.db, organisationId, { after, limit: max });
        const data = rows.map(({ learner_id, results, twins }) => ({
          learner_id,
          results,
          may_be: twins.map((twin) => ({ learner_id: twin.learner_id, same_name: twin.same })),
        }));
        return {
          json: { data, next: rows.length < max ? null : rows.at(-1)!.learner_id },
          text: tableOf(data, [
            ['LEARNER', 'learner_id'],
            ['RESULTS', 'results'],
            ['MAY BE', (row) => row.may_be.length],
          ]),
        };
      }
      const page = { after: after === null ? null : Number(after), limit: max };
      const { groups, last } = await listAlike(app.db, organisationId, kind, page);
      return {
        json: {
          data: groups.map((members) => members.map(({ learner_id, results }) => ({ learner_id, results }))),
          next: last,
        },
        text: tableOf(groups, [
          ['LEARNERS', (members) => members.length],
          ['IDS', (members) => members.map((one) => one.learner_id).join(' ')],
        ]),
      };
    },
  }),
  organisationCommand({
    name: 'learner distinct',
    summary: 'Record that two learners are different people',
    examples: ['--organisation $ORG LEARNER_ID LEARNER_ID', '--organisation $ORG LEARNER_ID LEARNER_ID --json'],
    takes: 'LEARNER_ID LEARNER_ID',
    prepare({ positionals }) {
      const [one, other] = positionals.map((id) => id.toLowerCase()) as [string, string];
      if (!isUuid(one) || !isUuid(other)) throw new Misuse('LEARNER_ID must be a UUID');
      return [one, other] as [string, string];
    },
    run: async ({ organisationId, act, prepared: pair }) => {
      await act(pair[0], async (work) => {
        if (!(await keepApart(work, organisationId, pair, { actor: operator })))
          throw new Failure('These are not two learners of this organisation.');
      });
      return { json: { learner_ids: pair }, text: 'They are no longer listed as one person.' };
    },
  }),
];
