// Process: own. Sets the environment of the process.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import type { Assessment } from '../../../client/src/index.ts';
import { Backup } from '../../../src/sandbox/chaos/backup.ts';
import { ars } from '../../support/ars.ts';
import { digestService } from '../../client/support/digest-service.ts';
import { clientOf, truth } from '../../client/support/mirrors.ts';
import { freshDatabase, withDatabase } from '../../support/postgres.ts';
import { recordResults, scenario } from '../../support/scenario.ts';
import { thisServer, withService } from '../../support/service.ts';
import type { Called } from './verifying.ts';
import { verifySync } from './verifying.ts';

suite('ars verify-sync', async () => {
  const service = await withService({
    own: 'Has a public address.',
    settings: { ARS_BASE_URL: 'http://results.test' },
  });
  const scene = await scenario(service);
  const front = await digestService(service.url, false);
  const counting = await digestService(service.url);
  counting.interfere = (request, response) => {
    if (!request.url!.startsWith('/api/v1/assessments/digest')) return false;
    response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '3600' });
    response.end(JSON.stringify({ error: { code: 'service_unavailable', message: 'It is being counted.' } }));
    return true;
  };
  const client = clientOf(service.url, scene.org.key);
  const folder = await mkdtemp(join(tmpdir(), 'ars-verify-'));
  after(() => rm(folder, { recursive: true, force: true }));

  const keys = { ACCESS_KEY_ID: scene.org.key.access_key_id, SECRET_ACCESS_KEY: scene.org.key.secret_access_key };
  const call = (environment: Record<string, string>, ...words: string[]) =>
    verifySync({ ...keys, DATABASE_URL: '', ...environment }, ...words);
  const causes = ({ json }: Called): Record<string, string> =>
    Object.fromEntries(json.differences.map((one: { id: string; cause: string }) => [one.id, one.cause]));

  const ana = await scene.learner('ana-1');
  const results = [];
  for (let i = 0; i < 6; i++) results.push(await ana.completes());
  const [lost, outdated, kept, ahead, , newest] = results as [any, any, any, any, any, any];
  const before = await truth(client);
  await outdated.isAmended();
  await kept.isWithdrawn();
  await newest.isAmended();
  const now = await truth(client);
  /** What a careless consumer holds: each fault once, and the newest change. */
  const faulty = new Map<string, Assessment>(now);
  faulty.delete(lost.id);
  faulty.set(outdated.id, before.get(outdated.id)!);
  faulty.set(kept.id, before.get(kept.id)!);
  faulty.set(ahead.id, {
    ...now.get(ahead.id)!,
    updated_at: new Date(Date.parse(now.get(newest.id)!.updated_at) - 1).toISOString(),
  });
  const found = { [lost.id]: 'missing', [outdated.id]: 'out_of_date', [kept.id]: 'extra', [ahead.id]: 'ahead' };
  const ndjson = (held: Map<string, Assessment>) =>
    [...held.values()].map((one) => `${JSON.stringify(one)}\n`).join('');

  for (const [at, by, api] of [
    ['a service without a digest', 'walk', front.url],
    ['one that counts it again', 'walk', counting.url],
    ['one with a digest', 'digest', service.url],
  ] as const) {
    test(`names what differs in a file, and the cause, and repairs it, at ${at}`, async () => {
      const file = join(folder, `${by}.ndjson`);
      await writeFile(file, ndjson(faulty));
      const words = ['--api', api, '--mirror', file];
      const first = await call({}, ...words);
      assert.deepEqual([first.code, first.json.by, first.json.service, first.json.mirror], [1, by, 5, 5], first.said);
      assert.deepEqual(causes(first), found);
      const repairing = await call({}, ...words, '--repair');
      assert.deepEqual([repairing.code, repairing.json.repaired], [0, 4], repairing.said);
      const again = await call({}, ...words);
      assert.deepEqual([again.code, again.json.differences], [0, []]);
      const held = (await readFile(file, 'utf8'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Assessment);
      assert.deepEqual(new Map(held.map((one) => [one.assessment_id, one]).sort() as never), new Map([...now].sort()));
    });
  }

  test('an empty mirror is told what it lacks, and not that its times are cut', async () => {
    const file = join(folder, 'empty.ndjson');
    await writeFile(file, '');
    const { out: said } = await ars(['verify-sync', '--api', service.url, '--mirror', file], keys);
    assert.match(said, / missing: /);
    assert.doesNotMatch(said, /whole second/);
  });

  test('says in words what people need', async () => {
    const file = join(folder, 'words.ndjson');
    await writeFile(file, ndjson(faulty));
    const { out: said } = await ars(['verify-sync', '--api', service.url, '--mirror', file], keys);
    assert.match(said, /The service has 5 results, and the local copy has 5 \(compared by digest\)/);
    assert.match(said, /1 missing: not in the local copy.*clock/);
    assert.match(said, /1 extra: withdrawn.*tombstones/);
  });

  test('says that the service was restored, and what that takes from a mirror', async () => {
    const restored = await scenario(service);
    const bo = await restored.learner('bo-1');
    await bo.completes();
    const backup = new Backup(service.app, restored.org.id);
    await backup.keep();
    const gone = await bo.completes();
    const file = join(folder, 'restored.ndjson');
    const its = clientOf(service.url, restored.org.key);
    const held = await truth(its);
    await writeFile(file, ndjson(held));
    await backup.restore();
    await backup.close();
    const { access_key_id: ACCESS_KEY_ID, secret_access_key: SECRET_ACCESS_KEY } = restored.org.key;
    const pair = { ACCESS_KEY_ID, SECRET_ACCESS_KEY };
    for (const api of [service.url, front.url]) {
      const early = await call(pair, '--mirror', file, '--api', api);
      assert.deepEqual([early.code, causes(early)], [0, { [gone.id]: 'restored' }], 'its next poll may see to it');
    }
    await bo.completes();
    await writeFile(file, ndjson(new Map([...held, ...(await truth(its))])));
    const { out: said } = await ars(['verify-sync', '--mirror', file, '--api', front.url], pair);
    assert.match(said, new RegExp(`1 extra: .*\\n  ${gone.id} `));
    assert.match(said, /The service was restored from a backup \(X-Sync-Restored: 20/);
  });

  test('takes what has changed since for no fault', async () => {
    const file = join(folder, 'behind.ndjson');
    await writeFile(file, ndjson(before));
    const other = await call({}, '--api', service.url, '--mirror', file);
    assert.equal(other.code, 0);
    assert.deepEqual(causes(other), { [outdated.id]: 'pending', [kept.id]: 'pending', [newest.id]: 'pending' });
    await writeFile(file, '');
    const empty = await call({}, '--api', service.url, '--mirror', file);
    assert.deepEqual(
      [empty.code, Object.values(causes(empty))],
      [1, Array(5).fill('missing')],
      'one that is empty is no mirror',
    );
  });

  test('takes a walk that was cut off within a millisecond for no fault, unless the mirror says it is up to date', async () => {
    const other = await scenario(service);
    await other.learner('ana-1');
    const three = Array.from({ length: 3 }, () => ({ ref: 'ana-1' }));
    await service.withUnitOfWork((work) => recordResults(work, other.org.id, three));
    const cutOff = [...(await truth(clientOf(service.url, other.org.key)))].slice(0, 2);
    assert.equal(new Set(cutOff.map(([, one]) => one.updated_at)).size, 1);
    const file = join(folder, 'cut-off.ndjson');
    await writeFile(file, ndjson(new Map(cutOff)));
    const pair = { ACCESS_KEY_ID: other.org.key.access_key_id, SECRET_ACCESS_KEY: other.org.key.secret_access_key };
    const words = ['--api', service.url, '--mirror', file];
    assert.deepEqual(Object.values(causes(await call(pair, ...words))), ['missing']);
    await service.withUnitOfWork((work) => recordResults(work, other.org.id, [{ ref: 'ana-1' }]));
    const behind = await call(pair, ...words);
    assert.deepEqual([behind.code, Object.values(causes(behind))], [0, ['pending', 'pending']]);
  });

  for (const [type, timeOf, idOf] of [
    ['timestamptz', (text: string) => text, (id: string) => id],
    ['text', (text: string) => text, (id: string) => id],
    ['timestamp', (text: string) => text, (id: string) => id],
    ['bigint', (text: string) => Date.parse(text), (id: string) => id.toUpperCase()],
  ] as const) {
    test(`reads and repairs a table whose times are ${type}`, async () => {
      const database = await freshDatabase(await thisServer(), { migrated: false });
      await withDatabase(database.url, async (db) => {
        await db.query(`create schema mine`);
        // Ids in capital letters are those of a column of text.
        const ids = type === 'bigint' ? 'text' : 'uuid';
        await db.query(`create table mine."Results" (the_id ${ids} primary key, changed ${type}, body jsonb)`);
        for (const one of faulty.values())
          await db.query('insert into mine."Results" values ($1, $2, $3)', [
            idOf(one.assessment_id),
            timeOf(one.updated_at),
            JSON.stringify(one),
          ]);
      });
      const words = ['--api', front.url, '--mirror', 'table:mine.Results', '--id-column', 'the_id'];
      const columns = ['--updated-at-column', 'changed', '--record-column', 'body'];
      const environment = { DATABASE_URL: database.url };
      const first = await call(environment, ...words, ...columns);
      assert.deepEqual(causes(first), found, first.said);
      assert.equal((await call(environment, ...words, ...columns, '--repair')).code, 0);
      assert.equal((await call(environment, ...words, ...columns)).code, 0);
      await withDatabase(database.url, async (db) => {
        const rows = await db.query<{ body: Assessment }>(
          'select body from mine."Results" order by lower(the_id::text) collate "C"',
        );
        assert.deepEqual(
          rows.map(({ body }) => body),
          [...now].sort().map(([, record]) => record),
        );
      });
      await database.drop();
    });
  }

  test('sees what else was done to a mirror, and repairs it', async () => {
    const database = await freshDatabase(await thisServer(), { migrated: false });
    const [one, two, three, four] = [...now.values()] as [Assessment, Assessment, Assessment, Assessment];
    const altered = { ...three, framework: 'another' };
    const damaged: [string | null, string | null, object][] = [
      [one.assessment_id, one.updated_at, one],
      [one.assessment_id, '2020-01-01T00:00:00.000Z', one],
      [two.assessment_id, null, two],
      [three.assessment_id, three.updated_at, altered],
      // By the consumer's own clock, which is ahead.
      [four.assessment_id, '2099-01-01T00:00:00.000Z', four],
      ['no id', '2099-01-01T00:00:00.000Z', {}],
      [null, '2026-01-01T00:00:00.000Z', {}],
    ];
    await withDatabase(database.url, async (db) => {
      await db.query('create table results (assessment_id text, updated_at text, record jsonb)');
      for (const row of damaged) await db.query('insert into results values ($1, $2, $3)', [...row]);
    });
    const file = join(folder, 'damaged.ndjson');
    const lines = damaged.map(([assessment_id, updated_at, record]) =>
      JSON.stringify({ assessment_id, updated_at, record }),
    );
    await writeFile(file, `\uFEFF${lines.join('\n')}\n{"assessment_id":"cut off`);
    for (const [place, unreadable] of [
      ['table:results', 2],
      [file, 3],
    ] as const) {
      const words = ['--api', service.url, '--mirror', place, '--record-column', 'record'];
      const environment = { DATABASE_URL: database.url };
      const first = await call(environment, ...words, '--content');
      const found = causes(first);
      assert.deepEqual([first.code, first.json.repeated], [1, [one.assessment_id]], first.said);
      assert.equal(first.json.unreadable.length, unreadable);
      assert.deepEqual(
        [two, three, four].map((each) => found[each.assessment_id]),
        ['altered', 'altered', 'ahead'],
      );
      const repairing = await call(environment, ...words, '--content', '--repair');
      assert.equal(repairing.code, 0, repairing.said);
      const again = await call(environment, ...words, '--content');
      const { differences, repeated, unreadable: left } = again.json;
      assert.deepEqual([again.code, differences, repeated, left], [0, [], [], []], place);
    }
    await database.drop();
  });

  test('judges by the checkpoint of the mirror, if it is told', async () => {
    const file = join(folder, 'newest.ndjson');
    const walk = client.assessments.list({ limit: 500 });
    await walk.toArray();
    const through = walk.checkpoint!.since;
    await writeFile(file, ndjson(new Map([...now].filter(([id]) => id !== newest.id))));
    const words = ['--api', service.url, '--mirror', file];
    assert.deepEqual(causes(await call({}, ...words)), { [newest.id]: 'pending' });
    const later = new Date(Date.parse(through) + 1).toISOString();
    const told = await call({}, ...words, '--since', later);
    assert.deepEqual([told.code, causes(told)], [1, { [newest.id]: 'missing' }], told.said);
    assert.equal((await call({}, ...words, '--since', 'yesterday')).code, 2);
  });

  test('compares through the filters of the mirror', async () => {
    await ana.completes({ subject: 'english' });
    const file = join(folder, 'maths.ndjson');
    await writeFile(file, ndjson(now));
    const words = ['--api', front.url, '--mirror', file];
    assert.equal((await call({}, ...words, '--filters', 'subject=maths')).code, 0);
    const unfiltered = await call({}, ...words);
    assert.equal(Object.values(causes(unfiltered)).join(), 'pending');
    // As in a query, a name that stands there twice is a list.
    for (const both of ['subject=english&subject=maths', 'subject=maths,english'])
      assert.equal(Object.values(causes(await call({}, ...words, '--filters', both))).join(), 'pending', both);
    for (const [filters, says] of [
      ['status=completed', /can't be filtered by status/],
      ['learner_ref=ana-1&learner_ref=ben-1', /learner_ref more than once/],
    ] as const) {
      const refused = await call({}, ...words, '--filters', filters);
      assert.equal(refused.code, 2);
      assert.match(refused.said, says);
    }
  });

  test('with the key pair of another organisation, or other filters, empties no mirror', async () => {
    const file = join(folder, 'elsewhere.ndjson');
    const content = ndjson(await truth(client));
    await writeFile(file, content);
    const other = await scenario(service);
    await (await other.learner('cy-1')).completes();
    const { organisation_id: id } = await clientOf(service.url, other.org.key).health();
    const { access_key_id: ACCESS_KEY_ID, secret_access_key: SECRET_ACCESS_KEY } = other.org.key;
    const pair = { ACCESS_KEY_ID, SECRET_ACCESS_KEY };
    const words = ['--api', service.url, '--mirror', file, '--repair'];
    const refused = await call(pair, ...words);
    assert.deepEqual([refused.code, refused.json], [1, null]);
    assert.match(refused.said, new RegExp(`organisation ${id} finds no trace of 6 of the 6 results `));
    assert.equal((await call({}, ...words, '--filters', 'subject=english')).code, 1);
    assert.equal(await readFile(file, 'utf8'), content);
    const forced = await call(pair, ...words, '--force');
    assert.deepEqual([forced.code, forced.json.organisation], [0, id], forced.said);
    assert.equal((await readFile(file, 'utf8')).trim().split('\n').length, 1);
  });

  test('waits for a service that says when to come back', async () => {
    const startMs = performance.now();
    front.interfere = (_request, response) => {
      if (performance.now() - startMs > 2500) return false;
      response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '3' });
      response.end(JSON.stringify({ error: { code: 'service_unavailable', message: 'Not now.' } }));
      return true;
    };
    const file = join(folder, 'waited.ndjson');
    await writeFile(file, ndjson(await truth(client)));
    const { code, said } = await call({}, '--api', front.url, '--mirror', file);
    front.interfere = null;
    assert.deepEqual([code, said], [0, '']);
  });

  test('takes away what was withdrawn, however much of a mirror that is', async () => {
    const missing = await scenario(service);
    const { org } = missing;
    const dan = await missing.learner('dan-1');
    const all = [await dan.completes(), await dan.completes(), await dan.completes()];
    const its = clientOf(service.url, org.key);
    const file = join(folder, 'withdrawn.ndjson');
    await writeFile(file, ndjson(await truth(its)));
    for (const one of all.slice(1)) await one.isWithdrawn();
    const pair = { ACCESS_KEY_ID: org.key.access_key_id, SECRET_ACCESS_KEY: org.key.secret_access_key };
    const repaired = await call(pair, '--api', front.url, '--mirror', file, '--repair');
    assert.deepEqual([repaired.code, repaired.json?.repaired], [0, 2], repaired.said);
    assert.equal(await readFile(file, 'utf8'), ndjson(await truth(its)));
  });

  test('reads pages where that takes fewer requests, and keeps a file as private as it was', async () => {
    const many = await scenario(service);
    const { org } = many;
    await many.learner('eve-1');
    const outcomes = Array.from({ length: 80 }, () => ({ ref: 'eve-1' }));
    await service.withUnitOfWork((unit) => recordResults(unit, org.id, outcomes));
    const file = join(folder, 'bare.ndjson');
    const wanted = [...(await truth(clientOf(service.url, org.key))).values()].map(({ assessment_id, updated_at }) =>
      JSON.stringify({ assessment_id, updated_at }),
    );
    await writeFile(file, `${wanted.slice(0, 10).join('\n')}\n`, { mode: 0o640 });
    await writeFile(`${file}.new`, 'what a killed run has left', { mode: 0o666 });
    const pair = { ACCESS_KEY_ID: org.key.access_key_id, SECRET_ACCESS_KEY: org.key.secret_access_key };
    front.passed.length = 0;
    const repaired = await call(pair, '--api', front.url, '--mirror', file, '--repair');
    assert.deepEqual([repaired.code, repaired.json?.repaired], [0, 70], repaired.said);
    assert.ok(front.passed.length < 10, front.passed.join('\n'));
    assert.deepEqual((await readFile(file, 'utf8')).trim().split('\n').sort(), wanted.sort());
    assert.equal((await stat(file)).mode & 0o777, 0o640);
  });

  test('lets a mirror in a table write while it reads, and leaves alone what that has changed', async () => {
    const database = await freshDatabase(await thisServer(), { migrated: false });
    await withDatabase(database.url, async (db) => {
      await db.query('create table results (assessment_id uuid primary key, updated_at text, record jsonb)');
      for (const one of faulty.values())
        await db.query('insert into results values ($1, $2, $3)', [one.assessment_id, one.updated_at, one]);
      const later = new Date(Date.parse(now.get(outdated.id)!.updated_at) + 60_000).toISOString();
      const sql = `set lock_timeout = '5s'; update results set updated_at = '${later}' where assessment_id = '${outdated.id}'`;
      let written: Promise<unknown> | null = null;
      front.interfere = (request, response) => {
        if (!request.url!.endsWith(outdated.id)) return false;
        written = db.query(sql);
        const answer = () => response.end(JSON.stringify({ data: now.get(outdated.id) }));
        void written.then(answer, answer);
        return true;
      };
      const words = ['--api', front.url, '--mirror', 'table:results', '--record-column', 'record', '--repair'];
      const repaired = await call({ DATABASE_URL: database.url }, ...words);
      front.interfere = null;
      assert.deepEqual([repaired.code, repaired.json?.left], [1, [outdated.id]], repaired.said);
      assert.ok(written !== null);
      await written;
      const rows = await db.query<{ id: string; time: string }>(
        'select assessment_id as id, updated_at as time from results',
      );
      const held = new Map(rows.map(({ id, time }) => [id, time]));
      assert.equal(held.get(outdated.id), later);
      assert.deepEqual([held.has(lost.id), held.has(kept.id)], [true, false]);
    });
    await database.drop();
  });

  test('is told in a sentence what is missing or wrong', async () => {
    const file = join(folder, 'broken.ndjson');
    await writeFile(file, '{"assessment_id": "x"}\n');
    const api = ['--api', service.url];
    for (const [environment, words, code, says] of [
      [{ ACCESS_KEY_ID: '' }, [...api, '--mirror', file], 2, /ACCESS_KEY_ID/],
      [{}, ['--mirror', file], 2, /--api is required/],
      [{}, ['--api', 'nowhere', '--mirror', file], 2, /--api must be/],
      [{}, [...api, '--mirror', file], 1, /Line 1 .* no ID of a result/],
      [{}, [...api, '--mirror', join(folder, 'nothing')], 1, /no file/],
      [{ DATABASE_URL: '' }, [...api, '--mirror', 'table:t'], 2, /DATABASE_URL/],
      [{}, [...api, '--mirror', 'table:t', '--repair'], 2, /--record-column/],
      [
        { SECRET_ACCESS_KEY: 'ars_test_wrong' },
        [...api, '--mirror', join(folder, 'walk.ndjson')],
        1,
        /refuses the access key/,
      ],
      [{}, ['--api', 'http://127.0.0.1:1', '--mirror', join(folder, 'walk.ndjson')], 1, /cannot be reached/],
      [{}, ['--api', `${service.url}/docs`, '--mirror', join(folder, 'walk.ndjson')], 1, /Check the URL/],
    ] as const) {
      const called = await call(environment, ...words);
      assert.equal(called.code, code, called.said);
      assert.match(called.said, says);
      assert.doesNotMatch(called.said, /\n/);
    }
  });
});
