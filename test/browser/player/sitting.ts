import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { subjectNames } from '../../../src/engine/scoring/levels.ts';
import type { Random } from '../../../src/platform/crypto/random.ts';
import type { Subject } from '../../../src/engine/scoring/levels.ts';
import { declarationText } from '../../../src/sittings/evidence.ts';
import type { TestOrganisation } from '../../support/service.ts';
import type { SimulatedLearner } from '../../sittings/learner.ts';
import { axeFaults, overhanging } from '../browser.ts';
import { answerByKeyboard, pressByKeyboard } from '../keyboard.ts';
import { currentOf } from './question.ts';

export async function isSound(page: Page, what: string): Promise<void> {
  assert.deepEqual(await overhanging(page), [], `${what}: reaches past the edge`);
  assert.deepEqual(await axeFaults(page), [], `${what}: axe`);
}

/**
 * Sits a subject by keyboard alone, from its Start button to the page that shows the result.
 * @param looked kinds of questions that axe has seen
 */
export async function sitsByKeyboard(
  page: Page,
  {
    learner,
    org,
    subject,
    random,
    looked,
  }: {
    learner: SimulatedLearner;
    org: TestOrganisation;
    subject: Subject;
    random: Random;
    looked: Set<string>;
  },
): Promise<void> {
  await pressByKeyboard(page, `Start ${subjectNames[subject]}`);
  while (new URL(page.url()).pathname.endsWith('/question')) {
    const { kind, answer } = await currentOf(learner, random.float());
    if (!looked.has(kind)) await isSound(page, kind);
    looked.add(kind);
    await answerByKeyboard(page, answer);
  }
  assert.ok(page.url().endsWith('/check'));
  await isSound(page, 'check');
  await pressByKeyboard(page, declarationText, 'Space');
  await pressByKeyboard(page, 'Send my answers');
  const { data } = (await org.get(`/assessments?learner_ref=${learner.ref}&subject=${subject}`)).body;
  assert.equal(data.length, 1);
  assert.equal(await page.locator('.level').textContent(), data[0].working_level);
  await isSound(page, 'closing');
}
