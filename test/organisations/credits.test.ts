import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { feedQueue, withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { ApiError } from '../../src/platform/errors/errors.ts';
import { extendInvitation } from '../../src/sittings/invitations/extend.ts';
import { findInvitation } from '../../src/sittings/invitations/invitations.ts';
import { provisionLearner } from '../../src/sittings/invitations/provision.ts';
import { grantCredits, listCreditEntries } from '../../src/organisations/credits.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { startSitting } from '../../src/sittings/start.ts';
import { cancelInvitation } from '../../src/governance/erasure/cancel-invitation.ts';
import { withService } from '../support/service.ts';
import { invited } from '../sittings/learner.ts';

const service = await withService();
const { app } = service;
const by = { actor: 'somebody', reason: 'left the course' };

const balanceOf = async (id: number) =>
  (await app.db.query<{ credits: number }>('select credits from organisation where organisation_id = $1', [id]))[0]!
    .credits;
/** The ledger from its first entry on. */
const ledger = async (id: number) => (await listCreditEntries(app.db, id, { before: null, limit: 10_000 })).reverse();
const inFeed = <T>(id: number, inside: Parameters<typeof withUnitOfWork<T>>[2]) =>
  withUnitOfWork(app, feedQueue(id), inside);
const provision = (id: number, name: string) =>
  inFeed(id, (work) =>
    provisionLearner(work, id, { full_name: name, email: null, ref: null, groups: [] }, 'key').catch(
      (error: unknown) => {
        if (error instanceof ApiError && error.code === 'insufficient_credits') return null;
        throw error;
      },
    ),
  );

async function assertAddsUp(id: number) {
  const entries = await ledger(id);
  let sum = 0;
  entries.forEach((entry, i) => {
    sum += entry.amount;
    assert.deepEqual([entry.entry_no, entry.balance], [i + 1, sum]);
  });
  assert.equal(sum, await balanceOf(id));
  return entries;
}

suite('the ledger of credits', () => {
  test('adds up to the balance over random histories of writers at once', async () => {
    const random = seededRandom('credits');
    const { id } = await service.organisation({ plan: 'standard', credits: 6 });
    const open: string[] = [];
    let refused = 0;
    for (let round = 0; round < 12; round++)
      await Promise.all(
        Array.from({ length: 8 }, async (_, n) => {
          const lot = random.float();
          if (lot < 0.55) {
            const made = await provision(id, `Learner ${round} ${n}`);
            if (made === null) refused++;
            else open.push(made.reply.invitation_id);
          } else if (lot < 0.75) {
            const one = open[Math.floor(random.float() * open.length)];
            if (one !== undefined) await inFeed(id, (work) => cancelInvitation(work, id, one, by));
          } else {
            const amount = Math.floor(random.float() * 9) - 4;
            await inFeed(id, (work) => grantCredits(work, id, amount, { actor: 'operator', reason: 'random' }));
          }
        }),
      );
    const entries = await assertAddsUp(id);
    assert.ok(refused > 0 && entries.length > 20, `${refused} refused, ${entries.length} entries`);
    const returned = entries.filter((entry) => entry.kind === 'return').map((entry) => entry.invitation_id);
    assert.equal(new Set(returned).size, returned.length, 'a credit comes back once');
    for (const kind of ['opening', 'grant', 'use', 'return', 'correction'])
      assert.ok(
        entries.some((entry) => entry.kind === kind),
        kind,
      );
  });

  test('says who, when, for which invitation and why', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 1 });
    const ana = await invited(service, org);
    assert.equal((await org.post('/learners', { full_name: 'One Too Many' })).status, 402);
    await inFeed(org.id, (work) => cancelInvitation(work, org.id, ana.invitationId, by));
    const told = (await assertAddsUp(org.id)).map(({ kind, amount, actor, invitation_id, reason }) => [
      kind,
      amount,
      actor,
      invitation_id,
      reason,
    ]);
    assert.deepEqual(told, [
      ['opening', 1, 'service', null, null],
      ['use', -1, org.key.access_key_id, ana.invitationId, null],
      ['return', 1, 'somebody', ana.invitationId, 'left the course'],
    ]);
  });

  test('plans without credits have no entries', async () => {
    const org = await service.organisation({ plan: 'education', credits: 0 });
    const ana = await invited(service, org);
    const cancelled = await inFeed(org.id, (work) => cancelInvitation(work, org.id, ana.invitationId, by));
    assert.deepEqual(cancelled, { creditReturned: false });
    assert.deepEqual(await ledger(org.id), []);
  });

  test('a correction below zero changes nothing', async () => {
    const { id } = await service.organisation({ plan: 'standard', credits: 2 });
    assert.equal(await inFeed(id, (work) => grantCredits(work, id, -3, by)), undefined);
    assert.equal((await assertAddsUp(id)).length, 1);
  });
});

suite('cancelling an invitation', () => {
  test('ends its address; once; an opened one keeps its credit', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 2 });
    const [ana, bo] = [await invited(service, org), await invited(service, org)];
    await bo.starts();
    const cancel = (one: typeof ana) => inFeed(org.id, (work) => cancelInvitation(work, org.id, one.invitationId, by));
    const [first, second] = await Promise.all([cancel(ana), cancel(ana)]);
    assert.deepEqual(
      [first, second].filter((one) => one !== null),
      [{ creditReturned: true }],
    );
    assert.deepEqual(await cancel(bo), { creditReturned: false });
    assert.equal((await fetch(`${service.url}/a/${ana.token}`)).status, 410);
    assert.equal((await fetch(`${service.url}/a/${bo.token}`)).status, 410);
    assert.equal(await balanceOf(org.id), 1);
    assert.equal(await inFeed(org.id, (work) => cancelInvitation(work, org.id, org.publicId, by)), null);
    const again = await org.post('/learners', { ref: ana.ref, full_name: 'Test Learner' });
    assert.equal(again.status, 201, 'who is invited again gets another invitation');
    await assertAddsUp(org.id);
  });

  test('a learner who begins at the same moment comes before or after it, never both', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 12 });
    const seen = new Set<string>();
    for (let n = 0; n < 12; n++) {
      const one = await invited(service, org);
      const link = await one.link();
      const begin = () => startSitting(app, link);
      const cancel = () => inFeed(org.id, (work) => cancelInvitation(work, org.id, one.invitationId, by));
      const [cancelled] =
        n % 2 === 0
          ? await Promise.all([cancel(), begin()])
          : ([...(await Promise.all([begin(), cancel()]))].reverse() as [Awaited<ReturnType<typeof cancel>>]);
      const [{ begun }] = (await app.db.query<{ begun: number }>(
        'select count(*) as begun from sitting where organisation_id = $1 and invitation_id = $2',
        [org.id, one.invitationId],
      )) as [{ begun: number }];
      assert.notEqual(cancelled, null);
      assert.equal(cancelled!.creditReturned, begun === 0);
      seen.add(String(begun));
    }
    await assertAddsUp(org.id);
  });

  test('an end can be moved, also behind one that has passed; not of what is withdrawn', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 2 });
    const ana = await invited(service, org);
    const move = (ms: number) =>
      inFeed(org.id, (work) =>
        extendInvitation(work, org.id, ana.invitationId, {
          end: new Date(app.clock.nowMs() + ms),
          retakeReason: null,
        }),
      );
    await move(-1000);
    assert.equal((await ana.link()).expired, true);
    await move(60_000);
    assert.equal((await ana.link()).expired, false);
    await inFeed(org.id, (work) => cancelInvitation(work, org.id, ana.invitationId, by));
    assert.equal(await move(60_000), undefined);
    assert.equal((await findInvitation(app.db, org.id, ana.invitationId))!.status, 'withdrawn');
  });
});
