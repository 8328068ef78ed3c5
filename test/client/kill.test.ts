import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import type { Assessment } from '../../client/src/index.ts';
import { seededRandom } from '../../src/random.ts';
import { secret, serviceProcess } from '../laws/processes.ts';
import { World } from '../laws/world.ts';
import { withService } from '../service.ts';
import { digestService } from './digest-service.ts';
import { assertSame, clientOf, truth } from './mirrors.ts';

const seed = process.env.LAW_SEED ?? String(process.hrtime.bigint());
const rounds = Number(process.env.CLIENT_KILLS ?? 3);

test('law 1: kill -9 of the mirror at any statement, and of the service under it, loses nothing', async (context) => {
  context.diagnostic(`LAW_SEED=${seed}`);
  const folder = await mkdtemp(join(tmpdir(), 'ars-killed-'));
  after(() => rm(folder, { recursive: true, force: true }));
  const settings = { ARS_SECRET: secret, ARS_RATE_LIMIT: '1000000', ARS_BASE_URL: 'http://results.test' };
  const service = await withService({ settings });
  const org = await service.organisation();
  const random = seededRandom(seed);
  const world = new World(org, [org], [service.inWork]);
  await world.begin(random);
  const environment = { ...settings, DATABASE_URL: service.databaseUrl };
  let behind = await serviceProcess(environment);
  const front = await digestService(behind.url, false);

  const file = join(folder, 'mirror.sqlite');
  const run = async (dieAt: number | undefined): Promise<NodeJS.Signals | number | null> => {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'killed-mirror.ts')], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        NODE_TEST_CONTEXT: undefined,
        API: front.url,
        ACCESS_KEY_ID: org.key.access_key_id,
        SECRET_ACCESS_KEY: org.key.secret_access_key,
        MIRROR: file,
        ...(dieAt === undefined ? {} : { DIE_AT: String(dieAt) }),
      },
    });
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return signal ?? code;
  };

  for (let round = 0; round < rounds; round++) {
    for (let changes = 0; changes < 4; changes++) await world.change(random);
    const ended = await run(5 + Math.floor(random.float() * 60));
    assert.ok(ended === 'SIGKILL' || ended === 0, String(ended));
  }

  // The service goes in the middle of a walk, and comes back while the mirror is still asking.
  for (let changes = 0; changes < 10; changes++) await world.change(random);
  let pages = 0;
  let restarted: Promise<void> | null = null;
  front.interfere = (request) => {
    if (!request.url!.includes('/assessments') || ++pages !== 2)
      return restarted !== null && front.behind === null ? (request.socket.destroy(), true) : false;
    front.behind = null;
    restarted = (async () => {
      await behind.kill();
      behind = await serviceProcess(environment);
      front.behind = behind.url;
    })();
    request.socket.destroy();
    return true;
  };
  assert.equal(await run(undefined), 0);
  await restarted;
  front.interfere = null;
  assert.equal(await run(undefined), 0);
  assert.notEqual(restarted, null);

  const database = new DatabaseSync(file);
  const rows = database.prepare('select assessment_id, record from ars_assessment').all();
  database.close();
  const held = new Map(
    rows.map((row) => [row.assessment_id as string, JSON.parse(row.record as string) as Assessment]),
  );
  const client = clientOf(front.url, org.key);
  assertSame(held, await truth(client), 'law 1: the mirror');
  await behind.kill();
});
