// Tier: full. Runs the benchmark of the console on small data.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { emailOf, fillConsole, password } from '../../bench/console-data.ts';
import { forms, pagesFor, queries, readPlaces } from '../../bench/console-pages.ts';
import { isAnswer, signIn } from '../../bench/console-visit.ts';
import { consoleRoutes } from '../../src/console/routes.ts';
import { verifyAudit } from '../../src/audit/verify.ts';
import { inviteUser } from '../../src/users/invitations.ts';
import { findAccounts } from '../../src/users/accounts.ts';
import { giveSecondFactor } from '../../src/users/second-factor.ts';
import { makeTotpSecret } from '../../src/users/totp.ts';
import { limits } from '../../src/limits.ts';
import { withService } from '../service.ts';

/** The benchmark of the console, in small: what it asks for is there, and every page of it fits into its size. */

const sizes = {
  results: 8000,
  rows: 20_000,
  deliveries: 400,
  groups: limits.groupsPerOrganisation,
  keys: 60,
  people: 8,
};

suite('the benchmark of the console', async () => {
  const service = await withService();
  const { app } = service;
  const organisation = await fillConsole(app, sizes, () => {});
  const id = organisation.organisation_id;

  test('what it knows of pages is about pages that there are', () => {
    const paths = new Set(consoleRoutes.map(({ path }) => path));
    for (const path of [...Object.keys(queries), ...Object.keys(forms)]) assert.ok(paths.has(path), path);
  });

  test('its log is whole, sealed, and not filled twice', async () => {
    assert.equal((await fillConsole(app, sizes, () => {})).organisation_id, id);
    const verdict = await verifyAudit(app, id);
    assert.deepEqual([verdict.faults, verdict.rows, verdict.unsealed.rows], [[], sizes.rows, 0]);
  });

  for (const role of ['owner', 'developer'])
    test(`${role}: every page opens, and fits into 30 kB, its style into 15 kB, its script into 3 kB`, async () => {
      const totpSecret = makeTotpSecret(app.random);
      const [account] = await findAccounts(app.db, emailOf(role));
      await service.inWork((work) => giveSecondFactor(work, account!.user_id, totpSecret));
      const invited = await service.inWork((work) =>
        inviteUser(work, id, { email: `new-${role}@bench.example`, role: 'tutor', invitedBy: 'operator', again: true }),
      );
      const token = (invited as { token: string }).token;
      const places = await readPlaces(app.db, id, { organisation: [organisation.public_id], token: [token] });
      const nowMs = app.clock.nowMs();
      const visitor = await signIn(service.url, { email: emailOf(role), password, totpSecret, nowMs });
      const pages = pagesFor(role, places);
      assert.ok(pages.length > 40);
      for (const page of pages) {
        const opened = await visitor.open(page, 3);
        assert.ok(isAnswer(page, opened), `${page.name}: ${opened.status} ${opened.location}`);
        if (opened.type.startsWith('text/html'))
          assert.ok(opened.bytes < 30_000, `${page.name}: ${opened.bytes} bytes`);
      }
      const assets = await visitor.assets();
      assert.ok(assets.some(({ path }) => path.endsWith('.css')));
      for (const { path, bytes } of assets)
        assert.ok(bytes < (path.endsWith('.css') ? 15_000 : 3000), `${path}: ${bytes}`);
      await visitor.close();
    });
});
