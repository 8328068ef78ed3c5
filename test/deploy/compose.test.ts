import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, globSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import { accountFor } from '../../src/platform/db/embedded/system-account.ts';
import { read, root } from '../support/structure/source-tree.ts';

type Service = {
  restart: string;
  mem_limit: string;
  logging: { options: Record<string, string> };
  command?: string[];
  read_only?: boolean;
  environment: Record<string, string>;
  volumes: string[];
};
const { services, volumes } = parse(read('deploy/docker-compose.yml'), { merge: true }) as {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
};

suite('Compose', () => {
  test('restarts every container, limits its memory, and turns its log over', () => {
    assert.deepEqual(Object.keys(services), ['postgres', 'backup', 'ars']);
    for (const [name, { restart, mem_limit, logging }] of Object.entries(services)) {
      assert.equal(restart, 'unless-stopped', name);
      assert.match(mem_limit, /^\d+[mg]$/, name);
      assert.ok(Number(logging.options['max-file']) > 0, name);
      assert.match(logging.options['max-size']!, /^\d+m$/, name);
    }
  });

  test('sets PostgreSQL as the guide says', () => {
    const given = services.postgres!.command!.flatMap((word) => /^-c(\w+)=/.exec(word)?.[1] ?? []);
    const [, block] = /## Set PostgreSQL[^]*?```ini\n([^]*?)```/.exec(read('docs/operate/database.md'))!;
    for (const [, name] of block!.matchAll(/^(\w+) = /gm)) assert.ok(given.includes(name!), name!);
  });

  test('keeps dumps apart from the database', () => {
    const { environment, volumes: mounted } = services.backup!;
    assert.deepEqual(Object.keys(environment), ['DATABASE_URL_FILE', 'DUMP_HOUR', 'DUMP_DAYS']);
    assert.ok(mounted.includes('backups:/backups') && 'backups' in volumes);
  });
});

const programs = globSync('/usr/lib/postgresql/*/bin/initdb').map(dirname).sort().at(-1);
const skip = programs === undefined ? "PostgreSQL's own programs are not installed (Debian: postgresql)" : false;

test('the nightly dump can be restored, replaces old ones, and says when it is missing', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ars-dump-'));
  chmodSync(folder, 0o777);
  const account = await accountFor(folder);
  const cluster = join(folder, 'cluster');
  const pg = (name: string, ...words: string[]) =>
    execFileSync(join(programs!, name), words, { cwd: folder, ...account, stdio: ['ignore', 'pipe', 'pipe'] });
  pg('initdb', '-D', cluster, '-U', 'postgres', '-A', 'trust', '-N');
  pg('pg_ctl', '-w', '-D', cluster, '-l', join(folder, 'log'), '-o', `-k ${folder} -c listen_addresses=''`, 'start');
  t.after(() => {
    pg('pg_ctl', '-D', cluster, '-m', 'immediate', 'stop');
    rmSync(folder, { recursive: true });
  });
  const urlOf = (database: string) => `postgres://postgres@localhost/${database}?host=${folder}`;
  const sql = (database: string, text: string) =>
    String(pg('psql', '-At', '-v', 'ON_ERROR_STOP=1', '-c', text, urlOf(database))).trim();
  sql('postgres', 'create database ars');
  sql('ars', 'create table kept as select generate_series(1, 1000) as n');

  const dumps = join(folder, 'dumps');
  mkdirSync(dumps);
  const metrics = join(folder, 'metrics');
  mkdirSync(metrics);
  writeFileSync(join(folder, 'url'), urlOf('ars'));
  const env = {
    PATH: `${programs}:${process.env.PATH}`,
    DATABASE_URL_FILE: join(folder, 'url'),
    DUMP_FOLDER: dumps,
    DUMP_METRICS: metrics,
    DUMP_DAYS: '14',
    DUMP_HOUR: '2',
  };
  const dump = (...words: string[]) =>
    spawnSync('bash', [join(root, 'deploy/nightly-dump'), ...words], { env, encoding: 'utf8' });
  assert.equal(dump('check').status, 1);
  writeFileSync(join(dumps, 'ars-old.dump'), '');
  utimesSync(join(dumps, 'ars-old.dump'), new Date('2026-01-01'), new Date('2026-01-01'));
  writeFileSync(join(dumps, 'ars-torn.dump.part'), '');
  const { status, stdout, stderr } = dump('now');
  assert.equal(status, 0, stderr);
  const [name, ...others] = readdirSync(dumps);
  assert.deepEqual(others, []);
  assert.deepEqual(readdirSync(metrics), ['ars-backup.prom']);
  rmSync(join(metrics, 'ars-backup.prom'));
  assert.match(stdout, new RegExp(`${name}: \\d+ bytes`));
  assert.equal(dump('check').status, 0);
  sql('postgres', 'create database restored');
  execFileSync(join(programs!, 'pg_restore'), ['--dbname', urlOf('restored'), join(dumps, name!)]);
  assert.equal(sql('restored', 'select count(*) from kept'), '1000');

  // A database that is not there leaves the old dumps alone.
  writeFileSync(join(folder, 'url'), urlOf('nothing'));
  assert.notEqual(dump('now').status, 0);
  assert.deepEqual(readdirSync(metrics), []);
  assert.deepEqual(
    readdirSync(dumps).filter((one) => one.endsWith('.dump')),
    [name],
  );
});
