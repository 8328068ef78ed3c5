// Tier: full. Restores a backup of PostgreSQL.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFile, chmod, chown, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { verifyDigest } from '../../../src/feed/digest-repair.ts';
import type { Address } from '../../../src/platform/db/embedded/address.ts';
import { addressOf, databaseUrl, makeSocketFolder } from '../../../src/platform/db/embedded/address.ts';
import { packageFolder, prepareBinaries } from '../../../src/platform/db/embedded/binaries.ts';
import type { Cluster } from '../../../src/platform/db/embedded/cluster.ts';
import { createCluster, launch, shutDown } from '../../../src/platform/db/embedded/cluster.ts';
import { copyOnline } from '../../../src/platform/db/embedded/online-copy.ts';
import { accountFor } from '../../../src/platform/db/embedded/system-account.ts';
import { newRestamping, restampNext } from '../../../src/governance/upgrade/restamp.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { openMirror } from '../../../client/src/index.ts';
import { digestService } from '../../client/support/digest-service.ts';
import { assertSame, clientOf, heldBy, memoryStore, truth } from '../../client/support/mirrors.ts';
import { scenario } from '../../support/scenario.ts';
import { read } from '../../support/structure/source-tree.ts';
import { withService } from '../../support/service.ts';

const run = promisify(execFile);
const password = 'drill';

/** Looks until it is so; the run ends a test that never gets there. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(20);
}

/**
 * A PostgreSQL of one's own with an archive of its log: killed, restored to a moment, and started. Everything that was shown after
 * that moment is lost to it, and consumers have it.
 * The programs are the embedded ones; DRILL_POSTGRES names the folder of others, such as /usr/lib/postgresql/15/bin.
 */
suite('recovery to a moment', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ars-drill-'));
  await chmod(folder, 0o755);
  const account = await accountFor(folder);
  const own = (path: string) => (account === null ? Promise.resolve() : chown(path, account.uid, account.gid));
  const [archive, list] = [join(folder, 'archive'), join(folder, 'erasures')];
  await mkdir(archive);
  await own(archive);
  const theirs = process.env.DRILL_POSTGRES;
  const binaries =
    theirs === undefined
      ? await prepareBinaries(packageFolder(), account, join(folder, 'binaries'))
      : {
          initdb: join(theirs, 'initdb'),
          pgCtl: join(theirs, 'pg_ctl'),
          postgres: join(theirs, 'postgres'),
          libraries: join(theirs, '..', 'lib'),
          major: '',
        };
  const cluster = (name: string): Cluster => ({ base: folder, path: join(folder, name), account, binaries });
  /** What docs/operate/backup.md says to put into postgresql.conf: the block that begins with this setting. */
  const guided = (setting: string) => {
    const [, block] = new RegExp(`\`\`\`ini\\n( *${setting} = [^\`]+)\`\`\``).exec(read('docs/operate/backup.md'))!;
    return `${block!.replaceAll('/srv/archive', archive).replaceAll(/^ +/gm, '')}\n`;
  };
  const [first, second] = [cluster('first'), cluster('second')];
  after(async () => {
    for (const one of [first, second]) await shutDown(one);
    await rm(folder, { recursive: true, force: true });
  });

  async function create(): Promise<void> {
    if (theirs === undefined) return createCluster(first, password);
    const file = join(folder, 'password');
    await writeFile(file, password);
    await own(file);
    await mkdir(first.path);
    await own(first.path);
    const words = ['-D', first.path, '-U', 'postgres', '--pwfile', file, '-A', 'scram-sha-256', '-E', 'UTF8'];
    await run(binaries.initdb, [...words, '--locale', 'C'], { ...account, cwd: folder });
  }

  const urlOf = (address: Address, database = 'ars') => databaseUrl('postgres', password, database, address);
  async function connected<T>(url: string, inside: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client(url);
    client.on('error', () => {});
    await client.connect();
    try {
      return await inside(client);
    } finally {
      await client.end();
    }
  }
  const database = (address: Address) => ({ url: urlOf(address), drop: async () => {} });
  async function start(one: Cluster): Promise<{ pid: number; at: Address }> {
    const at = addressOf(one.path, null);
    await makeSocketFolder(one.path, at);
    return { ...(await launch(one, at)), at };
  }

  test('is found; what changed reaches every mirror by since, and nothing is given out twice', async () => {
    await create();
    await appendFile(join(first.path, 'postgresql.conf'), guided('archive_mode'));
    const server = await start(first);
    await connected(urlOf(server.at, 'postgres'), (client) => client.query('create database ars'));
    const before = await withService({
      own: 'Opens a database that is there already.',
      database: database(server.at),
      settings: { ARS_ERASURES_FILE: list },
    });
    const scene = await scenario(before);
    const { org } = scene;
    const group = await scene.group('cohort-1');
    const [ana, bo, cy] = [
      await scene.learner('ana', 'Ana Silva'),
      await scene.learner('bo'),
      await scene.learner('cy'),
    ];
    await group.adds(ana, bo, cy);
    const result = await ana.completes();
    const withdrawn = await bo.completes();
    await cy.completes();

    // The copy, while learners come.
    const copy = join(folder, 'copy');
    await Promise.all([
      connected(urlOf(server.at, 'postgres'), (client) =>
        copyOnline(client, first.path, copy, { onCopied: () => {}, signal: new AbortController().signal }),
      ),
      (async () => {
        for (let i = 0; i < 5; i++) await (await scene.learner(`during-${i}`)).completes();
      })(),
    ]);
    const kept = await (await scene.learner('di')).completes();
    const moment = await connected(urlOf(server.at, 'postgres'), async (client) => {
      const { rows } = await client.query<{ at: string }>('select clock_timestamp()::text as at');
      return rows[0]!.at;
    });

    // What is lost: a name, a withdrawal, a group's name, an amendment, a result, an erasure.
    await ana.isCalled('Ana Nova');
    await withdrawn.isWithdrawn();
    await group.isRenamed('Renamed');
    await kept.isAmended();
    const lost = await (await scene.learner('ed')).completes();
    const cyId = (await cy.read()).learner_id;
    await before.withUnitOfWork((work) => eraseLearner(work, org.id, cyId, { actor: 'operator' }));
    const followers = [scene.follow(), scene.follow({}, { of: [group] }), scene.followLearners(), scene.followGroups()];
    for (const one of followers) await one.poll();
    // One that compares nothing, and heeds X-Sync-Restored.
    const front = await digestService(before.url, false);
    const blind = { client: clientOf(front.url, org.key), store: memoryStore() };
    await openMirror(blind).poll();
    assert.ok(heldBy(blind.store).has(lost.id));
    const page = await org.get('/assessments?limit=1');
    assert.equal(page.headers['x-sync-restored'], undefined);
    const shown = page.headers['x-sync-through']!;
    await connected(urlOf(server.at, 'postgres'), async (client) => {
      const { rows } = await client.query<{ name: string }>('select pg_walfile_name(pg_switch_wal()) as name');
      await until(async () => (await readdir(archive)).includes(rows[0]!.name));
    });
    const address = new URL(before.url);
    await before.stop();
    process.kill(server.pid, 'SIGKILL');

    await rename(copy, second.path);
    const conf = guided('restore_command').replace(/(?<=recovery_target_time = ')[^']+/, moment);
    assert.ok(conf.includes(moment));
    await appendFile(join(second.path, 'postgresql.conf'), conf);
    await writeFile(join(second.path, 'recovery.signal'), '');
    if (account !== null) await run('chown', ['-R', `${account.uid}:${account.gid}`, second.path]);
    const { at: again } = await start(second);
    await connected(urlOf(again), (client) =>
      until(async () => (await client.query('select pg_is_in_recovery() as is')).rows[0].is === false),
    );
    const restored = await withService({
      own: 'Opens a database that is there already.',
      database: database(again),
      settings: { ARS_ERASURES_FILE: list, ARS_PORT: address.port },
    });
    const logged = restored.logged.join('');
    assert.match(logged, /"database\.restored".*"organisations":1,"declared":false/);
    assert.match(logged, /"erasures\.applied".*"learners":1/);

    // Before anything else: the first reply is above all that was shown.
    const first304 = await org.get('/assessments?limit=1', { 'if-none-match': page.headers.etag! });
    assert.equal(first304.status, 200);
    assert.ok(first304.headers['x-sync-through']! > shown, 'positions go on above');
    const told = first304.headers['x-sync-restored']!;
    assert.ok(told > shown && told <= first304.headers['x-sync-through']!, 'a client is told, and heeds it once');
    const next = new URL(page.body.pagination.next);
    const refused = await org.get(next.pathname.slice('/api/v1'.length) + next.search);
    assert.deepEqual([refused.status, refused.body.error.code], [400, 'invalid_cursor']);
    assert.equal((await org.get('/learners/cy')).status, 404, 'erased again before anything was served');

    const doing = newRestamping();
    while ((await restampNext(restored.app, doing)) !== 'nothing left');
    assert.ok(
      (await followers[0]!.poll()).includes('bo maths: completed'),
      'what was withdrawn after the moment is back',
    );
    for (const one of followers) await one.poll();
    assert.equal(followers[0]!.held.get(result.id).learner.full_name, 'Ana Silva');
    const onlyLost = async (held: Map<string, unknown>, sweep: Map<string, unknown>) => {
      assert.deepEqual(
        [...held.keys()].filter((id) => !sweep.has(id)),
        held.has(lost.id) ? [lost.id] : ['ed'],
      );
      for (const [id, entry] of sweep) assert.deepEqual(held.get(id), entry);
    };
    await onlyLost(followers[0]!.held, await followers[0]!.sweep());
    await onlyLost(followers[2]!.held, await followers[2]!.sweep());
    await followers[1]!.assertConverged();
    await followers[3]!.assertConverged();
    assert.equal((await openMirror(blind).poll()).wholeWalks, 1);
    assertSame(heldBy(blind.store), await truth(blind.client), 'a mirror without a digest, after the drill,');
    assert.equal((await org.get('/groups')).body.data[0].name, 'The cohort cohort-1');
    assert.deepEqual(await verifyDigest(restored.app, org.id), []);
    // Who compares by digest sees that something is left over.
    const { body } = await org.get('/assessments/digest');
    assert.equal(body.data.n, followers[0]!.held.size - 1);
  });
});
