import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { openDatabase } from '../../src/platform/db/database.ts';
import { client } from '../contract/support/client.ts';
import { onCitus } from '../support/postgres.ts';
import { withService } from '../support/service.ts';
import { secret, serviceProcess } from './world/processes.ts';

/** Law 5: no reply leaves before its audit row is committed, whatever becomes of the process. */

const service = await withService({
  own: 'Has a secret that the test knows.',
  settings: { ARS_SECRET: secret, ARS_RATE_LIMIT: '1000000' },
});
const environment = { DATABASE_URL: service.databaseUrl, ARS_SECRET: secret };

type Reply = { key: string; action: string; status: number };

/** The audit rows that the replies are among; fails for a reply without one. */
async function assertAudited(organisationIds: number[], replies: Reply[]): Promise<void> {
  const rows = await service.app.db.query<{ actor: string; action: string; status: number; count: number }>(
    'select actor, action, status, count(*) as count from audit where organisation_id = any($1) group by actor, action, status',
    [organisationIds],
  );
  const left = new Map(rows.map((row) => [`${row.actor} ${row.action} ${row.status}`, row.count]));
  for (const { key, action, status } of replies) {
    const name = `${key} ${action} ${status}`;
    const count = left.get(name) ?? 0;
    assert.ok(count > 0, `law 5: a reply without its audit row: ${name}`);
    left.set(name, count - 1);
  }
}

suite('law 5: answered means audited', () => {
  test('law 5: a reply waits for its audit row, and dies with it', async () => {
    const org = await service.organisation();
    const process = await serviceProcess(environment);
    const consumer = client(process.url, org.key);
    await consumer.get('/health');
    const own = openDatabase(service.databaseUrl, service.app.log, 2, undefined, onCitus);
    const replies: Reply[] = [];
    try {
      await own.transaction(async (tx) => {
        await tx.query('lock table audit in exclusive mode');
        const asked = consumer.get('/assessments').then(
          (answer) => {
            replies.push({ key: org.key.access_key_id, action: 'GET /assessments', status: answer.status });
          },
          () => 'no reply',
        );
        // The row is on its way, and no other (housekeeping waits for the lock, too): what would be answered without it has been
        // answered now.
        const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
          and query like '%insert into audit (organisation_id, at, request_id, actor, action, resource,%'`;
        while ((await tx.query(waits)).length === 0) await tx.query('select pg_stat_clear_snapshot()');
        // A page needs no audit row: once it has come, so has whatever was answered before it.
        for (let i = 0; i < 3; i++) assert.equal((await fetch(`${process.url}/healthz`)).status, 200);
        await process.kill();
        await asked;
      });
      // The killed process's insert, if it still runs, ends before this.
      await own.query('lock table audit in exclusive mode').catch(() => {});
      assert.deepEqual(replies, [], 'law 5: a reply left before its audit row was committed');
    } finally {
      await own.close();
    }
  });

  test('law 5: a change and its row are one transaction', async (t) => {
    if (onCitus) return t.skip('rows of several nodes have no transaction number in common');
    const org = await service.organisation();
    const learner = { full_name: 'Ana Silva', ref: 'A-1' };
    const { body: group } = await org.post('/groups', { type: 'cohort', ref: 'C-1', name: 'Cohort' });
    const { body: endpoint } = await org.post('/webhooks', {
      url: 'https://consumer.example/hook',
    });
    const at = `/groups/${group.data.id}`;
    await org.post('/learners', learner, { 'idempotency-key': 'one' });
    const repeated = await org.post('/learners', learner, { 'idempotency-key': 'one' });
    await org.patch(at, { name: 'The cohort' });
    await org.post(`${at}/members`, { learner_refs: ['A-1'] });
    await org.post(`${at}/members/remove`, { learner_refs: ['A-1'] });
    await org.delete(`/webhooks/${endpoint.data.id}`);
    const rows = await service.app.db.query<{ action: string; status: number; request_id: string; by: string }>(
      `select action, status, request_id, xmin::text as by from audit where organisation_id = $1 order by audit_id`,
      [org.id],
    );
    const written = async (from: string): Promise<string[]> =>
      (
        await service.app.db.query<{ by: string }>(`select xmin::text as by from ${from} where organisation_id = $1`, [
          org.id,
        ])
      ).map(({ by }) => by);
    const by = (action: string) => rows.find((row) => row.action === action)!.by;
    assert.deepEqual(await written('learner'), [by('POST /learners')], 'law 5: a change apart from its row');
    assert.deepEqual(await written(`(select organisation_id, xmin from learner_group where type = 'cohort') g`), [
      by('PATCH /groups/{id}'),
    ]);
    // Each once, and a reply that is repeated has a row of its own.
    assert.equal(rows.length, 8);
    assert.equal(new Set(rows.map((row) => row.request_id)).size, 8);
    const again = rows.find((row) => row.request_id === repeated.headers['x-request-id']);
    assert.deepEqual(
      [again?.action, again?.status, again?.by === by('POST /learners')],
      ['POST /learners', 201, false],
    );
    assert.deepEqual(
      rows.map(({ action, status }) => `${action} ${status}`).filter((one) => one.startsWith('DELETE')),
      ['DELETE /webhooks/{id} 204'],
    );
  });

  test('law 5: after kill -9 under load every reply that was received is in the log', async () => {
    const org = await service.organisation();
    const keys = await Promise.all(Array.from({ length: 12 }, () => org.another()));
    const replies: Reply[] = [];
    const process = await serviceProcess(environment);
    // Nothing changes here, so polls are repeated ones.
    const quiet = await service.organisation();
    const poller = client(process.url, quiet.key);
    const held = { 'if-none-match': (await poller.get('/learners')).headers.etag! };
    let killed: Promise<void> | null = null;
    await Promise.all(
      keys.map(async ({ key }, n) => {
        const consumer = client(process.url, key);
        for (let i = 0; ; i++) {
          const [action, ask, who = key] = [
            ['GET /assessments', () => consumer.get('/assessments?limit=1')],
            [
              'POST /groups',
              () => consumer.post('/groups', { type: 'cohort', ref: `C-${n}-${i % 5}`, name: 'Cohort' }),
            ],
            ['GET /groups/{id}', () => consumer.get('/groups/00000000-0000-4000-8000-000000000000')],
            ['GET (no route)', () => consumer.get('/nowhere')],
            ['GET /learners', () => poller.get('/learners', held), quiet.key],
          ][i % 5] as [string, () => ReturnType<typeof consumer.get>, typeof key | undefined];
          try {
            const { status } = await ask();
            // It says itself that nothing could be written, and counts for nothing here.
            if (status !== 503) replies.push({ key: who.access_key_id, action, status });
          } catch {
            return;
          }
          if (replies.length >= 300) killed ??= process.kill();
        }
      }),
    );
    await killed;
    await assertAudited([org.id, quiet.id], replies);
    assert.ok(replies.length >= 300);
  });
});
