import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { strFromU8, unzipSync } from 'fflate';
import { personOf } from '../../web/console/visitor.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from '../browser.ts';
import { pressByKeyboard } from '../keyboard.ts';

/** Results in a browser: looked through, taken away for funding, and imported with faults. */

suite('results in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const scene = await scenario(service);
  const { org } = scene;
  const base = `/console/${org.publicId}`;
  const ana = await scene.learner('ana-1', 'Wilhelmina-Alexandrina Featherstonehaugh');
  const cohort = await scene.group('autumn');
  await ana.joins(cohort);
  const digital = await ana.completes({ subject: 'digital', level: 1, assessed_at: '2026-09-02T08:00:00Z' });
  await digital.isAmended({
    is_borderline: true,
    level_probabilities: { 'Working towards Entry Level': 0.7, 'Entry Level': 0.25, 'Level 1': 0.05 },
  });
  await ana.completes({ level: 2, assessed_at: '2026-01-10T10:00:00Z' });
  await ana.completes({ level: 3 });
  const csv =
    'learner_ref,learner_full_name,assessed_at,subject,framework,rqf_level,rqf_level_code,below_level_1\n' +
    'b-1,Ben Foster,2026-01-31T09:00:00Z,maths,F,Level 1,2,false\n' +
    'c-1,Chi Last,31/01/2026,maths,F,Level 1,9,false\n';

  test('the distance travelled of a cohort is 2 clicks from the start', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const { page } = await openPage({ width: 1280 });
    const [cookie, value] = owner.cookie!.split('=') as [string, string];
    await page.context().addCookies([{ name: cookie, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
    await page.goto(`${service.url}/console`);
    await page.getByRole('link', { name: 'Distance travelled' }).click();
    await page.locator(`a[href*="group=${cohort.id}"]`).click();
    await page.getByRole('heading', { level: 1, name: /^Distance travelled: / }).waitFor();
  });

  for (const [width, colorScheme, script] of [
    [320, 'dark', false],
    [1280, 'light', true],
  ] as const)
    test(`every page of results at ${width} px, ${script ? 'with' : 'without'} script: sound, and the list exported`, async () => {
      const owner = await personOf(service, org.id, 'owner');
      const { page } = await openPage({ width, colorScheme, script });
      const isSound = async (what: string) => {
        assert.deepEqual(await overhanging(page), [], `${what}: reaches past the edge`);
        if (script) assert.deepEqual(await axeFaults(page), [], `${what}: axe`);
      };
      const [cookie, value] = owner.cookie!.split('=') as [string, string];
      await page.context().addCookies([{ name: cookie, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
      for (const path of [
        'results',
        'results?flag=review',
        `results/${digital.id}`,
        'results/export?subject=maths',
        'results/spread',
        `results/spread?group=${cohort.id}`,
        'results/progress',
        `results/progress?group=${cohort.id}`,
        `results/gaps?group=${cohort.id}&subject=maths`,
        'results/lists',
        'follow-up',
        'results/lists/digital-below-level-1?start=2026-09-01',
      ]) {
        await page.goto(`${service.url}${base}/${path}`);
        await isSound(path);
        const lengths = await page
          .locator('table:has(progress.bar)')
          .evaluateAll((tables) =>
            tables.map((one) =>
              [...one.querySelectorAll('progress.bar')].map((bar) => Math.round(bar.getBoundingClientRect().width)),
            ),
          );
        for (const bars of lengths) assert.equal(new Set(bars).size, 1, `${path}: bars of ${bars.join(', ')} px`);
      }
      await page.goto(service.url + base);
      await isSound('the dashboard');
      await page.goBack();
      await page.getByRole('link', { name: 'Export list' }).press('Enter');
      await page.getByRole('heading', { name: /^Export: Digital skills below Level 1/ }).waitFor();
      await isSound('the export');
      const coming = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download file' }).press('Enter');
      const folder = mkdtempSync(join(tmpdir(), 'ars-list-'));
      try {
        const path = join(folder, 'list.xlsx');
        await (await coming).saveAs(path);
        const xml = strFromU8(unzipSync(readFileSync(path))['xl/worksheets/sheet1.xml']!);
        assert.match(xml, /Featherstonehaugh/);
        assert.match(xml, /<v>0\.95<\/v>/);
        assert.doesNotMatch(xml, /eligib/i);
      } finally {
        rmSync(folder, { recursive: true });
      }
      await page.goto(`${service.url}${base}/results/import`);
      await isSound('import');
      await page
        .getByLabel('File')
        .setInputFiles({ name: 'results.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
      await pressByKeyboard(page, 'Check file');
      await page.getByRole('heading', { level: 1, name: /^Import \d/ }).waitFor();
      assert.equal(await page.getByText('rqf_level_code').count(), 1);
      await isSound('what is wrong');
      await page.getByRole('button', { name: 'Import results' }).press('Enter');
      await page.getByRole('heading', { level: 1, name: /import/ }).waitFor();
      await isSound('what came of it');
    });
});
