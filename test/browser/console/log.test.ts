import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { personOf } from '../../web/console/visitor.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from '../browser.ts';

suite('the request log and the tracer in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const scene = await scenario(service);
  const { org } = scene;
  const result = await (await scene.learner('ana')).completes();
  await org.post('/webhooks', { url: 'https://a-very-long-name-of-a-consumer.platform.example/hook' });
  await org.get('/assessments?subject=maths,english&since=2026-01-01T00:00:00Z&assessed_from=2026-01-01T00:00:00Z');
  await org.get('/assessments?foo=1');

  const bounded = await org.another({ label: 'A platform for apprentices and their employers', subjects: ['maths'] });
  await bounded.get('/assessments?limit=1');
  await bounded.get('/assessments?subject=maths');
  await (await scene.learner('bo')).completes({ subject: 'english' });
  await org.another({ label: null });

  for (const width of [320, 1280])
    test(`read by keyboard at ${width} px`, async () => {
      const person = await personOf(service, org.id, 'developer');
      const { page, complaints } = await openPage({
        width,
        script: true,
        colorScheme: width === 320 ? 'dark' : 'light',
      });
      const isSound = async (what: string) => {
        assert.deepEqual(await overhanging(page), [], `${what}: reaches past the edge`);
        assert.deepEqual(await axeFaults(page), [], `${what}: axe`);
      };
      const [cookie, value] = person.cookie!.split('=') as [string, string];
      await page.context().addCookies([{ name: cookie, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
      await page.goto(`${service.url}/console/${org.publicId}/log`);
      await isSound('the log');
      if (width === 320) await page.locator('summary', { hasText: 'Filter' }).press('Enter');
      await page.getByRole('combobox', { name: 'Status' }).selectOption('4xx');
      await page.getByRole('button', { name: 'Filter' }).press('Enter');
      await page.getByText('unknown_parameter').waitFor();
      await page.getByRole('link', { name: 'Errors and traffic' }).press('Enter');
      await page.getByRole('heading', { name: 'Errors and traffic' }).waitFor();
      await isSound('errors');
      await page.getByRole('search').getByLabel('Names, references, pages').fill('ana');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'A learner’s results' }).waitFor();
      await isSound('a learner found by reference');
      await page.getByRole('search').getByLabel('Names, references, pages').fill('unknown-ref');
      await page.getByRole('search').getByRole('button', { name: 'Find' }).press('Enter');
      await page.getByRole('alert').waitFor();
      await isSound('nothing found');
      await page.goto(`${service.url}/console/${org.publicId}/trace`);
      await isSound('the empty tracer');
      await page.getByLabel('Result ID').fill(result.id);
      await page.getByRole('button', { name: 'Trace result' }).press('Enter');
      await page.getByRole('heading', { name: /^Fetched at/ }).waitFor();
      await isSound('a trace');
      await page
        .getByRole('link', { name: /^Request \d+/ })
        .first()
        .press('Enter');
      await page.getByRole('heading', { name: 'Repeat the request' }).waitFor();
      await isSound('a call');
      assert.deepEqual(
        complaints.filter((one) => !/422/.test(one)),
        [],
      );
      await page.context().close();
    });
});
