import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { renderItem } from '../../src/engine/item-bank/load.ts';
import { withOrderOf } from '../../src/engine/item-bank/option-order.ts';
import type { RenderedItem } from '../../src/engine/item-bank/schema.ts';
import { banksOf } from '../../src/sittings/scoring/banks.ts';
import { findItems, findSitting, type SittingItemRow, type SittingRow } from '../../src/sittings/store.ts';
import { withService } from '../support/service.ts';
import { Visitor } from '../web/player/visitor.ts';
import { invited, type SimulatedLearner } from './learner.ts';

const idsOf = (item: RenderedItem): string[] => (item.type === 'single_choice' ? item.options.map(({ id }) => id) : []);
const idsOn = (page: Visitor): string[] =>
  [...page.text.matchAll(/<input type="radio" name="answer" value="([^"]*)"/g)].map((found) => found[1]!);

suite('the order of options in a sitting', async () => {
  const service = await withService();
  const org = await service.organisation();
  const { bank } = await banksOf(service.app).currentStored(service.app.db, service.app.clock.nowMs());

  /** Answers until the question on the screen is a choice whose order differs from the bank's. */
  async function reachesShuffled(learner: SimulatedLearner): Promise<{ sitting: SittingRow; row: SittingItemRow }> {
    for (;;) {
      const sitting = (await learner.link()).open ?? (await learner.starts());
      const row = (await findItems(service.app.db, sitting)).at(-1)!;
      const written = idsOf(renderItem(bank.item(row.item_id)!, row.seed));
      if (row.outcome === null && written.length > 0 && String(idsOf(JSON.parse(row.rendered))) !== String(written))
        return { sitting, row };
      if ((await learner.answers()) === null) await learner.finishes(sitting);
    }
  }

  test('stays through a reload, a pause and another device, and answers name options by ID', async () => {
    const ana = await invited(service, org, { ref: 'ana' });
    const { sitting, row } = await reachesShuffled(ana);
    const rendered = JSON.parse(row.rendered) as RenderedItem;
    assert.deepEqual(rendered, withOrderOf(renderItem(bank.item(row.item_id)!, row.seed), row.seed));
    const page = new Visitor(service, ana.token);
    assert.deepEqual(idsOn(await page.get('/question')), idsOf(rendered));
    assert.deepEqual(idsOn(await page.get('/question')), idsOf(rendered));
    await page.sends({}, 'pause');
    await page.post('/continue');
    const elsewhere = new Visitor(service, ana.token);
    assert.deepEqual(idsOn(await elsewhere.get('/question')), idsOf(rendered));
    const answer = idsOf(rendered).at(-1)!;
    await elsewhere.sends({ answer });
    const stored = (await findItems(service.app.db, sitting))[row.position - 1]!;
    assert.deepEqual(JSON.parse(stored.answer!), { answer });
    assert.equal(stored.outcome, rendered.type === 'single_choice' && rendered.key === answer ? 'right' : 'wrong');
    assert.equal(stored.rendered, row.rendered);
  });

  test('of a question that an earlier release showed stays as it was', async () => {
    const ben = await invited(service, org, { ref: 'ben' });
    const { sitting, row } = await reachesShuffled(ben);
    const written = renderItem(bank.item(row.item_id)!, row.seed);
    await service.app.db.query(
      'update sitting_item set rendered = $3 where organisation_id = $1 and sitting_id = $2 and position = $4',
      [org.id, sitting.sitting_id, JSON.stringify(written), row.position],
    );
    const page = await new Visitor(service, ben.token).get('/question');
    assert.deepEqual(idsOn(page), idsOf(written));
    const { key } = written as RenderedItem & { type: 'single_choice' };
    await page.sends({ answer: key });
    assert.equal((await findItems(service.app.db, sitting))[row.position - 1]!.outcome, 'right');
    assert.equal((await findSitting(service.app.db, sitting))!.status, 'open');
  });
});
