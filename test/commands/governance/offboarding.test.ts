import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { lockFeed } from '../../../src/feed/position.ts';
import { stampLearners } from '../../../src/feed/stamp.ts';
import { findLearnersByRefs } from '../../../src/records/learners/learners.ts';
import { findOrganisation } from '../../../src/organisations/organisations.ts';
import { ars, begin, program } from '../../support/ars.ts';
import { atPort, serverOf, waitForTable } from '../../support/postgres.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

const service = await withService({ own: 'Changes the lineage of the database.' });
const folder = await mkdtemp(join(tmpdir(), 'ars-organisation-'));
after(() => rm(folder, { recursive: true, force: true }));

const run = (...words: string[]) => runAt(service.databaseUrl, ...words);
const runAt = (databaseUrl: string, ...words: string[]) =>
  ars(['organisation', ...words, '--json'], { ...service.environment, DATABASE_URL: databaseUrl });

/** The database through a connection that is lost once a transaction with this statement in it is to be committed: the commit arrives, its answer doesn't. */
async function losingCommitOf(statement: string) {
  let cut = 0;
  const between = createServer((client) => {
    const server = connect(serverOf(service.databaseUrl));
    let isAtIt = false;
    let isCut = false;
    client.on('data', (bytes) => {
      const said = bytes.toString('latin1');
      isAtIt ||= said.includes(statement);
      isCut ||= isAtIt && /commit/i.test(said);
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (!isCut) return void client.write(bytes);
      cut++;
      client.destroy();
    });
    client.on('error', () => {}).on('close', () => server.end());
    server.on('error', () => {}).on('close', () => client.destroy());
  });
  between.listen(0, '127.0.0.1');
  await once(between, 'listening');
  after(() => between.close());
  return { url: atPort(service.databaseUrl, (between.address() as AddressInfo).port), times: () => cut };
}

suite('ars organisation suspend, resume, export and delete', () => {
  test('go in their order, are refused out of it, and leave a certificate that can be printed again', async () => {
    const { org, ...scene } = await (async () => {
      const made = await scenario(service);
      return { org: made.org, learner: made.learner.bind(made) };
    })();
    const ana = await scene.learner('ana', 'Ana Silva');
    await ana.completes();
    const id = org.publicId;
    const del = (...words: string[]) => run('delete', id, ...words);
    assert.equal((await del()).code, 2);
    assert.match((await del('--confirm', 'Test')).said, /not the one of this organisation/);
    assert.match((await del('--confirm', 'Test College')).said, /not suspended/);
    assert.match((await del('--confirm', 'Test College', '--without-export')).said, /not suspended/);
    assert.equal((await run('suspend', id)).code, 2, 'a reason is needed');
    // A command on a machine whose clock is an hour ahead goes by the database's.
    const hourAhead =
      'data:text/javascript,const clock = Date; const { now } = clock; clock.now = () => now() + 3600_000;';
    const ahead = (...words: string[]) =>
      begin(['organisation', ...words], { ...service.environment, NODE_OPTIONS: `--import="${hourAhead}"` }).ended;
    assert.equal((await ahead('suspend', id, '--reason', 'The end', '--json')).json.suspended, true);
    const [row] = await service.app.db.query<{ at: Date }>(
      'select suspended_at as at from organisation where public_id = $1',
      [id],
    );
    assert.ok(Math.abs(row!.at.getTime() - service.app.clock.nowMs()) < 60_000, row!.at.toISOString());
    assert.match((await run('suspend', id, '--reason', 'The end')).said, /suspended already/);
    assert.equal((await org.get('/health')).status, 401);
    assert.equal((await run('resume', id)).json.suspended, false);
    assert.equal((await org.get('/health')).status, 200);
    await run('suspend', id, '--reason', 'The end, Ana Silva told us');
    for (const [out, why] of [
      ['/proc/returned', 'no folder can be made there (ENOENT)'],
      [program, 'it is a file (EEXIST)'],
    ] as const)
      assert.match(
        (await run('export', id, '--out', out)).said,
        new RegExp(RegExp.escape(`${out} can't be used, because ${why}`)),
      );
    const granted = await run('credits', id, '--add', '5', '--reason', 'For Ana Silva');
    assert.equal(granted.code, 0, granted.said);
    const audited = await service.app.db.query<{ resource: string }>(
      "select resource from audit where action in ('organisation suspend', 'organisation credits') order by audit_id",
    );
    assert.deepEqual(
      audited.map((row) => row.resource),
      [id, id, '+5'],
      'why is kept where it can be forgotten: the log keeps no person',
    );
    const out = join(folder, 'returned');
    assert.match((await del('--confirm', 'Test College')).said, /Nothing has been exported/);
    // What was returned while it was open is not everything.
    await run('resume', id);
    const open = await run('export', id, '--out', out);
    assert.deepEqual([open.code, open.json.changed_meanwhile], [0, false], 'what it made itself is no change');
    await ana.completes();
    await run('suspend', id, '--reason', 'The end');
    assert.match((await del('--confirm', 'Test College')).said, /from before the suspension.*Nothing is deleted/);
    const { json: returned } = await run('export', id, '--out', out);
    const manifest = JSON.parse(await readFile(join(out, 'manifest.json'), 'utf8'));
    assert.deepEqual([manifest.organisation_id, manifest.suspended, returned.evidence], [id, true, 2]);
    // One of them was never asked for: it is made by the export, and stands in its result.
    const results = (await readFile(join(out, 'results.ndjson'), 'utf8')).trimEnd().split('\n');
    for (const { assessment_id, report_sha256 } of results.map((line) => JSON.parse(line))) {
      const pdf = await readFile(join(out, 'evidence', `${assessment_id}.pdf`));
      assert.equal(report_sha256, createHash('sha256').update(pdf).digest('hex'));
    }
    for (const nowhere of [join(folder, 'no folder', 'certificate'), join(program, 'certificate')]) {
      const refused = await del('--confirm', 'Test College', '--certificate', nowhere);
      assert.match(refused.said, /cannot write .*certificate\.json: .*Nothing is deleted\./);
    }
    assert.equal((await run('show', id)).code, 0);
    const file = join(folder, 'certificate');
    const deleted = await del('--confirm', 'Test College', '--certificate', file);
    const { json: certificate } = deleted;
    assert.equal(deleted.code, 0, deleted.said);
    assert.deepEqual(
      [certificate.name, certificate.deleted.learner, certificate.export.manifest_sha256],
      ['Test College', 1, returned.manifest_sha256],
    );
    assert.deepEqual([certificate.export.made_at, certificate.export.of_suspended], [manifest.made_at, true]);
    assert.deepEqual(JSON.parse(await readFile(`${file}.json`, 'utf8')), certificate);
    assert.match(await readFile(`${file}.txt`, 'utf8'), /^CERTIFICATE OF DELETION/);
    assert.deepEqual((await del()).json, { ...certificate, name: null });
    const unwritten = await del('--certificate', join(folder, 'no folder', 'certificate'));
    assert.deepEqual(
      [unwritten.code, unwritten.json],
      [1, { ...certificate, name: null }],
      'it is printed all the same',
    );
    assert.match(unwritten.said, /cannot write .*keep what is printed/);
    assert.equal((await run('show', id)).code, 1);
  });

  test('an export under which the feed moved says so, ends with 1, and is none to delete after', async () => {
    const scene = await scenario(service);
    const { id, publicId } = scene.org;
    const cai = await scene.learner('cai', 'Cai Jones');
    await cai.completes();
    await run('suspend', publicId, '--reason', 'The end');
    const out = join(folder, 'moved');
    const { promise: moved, resolve } = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const held = service.app.db.transaction(async (tx) => {
      await tx.query('lock table sitting_item in access exclusive mode');
      locked.resolve();
      await moved;
    });
    await locked.promise;
    const exporting = run('export', publicId, '--out', out);
    while ((await service.app.db.query(waitForTable('sitting_item'))).length === 0) await delay(20);
    await service.withUnitOfWork(async (work) => {
      const feed = await lockFeed(work, id);
      const [found] = await findLearnersByRefs(work.tx, id, ['cai']);
      await stampLearners(work, feed, [found!.learner_id]);
    });
    resolve();
    await held;
    const { code, json, said } = await exporting;
    assert.deepEqual([code, json?.changed_meanwhile, json?.evidence], [1, true, 1], said);
    assert.match(
      (await run('delete', publicId, '--confirm', 'Test College')).said,
      /records changed after the export began.*a restore/,
    );
    const again = await run('export', publicId, '--out', out);
    assert.deepEqual([again.code, again.json.changed_meanwhile], [0, false]);
    assert.equal((await run('delete', publicId, '--confirm', 'Test College')).code, 0);
  });

  test('what was exported before a restore is kept: the next export takes a new folder', async () => {
    const org = await service.organisation({ name: 'Restored College' });
    const kept = join(folder, 'kept');
    assert.equal((await run('export', org.publicId, '--out', kept)).code, 0);
    const manifest = await readFile(join(kept, 'manifest.json'), 'utf8');
    await service.app.db.query('update lineage set restores = restores + 1, since = clock_timestamp()');
    const again = await run('export', org.publicId, '--out', kept);
    assert.match(again.said, /contains an export from before the restore .* name a new folder/);
    assert.equal(again.code, 1);
    assert.equal(await readFile(join(kept, 'manifest.json'), 'utf8'), manifest);
    // Broken off before its manifest, it is as old as what it began with.
    await rm(join(kept, 'manifest.json'));
    assert.equal((await run('export', org.publicId, '--out', kept)).code, 1);
    const fresh = join(folder, 'fresh');
    for (let i = 0; i < 2; i++) assert.equal((await run('export', org.publicId, '--out', fresh)).code, 0);
  });

  test('an export is recorded, and has its manifest, though the connection is lost before the commit is confirmed', async () => {
    const org = await service.organisation();
    await run('suspend', org.publicId, '--reason', 'The end');
    const lost = await losingCommitOf('set exported_at');
    const out = join(folder, 'cut');
    const { code, said, json } = await runAt(lost.url, 'export', org.publicId, '--out', out);
    assert.deepEqual([code, lost.times() > 0], [0, true], said);
    const manifest = await readFile(join(out, 'manifest.json'));
    assert.equal(createHash('sha256').update(manifest).digest('hex'), json.manifest_sha256);
    const shown = await findOrganisation(service.app.db, org.publicId);
    assert.equal(shown!.export_sha256, json.manifest_sha256);
  });

  test('a change whose commit was not confirmed is told as one that may be done', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 1 });
    const add = ['credits', org.publicId, '--add', '5', '--reason', 'A grant'];
    const lost = await losingCommitOf('insert into credit_entry');
    const { code, said } = await runAt(lost.url, ...add);
    assert.deepEqual([code, lost.times() > 0], [1, true]);
    assert.match(said, /not known whether this was done: look before you repeat it/);
    assert.equal((await findOrganisation(service.app.db, org.publicId))!.credits, 6, 'here it was');
  });
});
