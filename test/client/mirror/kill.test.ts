// Tier: full. Kills a mirror and its service at any statement.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { secret } from '../../laws/world/processes.ts';
import { World } from '../../laws/world/world.ts';
import { withService } from '../../support/service.ts';
import { heldIn, killableService, mirrorProcess } from '../support/mirror-process.ts';
import { assertSame, clientOf, truth } from '../support/mirrors.ts';

const seed = process.env.LAW_SEED ?? String(process.hrtime.bigint());
const rounds = 3;

test('law 1: kill -9 of the mirror at any statement, and of the service under it, loses nothing', async (context) => {
  context.diagnostic(`LAW_SEED=${seed}`);
  const folder = await mkdtemp(join(tmpdir(), 'ars-killed-'));
  after(() => rm(folder, { recursive: true, force: true }));
  const settings = { ARS_SECRET: secret, ARS_RATE_LIMIT: '1000000', ARS_BASE_URL: 'http://results.test' };
  const service = await withService({ own: 'Has a public address.', settings });
  const org = await service.organisation();
  const random = seededRandom(seed);
  const world = new World(org, [org], [service.withUnitOfWork]);
  await world.begin(random);
  const killable = await killableService({ ...settings, DATABASE_URL: service.databaseUrl });
  const mirror = { url: killable.front.url, key: org.key, file: join(folder, 'mirror.sqlite') };

  for (let round = 0; round < rounds; round++) {
    for (let changes = 0; changes < 4; changes++) await world.change(random);
    const ended = await mirrorProcess({ ...mirror, dieAt: 5 + Math.floor(random.float() * 60) });
    assert.ok(ended === 'SIGKILL' || ended === 0, String(ended));
  }

  // The service goes in the middle of a walk, and comes back while the mirror is still asking.
  for (let changes = 0; changes < 10; changes++) await world.change(random);
  killable.killAt(1);
  assert.equal(await mirrorProcess(mirror), 0);
  assert.equal(await killable.settled(), true);
  assert.equal(await mirrorProcess(mirror), 0);

  const client = clientOf(killable.front.url, org.key);
  assertSame(heldIn(mirror.file), await truth(client), 'law 1: the mirror');
  await killable.end();
});
