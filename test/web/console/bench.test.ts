// Tier: full. Fills an organisation and opens many pages.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { fillConsole, signedIn } from '../../../bench/support/console/data.ts';
import { fillHistory, sendForms } from '../../../bench/support/console/history.ts';
import { openPage, pagesOf, queries } from '../../../bench/support/console/pages.ts';
import { consoleRoutes } from '../../../src/web/console/routes.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { withService } from '../../support/service.ts';

/** Pages of the console with as many groups, keys and people as there may be, and what they load, stay small. */

suite('pages of the console', async () => {
  const service = await withService();
  const { app } = service;
  // 60 groups come with the results, and 20 teams.
  const sizes = { results: 8000, groups: limits.groupsPerOrganisation - 80, keys: 60, people: 8 };
  const organisation = await fillConsole(app, sizes);
  await fillHistory(app, organisation, 500);

  test('with queries in the list are pages that there are', () => {
    const paths = new Set(consoleRoutes.map(({ path }) => path));
    for (const path of Object.keys(queries)) assert.ok(paths.has(path), path);
  });

  for (const role of ['owner', 'developer'] as const)
    test(`${role}: every page opens, and fits into 30 kB, its style into 15 kB, its script into 3 kB`, async () => {
      const token = await signedIn(app, organisation.organisation_id, role, `${role}@bench.example`);
      const cookie = `session-${new URL(service.url).port}=${token}`;
      if (role === 'owner') await sendForms(app, organisation, service.url, cookie);
      const assets = new Set<string>();
      for (const { name, fields, url } of await pagesOf(app.db, organisation, role)) {
        const { status, bytes, text } = await openPage(service.url + url(3), cookie, fields);
        assert.ok(status < 400 || (fields !== null && status === 422), `${name}: ${status}`);
        if (!text.startsWith('<!')) continue;
        assert.ok(bytes < 30_000, `${name}: ${bytes} bytes`);
        for (const [, asset] of text.matchAll(/<(?:link|script)\b[^>]*\b(?:href|src)="([^"]+)"/g)) assets.add(asset!);
      }
      assert.ok([...assets].some((asset) => asset.endsWith('.css')));
      for (const asset of assets) {
        const { bytes } = await openPage(service.url + asset, cookie);
        assert.ok(bytes < (asset.endsWith('.css') ? 15_000 : 3000), `${asset}: ${bytes}`);
      }
    });
});
