// Tier: full. Restores the files of a database, step by step.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { sealNow } from '../../platform/audit/sealed.ts';
import { findAnchor, verifyAudit } from '../../../src/platform/audit/verify.ts';
import { verifyDigest } from '../../../src/feed/digest-repair.ts';
import type { Filters } from '../../../client/src/index.ts';
import { openMirror } from '../../../client/src/index.ts';
import { mergeLearners } from '../../../src/governance/deduplication/merge.ts';
import { newRestamping, restampNext } from '../../../src/governance/upgrade/restamp.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { ars } from '../../support/ars.ts';
import { assertSame, clientOf, heldBy, memoryStore, truth } from '../../client/support/mirrors.ts';
import type { ResultInput } from '../../support/scenario.ts';
import { recordResults, scenario } from '../../support/scenario.ts';
import type { TestService } from '../../support/service.ts';
import { withService } from '../../support/service.ts';

const run = promisify(execFile);

/**
 * The files of a stopped server are copied, and put back over what came later: nothing shows that, and it is declared. The
 * organisation has results of many cells of the digest, more than one slice of the restamp.
 */
test('files that are put back and declared: the digest stays right at each step, and mirrors come together', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ars-files-'));
  await chmod(folder, 0o755);
  let running: TestService | null = null;
  after(async () => {
    await running?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const [data, copy] = [join(folder, 'data'), join(folder, 'copy')];
  const start = async (port = '0') =>
    (running = await withService({
      own: 'Opens a database that is there already.',
      database: { url: '', drop: async () => {} },
      settings: { ARS_DATA_DIR: data, ARS_PORT: port },
    }));

  const first = await start();
  const { port } = new URL(first.url);
  const scene = await scenario(first);
  const { org } = scene;
  const [a, b] = [await scene.group('a'), await scene.group('b')];
  const refs = ['ana', 'bo', 'cy', 'di', 'ed', 'flo', 'gus'] as const;
  const [ana, bo, cy, di, ed, flo] = await Promise.all(refs.map((ref) => scene.learner(ref)));
  await a.adds(ana!, bo!, cy!);
  await b.adds(bo!, cy!, di!);
  const some = (n: number, offset = 0) =>
    Array.from({ length: n }, (_, i): { ref: string } & ResultInput => ({
      ref: refs[(i + offset) % refs.length]!,
      subject: i % 3 === 0 ? 'english' : 'maths',
      level: i % 6,
    }));
  await first.withUnitOfWork((work) => recordResults(work, org.id, some(300)));
  const [kept, amended, gone] = [await ana!.completes(), await bo!.completes(), await cy!.completes({ level: 4 })];
  await gone.isWithdrawn();
  await cy!.leaves(a);
  await sealNow(first.app);
  assert.deepEqual(await verifyDigest(first.app, org.id), []);
  const filtered: Filters[] = [{}, { group_id: [b.id] }, { subject: ['maths'] }];
  const mirrors = filtered.map((filters) => ({ filters, store: memoryStore() }));
  const poll = async (url: string) => {
    const client = clientOf(url, org.key);
    for (const { filters, store } of mirrors) {
      const { isProven } = await openMirror({ client, store, filters }).poll();
      // With group_id a whole walk has no digest.
      assert.ok(isProven ?? filters.group_id !== undefined, JSON.stringify(filters));
      assertSame(heldBy(store), await truth(client, filters), JSON.stringify(filters));
    }
  };
  await poll(first.url);
  await first.stop();
  await run('cp', ['-a', data, copy]);

  // What is lost: moves between cells, withdrawals, new results, an erasure.
  const second = await start(port);
  Object.assign(scene, { service: second });
  await ana!.leaves(a);
  await di!.joins(a);
  await kept.isWithdrawn();
  await amended.isAmended();
  await second.withUnitOfWork((work) => recordResults(work, org.id, some(30, 3)));
  const edId = (await ed!.read()).learner_id as string;
  await second.withUnitOfWork((work) => eraseLearner(work, org.id, edId, { actor: 'operator' }));
  await sealNow(second.app);
  assert.deepEqual(await verifyDigest(second.app, org.id), []);
  await poll(second.url);
  const anchor = await findAnchor(second.app.db, org.id);
  await second.stop();
  await rename(data, join(folder, 'lost'));
  await rename(copy, data);

  const environment = { DATABASE_URL: undefined, ARS_DATA_DIR: data, ARS_SECRET: first.app.settings.secret };
  const { code, said, json } = await ars(['restore', '--declare', '--json'], environment);
  assert.equal(code, 0, said);
  assert.deepEqual(json, { organisations: 1 });
  const third = await start(port);
  Object.assign(scene, { service: third });
  // The restamp goes on while everything moves.
  const doing = newRestamping();
  const moves = [
    () => bo!.leaves(b),
    () => di!.joins(a),
    () => third.withUnitOfWork((work) => recordResults(work, org.id, some(20, 1))),
    async () => {
      const [from, into] = [(await flo!.read()).learner_id, (await cy!.read()).learner_id];
      return third.withUnitOfWork((work) => mergeLearners(work, org.id, { from, into }, { actor: 'x', reason: null }));
    },
    () => amended.isWithdrawn(),
  ];
  for (const move of moves) {
    await move();
    assert.deepEqual(await verifyDigest(third.app, org.id), []);
    await restampNext(third.app, doing);
    assert.deepEqual(await verifyDigest(third.app, org.id), []);
  }
  while ((await restampNext(third.app, doing)) !== 'nothing left');
  assert.deepEqual(await verifyDigest(third.app, org.id), []);
  await poll(third.url);
  await sealNow(third.app);
  assert.deepEqual((await verifyAudit(third.app, org.id)).faults, []);
  const { faults } = await verifyAudit(third.app, org.id, { anchors: [{ block: anchor!.block, hash: anchor!.hash }] });
  assert.match(faults[0]!, /another hash than the anchor|There is no block/);
  assert.match(faults.at(-1)!, /^A backup was restored at \d{4}-/);
});
