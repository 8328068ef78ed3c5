import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { program } from '../../support/ars.ts';
import { withService } from '../../support/service.ts';

const service = await withService();
const org = await service.organisation();
const folder = await mkdtemp(join(tmpdir(), 'ars-output-'));
after(() => rm(folder, { recursive: true }));
const file = join(folder, 'all');

/** Runs a command whose standard output is a file, or what has been opened of it. */
async function into(to: number | 'pipe', ...words: string[]) {
  const child = spawn(process.execPath, [program, ...words, '--organisation', org.publicId], {
    env: { ...process.env, ...service.environment },
    stdio: ['ignore', to, 'pipe'],
  });
  const ended = once(child, 'exit');
  const [out, said] = await Promise.all([child.stdout === null ? '' : text(child.stdout), text(child.stderr!)]);
  return { out, said, code: (await ended)[0] as number };
}
const receipt = ['key', 'receipt', org.key.access_key_id, '--out', '/dev/stdout'];
const isPdf = (content: string) => /^%PDF[^]*%%EOF\n?$/.test(content);

suite('--out /dev/stdout', () => {
  for (const [flags, before] of [
    ['w', ''],
    ['a', 'What was there before\n'],
  ] as const)
    test(`into a file that is opened with ${flags} goes where the others write, and nothing else does`, async () => {
      await writeFile(file, 'What was there before\n');
      const to = await open(file, flags);
      const { said, code } = await into(to.fd, ...receipt);
      await to.write('what comes after');
      await to.close();
      const written = await readFile(file, 'latin1');
      assert.equal(code, 0, said);
      assert.match(said, /\/dev\/stdout says so, as of /);
      assert.ok(written.startsWith(before) && written.endsWith('what comes after'));
      assert.ok(isPdf(written.slice(before.length, -'what comes after'.length)), written.slice(-200));
    });

  test('into a pipe is the file alone; with --json, too', async () => {
    const { out, said, code } = await into('pipe', ...receipt, '--json');
    assert.deepEqual([code, isPdf(out)], [0, true]);
    assert.equal((JSON.parse(said) as { file: string }).file, '/dev/stdout');
  });

  test('is no place for refused lines where it leads into a file, which has what became of the import', async () => {
    const results = join(folder, 'results.csv');
    await writeFile(results, 'nothing\n');
    const to = await open(file, 'w');
    const { said, code } = await into(to.fd, 'results', 'import', results, '--rejected', '/dev/stdout');
    await to.close();
    assert.equal(code, 2);
    assert.equal(said, 'ars: --rejected must name another file than the one that standard output goes to\n');
  });
});
