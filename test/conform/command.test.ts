import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { scenarios } from '../../src/conform/scenarios.ts';
import { freshDatabase } from '../postgres.ts';
import { thisServer } from '../service.ts';

const ars = new URL('../../cli/ars.ts', import.meta.url).pathname;
const program = (name: string) => `exec ${process.execPath} ${new URL(name, import.meta.url).pathname}`;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

suite('ars conform', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ars-conform-test-'));
  after(() => rm(folder, { recursive: true, force: true }));

  const run = async (words: string[], environment: Record<string, string> = {}) => {
    const port = String(await freePort());
    const all = [ars, 'conform', ...words.map((word) => word.replace('PORT', port))];
    const env = { ...process.env, ...environment, PORT: port, TMPDIR: folder };
    const child = spawn(process.execPath, all, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [out, said, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    return { code: code as number, out, said };
  };
  const webhooks = ['--forward-to', 'http://127.0.0.1:PORT/'];

  test('finds nothing wrong with the library and its mirror in PostgreSQL, and leaves nothing behind', async () => {
    const database = await freshDatabase(await thisServer(), { migrated: false });
    const mirror = ['--mirror', 'table:results', '--start', program('./mirror.ts')];
    const { code, out, said } = await run([...mirror, ...webhooks, '--json'], { DATABASE_URL: database.url });
    const { passed, scenarios: played } = JSON.parse(out);
    assert.deepEqual([code, passed], [0, true], said + out);
    assert.deepEqual(
      played.map(({ name, outcome }: { name: string; outcome: string }) => [name, outcome]),
      scenarios.map(({ name }) => [name, 'passed']),
    );
    assert.deepEqual(await readdir(folder), []);
    await database.drop();
  });

  test('says in sentences what is wrong with another, and ends with 1', async () => {
    const file = join(folder, 'mirror.ndjson');
    const { code, out, said } = await run(
      ['--mirror', file, ...webhooks, '--start', program('./consumer.ts'), '--only', 'withdrawn'],
      { FAULT: 'keeps-withdrawn', MIRROR: file },
    );
    assert.equal(code, 1, said);
    assert.match(out, /^right {3}first-walk {8}Everything is read, over several pages$/m);
    assert.match(out, /^WRONG {3}withdrawn {9}A result is withdrawn$/m);
    assert.match(out, /It kept a result that was withdrawn: a record with status deleted takes it away \(1\)\./);
    assert.match(out, /The consumer is wrong in 1 of 2 scenarios\.\n$/);
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
