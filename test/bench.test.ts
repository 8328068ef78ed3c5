// Tier: full. Runs benchmarks on small data.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { suite, test } from 'node:test';
import pg from 'pg';
import { benchRecord, filledBy, filledOrganisation, fillOrganisation } from '../bench/data.ts';
import { isAfter, partOf, rowOf, summaryOf } from '../bench/document.ts';
import { endGroup, signalGroup, startGroup } from '../bench/group.ts';
import { beOnlyRun, databasePrefix } from '../bench/only-run.ts';
import { backendsCpuUs } from '../bench/process.ts';
import { isSpent, spend } from '../bench/spent.ts';
import { readyRecord } from '../src/imports/record.ts';
import { withService } from './service.ts';

/** What npm run bench does beside measuring. */

suite('a row of docs/performance.md', () => {
  const row = (value: number, goal: { atLeast: number } | { atMost: number }) =>
    rowOf({ what: 'pages', value, unit: 'times', goal });

  test('says two digits, and as many more as its verdict takes', () => {
    assert.equal(row(1.1638, { atMost: 1.2 }), '| pages | ≤ 1.2 | 1.2 times |');
    assert.equal(row(1.2066, { atMost: 1.2 }), '| pages | ≤ 1.2 | **1.21 times** |');
    assert.equal(row(1.2003, { atMost: 1.2 }), '| pages | ≤ 1.2 | **1.2003 times** |');
    assert.equal(row(39.96, { atLeast: 40 }), '| pages | ≥ 40 | **39.96 times** |');
    assert.equal(row(29_999.7, { atLeast: 30_000 }), '| pages | ≥ 30,000 | **29,999.7 times** |');
    assert.equal(row(30_000.2, { atLeast: 30_000 }), '| pages | ≥ 30,000 | 30,000 times |');
  });

  test('stays as the document has it where it was measured at a later commit', () => {
    const text = '### Pages\n\n`node`, 2026-11-23, commit bbbbbbb; 2 cores.\n\n| |\n\n### Other\n\nnothing\n';
    const part = partOf('Pages', text);
    assert.equal(part.length, 3);
    const order = ['a'.repeat(40), 'b'.repeat(40), 'c'.repeat(40)];
    const place = (commit: string) => order.findIndex((one) => one.startsWith(commit));
    const isBefore = (one: string, other: string) => place(one) <= place(other);
    assert.deepEqual(
      order.map((commit) => isAfter(part, commit, isBefore)),
      [true, false, false],
    );
    assert.equal(isAfter([], order[0]!, isBefore), false);
  });
});

suite('what docs/performance.md says first', () => {
  const part = (heading: string, rows: string[]) => [
    `### ${heading}`,
    '`node`',
    ['| | Goal | Measured |', ...rows].join('\n'),
  ];
  const reached = rowOf({ what: 'pages', value: 1, unit: 'times', goal: { atMost: 1.2 } });
  const missed = rowOf({ what: 'page of 500, of the driver', value: 80, unit: '%', goal: { atLeast: 90 } });
  const without = rowOf({ what: 'memory', value: 200, unit: 'MB' });

  test('counts figures that have a goal, and shows those that miss it', () => {
    assert.deepEqual(summaryOf([part('Pages', [reached, missed, without]), part('Moves', [reached])]), [
      'Of 3 figures with a goal 2 reach it. These don’t:',
      '| | | Goal | Measured |\n| --- | --- | --- | --- |\n| Pages | page of 500, of the driver | ≥ 90 | **80 %** |',
    ]);
  });

  test('shows no table where every goal is reached', () => {
    assert.deepEqual(summaryOf([part('Pages', [reached, without])]), ['Of 1 figures with a goal 1 reach it.']);
  });
});

/** Neither running nor about to be. */
function isGone(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return true;
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.startsWith('Z');
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stream })) return line;
  throw new Error('nothing was said');
}

suite('a benchmark that is told to end', { skip: process.platform !== 'linux' }, () => {
  test('takes the service that it has started with it', async () => {
    const program = `const child = require('node:child_process').spawn('sleep', ['60']); console.log(child.pid); setInterval(() => {}, 1000)`;
    const child = startGroup(['-e', program], { stdio: ['pipe', 'inherit'] });
    const service = Number(await firstLine(child.stdout!));
    assert.equal(isGone(service), false);
    await endGroup(child, 5000);
    for (let tries = 0; !isGone(service) && tries < 100; tries++) await wait(20);
    assert.deepEqual([isGone(child.pid!), isGone(service)], [true, true]);
  });

  for (const signal of ['SIGKILL', 'SIGHUP'] as const)
    test(`ends with what started it, by ${signal}`, async () => {
      const program = `const child = require('node:child_process').spawn('sleep', ['60']); console.log(process.pid, child.pid); setInterval(() => {}, 1000)`;
      const starter = `import { startGroup } from ${JSON.stringify(new URL('../bench/group.ts', import.meta.url).href)}; startGroup(['-e', ${JSON.stringify(program)}], { stdio: ['inherit', 'inherit'] })`;
      const started = spawn(process.execPath, ['--input-type=module', '-e', starter], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const pids = (await firstLine(started.stdout)).split(' ').map(Number);
      try {
        assert.deepEqual(pids.map(isGone), [false, false]);
        started.kill(signal);
        for (let tries = 0; !pids.every(isGone) && tries < 500; tries++) await wait(20);
        assert.deepEqual(pids.map(isGone), [true, true]);
      } finally {
        started.kill('SIGKILL');
        signalGroup({ pid: pids[0]! }, 'SIGKILL');
      }
    });

  test('leaves no temporary folder', async () => {
    const program = `import { scratchFolder } from ${JSON.stringify(new URL('../bench/process.ts', import.meta.url).href)}; console.log(scratchFolder()); setInterval(() => {}, 1000)`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const folder = await firstLine(child.stdout);
    assert.ok(existsSync(folder));
    child.kill('SIGTERM');
    await once(child, 'exit');
    assert.equal(existsSync(folder), false);
  });
});

test('the service whose log keeps no detail is the one that there is', async () => {
  const [hooks, server] = ['../bench/without-detail.ts', '../src/api/server.ts'].map((path) =>
    JSON.stringify(new URL(path, import.meta.url).href),
  );
  const program = `const { changes } = await import(${hooks}); await import(${server}); process.exit(changes.every(({ made }) => made) ? 0 : 1)`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' });
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

suite('the database of a benchmark', async () => {
  const { app } = await withService();

  test('is filled from where an interruption left it', async () => {
    const results = 11_000;
    const interrupted = filledOrganisation(app, results, (done) => {
      throw new Error(`interrupted after ${done}`);
    });
    await assert.rejects(interrupted, /interrupted after 10000/);
    const seen: number[] = [];
    const filled = await filledOrganisation(app, results, (done) => void seen.push(done));
    assert.deepEqual(seen, [10_000, results]);
    const name = `Bench ${results}`;
    const sql =
      'select organisation_id as id, (select count(*) from assessment a where a.organisation_id = o.organisation_id) as results from organisation o where name = $1';
    const { organisation_id: id, public_id } = filled.organisation;
    const ids = Array.from(
      { length: results },
      (_, i) => readyRecord({ ...benchRecord(i, results), groups: [] }, public_id, app.clock.nowMs()).assessmentId,
    );
    assert.deepEqual(await app.db.query(sql, [name]), [{ id, results: new Set(ids).size }]);
    assert.ok(filled.seconds > 0);
    assert.deepEqual(await filledOrganisation(app, results), { ...filled, done: null, commit: null });
  });

  test('is not what was filled beside by hand, nor of another size', async () => {
    const begun = await fillOrganisation(app, 300);
    const { organisation } = await filledOrganisation(app, 300);
    assert.notEqual(organisation.organisation_id, begun.organisation_id);
    const other = await filledBy(app, 'Bench 300', 10, async (_made, from) => assert.equal(from, 0));
    assert.notEqual(other.organisation.organisation_id, organisation.organisation_id);
  });

  test('says when it is not what a benchmark begins with', async () => {
    assert.equal(await isSpent(app.db), false);
    await spend(app.db);
    assert.equal(await isSpent(app.db), true);
  });

  test('processor time that cannot be read is not taken for none', { skip: process.platform !== 'linux' }, async () => {
    assert.ok((await backendsCpuUs(app.db)) > 0);
    // As where PostgreSQL is on another machine: the numbers are those of other processes here, or of none.
    for (const pid of [process.pid, 2 ** 30])
      await assert.rejects(backendsCpuUs({ query: async () => [{ pid }] } as never), /has to be on this machine/);
  });
});

suite('a server', async () => {
  const { databaseUrl } = await withService();
  const noPatience = 0;

  test('is measured on by one run at a time', async () => {
    const one = await beOnlyRun(databaseUrl, noPatience);
    await assert.rejects(beOnlyRun(databaseUrl, noPatience), /another run is at this server/);
    await one.end();
    const next = await beOnlyRun(databaseUrl);
    await next.end();
  });

  test('is not measured on while somebody is at the database of a benchmark', async () => {
    const name = `${databasePrefix}left`;
    const db = new pg.Client({ connectionString: databaseUrl });
    await db.connect();
    await db.query(`create database ${name} template template0`);
    const url = new URL(databaseUrl);
    url.pathname = `/${name}`;
    const left = new pg.Client({ connectionString: url.href });
    await left.connect();
    await assert.rejects(beOnlyRun(databaseUrl, noPatience), /connected to: ars_bench_left \(backend \d+\)/);
    await left.end();
    const run = await beOnlyRun(databaseUrl);
    await run.end();
    await db.query(`drop database ${name}`);
    await db.end();
  });
});

suite('npm run bench', () => {
  const bench = (args: string[], env: Record<string, string> = {}) =>
    spawnSync(process.execPath, [new URL('../bench/run.ts', import.meta.url).pathname, ...args], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, ...env },
    });

  test('refuses with a sentence what it does not know', () => {
    for (const [args, says] of [
      [['--onyl', 'poll'], /^Unknown option '--onyl'.*\nUsage: /],
      [['poll'], /^Unexpected argument 'poll'.*\nUsage: /],
      [['--only'], /argument missing\nUsage: /],
      [['--only', 'poll,pols'], /^There is no benchmark pols; --list names all\.\n$/],
      [['--only', 'poll'], /^DATABASE_URL .* are needed\.\n$/],
    ] as const) {
      const { status, stderr } = bench([...args]);
      assert.match(stderr, says);
      assert.equal(status, 2);
    }
  });

  test('says how it is called', () => {
    const { status, stdout } = bench(['--help']);
    assert.match(stdout, /^Usage: npm run bench /);
    assert.equal(status, 0);
  });
});
