import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { feedQueue, withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { readyRecord } from '../../../src/records/import/record.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { placeHold, releaseHold, UnderHold } from '../../../src/governance/legal-holds/holds.ts';
import { adjustInvitation } from '../../../src/sittings/invitations/invitations.ts';
import { listCreditEntries } from '../../../src/organisations/credits.ts';
import { readOrganisation } from '../../../src/organisations/organisations.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { deriveSecrets } from '../../../src/platform/crypto/secrets.ts';
import { findSitting } from '../../../src/sittings/store.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { previewErasure } from '../../../src/governance/erasure/preview.ts';
import { assertRefused } from '../../contract/support/expect.ts';
import { Mirror, Shown } from '../../laws/world/mirror.ts';
import type { TestOrganisation } from '../../support/service.ts';
import { withService } from '../../support/service.ts';
import { invited } from '../../sittings/learner.ts';

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const service = await withService({ own: 'Moves the clock.', clock, settings: { ARS_RATE_LIMIT: '1000000' } });
const { app } = service;
const by = { actor: 'operator' };

/** Tables in which a text stands anywhere, as a dump shows them. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await app.db.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const hex = Buffer.from(text).toString('hex');
    const rows = await app.db.query(
      `select from "${name}" t where strpos(lower(t::text), lower($1)) > 0 or strpos(t::text, $2) > 0 limit 1`,
      [text, hex],
    );
    if (rows.length > 0) found.push(name);
  }
  return found.sort();
}

const inFeed = <T>(org: TestOrganisation, inside: Parameters<typeof withUnitOfWork<T>>[2]) =>
  withUnitOfWork(app, feedQueue(org.id), inside);
const erase = (org: TestOrganisation, learnerId: string) =>
  inFeed(org, (work) => eraseLearner(work, org.id, learnerId, by));

async function idOf(org: TestOrganisation, ref: string): Promise<string> {
  return (await org.get(`/learners/${ref}`)).body.data.learner_id;
}

async function imports(org: TestOrganisation, ref: string, name: string): Promise<string> {
  const assessment_id = app.random.uuid();
  const record = {
    assessment_id,
    learner: { ref, full_name: name },
    assessed_at: '2026-01-10T09:00:00Z',
    subject: 'maths',
    framework: 'F',
    rqf_level: 'Level 1',
    rqf_level_code: 2,
    below_level_1: false,
  };
  await inFeed(org, (work) =>
    importRecords(work, org.id, [readyRecord(record, org.publicId, work.nowMs)], { events: true, actor: 'operator' }),
  );
  return assessment_id;
}

suite('an erased learner', () => {
  test('not while a hold is in force; a sitting under way ends without a result, and its link leads nowhere', async () => {
    const org = await service.organisation();
    const sitter = await invited(service, org, { ref: 'held-1', name: 'Held Person' });
    const under = await sitter.starts();
    await sitter.answers('wrong');
    const id = await idOf(org, 'held-1');
    const imported = await imports(org, 'held-1', 'Held Person');
    const hold = { holdId: app.random.uuid(), learnerId: id, reason: 'A claim', endsAt: null, ...by };
    await inFeed(org, (work) => placeHold(work, org.id, hold));
    await assert.rejects(erase(org, id), UnderHold);
    await inFeed(org, (work) => releaseHold(work, org.id, hold.holdId, by));
    assert.deepEqual(await erase(org, id), { learner_id: id, results: 1, openSittings: 1, creditsReturned: 0 });
    assert.equal((await findSitting(app.db, under))!.void_reason, 'erased');
    assert.equal((await fetch(`${service.url}/a/${sitter.token}`)).status, 410);
    const written = { supervisor: 'Held senior' };
    const adjusted = await service.withUnitOfWork((work) =>
      adjustInvitation(work, org.id, sitter.invitationId, written),
    );
    assert.equal(adjusted, undefined, 'nothing is written about them any more');
    for (const path of ['', '/report.pdf'])
      assert.equal((await org.get(`/assessments/${imported}${path}`)).status, 404);
    const listed = (await org.get('/learners?limit=500')).body.data.find((one: any) => one.learner_id === id);
    assert.deepEqual([listed.status, listed.full_name, listed.ref], ['deleted', undefined, undefined]);
    assert.equal(await erase(org, id), null, 'once');
  });

  test('credits of invitations that nobody began come back, once, and the others stay spent', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 5 });
    const sitter = await invited(service, org, { ref: 'begun-1', name: 'Paid Person' });
    await sitter.starts();
    await invited(service, org, { ref: 'paid-1', name: 'Paid Person' });
    const credits = async () => (await readOrganisation(app.db, org.id)).credits;
    const spent = await credits();
    for (const [ref, returned] of [
      ['begun-1', 0],
      ['paid-1', 1],
    ] as const) {
      const id = await idOf(org, ref);
      assert.equal((await previewErasure(app.db, org.id, id, new Date(app.clock.nowMs())))!.credits_returned, returned);
      const done = await Promise.all([erase(org, id), erase(org, id)]);
      assert.deepEqual(new Set(done.map((one) => one?.creditsReturned ?? null)), new Set([returned, null]));
    }
    assert.equal(await credits(), spent + 1);
    const entries = await listCreditEntries(app.db, org.id, { before: null, limit: 50 });
    assert.equal(
      entries.reduce((sum, entry) => sum + entry.amount, 0),
      spent + 1,
      'the ledger adds up to the balance',
    );
  });

  test('a reference that is a word of other replies takes none of them away', async () => {
    const org = await service.organisation();
    const group = { type: 'cohort', ref: 'C1', name: 'maths' };
    const made = await org.post('/groups', group, { 'idempotency-key': 'the group' });
    const { learner_id: id } = (await org.post('/learners', { ref: 'maths', full_name: 'Ada Byron' })).body.data;
    await erase(org, id);
    const again = await org.post('/groups', group, { 'idempotency-key': 'the group' });
    assert.deepEqual([again.status, again.body], [made.status, made.body]);
  });

  test('a repeat under the key that made them is told so, and brings nobody back and spends nothing', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 5 });
    const body = { full_name: 'Ada Byron', ref: 'L1' };
    const group = (await org.post('/groups', { type: 'cohort', ref: 'C1', name: 'C' })).body.data.id as string;
    const provision = () => org.post('/learners', body, { 'idempotency-key': 'k' });
    const join = () => org.post(`/groups/${group}/members`, { learner_refs: ['L1'] }, { 'idempotency-key': 'j' });
    const made = await provision();
    assert.deepEqual([made.status, (await join()).body], [201, { added: ['L1'], already_members: [], not_found: [] }]);
    await erase(org, made.body.data.learner_id);
    for (const again of [await provision(), await join()]) {
      assertRefused(again, 409, 'idempotency_conflict');
      assert.equal(again.headers['retry-after'], undefined);
    }
    // What the request was isn't known any more either.
    assertRefused(
      await org.post('/learners', { ...body, ref: 'L2' }, { 'idempotency-key': 'k' }),
      409,
      'idempotency_conflict',
    );
    assert.equal((await org.get('/learners/L1')).status, 404);
    assert.equal((await readOrganisation(app.db, org.id)).credits, 5, "the erased person's came back, none went");
    const left = await app.db.query<{ reply: unknown; request_sha256: Buffer }>(
      'select reply, request_sha256 from idempotency where organisation_id = $1',
      [org.id],
    );
    assert.deepEqual(
      left.map((one) => [one.reply, one.request_sha256.length]),
      [
        [null, 0],
        [null, 0],
      ],
    );
    clock.advance(limits.idempotencyMs);
    assert.equal((await provision()).status, 201, 'somebody new, a day later');
  });

  test('a reply of somebody else that no secret opens is not done again', async () => {
    const org = await service.organisation();
    const provision = () => org.post('/learners', { full_name: 'Other Person' }, { 'idempotency-key': 'k' });
    assert.equal((await provision()).status, 201);
    const lost = deriveSecrets('lost'.repeat(10)).seal('idempotency', '{}', app.random);
    await app.db.query('update idempotency set reply = $2 where organisation_id = $1', [org.id, lost]);
    const { learner_id: id } = (await org.post('/learners', { ref: 'L1', full_name: 'Ada Byron' })).body.data;
    await erase(org, id);
    assertRefused(await provision(), 409, 'idempotency_conflict');
    const named = (await org.get('/learners')).body.data.filter((one: any) => one.full_name === 'Other Person');
    assert.equal(named.length, 1);
  });

  test('feeds by the reference still bring the tombstones, also beside who has the reference next', async () => {
    const org = await service.organisation();
    const mirror = new Mirror([org], seededRandom('erased'), new Shown(), {
      path: '/assessments',
      query: 'learner_ref=same-ref',
      limit: 1,
      manner: 'linger',
    });
    await org.post('/learners', { ref: 'same-ref', full_name: 'First Holder' });
    const old = await imports(org, 'same-ref', 'First Holder');
    await mirror.poll();
    const id = await idOf(org, 'same-ref');
    await erase(org, id);
    await mirror.assertConverged();
    assert.equal(mirror.held.size, 0);
    const of = async (query = '') =>
      (await org.get(`/assessments?learner_ref=same-ref${query}`)).body.data.map((one: any) => [
        one.assessment_id,
        one.status,
      ]);
    assert.deepEqual(await of(), [[old, 'deleted']]);
    await org.post('/learners', { ref: 'same-ref', full_name: 'Second Holder' });
    const next = await imports(org, 'same-ref', 'Second Holder');
    await mirror.assertConverged();
    assert.deepEqual(await of(), [
      [old, 'deleted'],
      [next, 'completed'],
    ]);
    assert.deepEqual((await of('&sort=-assessed_at')).length, 2);
    assert.deepEqual(await of('&status=deleted'), [[old, 'deleted']]);
    assert.notEqual(await idOf(org, 'same-ref'), id);
    const other = await service.organisation();
    assert.deepEqual((await other.get('/assessments?learner_ref=same-ref')).body.data, []);
  });

  test('the hash is found under an earlier secret that is still listed, and tells nothing without one', async () => {
    const [one, other] = [deriveSecrets('a'.repeat(40)), deriveSecrets('b'.repeat(40), ['a'.repeat(40)])];
    assert.deepEqual(other.macs('learner_ref', '1\nX')[1], one.mac('learner_ref', '1\nX'));
    assert.notDeepEqual(other.mac('learner_ref', '1\nX'), one.mac('learner_ref', '1\nX'));
    assert.notDeepEqual(one.mac('learner_ref', '1\nX'), one.mac('learner_ref', '2\nX'));
  });

  test('of two erasures at once one does it; a sitting that ends at that moment leaves nothing behind', async () => {
    const org = await service.organisation();
    for (let n = 0; n < 6; n++) {
      const ref = `race-${n}`;
      const one = await invited(service, org, { ref, name: 'Racing Person' });
      const sitting = await one.starts();
      while ((await one.answers()) !== null);
      const id = await idOf(org, ref);
      const [a, b] = await Promise.all([
        ...(n % 2 === 0 ? [erase(org, id), erase(org, id)] : [erase(org, id), Promise.resolve(null)]),
        one.finishes(sitting),
        // An erased learner has no link.
        one.link().catch(() => null),
      ]);
      assert.equal([a, b].filter((done) => done !== null && typeof done === 'object').length, 1);
      assert.notEqual((await findSitting(app.db, sitting))!.status, 'open');
    }
    assert.deepEqual(await tablesWith('Racing Person'), []);
    const { data } = (await org.get('/assessments?limit=500')).body;
    assert.ok(data.every((row: any) => row.status === 'deleted'));
  });

  test('who begins a sitting while being erased has none afterwards', async () => {
    const org = await service.organisation();
    for (let n = 0; n < 6; n++) {
      const one = await invited(service, org, { ref: `begin-${n}`, name: 'Beginning Person' });
      const id = await idOf(org, `begin-${n}`);
      await Promise.all(
        n % 2 === 0
          ? [erase(org, id), one.starts().catch(() => null)]
          : [one.starts().catch(() => null), erase(org, id)],
      );
    }
    assert.deepEqual(
      await app.db.query("select from sitting where organisation_id = $1 and status = 'open'", [org.id]),
      [],
    );
    assert.deepEqual(await tablesWith('Beginning Person'), []);
  });
});
