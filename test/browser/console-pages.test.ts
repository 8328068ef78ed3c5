// Tier: full. Opens every page of the console for each role, in four forms.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readOrganisation } from '../../src/organisations/organisations.ts';
import { roles } from '../../src/organisations/users/roles.ts';
import { planSandbox } from '../../src/sandbox/data/plan.ts';
import { seedOrganisation } from '../../src/sandbox/seed.ts';
import { consoleRoutes } from '../../src/web/console/routes.ts';
import { addressOf } from '../../src/web/console/kit/route.ts';
import { withService } from '../support/service.ts';
import { personOf } from '../web/console/visitor.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from './browser.ts';

suite('every page of the console', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const org = await service.organisation({ name: 'Northfield College' });
  const { db, clock } = service.app;
  const plan = planSandbox({ seed: 'every page', learners: 60, nowMs: clock.nowMs() });
  for await (const _ of seedOrganisation(service.app, await readOrganisation(db, org.id), plan, 0));
  await org.post('/webhooks', { url: 'https://platform.example/hook' });

  const idsOf = async (): Promise<Record<string, string>> =>
    (
      await db.query<Record<string, string>>(
        `select (select learner_id from learner where organisation_id = $1 and ref is not null limit 1) as learner_id,
                (select assessment_id from assessment where organisation_id = $1 limit 1) as assessment_id,
                (select group_id from learner_group where organisation_id = $1 and type = 'cohort' limit 1) as group_id,
                (select endpoint_id from webhook_endpoint where organisation_id = $1 limit 1) as endpoint_id`,
        [org.id],
      )
    )[0]!;

  for (const role of roles)
    test(`${role}: axe finds nothing at 1280 and 390 px, light and dark, and no page scrolls sideways at 320 px`, async () => {
      const person = await personOf(service, org.id, role);
      const ids: Record<string, string> = { ...(await idsOf()), user_id: person.userId, key_id: org.key.access_key_id };
      const [name, value] = person.cookie!.split('=') as [string, string];
      const { page } = await openPage({ width: 1280 });
      await page.context().addCookies([{ name, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
      const faults: string[] = [];
      let looked = 0;
      for (const route of consoleRoutes) {
        if (route.method !== 'GET' || !Array.isArray(route.for) || !route.for.includes(role)) continue;
        const path = addressOf(route)
          .replace('{organisation}', org.publicId)
          .replace(/\{(\w+)\}/g, (_, param: string) => ids[param] ?? param);
        const { status, headers } = await person.get(path);
        if (status !== 200 || headers['content-type']?.startsWith('text/html') !== true) continue;
        looked++;
        await page.goto(service.url + path);
        for (const width of [1280, 390] as const)
          for (const colorScheme of ['light', 'dark'] as const) {
            await page.setViewportSize({ width, height: 800 });
            await page.emulateMedia({ colorScheme });
            const found = await axeFaults(page);
            if (found.length > 0) faults.push(`${route.path}, ${width}, ${colorScheme}: ${found.join('; ')}`);
          }
        await page.setViewportSize({ width: 320, height: 800 });
        const past = await overhanging(page);
        if (past.length > 0) faults.push(`${route.path}: past the edge at 320 px: ${past.slice(0, 3).join('; ')}`);
      }
      assert.deepEqual(faults, []);
      assert.ok(looked >= 8, `${looked} pages`);
      await page.context().close();
    });
});
