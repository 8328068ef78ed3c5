// Tier: full. Restores the service while its feed is compared.
// Process: own. Sets the environment of the process.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { newRestamping, restampNext } from '../../../src/governance/upgrade/restamp.ts';
import { Backup } from '../../../src/sandbox/chaos/backup.ts';
import { digestService, refusesCursors } from '../../client/support/digest-service.ts';
import { clientOf, truth } from '../../client/support/mirrors.ts';
import { freshDatabase, withDatabase } from '../../support/postgres.ts';
import { scenario } from '../../support/scenario.ts';
import { thisServer, withService } from '../../support/service.ts';
import { verifySync } from './verifying.ts';

suite('ars verify-sync, while the service is restored', async () => {
  const service = await withService({
    own: 'Has a public address.',
    settings: { ARS_BASE_URL: 'http://results.test' },
  });
  const folder = await mkdtemp(join(tmpdir(), 'ars-verify-'));
  after(() => rm(folder, { recursive: true, force: true }));

  // Every request that shows the state of results, one after the other, meets a service that was restored before it.
  for (const [how, at] of [
    ['by a walk', 'front'],
    ['by digest', 'digest'],
  ] as const) {
    test(`starts again where the service is restored meanwhile, ${how}`, async () => {
      const before = await digestService(service.url, at === 'digest');
      before.interfere = (request) => {
        request.url = request.url!.replace('limit=500', 'limit=40');
        return false;
      };
      const restored = await scenario(service);
      const { access_key_id: ACCESS_KEY_ID, secret_access_key: SECRET_ACCESS_KEY } = restored.org.key;
      const its = clientOf(service.url, restored.org.key);
      const bo = await restored.learner('bo-1');
      for (let i = 0; i < 80; i++) await bo.completes();
      const backup = new Backup(service.app, restored.org.id);
      after(() => backup.close());
      const database = await freshDatabase(await thisServer(), { migrated: false });
      const tried = new Set<string>();
      for (let nth = 0, met = true; met; nth++) {
        await backup.keep();
        const lost = await bo.completes();
        const held = [...(await truth(its)).values()];
        // Many are read by walking, few by id.
        held.splice(0, nth % 2 === 0 ? 70 : 1);
        const place = nth % 3 === 0 ? 'table:mirror' : join(folder, `restored-${how}.ndjson`);
        await writeFile(join(folder, `restored-${how}.ndjson`), held.map((one) => `${JSON.stringify(one)}\n`).join(''));
        await withDatabase(database.url, async (db) => {
          await db.query('drop table if exists mirror');
          await db.query('create table mirror (assessment_id uuid primary key, updated_at text, record jsonb)');
          for (const one of held)
            await db.query('insert into mirror values ($1, $2, $3)', [one.assessment_id, one.updated_at, one]);
        });
        let left = nth;
        met = false;
        before.before = async ({ url }) => {
          if (url!.endsWith('/health') || left-- > 0) return;
          [before.before, met] = [null, true];
          tried.add(['cursor=', 'since=', 'buckets=', 'bits=', 'limit='].find((one) => url!.includes(one)) ?? 'by id');
          await backup.restore();
          const restamping = newRestamping();
          while ((await restampNext(service.app, restamping)) !== 'nothing left');
        };
        const pair = { ACCESS_KEY_ID, SECRET_ACCESS_KEY, DATABASE_URL: database.url };
        const words = ['--api', before.url, '--mirror', place, '--repair', '--record-column', 'record'];
        if (place !== 'table:mirror') words.splice(-2);
        const repaired = await verifySync(pair, ...words);
        assert.equal(repaired.code, 0, `${nth}: ${repaired.said}`);
        before.before = null;
        if (!met) break;
        const again = await verifySync(pair, ...words.filter((word) => word !== '--repair'));
        assert.deepEqual([again.code, again.json.differences], [0, []], `${nth}`);
        assert.ok(!(await truth(its)).has(lost.id));
      }
      const kinds = at === 'digest' ? ['bits=', 'buckets=', 'by id'] : ['limit=', 'cursor=', 'since='];
      assert.ok(
        kinds.every((one) => tried.has(one)),
        [...tried].join(),
      );
      await database.drop();
    });
  }

  test('does not start again for ever', async () => {
    const scene = await scenario(service);
    const ana = await scene.learner('ana-1');
    for (let i = 0; i < 6; i++) await ana.completes();
    const file = join(folder, 'endless.ndjson');
    const held = [...(await truth(clientOf(service.url, scene.org.key))).values()].slice(2);
    const content = held.map((one) => `${JSON.stringify(one)}\n`).join('');
    await writeFile(file, content);
    const front = await digestService(service.url, false);
    front.interfere = (request, response) => {
      request.url = request.url!.replace('limit=500', 'limit=3');
      return refusesCursors(request, response);
    };
    const { access_key_id: ACCESS_KEY_ID, secret_access_key: SECRET_ACCESS_KEY } = scene.org.key;
    for (const more of [[], ['--repair']]) {
      front.passed.length = 0;
      const { code, said } = await verifySync(
        { ACCESS_KEY_ID, SECRET_ACCESS_KEY },
        '--api',
        front.url,
        '--mirror',
        file,
        ...more,
      );
      assert.deepEqual([code, /was restored from a backup repeatedly/.test(said)], [1, true], said);
      assert.ok(front.passed.length < 60);
    }
    assert.equal(await readFile(file, 'utf8'), content);
  });
});
