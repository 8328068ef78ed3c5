import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Database, Statement, Tx } from '../../../src/platform/db/database.ts';
import { browseGroups, groupNames } from '../../../src/organisations/groups/browse.ts';
import { findActs } from '../../../src/governance/activity/activity.ts';
import { hoursOf, maxSummarised } from '../../../src/integrations/webhooks/browse.ts';
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
  return Array.isArray(value) ? `'{${value.map((one) => `"${String(one)}"`).join(',')}}'` : `'${String(value)}'`;
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
      await findDecided(tx, id, { visibility: [few], groupIds: [], subject: null, before: null, limit: 50 });
    });
    assert.ok(all(reads, 'review') <= 3 * 40, JSON.stringify(reads));
  });

  test('groups of whom somebody is in sight are found by their first members', async () => {
    const reads = await readsOf((tx) => groupNames(tx, id, [], [early]));
    assert.ok(all(reads, 'membership') <= 4 * 21, JSON.stringify(reads));
    const named = await groupNames(app.db, id, [], [early]);
    assert.deepEqual(named.map((one) => one.group_id).sort(), [early, some].sort());
  });

  const waitsFor = (visibility: string[], groupIds: string[]) =>
    readsOf((tx) =>
      findWaiting(tx, id, { why: null, subject: null, asked: false }, { visibility, groupIds, after: null, limit: 50 }),
    );

  test('what waits in a large group for a small team is found by the members of the team', async () => {
    const reads = await waitsFor([few], [early]);
    assert.ok(all(reads, 'review') <= 40, JSON.stringify(reads));
  });

  test('reviews outside two large groups are passed over in an index alone', async () => {
    const reads = await waitsFor([early], [late]);
    assert.ok((reads.review?.whole ?? 0) <= 20, JSON.stringify(reads));
  });

  test('members of large groups are counted for a small team by the members of the team', async () => {
    await app.db.query(
      `with made as (
         insert into group_set (organisation_id, group_set_id, group_ids) values ($1, md5('team')::uuid, $2) returning group_set_id)
       insert into group_set_group (organisation_id, group_id, group_set_id) select $1, unnest($2::uuid[]), group_set_id from made`,
      [id, [few, early]],
    );
    const filter = { type: null, active: null };
    const reads = await readsOf((tx) => browseGroups(tx, id, filter, [few], { after: null, limit: 50 }));
    assert.ok(all(reads, 'membership') <= 600, JSON.stringify(reads));
    const shown = await browseGroups(app.db, id, filter, [few], { after: null, limit: 50 });
    assert.deepEqual(Object.fromEntries(shown.map((one) => [one.group_id, one.members])), { [few]: 40, [early]: 40 });
  });

  test('rare acts are found in the log without the others', async () => {
    await app.db.query(
      `insert into audit (organisation_id, at, request_id, actor, action, resource)
       select $1, $2::timestamptz - n * interval '1 minute', gen_random_uuid(), case when n % 2000 = 1 then 'rare' else 'frequent' end,
              case when n % 2000 = 2 then 'POST /console/keys/create' else 'POST /console/search' end,
              case when n % 2000 = 3 then 'object: 3 invited' else 'other' end
         from generate_series(1, 4000) n`,
      [id, now],
    );
    await app.db.query('vacuum analyze audit');
    const from = new Date(now.getTime() - 90 * 86_400_000);
    for (const rare of [{ actor: 'rare' }, { kind: 'key' }, { object: 'object' }, { kind: 'key', actor: 'learner' }]) {
      const filter = { actor: null, kind: null, object: null, ...rare, from, to: now };
      let found = 0;
      const reads = await readsOf(async (tx) => (found = (await findActs(tx, id, filter, null, 50)).length));
      assert.equal(found, 'actor' in rare && 'kind' in rare ? 0 : 2);
      const read = Object.keys(reads).filter((table) => table.startsWith('audit'));
      assert.ok(read.reduce((sum, table) => sum + all(reads, table), 0) <= 10, JSON.stringify([rare, reads]));
    }
  });

  test('the hours of an endpoint are those of its newest deliveries', async () => {
    const endpoint = '5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d';
    await app.db.query(
      `with sent as (
         insert into delivery (organisation_id, delivery_id, endpoint_id, event_id, status, created_at)
         select $1, md5('d' || n)::uuid, $2, md5('e' || n)::uuid, 'succeeded', $3::timestamptz - n * interval '1 second'
           from generate_series(1, ${maxSummarised + 100}) n returning *)
       insert into delivery_attempt (organisation_id, delivery_id, number, at, status_code, duration_ms)
       select organisation_id, delivery_id, 1, created_at, 200, 9 from sent`,
      [id, endpoint, now],
    );
    const hours = await hoursOf(app.db, id, endpoint, now.getTime(), 24);
    const counted = hours.reduce((sum, one) => sum + one.succeeded, 0);
    assert.equal(counted, maxSummarised);
  });
});
