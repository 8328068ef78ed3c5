import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { rightAnswer } from '../../src/bank/mark.ts';
import type { RenderedItem } from '../../src/bank/schema.ts';
import { probability } from '../../src/scoring/irt.ts';
import { seededRandom } from '../../src/random.ts';
import { banksOf } from '../../src/sittings/banks.ts';
import { declarationText } from '../../src/sittings/evidence.ts';
import { findCurrent } from '../../src/sittings/store.ts';
import { subjectNames } from '../../src/player/words.ts';
import { withService } from '../service.ts';
import type { SimulatedLearner } from '../sittings/learner.ts';
import { invited, wrongAnswer } from '../sittings/learner.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from './browser.ts';
import { answerByKeyboard, pressByKeyboard } from './keyboard.ts';

/** What kind of question is on the screen, and the answer that a learner of average ability would give by this draw. */
async function currentOf(learner: SimulatedLearner, draw: number) {
  const { open } = await learner.link();
  const current = (await findCurrent(learner.service.app.db, open!))!;
  const rendered = JSON.parse(current.rendered) as RenderedItem;
  const item = (await banksOf(learner.service.app).version(open!.bank_version)).bank.item(current.item_id)!;
  const right = draw < probability(item, learner.theta);
  return { kind: rendered.type === 'task' ? `task ${rendered.kind}` : rendered.type, answer: right ? rightAnswer(rendered) : wrongAnswer(rendered), position: current.position };
}

suite('sittings in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const org = await service.organisation({ name: 'Northfield Adult Learning' });
  const addressOf = (learner: SimulatedLearner) => `${service.url}/a/${learner.token}`;

  async function isSound(page: Page, what: string): Promise<void> {
    assert.deepEqual(await overhanging(page), [], `${what}: reaches past the edge`);
    assert.deepEqual(await axeFaults(page), [], `${what}: axe`);
  }

  test('three subjects at 320 px by keyboard alone; every result is in the feed before its closing page has loaded', async () => {
    const ana = await invited(service, org, { name: 'أميرة حسن', ref: 'K-1', theta: 0.3 });
    const { page, complaints } = await openPage({ width: 320 });
    const random = seededRandom('keyboard');
    const looked = new Set<string>();
    await page.goto(addressOf(ana));
    await isSound(page, 'welcome');
    for (const subject of ['digital', 'english', 'maths'] as const) {
      await pressByKeyboard(page, `Start ${subjectNames[subject]}`);
      while (new URL(page.url()).pathname.endsWith('/question')) {
        const { kind, answer } = await currentOf(ana, random.float());
        if (!looked.has(kind)) await isSound(page, kind);
        looked.add(kind);
        await answerByKeyboard(page, answer);
      }
      assert.ok(page.url().endsWith('/check'), page.url());
      await isSound(page, 'check');
      await pressByKeyboard(page, declarationText, 'Space');
      let fed: unknown;
      page.once('response', async () => { fed = (await org.get('/assessments?learner_ref=K-1')).body.data; });
      await pressByKeyboard(page, 'Send my answers');
      const { data } = (await org.get(`/assessments?learner_ref=K-1&subject=${subject}`)).body;
      assert.equal(data.length, 1);
      assert.equal(await page.locator('.level').textContent(), data[0].working_level);
      void fed;
      await isSound(page, 'closing');
    }
    assert.match(await page.locator('main').innerText(), /You have finished/);
    assert.deepEqual(complaints.filter((one) => !one.includes('favicon') && !one.includes('404')), []);
    console.log([...looked].join(', '));
  });
});
