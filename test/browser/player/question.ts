import { rightAnswer } from '../../../src/engine/item-bank/mark.ts';
import type { RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { probability } from '../../../src/engine/scoring/irt.ts';
import { banksOf } from '../../../src/sittings/scoring/banks.ts';
import { findCurrent } from '../../../src/sittings/store.ts';
import type { SimulatedLearner } from '../../sittings/learner.ts';
import { wrongAnswer } from '../../sittings/learner.ts';

/** What kind of question is on the screen, and the answer that the learner would give by this draw. */
export async function currentOf(learner: SimulatedLearner, draw = 0) {
  const { open } = await learner.link();
  const current = (await findCurrent(learner.service.app.db, open!))!;
  const rendered = JSON.parse(current.rendered) as RenderedItem;
  const item = (await banksOf(learner.service.app).version(learner.service.app.db, open!.bank_version)).bank.item(
    current.item_id,
  )!;
  const right = draw < probability(item, learner.theta);
  return {
    kind: rendered.type === 'task' ? `task ${rendered.kind}` : rendered.type,
    answer: right ? rightAnswer(rendered) : wrongAnswer(rendered),
    position: current.position,
  };
}
