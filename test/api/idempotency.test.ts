import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../platform/time/manual-clock.ts';
import type { Claim } from '../../src/api/idempotency.ts';
import { claimKey, pruneIdempotency } from '../../src/api/idempotency.ts';
import { provisionLearner } from '../../src/sittings/invitations/provision.ts';
import { ApiError } from '../../src/platform/errors/errors.ts';
import { limits } from '../../src/platform/config/limits.ts';
import { systemRandom } from '../../src/platform/crypto/random.ts';
import { assertRefused } from '../contract/support/expect.ts';
import { withService } from '../support/service.ts';

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const service = await withService({ own: 'Moves the clock.', clock });
const body = { full_name: 'No Reference' };

test('a reply is kept for 24 hours', async () => {
  const org = await service.organisation();
  const first = await org.post('/learners', body, { 'idempotency-key': 'k' });
  clock.advance(limits.idempotencyMs - 1);
  assert.equal((await org.post('/learners', body, { 'idempotency-key': 'k' })).text, first.text);
  clock.advance(1);
  const later = await org.post('/learners', body, { 'idempotency-key': 'k' });
  assert.notEqual(later.text, first.text);
  assert.equal(later.headers['idempotency-replayed'], undefined);
});

test('another body may use the key again after 24 hours', async () => {
  const org = await service.organisation();
  await org.post('/learners', body, { 'idempotency-key': 'k' });
  clock.advance(limits.idempotencyMs);
  assert.equal((await org.post('/learners', { full_name: 'Another Body' }, { 'idempotency-key': 'k' })).status, 201);
});

test('409: idempotency_conflict while the first is running; a request that died gives the key back', async () => {
  const org = await service.organisation();
  await claimKey(service.app, org.id, 'k', `/learners\n${JSON.stringify(body)}`);
  assertRefused(await org.post('/learners', body, { 'idempotency-key': 'k' }), 409, 'idempotency_conflict');
  assertRefused(
    await org.post('/learners', { full_name: 'Another Body' }, { 'idempotency-key': 'k' }),
    422,
    'idempotency_mismatch',
  );
  clock.advance(limits.idempotencyLeaseMs);
  assert.equal((await org.post('/learners', body, { 'idempotency-key': 'k' })).status, 201);
});

test('402: not kept, so that the same request passes once credits were bought', async () => {
  const org = await service.organisation({ plan: 'standard', credits: 0 });
  for (let i = 0; i < 2; i++) {
    const refused = await org.post('/learners', body, { 'idempotency-key': 'k' });
    assertRefused(refused, 402, 'insufficient_credits');
    assert.equal(refused.headers['idempotency-replayed'], undefined);
  }
  await service.withUnitOfWork((work) =>
    work.tx.query('update organisation set credits = 1 where organisation_id = $1', [org.id]),
  );
  const bought = await org.post('/learners', body, { 'idempotency-key': 'k' });
  assert.equal(bought.status, 201, bought.text);
  assert.equal((await org.post('/learners', body, { 'idempotency-key': 'k' })).text, bought.text);
});

test('5xx: not kept, whichever a writer throws', async () => {
  for (const code of ['service_unavailable', 'internal_error'] as const) {
    let calls = Infinity;
    // The first ID is the request's, the second one the group's.
    const uuid = () => {
      if (--calls === 0) throw new ApiError(code);
      return systemRandom.uuid();
    };
    const failing = await withService({ own: 'Knows the random values.', random: { ...systemRandom, uuid } });
    const org = await failing.organisation();
    const make = () => org.post('/groups', { type: 'cohort', ref: 'NEW', name: 'New' }, { 'idempotency-key': 'k' });
    calls = 2;
    assert.equal((await make()).body.error.code, code);
    const repeated = await make();
    assert.equal(repeated.status, 201, repeated.text);
    await failing.stop();
  }
});

test('409: not kept, so that the same request passes once there is room', async () => {
  const org = await service.organisation();
  const hook = (i: number) => ({ url: `https://hooks.example.org/${i}` });
  for (let i = 0; i < limits.webhooksPerOrganisation; i++) await org.post('/webhooks', hook(i));
  const refused = await org.post('/webhooks', hook(99), { 'idempotency-key': 'k' });
  assertRefused(refused, 409, 'webhook_limit_exceeded');
  const [first] = (await org.get('/webhooks')).body.data;
  await org.delete(`/webhooks/${first.id}`);
  assert.equal((await org.post('/webhooks', hook(99), { 'idempotency-key': 'k' })).status, 201);
});

test('422 for want of a group: not kept, so that the same request passes once it is made', async () => {
  const org = await service.organisation();
  const { db } = service.app;
  await db.query('update organisation set group_autocreate = false where organisation_id = $1', [org.id]);
  const group = { type: 'cohort', ref: 'NEW', name: 'New' };
  const joins = { full_name: 'In A Group', ref: 'L-1', groups: [group] };
  const provision = () => org.post('/learners', joins, { 'idempotency-key': 'k' });
  for (let i = 0; i < 2; i++) assertRefused(await provision(), 422, 'group_autocreate_disabled');
  assert.equal((await org.post('/groups', group)).status, 201);
  const done = await provision();
  assert.equal(done.status, 201, done.text);
  assert.equal((await provision()).text, done.text);
});

test('a reply that is given again has the id of the thing in its row of the audit log', async () => {
  const org = await service.organisation();
  const answers = [];
  for (let i = 0; i < 2; i++) answers.push(await org.post('/learners', body, { 'idempotency-key': 'k' }));
  assert.equal(answers[1]!.headers['idempotency-replayed'], 'true');
  for (const { headers, body: reply } of answers) {
    const rows = await service.app.db.query('select action, resource, status from audit where request_id = $1', [
      headers['x-request-id'],
    ]);
    assert.deepEqual(rows, [{ action: 'POST /learners', resource: reply.data.invitation_id, status: 201 }]);
  }
});

test('a refusal that is given again has its code in its row of the audit log', async () => {
  const org = await service.organisation();
  const rows = [];
  for (let i = 0; i < 2; i++) {
    const refused = await org.post('/groups', { type: 'team', ref: 'T', name: 'Team' }, { 'idempotency-key': 'k' });
    assertRefused(refused, 422, 'team_group_managed');
    assert.equal(refused.headers['idempotency-replayed'], i === 0 ? undefined : 'true');
    rows.push(
      ...(await service.app.db.query<{ code: string }>(
        "select detail::jsonb ->> 'code' as code from audit where request_id = $1",
        [refused.headers['x-request-id']],
      )),
    );
  }
  assert.deepEqual(rows, [{ code: 'team_group_managed' }, { code: 'team_group_managed' }]);
});

test("a request that lost its key to a repeat undoes what it did, and the repeat's reply stays", async () => {
  const org = await service.organisation();
  const text = `/learners\n${JSON.stringify(body)}`;
  const slow = (await claimKey(service.app, org.id, 'k', text)) as Claim;
  clock.advance(limits.idempotencyLeaseMs);
  const repeat = await org.post('/learners', body, { 'idempotency-key': 'k' });
  assert.equal(repeat.status, 201);
  await assert.rejects(
    service.withUnitOfWork(async (work) => {
      await provisionLearner(work, org.id, { full_name: 'No Reference', email: null, ref: null, groups: [] }, 'test');
      await slow.keep(work.tx, { status: 201, body: '{}', headers: {} });
    }),
    { code: 'idempotency_conflict' },
  );
  assert.equal((await org.get('/learners')).body.data.length, 1);
  assert.equal((await org.post('/learners', body, { 'idempotency-key': 'k' })).text, repeat.text);
});

test('neither keys nor replies are stored in the clear', async () => {
  const org = await service.organisation();
  const answer = await org.post(
    '/webhooks',
    { url: 'https://portfolio.example.org/' },
    { 'idempotency-key': 'a-telling-key' },
  );
  const rows = await service.app.db.query<{ row: string; reply: Buffer }>(
    'select to_jsonb(i)::text as row, reply from idempotency i where organisation_id = $1',
    [org.id],
  );
  assert.equal(rows.length, 1);
  assert.ok(!rows[0]!.row.includes('a-telling-key'));
  assert.ok(!rows[0]!.reply.includes(answer.body.data.secret));
});

test('old replies are forgotten', async () => {
  const org = await service.organisation();
  await org.post('/learners', body, { 'idempotency-key': 'k' });
  clock.advance(limits.idempotencyMs + 1);
  await pruneIdempotency(service.app);
  assert.equal((await service.app.db.query('select from idempotency where organisation_id = $1', [org.id])).length, 0);
});

test('however many replies have had their time, one pruning forgets them all, and passes what a request holds', async () => {
  const org = await service.organisation();
  const { db } = service.app;
  const sibling = await service.sibling();
  const old = new Date(clock.nowMs());
  await db.query(
    `insert into idempotency (organisation_id, key_sha256, request_sha256, created_at, leased_until)
     select $1, sha256(i::text::bytea), '', $2, $2 from generate_series(1, 3500) i`,
    [org.id, old],
  );
  clock.advance(limits.idempotencyMs + 1);
  const left = async () =>
    (
      await sibling.app.db.query<{ n: number }>('select count(*) as n from idempotency where organisation_id = $1', [
        org.id,
      ])
    )[0]!.n;
  await db.transaction(async (tx) => {
    await tx.query(`select from idempotency where organisation_id = $1 and key_sha256 = sha256('7') for update`, [
      org.id,
    ]);
    await pruneIdempotency(sibling.app);
    assert.equal(await left(), 1);
  });
  await pruneIdempotency(service.app);
  assert.equal(await left(), 0);
});
