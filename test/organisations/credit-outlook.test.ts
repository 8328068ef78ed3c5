import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantCredits, readCreditOutlook, returnCredit, spendCredits } from '../../src/organisations/credits.ts';
import { manualClock } from '../platform/time/manual-clock.ts';
import { withService } from '../support/service.ts';

const dayMs = 24 * 3600_000;
const clock = manualClock(Date.UTC(2026, 0, 5, 9));
const service = await withService({ own: 'Moves the clock.', clock });

test('credits last as long as their use in the last weeks lets them, and a grant is no use', async () => {
  const org = await service.organisation({ plan: 'standard', credits: 100 });
  const { app, withUnitOfWork } = service;
  const uses = (n: number) => {
    const ids = Array.from({ length: n }, () => app.random.uuid());
    const of = { organisation_id: org.id, plan: 'standard' } as const;
    return withUnitOfWork((work) => spendCredits(work, of, ids, 'operator'));
  };
  const outlook = () => readCreditOutlook(app.db, org.id, clock.nowMs(), 12);
  const days = async () => {
    const { endsAt } = await outlook();
    return endsAt && Math.round((endsAt.getTime() - clock.nowMs()) / dayMs);
  };
  assert.equal(await days(), null, 'nothing is used');
  await uses(20);
  clock.advance(6 * dayMs);
  assert.equal(await days(), null, 'less than a week');
  clock.advance(4 * dayMs);
  assert.equal(await days(), 40, '80 left, 20 in 10 days');
  clock.advance(18 * dayMs);
  await withUnitOfWork((work) => grantCredits(work, org.id, 50, { actor: 'operator' }));
  await uses(22);
  await withUnitOfWork((work) => returnCredit(work, org.id, { actor: 'operator' }));
  await withUnitOfWork((work) => returnCredit(work, org.id, { actor: 'operator' }));
  clock.advance(7 * dayMs);
  const { balances, used, endsAt } = await outlook();
  assert.equal(used, 20);
  assert.equal(endsAt!.getTime() - clock.nowMs(), (110 / 20) * 28 * dayMs);
  assert.deepEqual(
    balances.map((one) => one.balance),
    [0, 0, 0, 0, 0, 0, 0, 80, 80, 80, 80, 110, 110],
  );
  await withUnitOfWork((work) => grantCredits(work, org.id, -10, { actor: 'operator' }));
  assert.equal((await outlook()).used, 20, 'a correction is no use');
});
