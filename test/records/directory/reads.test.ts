import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Database, Statement, Tx } from '../../../src/platform/db/database.ts';
import { groupNames } from '../../../src/organisations/groups/browse.ts';
import type { InvitationToken } from '../../../src/sittings/invitations/browse.ts';
import { browseInvitations, invitationLists } from '../../../src/sittings/invitations/browse.ts';
import { openErasureGuard } from '../../../src/records/learners/erasure-guard.ts';
import { browseLearners } from '../../../src/records/directory/browse.ts';
import { countWaiting, findDecided, findWaiting } from '../../../src/governance/result-reviews/queue.ts';
import { onCitus } from '../../support/postgres.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

/** What a page costs must follow from the page and from who is in sight, not from how many others there are. */

const service = await withService();
const { app } = service;

type Node = {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Node[];
};
/** Rows that were read of a table: by an index alone, and otherwise. */
type Reads = Record<string, { alone: number; whole: number }>;

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (value instanceof Date) return `'${value.toISOString()}'`;
  return Array.isArray(value) ? `'{${value.join(',')}}'` : `'${String(value)}'`;
}

/** What the statements of a verb read by the plans that the service has, which know nobody's values. */
async function readsOf(verb: (tx: Tx) => Promise<unknown>): Promise<Reads> {
  const reads: Reads = {};
  const add = (node: Node): void => {
    const table = node['Relation Name'];
    if (table !== undefined) {
      const rows = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
      reads[table] ??= { alone: 0, whole: 0 };
      reads[table][node['Node Type'] === 'Index Only Scan' ? 'alone' : 'whole'] += rows;
    }
    node.Plans?.forEach(add);
  };
  await verb({
    query: async <R>(sql: Statement | string, values: readonly unknown[] = []) => {
      await app.db.transaction(async (tx) => {
        await tx.query(`prepare looked as ${(sql as Statement).text}`);
        const [row] = await tx.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
          `explain (analyze, format json) execute looked (${values.map(literal).join(',')})`,
        );
        await tx.query('deallocate looked');
        add(row!['QUERY PLAN'][0].Plan);
      });
      return app.db.query<R>(sql, values);
    },
  });
  return reads;
}

const all = (reads: Reads, table: string) => (reads[table]?.alone ?? 0) + (reads[table]?.whole ?? 0);

// Of a plan whose rows are on another node only a summary is seen.
suite('what pages of a tutor read', { skip: onCitus }, async () => {
  const scene = await scenario(service);
  const { id } = scene.org;
  const now = new Date(app.clock.nowMs());
  const learners = 7000;
  // Learner 0 is called Learner 0000, and so on; each was invited once, the first ones first.
  await app.db.query(
    `with made as (
       insert into learner (organisation_id, learner_id, ref, full_name, email, created_at)
       select $1, md5('l' || n)::uuid, 'R-' || n, 'Learner ' || to_char(n, 'FM0000'), 'Learner' || n || '@example.org', $2 from generate_series(0, ${learners - 1}) n
       returning learner_id),
     fed as (
       insert into learner_feed (organisation_id, learner_id, position, group_set_id)
       select $1, learner_id, 1000000 + 20 * row_number() over (), md5('{}')::uuid from made)
     insert into invitation (organisation_id, invitation_id, learner_id, subjects, credit_spent, created_at, expires_at, status)
     select $1, md5('i' || n)::uuid, md5('l' || n)::uuid, '{maths}', false,
            $2::timestamptz - interval '20 days' + n * interval '1 second',
            $2::timestamptz + case when n % 2 = 0 then interval '2 days' else interval '-2 days' end + n * interval '1 second',
            case n % 10 when 8 then 'used' when 9 then 'withdrawn' else 'open' end
       from generate_series(0, ${learners - 1}) n`,
    [id, now],
  );
  const groupOf = async (ref: string, from: number, to: number) => {
    const made = await scene.group(ref);
    await app.db.query(
      `insert into membership (organisation_id, group_id, learner_id, joined_position)
       select $1, $2, md5('l' || n)::uuid, 1 from generate_series($3::int4, $4::int4) n`,
      [id, made.id, from, to],
    );
    return made.id;
  };
  const few = await groupOf('few', 100, 139);
  const early = await groupOf('early', 0, 3199);
  const late = await groupOf('late', 3190, 6999);
  const some = await groupOf('some', 3150, 4149);
  await app.db.query(
    `with made as (
       insert into group_set (organisation_id, group_set_id, group_ids) values ($1, md5('both')::uuid, $2) returning group_set_id)
     insert into group_set_group (organisation_id, group_id, group_set_id) select $1, unnest($2::uuid[]), group_set_id from made`,
    [id, [early, some]],
  );
  await app.db.query(
    `insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags)
     select $1, md5('a' || n)::uuid, 1, md5('l' || n)::uuid, 'maths', $2, '{needs_review}' from generate_series(0, ${learners - 1}) n`,
    [id, now],
  );
  await app.db.query(
    'vacuum analyze review, learner, learner_feed, membership, invitation, group_set_group, learner_group',
  );
  const invitations = (state: (typeof invitationLists)[number] | null, visibility: string[], after?: InvitationToken) =>
    readsOf((tx) => browseInvitations(tx, id, { state, after: after ?? null, visibility, limit: 50, now }));

  for (const state of [null, ...invitationLists])
    test(`invitations ${state ?? 'in any state'} of a small team are found by its members`, async () => {
      const reads = await invitations(state, [few]);
      const max = 3 * 40;
      assert.ok(all(reads, 'invitation') <= max && all(reads, 'sitting') <= max, JSON.stringify(reads));
    });

  test('a list passes over invitations of others in an index alone, and asks nothing of them', async () => {
    for (const state of [null, ...invitationLists]) {
      const reads = await invitations(state, [early]);
      assert.ok((reads.invitation?.whole ?? 0) <= 51, `${state}: ${JSON.stringify(reads)}`);
      assert.ok(all(reads, 'sitting') <= 3 * 51, `${state}: ${JSON.stringify(reads)}`);
    }
  });

  const list = (visibility: string[], groupIds: string[]) =>
    readsOf((tx) =>
      browseLearners(
        tx,
        id,
        visibility,
        { text: null, groupIds, subject: null, placement: null, state: 'none' },
        { by: 'name', descending: false },
        null,
        { limit: 50, now },
      ),
    );

  test('of two large groups with few in both, learners in both are read, wherever they stand', async () => {
    const reads = await list([early], [late]);
    assert.ok(all(reads, 'learner') <= 10, JSON.stringify(reads));
  });

  test('of a group some of whom are in sight, they alone are read', async () => {
    const reads = await list([early], [some]);
    assert.ok(all(reads, 'learner') <= 50, JSON.stringify(reads));
    assert.ok(all(reads, 'membership') <= 3001 + 3200 + 2 * 1000 + 50, JSON.stringify(reads));
  });

  test('whom the addresses of a table may mean are found by them, whatever their case', async () => {
    const emails = Array.from({ length: 50 }, (_, n) => `learner${n}@Example.org`);
    let candidates: unknown[] = [];
    const reads = await readsOf(async (tx) => {
      const snapshot: Database['snapshot'] = (inside) => inside(tx);
      ({ candidates } = await openErasureGuard({ ...app.db, snapshot }, id, { names: [], emails }));
    });
    assert.equal(candidates.length, 50);
    assert.ok(all(reads, 'learner') <= 50, JSON.stringify(reads));
  });

  test('what waits for a small team is found by its members', async () => {
    const waiting = { why: null, subject: null, asked: false };
    const reads = await readsOf(async (tx) => {
      await countWaiting(tx, id, { visibility: [few], max: 101, now });
      await findWaiting(tx, id, waiting, { visibility: [few], after: null, limit: 50 });
      await findDecided(tx, id, { visibility: [few], before: null, limit: 50 });
    });
    assert.ok(all(reads, 'review') <= 3 * 40, JSON.stringify(reads));
  });

  test('groups of whom somebody is in sight are found by their first members', async () => {
    const reads = await readsOf((tx) => groupNames(tx, id, [], [early]));
    assert.ok(all(reads, 'membership') <= 4 * 21, JSON.stringify(reads));
    const named = await groupNames(app.db, id, [], [early]);
    assert.deepEqual(named.map((one) => one.group_id).sort(), [early, some].sort());
  });
});
