import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ensureTeam } from '../../../src/organisations/teams.ts';
import { personOf } from '../../web/console/visitor.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from '../browser.ts';

suite('reviews in series and activity in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();

  for (const width of [320, 1280])
    test(`at ${width} px: two results are assigned and confirmed, the third is decided after the second`, async () => {
      const scene = await scenario(service);
      const { org } = scene;
      for (const ref of ['ana', 'ben', 'cem', 'dee']) await (await scene.learner(ref)).completes();
      await service.app.db.query(
        `insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags)
         select organisation_id, assessment_id, 1, learner_id, 'digital', now(), '{needs_review}' from assessment a
          where organisation_id = $1 and not exists (
            select from review r where r.organisation_id = $1 and r.assessment_id = a.assessment_id)`,
        [org.id],
      );
      await service.withUnitOfWork((work) => ensureTeam(work, org.id, { ref: 'T-1', name: 'North' }));
      await personOf(service, org.id, 'tutor', { name: 'Tom Tutor' });
      const owner = await personOf(service, org.id, 'owner', { name: 'Olu Owner' });
      const { page } = await openPage({ width, script: true, colorScheme: width === 320 ? 'dark' : 'light' });
      const isSound = async (what: string) => {
        assert.deepEqual(await overhanging(page), [], `${what}: reaches past the edge`);
        assert.deepEqual(await axeFaults(page), [], `${what}: axe`);
      };
      const [cookie, value] = owner.cookie!.split('=') as [string, string];
      await page.context().addCookies([{ name: cookie, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
      const base = `${service.url}/console/${org.publicId}`;
      await page.goto(`${base}/review`);
      await isSound('the queue');
      const boxes = page.locator('input[name="review"]');
      for (const i of [0, 1]) await boxes.nth(i).press('Space');
      await page.getByLabel('Assign to').selectOption({ label: 'Olu Owner' });
      await page.getByRole('button', { name: 'Assign selected results' }).press('Enter');
      await page.getByText('The selected results are assigned.').waitFor();
      for (const i of [0, 1]) await boxes.nth(i).press('Space');
      await page.getByRole('button', { name: 'Confirm selected results' }).press('Enter');
      await page.getByRole('heading', { name: 'Confirm 2 results?' }).waitFor();
      await isSound('the question');
      await page.getByLabel('Reason').fill('Sampled');
      await page.getByRole('button', { name: 'Confirm 2 results' }).press('Enter');
      await page.getByText('The selected results are confirmed.').waitFor();
      await page.locator('main table a').first().press('Enter');
      await page.getByRole('heading', { name: 'Review', exact: true }).waitFor();
      await page.getByRole('button', { name: 'Confirm result' }).press('Enter');
      await page.getByText('The last result is confirmed. This is the next one.').waitFor();
      await isSound('the next result');
      for (const path of ['activity', 'people/invite', 'settings', 'people']) {
        await page.goto(`${base}/${path}`);
        await isSound(path);
      }
    });
});
