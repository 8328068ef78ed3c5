// Tier: full. Compiles and runs the examples in other languages.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, suite, test } from 'node:test';
import { promisify } from 'node:util';
import type { Assessment } from '../../client/src/index.ts';
import { Backup } from '../../src/sandbox/chaos/backup.ts';
import { digestService, refusesCursors, restoresWithinWalk } from '../client/support/digest-service.ts';
import { clientOf, truth } from '../client/support/mirrors.ts';
import type { Key } from '../contract/support/client.ts';
import { recordResults, scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'ars-pollers-'));
after(() => rmSync(folder, { recursive: true, force: true }));

type Environment = Record<string, string | undefined>;
type Held = Map<string, Assessment>;

/** What an example is run by, and how to look into what it keeps. */
type Poller = {
  name: string;
  needs: string[];
  build?(): void;
  /** Polls once, and gives what it said. */
  poll(place: string, environment: Environment): Promise<string>;
  held(place: string): Held;
  /** Loses a result behind its back. */
  damage(place: string): void;
  /** What of a result it keeps; everything where there is none. */
  keeps?(result: Assessment): object;
};

function missing(programs: string[]): string | false {
  const absent = programs.filter(
    (program) => (spawnSync(program, ['--version']).error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT',
  );
  return absent.length > 0 && `not on this machine: ${absent.join(', ')}`;
}

function built(command: string, ...parameters: string[]): void {
  const { status, stderr, stdout } = spawnSync(command, parameters, { cwd: root, encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
}

const byId = (results: Assessment[]): Held => new Map(results.map((one) => [one.assessment_id, one]));
const lines = (text: string) => text.split('\n').filter((line) => line !== '');

/** Those that keep a file of NDJSON. */
const ndjson = {
  held: (place: string): Held => byId(lines(readFileSync(place, 'utf8')).map((line) => JSON.parse(line) as Assessment)),
  damage: (place: string) => writeFileSync(place, readFileSync(place, 'utf8').replace(/^.*\n/, '')),
};

/** Plays the target of a tap: records, deletions, versions; the state is stored with what came before it. */
const target = {
  read: (place: string): { records: Record<string, Assessment & { version: number }>; state: unknown } =>
    existsSync(place) ? JSON.parse(readFileSync(place, 'utf8')) : { records: {}, state: null },
  apply(place: string, messages: string): string {
    const own = target.read(place);
    let moved = 0;
    for (const line of lines(messages)) {
      const { type, record, version, value } = JSON.parse(line);
      if (type === 'RECORD') {
        moved++;
        if (record._sdc_deleted_at === undefined) own.records[record.assessment_id] = { ...record, version };
        else delete own.records[record.assessment_id];
      } else if (type === 'ACTIVATE_VERSION') {
        for (const [id, one] of Object.entries(own.records)) if (one.version < version) delete own.records[id];
      } else if (type === 'STATE') own.state = value;
    }
    writeFileSync(place, JSON.stringify(own));
    return moved === 0 ? 'nothing has changed' : `${moved} records`;
  },
};

/** Plays Airbyte: a platform that keeps the state with the records before it, and a destination that dedupes and deletes. */
const airbyte = {
  read: (place: string): { records: Record<string, Assessment>; state: unknown; discovered?: any } =>
    existsSync(place) ? JSON.parse(readFileSync(place, 'utf8')) : { records: {}, state: null },
  async sync(place: string, environment: Environment, mode: 'full_refresh' | 'incremental'): Promise<string> {
    const { API: api, ACCESS_KEY_ID: access_key_id, SECRET_ACCESS_KEY: secret_access_key } = environment;
    const source = async (...words: string[]) => {
      const { stdout } = await run('python3', [join(root, 'examples/airbyte/source.py'), ...words], {
        env: environment,
        maxBuffer: 1e8,
      }).catch((error: { code: unknown; stdout: string }) => {
        // What it refuses is among its messages.
        if (typeof error.code !== 'number') throw error;
        return error;
      });
      return lines(stdout).map((line) => JSON.parse(line) as Record<string, any>);
    };
    const [config, catalog, state] = ['config', 'catalog', 'state'].map((name) => `${place}.${name}`) as [
      string,
      string,
      string,
    ];
    writeFileSync(config, JSON.stringify({ api, access_key_id, secret_access_key }));
    const own = airbyte.read(place);
    if (own.state === null) {
      const [checked] = await source('check', '--config', config);
      assert.deepEqual(checked, { type: 'CONNECTION_STATUS', connectionStatus: { status: 'SUCCEEDED' } });
    }
    const [discovered] = own.state === null ? await source('discover', '--config', config) : [own.discovered];
    own.discovered = discovered;
    const streams = discovered!.catalog.streams.map((stream: object) => ({ stream, sync_mode: mode }));
    writeFileSync(catalog, JSON.stringify({ streams }));
    writeFileSync(state, JSON.stringify(own.state === null ? [] : [own.state]));
    const messages = await source('read', '--config', config, '--catalog', catalog, '--state', state);
    const failure = messages.find((one) => one.type === 'TRACE' && one.trace.type === 'ERROR');
    if (failure !== undefined) {
      if (failure.trace.error.failure_type === 'transient_error') throw new Error(failure.trace.error.message);
      assert.match(failure.trace.error.message, /refresh this stream/);
      return airbyte.sync(place, environment, 'full_refresh');
    }
    if (mode === 'full_refresh') own.records = {};
    let moved = 0;
    for (const message of messages) {
      if (message.type === 'STATE') own.state = message;
      if (message.type !== 'RECORD') continue;
      moved++;
      const { data } = message.record;
      if (data._ab_cdc_deleted_at === undefined) own.records[data.assessment_id] = data;
      else delete own.records[data.assessment_id];
    }
    writeFileSync(place, JSON.stringify(own));
    return moved === 0 ? String(messages.find((one) => one.type === 'LOG')?.log.message) : `${moved} records`;
  },
};

function inDatabase<Result>(place: string, work: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(place);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

const pollers: Poller[] = [
  {
    name: 'java/Mirror.java',
    needs: ['javac', 'java'],
    build: () =>
      built('javac', '-encoding', 'UTF-8', '-Xlint:all', '-Werror', '-d', folder, 'examples/java/Mirror.java'),
    poll: async (place, env) => (await run('java', ['-Xshare:auto', '-cp', folder, 'Mirror', place], { env })).stdout,
    ...ndjson,
  },
  {
    // .NET is not in Debian; Mono is, and compiles the same source.
    name: 'dotnet/Mirror.cs',
    needs: ['mcs', 'mono'],
    build: () =>
      built(
        'mcs',
        `-out:${join(folder, 'mirror.exe')}`,
        ...['System.Net.Http', 'System.Runtime.Serialization', 'System.Xml', 'System.Xml.Linq'].map(
          (one) => `-r:${one}`,
        ),
        'examples/dotnet/Mirror.cs',
      ),
    poll: async (place, env) => (await run('mono', [join(folder, 'mirror.exe'), place], { env })).stdout,
    ...ndjson,
  },
  {
    name: 'spreadsheet/Results.gs',
    needs: [],
    poll: async (place, env) =>
      (
        await run(
          process.execPath,
          [join(import.meta.dirname, 'sheet.ts'), join(root, 'examples/spreadsheet/Results.gs'), place],
          { env },
        )
      ).stdout,
    held: (place) => {
      const [head, ...rows] = (JSON.parse(readFileSync(place, 'utf8')) as { cells: string[][] }).cells;
      return byId(rows.map((row) => Object.fromEntries(row.map((value, i) => [head![i], value]))) as never[]);
    },
    damage: (place) => {
      const sheet = JSON.parse(readFileSync(place, 'utf8')) as { cells: string[][] };
      sheet.cells.splice(1, 1);
      writeFileSync(place, JSON.stringify(sheet));
    },
    keeps: ({ learner, groups, assessment_id, updated_at, subject, ...rest }) => ({
      assessment_id,
      updated_at,
      learner_ref: learner.ref ?? '',
      full_name: learner.full_name,
      subject,
      ...Object.fromEntries(
        (
          [
            'assessed_at',
            'rqf_level',
            'below_level_1',
            'working_level',
            'recommended_next_level',
            'is_borderline',
            'needs_review',
          ] as const
        ).map((name) => [name, rest[name] === null ? '' : String(rest[name])]),
      ),
      groups: groups.map((one) => one.name).join(', '),
    }),
  },
  {
    name: 'python/mirror.py',
    needs: ['python3'],
    poll: async (place, env) =>
      (await run('python3', [join(root, 'examples/python/mirror.py'), place], { env })).stdout,
    held: (place) =>
      inDatabase(place, (database) =>
        byId(
          database
            .prepare('select record from result')
            .all()
            .map(({ record }) => JSON.parse(record as string) as Assessment),
        ),
      ),
    damage: (place) =>
      inDatabase(place, (database) =>
        database.exec('delete from result where rowid = (select min(rowid) from result)'),
      ),
  },
  {
    name: 'singer/tap.py',
    needs: ['python3'],
    poll: async (place, env) => {
      const { API: api, ACCESS_KEY_ID: access_key_id, SECRET_ACCESS_KEY: secret_access_key } = env;
      // A tap does not see what its target holds: a sweep, as once a week, is what mends damage there.
      const { records, state } = target.read(place);
      const sweep = Object.keys(records).length === 602;
      writeFileSync(`${place}.config`, JSON.stringify({ api, access_key_id, secret_access_key, sweep }));
      const words = ['--config', `${place}.config`];
      if (state !== null) {
        writeFileSync(`${place}.state`, JSON.stringify(state));
        words.push('--state', `${place}.state`);
      }
      const { stdout } = await run('python3', [join(root, 'examples/singer/tap.py'), ...words], {
        env,
        maxBuffer: 1e8,
      });
      return target.apply(place, stdout);
    },
    held: (place) =>
      byId(Object.values(target.read(place).records).map(({ version: _version, ...record }) => record as Assessment)),
    damage: (place) => {
      const own = target.read(place);
      delete own.records[Object.keys(own.records)[0]!];
      writeFileSync(place, JSON.stringify(own));
    },
  },
  {
    name: 'airbyte/source.py',
    needs: ['python3'],
    // A source does not see what its destination holds: a refresh, as once a week, is what mends damage there.
    poll: (place, env) => {
      const isDamaged = Object.keys(airbyte.read(place).records).length === 602;
      return airbyte.sync(place, env, isDamaged ? 'full_refresh' : 'incremental');
    },
    held: (place) => byId(Object.values(airbyte.read(place).records)),
    damage: (place) => {
      const own = airbyte.read(place);
      delete own.records[Object.keys(own.records)[0]!];
      writeFileSync(place, JSON.stringify(own));
    },
  },
];

suite('the pollers end with what the service shows', async () => {
  const service = await withService({
    own: 'Has a public address.',
    settings: { ARS_BASE_URL: 'http://results.test' },
  });
  let hasDigest = true;
  const front = await digestService(service.url, () => hasDigest);
  const wanted = async (key: Key, keeps: Poller['keeps']): Promise<Map<string, object>> => {
    const all = await truth(clientOf(service.url, key));
    return keeps === undefined ? all : new Map([...all].map(([id, one]) => [id, keeps(one)]));
  };

  for (const { name, needs, build, poll, held, damage, keeps } of pollers) {
    test(name, { skip: missing(needs) }, async () => {
      build?.();
      const scene = await scenario(service);
      const place = join(folder, name.replace('/', '-'));
      const environment = {
        ...process.env,
        NODE_TEST_CONTEXT: undefined,
        API: `${front.url}/api/v1/`,
        ACCESS_KEY_ID: scene.org.key.access_key_id,
        SECRET_ACCESS_KEY: scene.org.key.secret_access_key,
      };
      const polls = () => poll(place, environment);
      const isRight = async () => assert.deepEqual(held(place), await wanted(scene.org.key, keeps));
      const cohort = await scene.group('C-1');
      const ana = await scene.learner('ana-1', '=HYPERLINK("http://evil.example","Zoë \\ Ana")');
      await scene.learner('ben-1');
      await service.withUnitOfWork((unit) =>
        recordResults(
          unit,
          scene.org.id,
          Array.from({ length: 600 }, () => ({ ref: 'ben-1' })),
        ),
      );
      const first = await ana.completes();
      const second = await ana.completes({ subject: 'english' });
      await polls();
      await isRight();

      await first.isAmended();
      await second.isWithdrawn();
      await ana.completes({ subject: 'maths' });
      await ana.completes({ subject: 'digital' });
      await ana.joins(cohort);
      await cohort.isRenamed('Another name');
      // It goes wrong on the way: the service is away, a proxy says so with a date, and a reply is cut in the middle.
      const faults = ['away', 'dated', 'cut'];
      front.interfere = (_request, response) => {
        const fault = faults.shift();
        if (fault === 'away') response.writeHead(503, { 'retry-after': '0' }).end('{"error":{}}');
        if (fault === 'dated') response.writeHead(503, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }).end();
        if (fault === 'cut') {
          response.writeHead(200, { 'content-length': '1000' });
          response.write('{"data":[', () => response.destroy());
        }
        return fault !== undefined;
      };
      await polls();
      assert.deepEqual(faults, []);
      front.interfere = null;
      await isRight();
      assert.equal(held(place).size, 603);

      // The first poll after a walk has another since; from then on nothing new is a 304.
      await polls();
      assert.match(await polls(), /nothing has changed/);
      await isRight();

      // Damage is seen at the next change, and mended.
      damage(place);
      await ana.joins(await scene.group('C-2'));
      await polls();
      await isRight();

      // What is lost with a backup goes here, too, where nothing is compared.
      const backup = new Backup(service.app, scene.org.id);
      await backup.keep();
      await ana.completes();
      await polls();
      await isRight();
      await backup.restore();
      await backup.close();
      hasDigest = false;
      await polls();
      hasDigest = true;
      await isRight();

      // Within a walk, the walk starts again: what it has shown by then may be lost.
      for (const hasWalked of [false, true]) {
        const within = new Backup(service.app, scene.org.id);
        after(() => within.close());
        await within.keep();
        await ana.completes();
        const another = `${place}-${hasWalked}`;
        if (hasWalked) {
          await poll(another, environment);
          await service.withUnitOfWork((unit) => recordResults(unit, scene.org.id, Array(600).fill({ ref: 'ben-1' })));
        }
        restoresWithinWalk(front, () => within.restore());
        await poll(another, environment);
        assert.equal(front.before, null, 'its walk had a second page');
        assert.deepEqual(held(another), await wanted(scene.org.key, keeps));
      }

      // It does not start again for ever.
      front.interfere = refusesCursors;
      front.passed.length = 0;
      await assert.rejects(poll(`${place}-never`, environment), /again and again/);
      assert.equal(front.passed.filter((one) => one.includes('cursor=')).length, 4);
      front.interfere = null;
    });
  }

  test('singer/tap.py drops what is gone, though its state was lost', { skip: missing(['python3']) }, async () => {
    const scene = await scenario(service);
    const ana = await scene.learner('ana-1');
    await ana.completes();
    const place = join(folder, 'singer-lost');
    const { poll, held } = pollers.find(({ name }) => name === 'singer/tap.py')!;
    const environment = {
      ...process.env,
      API: `${service.url}/api/v1`,
      ACCESS_KEY_ID: scene.org.key.access_key_id,
      SECRET_ACCESS_KEY: scene.org.key.secret_access_key,
    };
    await poll(place, environment);
    const { records } = target.read(place);
    const [own] = Object.values(records);
    // As from before a backup came back: there is no tombstone of it.
    writeFileSync(
      place,
      JSON.stringify({ records: { ...records, gone: { ...own, assessment_id: 'gone' } }, state: null }),
    );
    await poll(place, environment);
    assert.deepEqual(held(place), await wanted(scene.org.key, undefined));
  });

  test('what is refused is said, and nothing is stored', { skip: missing(['javac', 'java']) }, async () => {
    // Straight to the service: Java asks every plain address whether it speaks HTTP/2, too.
    const environment = {
      ...process.env,
      API: `${service.url}/api/v1`,
      ACCESS_KEY_ID: 'none',
      SECRET_ACCESS_KEY: 'none',
    };
    const java = pollers[0]!;
    java.build!();
    const place = join(folder, 'refused.ndjson');
    await assert.rejects(java.poll(place, environment), /refused: 401/);
    assert.equal(existsSync(place), false);
  });
});
