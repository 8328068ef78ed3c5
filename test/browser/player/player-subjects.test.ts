// Tier: full. Sits three subjects by keyboard.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { withService } from '../../support/service.ts';
import { invited } from '../../sittings/learner.ts';
import { openPage, withoutBrowser } from '../browser.ts';
import { isSound, sitsByKeyboard } from './sitting.ts';

test(
  'three subjects at 320 px by keyboard alone, axe clean; each result is there when its closing page has loaded',
  { skip: withoutBrowser },
  async () => {
    const service = await withService();
    const org = await service.organisation({ name: 'Northfield Adult Learning' });
    const learner = await invited(service, org, { name: 'أميرة حسن', ref: 'K-1', theta: 0.3 });
    const { page, complaints } = await openPage({ width: 320 });
    const random = seededRandom('keyboard');
    const looked = new Set<string>();
    await page.goto(`${service.url}/a/${learner.token}`);
    await isSound(page, 'welcome');
    for (const subject of ['digital', 'english', 'maths'] as const)
      await sitsByKeyboard(page, { learner, org, subject, random, looked });
    assert.match(await page.locator('main').innerText(), /You have finished/);
    assert.deepEqual(
      complaints.filter((one) => !one.includes('404')),
      [],
    );
  },
);
