import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { feedQueue, withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { readFeed } from '../../../src/feed/position.ts';
import { certificateText } from '../../../src/governance/offboarding/certificate.ts';
import { deleteOrganisation } from '../../../src/governance/offboarding/delete.ts';
import type { Exported } from '../../../src/governance/offboarding/export.ts';
import { exportOrganisation } from '../../../src/governance/offboarding/export.ts';
import { OtherFolder } from '../../../src/governance/offboarding/folder.ts';
import { suspendOrganisation } from '../../../src/governance/offboarding/suspend.ts';
import { readOrganisation } from '../../../src/organisations/organisations.ts';
import { isReturnedWhole, recordExport } from '../../../src/organisations/suspension.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

const service = await withService();
const { app } = service;
const folder = await mkdtemp(join(tmpdir(), 'ars-returned-'));
after(() => rm(folder, { recursive: true, force: true }));

const returnTo = async (organisationId: number, out: string) =>
  exportOrganisation(app, await readOrganisation(app.db, organisationId), out, () => {}, new AbortController().signal);
const filesOf = async (out: string) =>
  (await readdir(join(out, 'evidence'))).filter((name) => name.endsWith('.pdf')).sort();
const listedOf = async (out: string): Promise<{ file: string; sha256: string; bytes: number }[]> =>
  JSON.parse(await readFile(join(out, 'evidence', 'manifest.json'), 'utf8'));

suite('an organisation is returned again into the same folder', async () => {
  const scene = await scenario(service);
  const { org } = scene;
  const out = join(folder, 'returned');
  const [ana, bea, cai] = [await scene.learner('ana'), await scene.learner('bea'), await scene.learner('cai')];
  const [amended, erased, withdrawn] = [await ana.completes(), await bea.completes(), await cai.completes()];

  test('superseded editions are returned beside the current one, with their hashes', async () => {
    for (const one of [amended, erased]) {
      await one.readReport();
      await one.isAmended({ framework: 'Amended' });
    }
    const { evidence } = await returnTo(org.id, out);
    assert.equal(evidence, 5);
    const expected = [amended, erased].flatMap(({ id }) => [`${id}-1.pdf`, `${id}.pdf`]);
    assert.deepEqual(await filesOf(out), [...expected, `${withdrawn.id}.pdf`].sort());
    const listed = await listedOf(out);
    assert.deepEqual(listed.map((one) => one.file).sort(), await filesOf(out));
    const lines = (await readFile(join(out, 'evidence.ndjson'), 'utf8')).trimEnd().split('\n');
    const hashes = lines.map((line) => JSON.parse(line).sha256).sort();
    assert.deepEqual(listed.map((one) => one.sha256).sort(), hashes, 'no edition is missing');
    for (const { file, sha256, bytes } of listed) {
      const pdf = await readFile(join(out, 'evidence', file));
      assert.deepEqual([createHash('sha256').update(pdf).digest('hex'), pdf.length], [sha256, bytes]);
    }
  });

  test('files of what is withdrawn, erased or deleted since are deleted, and counted', async () => {
    await withdrawn.isWithdrawn();
    const [row] = await app.db.query<{ learner_id: string }>(
      `select learner_id from learner where organisation_id = $1 and ref = 'bea'`,
      [org.id],
    );
    await service.withUnitOfWork((work) => eraseLearner(work, org.id, row!.learner_id, { actor: 'operator' }));
    // A row that retention has deleted.
    await writeFile(join(out, 'evidence', `${app.random.uuid()}.pdf`), 'pdf');
    const { evidence, evidenceRemoved } = await returnTo(org.id, out);
    assert.deepEqual([evidence, evidenceRemoved], [2, 4]);
    assert.deepEqual(await filesOf(out), [`${amended.id}-1.pdf`, `${amended.id}.pdf`].sort());
    assert.equal((await returnTo(org.id, out)).evidenceRemoved, 0);
    assert.equal((await listedOf(out)).length, 2);
  });

  test('a folder with anything else in it, or of another organisation, is refused and left as it is', async () => {
    const other = await service.organisation();
    const before = await readFile(join(out, 'manifest.json'), 'utf8');
    await assert.rejects(returnTo(other.id, out), OtherFolder);
    await writeFile(join(out, 'evidence', 'notes.txt'), 'Mine');
    await assert.rejects(returnTo(org.id, out), /notes\.txt/);
    assert.equal(await readFile(join(out, 'manifest.json'), 'utf8'), before);
    assert.equal((await filesOf(out)).length, 2);
    const unknown = join(folder, 'unknown');
    await mkdir(join(unknown, 'evidence'), { recursive: true });
    await writeFile(join(unknown, 'evidence', `${app.random.uuid()}.pdf`), 'Whose is it?');
    await assert.rejects(returnTo(org.id, unknown), /not of an export of this organisation/);
    assert.equal((await filesOf(unknown)).length, 1);
    const lines = join(folder, 'lines');
    await mkdir(lines);
    await writeFile(join(lines, 'learners.ndjson'), 'Mine');
    await assert.rejects(returnTo(org.id, lines), /not of an export of this organisation/);
    assert.equal(await readFile(join(lines, 'learners.ndjson'), 'utf8'), 'Mine');
    await rm(join(out, 'evidence', 'notes.txt'));
  });

  test('what is a link is refused: nothing outside the folder is written or deleted', async () => {
    const outside = join(folder, 'outside');
    await mkdir(outside);
    const foreign = `${app.random.uuid()}.pdf`;
    await writeFile(join(outside, foreign), 'Mine');
    const linked = join(folder, 'linked');
    await returnTo(org.id, linked);
    await rm(join(linked, 'evidence'), { recursive: true });
    await symlink(outside, join(linked, 'evidence'));
    await assert.rejects(returnTo(org.id, linked), /holds something else \(evidence\)/);
    await rm(join(linked, 'evidence'));
    await symlink(join(outside, foreign), join(linked, 'learners.ndjson.part'));
    await assert.rejects(returnTo(org.id, linked), /holds something else \(learners\.ndjson\.part\)/);
    await rm(join(linked, 'learners.ndjson.part'));
    await mkdir(join(linked, 'evidence'));
    await mkdir(join(linked, 'evidence', `${amended.id}.pdf`));
    await assert.rejects(returnTo(org.id, linked), OtherFolder);
    assert.deepEqual(await readdir(outside), [foreign]);
    assert.equal(await readFile(join(outside, foreign), 'utf8'), 'Mine');
    await writeFile(join(folder, 'file'), 'Mine');
    await assert.rejects(returnTo(org.id, join(folder, 'file')), /EEXIST/);
  });

  test('killed anywhere, it leaves no manifest, and the next one is whole and has nothing of the killed one', async () => {
    const killed = join(folder, 'killed');
    const manifest = join(killed, 'manifest.json');
    for (const line of ['organisation.ndjson', '1 of 1 evidence files', 'results.ndjson', 'audit.ndjson']) {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, 'die-exporting.ts'), org.publicId, killed, line],
        {
          env: { ...process.env, ...service.environment },
          stdio: ['ignore', 'ignore', 'inherit'],
        },
      );
      await once(child, 'exit');
      assert.equal(child.signalCode, 'SIGKILL', line);
      await assert.rejects(readFile(manifest), { code: 'ENOENT' }, 'nothing says that it is whole');
    }
    const half = [join(killed, 'evidence', 'evidence.pdf.part'), join(killed, 'learners.ndjson.part')];
    for (const file of half) {
      await writeFile(file, 'of somebody who was erased');
      await chmod(file, 0o644);
    }
    const { sha256, evidence } = await returnTo(org.id, killed);
    assert.equal(evidence, 2);
    assert.equal(
      createHash('sha256')
        .update(await readFile(manifest))
        .digest('hex'),
      sha256,
    );
    const names = await readdir(killed, { recursive: true });
    assert.deepEqual(
      names.filter((name) => /part$|lock|journal/.test(name)),
      [],
    );
    for (const name of names) {
      const { mode } = await stat(join(killed, name));
      assert.equal(mode & 0o077, 0, `only its owner may read ${name}`);
    }
  });

  test('two at once: the second is refused, and the first is as if there had been none', async () => {
    let second: Promise<unknown> | undefined;
    const organisation = await readOrganisation(app.db, org.id);
    const progress = () => {
      second ??= assert.rejects(returnTo(org.id, out), /another export is writing/);
    };
    const { sha256 } = await exportOrganisation(app, organisation, out, progress, new AbortController().signal);
    await second;
    const manifest = await readFile(join(out, 'manifest.json'));
    assert.equal(createHash('sha256').update(manifest).digest('hex'), sha256);
    assert.equal((await filesOf(out)).length, 2);
  });

  test('what an earlier manifest said stands nowhere once an export is broken off', async () => {
    const organisation = await readOrganisation(app.db, org.id);
    const broken = new AbortController();
    await assert.rejects(exportOrganisation(app, organisation, out, () => broken.abort(), broken.signal));
    await assert.rejects(readFile(join(out, 'manifest.json')), { code: 'ENOENT' });
    const { sha256 } = await returnTo(org.id, out);
    const manifest = await readFile(join(out, 'manifest.json'));
    assert.equal(createHash('sha256').update(manifest).digest('hex'), sha256);
  });
});

suite('what an export counts for', async () => {
  const scene = await scenario(service);
  const { id } = scene.org;
  const out = join(folder, 'counted');
  const ana = await scene.learner('ana');
  await ana.completes();
  const never = new AbortController().signal;
  const stateNow = async () => (await readFeed(app.db, id)).state;
  const record = (exported: Exported) =>
    withUnitOfWork(app, feedQueue(id), (work) => recordExport(work.tx, id, exported));
  const remove = async (withoutExport: boolean) =>
    deleteOrganisation(
      app,
      await readOrganisation(app.db, id),
      { actor: 'operator', requestId: app.random.uuid(), withoutExport },
      () => {},
      never,
    );

  test('evidence that it makes itself is in what was returned, open or suspended', async () => {
    for (const suspended of [false, true]) {
      if (suspended) {
        await ana.completes();
        await service.withUnitOfWork((work) => suspendOrganisation(work, id, 'The end'));
      }
      const before = await stateNow();
      const exported = await returnTo(id, out);
      assert.notEqual(await stateNow(), before, 'a report was made, which changes its result');
      assert.equal(exported.feedState, await stateNow());
      await record(exported);
      assert.equal(await isReturnedWhole(app.db, id), suspended);
    }
  });

  test('recorded without the feed’s state, as by a version from before, it is outdated', async () => {
    await app.db.query('update organisation set exported_state = null where organisation_id = $1', [id]);
    assert.equal(await isReturnedWhole(app.db, id), false);
    assert.equal(await remove(false), 'outdated');
  });

  test('the certificate says "everything" of no export that is outdated', async () => {
    const certificate = await remove(true);
    assert.ok(typeof certificate !== 'string');
    assert.deepEqual([certificate.export!.of_suspended, certificate.export!.unchanged_since], [false, false]);
    const text = certificateText(certificate);
    assert.match(text, /was exported, and nothing that came later/);
    assert.doesNotMatch(text, /Everything was exported/);
  });
});
