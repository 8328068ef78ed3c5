// Tier: full. Plays every scenario, with two killed runs.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { glob, mkdtemp, readFile, readdir, realpath, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { scenarios } from '../../../src/sandbox/conformance/scenarios.ts';
import { readPostmaster } from '../../../src/platform/db/embedded/cluster.ts';
import { begin, program } from '../../support/ars.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { thisServer } from '../../support/service.ts';
import { freePort } from '../../support/ports.ts';

const consumer = (name: string) => `exec ${process.execPath} ${new URL(name, import.meta.url).pathname}`;

suite('ars conform', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ars-conform-test-'));
  after(() => rm(folder, { recursive: true, force: true }));

  const run = async (words: string[], environment: Record<string, string> = {}) => {
    const port = String(await freePort());
    const all = ['conform', ...words.map((word) => word.replace('PORT', port))];
    return begin(all, { ...environment, PORT: port, TMPDIR: folder }).ended;
  };
  /** Where PostgreSQL's files stand if its system user can't reach the folder. */
  const elsewhere = async () => {
    const homes = glob('/var/lib/ars/clusters/*/origin');
    const origins = await Array.fromAsync(homes, (file) => readFile(file, 'utf8'));
    return origins.filter((origin) => origin.startsWith(folder));
  };
  const webhooks = ['--forward-to', 'http://127.0.0.1:PORT/'];

  test('finds nothing wrong with the library and its mirror in PostgreSQL, and leaves nothing behind', async () => {
    const database = await freshDatabase(await thisServer(), { migrated: false });
    const mirror = ['--mirror', 'table:results', '--start', consumer('./mirror.ts')];
    const { code, out, said, json } = await run([...mirror, ...webhooks, '--json'], { DATABASE_URL: database.url });
    const { passed, scenarios: played } = json;
    assert.deepEqual([code, passed], [0, true], said + out);
    assert.deepEqual(
      played.map(({ name, outcome }: { name: string; outcome: string }) => [name, outcome]),
      scenarios.map(({ name }) => [name, 'passed']),
    );
    assert.deepEqual([await readdir(folder), await elsewhere()], [[], []]);
    await database.drop();
  });

  /** A run that waits for its consumer, in a folder that seems old. */
  const waiting = async (): Promise<{ place: string; child: ChildProcess }> => {
    const before = await readdir(folder);
    const all = [program, 'conform', '--mirror', join(folder, 'nothing.ndjson')];
    const child = spawn(process.execPath, all, {
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    for await (const said of child.stdout!) if (String(said).includes('Start your client')) break;
    const name = (await readdir(folder)).find((one) => one.startsWith('ars-conform-') && !before.includes(one))!;
    await utimes(join(folder, name), 1, 1);
    return { place: join(folder, name), child };
  };

  test('says in sentences what is wrong with another, ends with 1, and clears what a killed run has left', async () => {
    const [killed, inUse] = [await waiting(), await waiting()];
    const server = readPostmaster(await realpath(join(killed.place, 'data/postgres/cluster')))!;
    killed.child.kill('SIGKILL');
    await once(killed.child, 'exit');
    const file = join(folder, 'mirror.ndjson');
    const { code, out, said } = await run(
      ['--mirror', file, ...webhooks, '--start', consumer('./consumer.ts'), '--only', 'withdrawn'],
      { FAULT: 'keeps-withdrawn', MIRROR: file },
    );
    assert.equal(code, 1, said);
    assert.match(out, /^right {3}first-walk {8}Everything is read, over several pages$/m);
    assert.match(out, /^WRONG {3}withdrawn {9}A result is withdrawn$/m);
    assert.match(out, /It kept a withdrawn result. Remove a result whose status is deleted \(1\)\./);
    assert.match(out, /The client is wrong in 1 of 2 scenarios\.\n$/);
    assert.equal(existsSync(killed.place), false);
    assert.throws(() => process.kill(server.pid, 0), { code: 'ESRCH' });
    assert.ok(existsSync(inUse.place), 'what is in use stays');
    inUse.child.kill('SIGINT');
    await once(inUse.child, 'exit');
    assert.equal(existsSync(inUse.place), false);
    assert.deepEqual(await elsewhere(), []);
  });

  test('is told in a sentence what is missing or wrong', async () => {
    for (const [words, says] of [
      [[], /--mirror is required/],
      [['--mirror', 'x', '--only', 'weather'], /--only must be one or more of first-walk/],
      [['--mirror', 'x', '--forward-to', 'http://example.org/'], /--forward-to must be https unless/],
      [['--mirror', 'x', '--patience', '0'], /--patience must be/],
    ] as const) {
      const { code, said } = await run([...words]);
      assert.equal(code, 2, said);
      assert.match(said, says);
      assert.equal(said.trimEnd().split('\n').length, 1);
    }
  });
});
