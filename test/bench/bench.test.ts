// Tier: full. Starts processes.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { suite, test } from 'node:test';
import { documentWith, isMeasuredAt } from '../../bench/support/document.ts';
import { rowOf } from '../../bench/support/figures.ts';
import { backendsCpuUs } from '../../bench/support/process.ts';
import { withService } from '../support/service.ts';

/** What npm run bench does besides measuring. */

suite('a row of docs/engineering/performance.md', () => {
  const row = (value: number, goal: { atLeast: number } | { atMost: number }) =>
    rowOf({ what: 'pages', value, unit: 'times', goal });

  test('says two digits, and as many more as its verdict takes', () => {
    assert.equal(row(1.1638, { atMost: 1.2 }), '|pages|1.2 times (≤ 1.2)|');
    assert.equal(row(1.2066, { atMost: 1.2 }), '|pages|**1.21 times** (≤ 1.2)|');
    assert.equal(row(1.2003, { atMost: 1.2 }), '|pages|**1.2003 times** (≤ 1.2)|');
    assert.equal(row(39.96, { atLeast: 40 }), '|pages|**39.96 times** (≥ 40)|');
    assert.equal(row(29_999.7, { atLeast: 30_000 }), '|pages|**29,999.7 times** (≥ 30,000)|');
    assert.equal(row(30_000.2, { atLeast: 30_000 }), '|pages|30,000 times (≥ 30,000)|');
  });

  test('has no goal where a figure has none', () =>
    assert.equal(rowOf({ what: 'memory', value: 200, unit: 'MB' }), '|memory|200 MB|'));
});

suite('docs/engineering/performance.md', () => {
  const opens = '<!-- measured by npm run bench -->';
  const closes = '<!-- end of what npm run bench measured -->';
  const part = (heading: string, commit: string, row: string) => ({
    heading,
    measured: `2026-11-23, commit ${commit}, 2 cores.`,
    rows: [row],
  });
  const headings = ['Pages', 'Moves'];
  const empty = `# Performance\n\n${opens}\n\n${closes}\n\nAfter.\n`;
  const moves = documentWith(empty, part('Moves', 'aaaaaaa', '|join|3 ms|'), headings);
  const both = documentWith(moves, part('Pages', 'bbbbbbb', '|first|4 ms|'), headings);

  test('gets the benchmarks in their order, between what people wrote', () => {
    assert.equal(both.indexOf('# Performance'), 0);
    assert.ok(both.endsWith(`${closes}\n\nAfter.\n`));
    assert.deepEqual(
      [...both.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading),
      headings,
    );
    assert.match(both, /### Moves\n\n2026-11-23, commit aaaaaaa, 2 cores\.\n\n\|Figure\|.*\n.*\n\|join\|3 ms\|\n/);
  });

  test('gets a new table instead of the old one, and the others stay', () => {
    const again = documentWith(both, part('Pages', 'ccccccc', '|first|5 ms|'), headings);
    assert.equal(again, both.replace('bbbbbbb', 'ccccccc').replace('4 ms', '5 ms'));
  });

  test('loses a benchmark that there is no more', () =>
    assert.equal(documentWith(both, part('Moves', 'aaaaaaa', '|join|3 ms|'), ['Moves']), moves));

  test('says at which commit each was measured', () => {
    assert.equal(isMeasuredAt(both, 'Moves', 'aaaaaaa'), true);
    assert.equal(isMeasuredAt(both, 'Pages', 'aaaaaaa'), false);
    assert.equal(isMeasuredAt(moves, 'Pages', 'aaaaaaa'), false);
  });

  test('has to have its place', () =>
    assert.throws(() => documentWith('# Performance\n', part('Pages', 'aaaaaaa', ''), headings), /has no place/));
});

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stream })) return line;
  throw new Error('nothing was said');
}

suite('a benchmark', { skip: process.platform !== 'linux' }, async () => {
  const { app } = await withService();

  test('that is ended leaves no temporary folder', async () => {
    const program = `import { scratchFolder } from ${JSON.stringify(new URL('../../bench/support/process.ts', import.meta.url).href)}; console.log(scratchFolder()); setInterval(() => {}, 1000)`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const folder = await firstLine(child.stdout);
    assert.ok(existsSync(folder));
    child.kill('SIGTERM');
    await once(child, 'exit');
    assert.equal(existsSync(folder), false);
  });

  test('processor time that cannot be read is not taken for none', async () => {
    assert.ok((await backendsCpuUs(app.db)) > 0);
    // As where PostgreSQL is on another machine: the numbers are those of other processes here, or of none.
    for (const pid of [process.pid, 2 ** 30])
      await assert.rejects(backendsCpuUs({ query: async () => [{ pid }] } as never), /Run PostgreSQL on this machine/);
  });
});

suite('npm run bench', () => {
  const bench = (args: string[], env: Record<string, string> = {}) =>
    spawnSync(process.execPath, [new URL('../../bench/run.ts', import.meta.url).pathname, ...args], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, ...env },
    });

  test('refuses with a sentence what it does not know', () => {
    for (const [args, says] of [
      [['--onyl', 'poll'], /^Unknown option '--onyl'.*\nUsage: /],
      [['poll'], /^Unexpected argument 'poll'.*\nUsage: /],
      [['--only'], /argument missing\nUsage: /],
      [['--only', 'poll,pols'], /^There is no benchmark pols\. --list names all\.\n$/],
      [['--only', 'poll'], /^DATABASE_URL .* are needed\.\n$/],
    ] as const) {
      const { status, stderr } = bench([...args]);
      assert.match(stderr, says);
      assert.equal(status, 2);
    }
  });

  test('lists its benchmarks', () => {
    const { status, stdout } = bench(['--list']);
    assert.match(stdout, /^poll +Conditional polls/);
    assert.equal(status, 0);
  });

  test('says how it is called', () => {
    const { status, stdout } = bench(['--help']);
    assert.match(stdout, /^Usage: npm run bench /);
    assert.equal(status, 0);
  });
});
