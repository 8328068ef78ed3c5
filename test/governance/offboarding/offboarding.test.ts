import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { verifyExport } from '../../../src/platform/audit/export.ts';
import { sealNow } from '../../platform/audit/sealed.ts';
import { feedQueue, withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { lockFeed, readFeed } from '../../../src/feed/position.ts';
import { stampLearners } from '../../../src/feed/stamp.ts';
import { placeHold, releaseHold } from '../../../src/governance/legal-holds/holds.ts';
import { linkUrl, offerKey } from '../../../src/integrations/access-keys/link.ts';
import { certificateText } from '../../../src/governance/offboarding/certificate.ts';
import { deleteOrganisation } from '../../../src/governance/offboarding/delete.ts';
import type { Exported } from '../../../src/governance/offboarding/export.ts';
import { exportOrganisation } from '../../../src/governance/offboarding/export.ts';
import { files, leftOut } from '../../../src/governance/offboarding/returned.ts';
import { resumeOrganisation, suspendOrganisation } from '../../../src/governance/offboarding/suspend.ts';
import { ownTables } from '../../../src/governance/offboarding/tables.ts';
import { findOrganisation, readOrganisation } from '../../../src/organisations/organisations.ts';
import { recordExport } from '../../../src/organisations/suspension.ts';
import { grantSandbox } from '../../../src/sandbox/own.ts';
import { inviteUser } from '../../../src/organisations/users/invitations.ts';
import { ask } from '../../contract/support/client.ts';
import { personOf } from '../../web/console/visitor.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

/** An organisation leaves: it is closed, everything is returned, everything is deleted, and nothing of it remains. */

const service = await withService();
const { app } = service;
const folder = await mkdtemp(join(tmpdir(), 'ars-leaving-'));
after(() => rm(folder, { recursive: true, force: true }));
const never = new AbortController().signal;
const by = () => ({ actor: 'operator', requestId: app.random.uuid() });

/** An organisation with something in as many tables as a test can reach, under names that are found again. */
async function peopled(canary: string) {
  const scene = await scenario(service);
  const { org } = scene;
  const owner = await personOf(service, org.id, 'owner', {
    name: `${canary} Owner`,
    email: `${canary}@owner.example`.toLowerCase(),
  });
  await org.post('/webhooks', {
    url: 'https://platform.example/hook',
    event_types: ['assessment.completed', 'learner.groups.updated'],
  });
  const group = await scene.group('C1');
  const made = await org.post(
    '/learners',
    { ref: `ref-${canary}`, full_name: `${canary} Person`, email: `${canary}@learner.example`.toLowerCase() },
    { 'idempotency-key': canary },
  );
  const learner = await scene.learner(`ref2-${canary}`, `${canary} Second`);
  await learner.joins(group);
  const result = await learner.completes();
  await result.isAmended({ framework: `${canary} framework` });
  await result.readReport();
  await learner.leaves(group);
  await service.withUnitOfWork((work) =>
    inviteUser(work, org.id, {
      email: `${canary}@invited.example`,
      role: 'tutor',
      invitedBy: { userId: owner.userId, role: 'owner' },
      again: false,
    }),
  );
  await sealNow(app);
  return { scene, org, owner, result, url: made.body.data.assessment_url as string };
}

/** Tables in which a text stands anywhere, as a dump shows them. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await app.db.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const hex = Buffer.from(text).toString('hex');
    const rows = await app.db.query(
      `select from "${name}" t where strpos(lower(t::text), lower($1)) > 0 or strpos(t::text, $2) > 0 limit 1`,
      [text, hex],
    );
    if (rows.length > 0) found.push(name);
  }
  return found.sort();
}

/** A hash of each table's rows of one organisation. */
async function imageOf(organisationId: number): Promise<Record<string, unknown>> {
  const image: Record<string, unknown> = {};
  for (const { name } of await ownTables(app.db)) {
    // Calls that this test makes meanwhile are no damage.
    if (name.startsWith('audit') || name === 'key_use') continue;
    // When it was suspended and resumed.
    const times = { feed: 'resumed_at', organisation: 'past_suspensions' }[name];
    const text = times === undefined ? 't::text' : `(to_jsonb(t) - '${times}')::text`;
    const rows = await app.db.query(
      `select md5(string_agg(${text}, ',' order by ${text})) as hash, count(*) as count from "${name}" t where organisation_id = $1`,
      [organisationId],
    );
    image[name] = rows[0];
  }
  return image;
}

const suspend = (id: number) =>
  withUnitOfWork(app, feedQueue(id), (work) => suspendOrganisation(work, id, 'The contract ends'));

suite('suspended', async () => {
  const { org, owner, result, url } = await peopled('Suspendia');
  const other = await peopled('Bystander');
  const base = `/console/${org.publicId}`;
  const linkId = await withUnitOfWork(app, null, (work) =>
    offerKey(
      work,
      org.id,
      {
        kind: 'test',
        label: null,
        purpose: null,
        contact: null,
        expiresAt: null,
        networks: [],
        groupIds: [],
        subjects: [],
      },
      { createdBy: owner.userId, lastsMs: 60_000 },
    ),
  );
  const setup = new URL(linkUrl(service.url, app.secrets, org.id, linkId)).pathname;
  const invited = await service.withUnitOfWork((work) =>
    inviteUser(work, org.id, { email: 'new@college.example', role: 'tutor', invitedBy: 'operator', again: false }),
  );
  const welcome = `/console/invitation/${(invited as { token: string }).token}`;
  const status = async (path: string) => (await ask(service.url, 'GET', path, {})).status;
  const endpoints = async () =>
    (await app.db.query('select status from webhook_endpoint where organisation_id = $1', [org.id])).map(
      (row) => row.status,
    );
  const learnerPath = new URL(url).pathname;

  test('nothing of it opens, each door says why to whom it concerns, and the others stay as they are', async () => {
    assert.deepEqual(
      [await status(learnerPath), await status(setup), await status(welcome), (await owner.get(base)).status],
      [200, 200, 200, 200],
    );
    const image = await imageOf(org.id);
    assert.deepEqual(await suspend(org.id), { pausedEndpoints: 1 });
    assert.equal(await suspend(org.id), null);
    const refused = await org.get('/assessments');
    assert.equal(refused.status, 401);
    assert.deepEqual(refused.body.error.code, 'invalid_credentials');
    assert.match(refused.body.error.message, /suspended/);
    const wrong = await service.client({ ...org.key, secret_access_key: 'wrong' }).get('/assessments');
    assert.doesNotMatch(wrong.body.error.message, /suspended/, 'only whoever has the secret is told');
    const closed = await ask(service.url, 'GET', learnerPath, {});
    assert.equal(closed.status, 403);
    assert.match(closed.text, /closed at the moment/);
    assert.equal((await ask(service.url, 'POST', `${learnerPath}/start`, {})).status, 403);
    assert.notEqual(await status(setup), 200);
    assert.notEqual(await status(welcome), 200);
    assert.equal((await owner.get(base)).status, 404);
    assert.deepEqual(await endpoints(), ['paused']);
    assert.equal((await other.org.get('/assessments')).status, 200);
    assert.equal((await other.owner.get(`/console/${other.org.publicId}`)).status, 200);

    const resumed = await withUnitOfWork(app, feedQueue(org.id), async (work) =>
      resumeOrganisation(work, await readOrganisation(work.tx, org.id)),
    );
    assert.deepEqual(resumed, { resumedEndpoints: 1 });
    assert.deepEqual(
      [await status(learnerPath), await status(setup), await status(welcome), (await owner.get(base)).status],
      [200, 200, 200, 200],
    );
    assert.equal((await org.get(`/assessments/${result.id}`)).status, 200);
    assert.deepEqual(await endpoints(), ['active']);
    const now = await imageOf(org.id);
    // Endpoints and sessions say when they changed last, and the calls above were counted.
    for (const name of ['webhook_endpoint', 'user_membership', 'rate_window'])
      for (const one of [image, now]) delete one[name];
    assert.deepEqual(now, image, 'nothing else was changed');
  });

  test('an endpoint that was paused before stays paused', async () => {
    await app.db.query(`update webhook_endpoint set status = 'paused' where organisation_id = $1`, [org.id]);
    assert.deepEqual(await suspend(org.id), { pausedEndpoints: 0 });
    await withUnitOfWork(app, feedQueue(org.id), async (work) =>
      resumeOrganisation(work, await readOrganisation(work.tx, org.id)),
    );
    assert.deepEqual(await endpoints(), ['paused']);
  });
});

suite('returned and deleted', async () => {
  const canary = 'Zanzibarwicz';
  const { org, owner, result } = await peopled(canary);
  const bystander = await peopled('Unconcerned');
  const image = await imageOf(bystander.org.id);
  const sandbox = await grantSandbox(app, await readOrganisation(app.db, org.id), {
    actor: 'operator',
    action: 'sandbox grant',
    requestId: app.random.uuid(),
  });
  const out = join(folder, 'export');
  let manifest: any;
  let exported: Exported;

  test('everything is returned in files whose hashes stand in a manifest, and no secret is among them', async () => {
    await suspend(org.id);
    const organisation = await readOrganisation(app.db, org.id);
    const broken = new AbortController();
    await assert.rejects(exportOrganisation(app, organisation, out, () => broken.abort(), broken.signal));
    exported = await exportOrganisation(app, organisation, out, () => {}, never);
    const text = await readFile(join(out, 'manifest.json'));
    assert.equal(createHash('sha256').update(text).digest('hex'), exported.sha256);
    manifest = JSON.parse(text.toString());
    const there = (await readdir(out)).sort();
    assert.deepEqual(there, ['evidence', 'manifest.json', ...manifest.files.map((one: any) => one.file)].sort());
    const lines = new Map<string, any[]>();
    for (const { file, rows, bytes, sha256 } of manifest.files) {
      const content = await readFile(join(out, file));
      assert.deepEqual([content.length, createHash('sha256').update(content).digest('hex')], [bytes, sha256], file);
      const values = content
        .toString()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
      assert.equal(values.length, rows, file);
      lines.set(file, values);
    }
    assert.deepEqual(
      lines
        .get('learners.ndjson')!
        .map((one) => one.full_name)
        .sort(),
      [`${canary} Person`, `${canary} Second`],
    );
    const [returned] = lines.get('results.ndjson')!;
    assert.deepEqual([returned.assessment_id, returned.body.framework], [result.id, `${canary} framework`]);
    assert.equal(lines.get('memberships.ndjson')!.length, 1);
    assert.equal(lines.get('people.ndjson')![0].email, owner.email);
    assert.equal(manifest.evidence.files, 1);
    const secrets = await app.db.query<{ text: string }>(
      `select encode(secret_sha256, 'hex') as text from access_key where organisation_id = $1
       union all select secret from webhook_endpoint where organisation_id = $1
       union all select encode(token_sha256, 'hex') from user_invitation where organisation_id = $1`,
      [org.id],
    );
    assert.equal(secrets.length, 3);
    const all = JSON.stringify([...lines]);
    for (const { text: secret } of secrets) assert.ok(!all.includes(secret));
    async function* audit() {
      yield* lines.get('audit.ndjson')!;
    }
    const verdict = await verifyExport(app, org.id, audit());
    assert.deepEqual([verdict.faults, verdict.blocks > 0], [[], true]);
    await withUnitOfWork(app, feedQueue(org.id), (work) => recordExport(work.tx, org.id, exported));
  });

  test('every table is returned, or it is said why not', async () => {
    const names = (await ownTables(app.db)).map((table) => table.name);
    assert.deepEqual(
      Object.keys({ ...files, ...leftOut }).filter((name) => !names.includes(name)),
      [],
      'what is said is of tables that there are',
    );
    for (const name of Object.keys(files)) assert.ok(!Object.hasOwn(leftOut, name), name);
    const written = manifest.files.length - 2;
    assert.equal(written, names.filter((name) => !Object.hasOwn(leftOut, name)).length);
  });

  test('only what is suspended and under no legal hold is deleted', async () => {
    const organisation = await readOrganisation(app.db, bystander.org.id);
    assert.equal(await deleteOrganisation(app, organisation, by(), () => {}, never), 'open');
    assert.deepEqual(await imageOf(bystander.org.id), image);
    const holdId = app.random.uuid();
    await withUnitOfWork(app, feedQueue(org.id), (work) =>
      placeHold(work, org.id, { holdId, learnerId: null, reason: 'A case', actor: 'operator', endsAt: null }),
    );
    const suspended = await readOrganisation(app.db, org.id);
    assert.equal(await deleteOrganisation(app, suspended, by(), () => {}, never), 'held');
    await withUnitOfWork(app, feedQueue(org.id), (work) => releaseHold(work, org.id, holdId, { actor: 'operator' }));
    const [were] = await app.db.query('select exported_at from organisation where organisation_id = $1', [org.id]);
    const exportedAt = (at: unknown) =>
      app.db.query('update organisation set exported_at = $2 where organisation_id = $1', [org.id, at]);
    await exportedAt(null);
    assert.equal(await deleteOrganisation(app, suspended, by(), () => {}, never), 'unexported');
    await exportedAt(new Date(suspended.suspended_at!.getTime() - 1));
    assert.equal(
      await deleteOrganisation(app, suspended, by(), () => {}, never),
      'outdated',
      'whatever was read before',
    );
    await exportedAt(were!.exported_at);
    const [learner] = await app.db.query<{ learner_id: string }>(
      'select learner_id from learner where organisation_id = $1 limit 1',
      [org.id],
    );
    await withUnitOfWork(app, feedQueue(org.id), async (work) =>
      stampLearners(work, await lockFeed(work, org.id), [learner!.learner_id]),
    );
    assert.equal(await deleteOrganisation(app, suspended, by(), () => {}, never), 'outdated', 'a learner has changed');
    const { state: feedState } = await readFeed(app.db, org.id);
    await withUnitOfWork(app, feedQueue(org.id), (work) => recordExport(work.tx, org.id, { ...exported, feedState }));
  });

  test('killed anywhere it goes on; then nothing of it is anywhere, the others are untouched, and the certificate counts', async () => {
    const counted = await app.db.query<{ learners: number; results: number }>(
      `select (select count(*)::int4 from learner where organisation_id = $1) as learners,
              (select count(*)::int4 from assessment where organisation_id = $1) as results`,
      [org.id],
    );
    assert.ok((await tablesWith(canary)).length > 5);
    for (const batches of [2, 9]) {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, 'die-deleting.ts'), org.publicId, String(batches)],
        {
          env: { ...process.env, ...service.environment },
          stdio: ['ignore', 'ignore', 'inherit'],
        },
      );
      await once(child, 'exit');
      assert.equal(child.signalCode, 'SIGKILL');
    }
    const half = await readOrganisation(app.db, org.id);
    const back = await withUnitOfWork(app, feedQueue(org.id), (work) => resumeOrganisation(work, half));
    assert.equal(back, 'deleting', 'what is half gone is not opened again');
    const done = Promise.withResolvers<void>();
    // Autovacuum is at the table, or an index is built on it.
    const locked = Promise.withResolvers<void>();
    const atIt = withUnitOfWork(app, null, async ({ tx }) => {
      await tx.query('lock table learner in share update exclusive mode');
      locked.resolve();
      await done.promise;
    });
    await locked.promise;
    const certificate = await deleteOrganisation(app, half, by(), () => {}, never).finally(() => done.resolve());
    await atIt;
    assert.ok(typeof certificate !== 'string');
    assert.deepEqual(await tablesWith(canary), []);
    for (const text of [org.publicId, sandbox])
      assert.deepEqual(
        (await tablesWith(text)).filter((name) => name !== 'organisation_deletion' && !name.startsWith('audit')),
        [],
      );
    for (const { name } of await ownTables(app.db))
      assert.deepEqual(
        await app.db.query(`select from "${name}" where organisation_id = $1 limit 1`, [org.id]),
        [],
        name,
      );
    assert.equal(await findOrganisation(app.db, sandbox), undefined);
    assert.deepEqual(await imageOf(bystander.org.id), image);
    assert.equal((await bystander.org.get('/assessments')).status, 200);
    assert.equal((await org.get('/assessments')).status, 401);

    assert.equal(certificate.name, half.name);
    assert.deepEqual(
      [certificate.deleted.learner, certificate.deleted.assessment],
      [counted[0]!.learners, counted[0]!.results],
      'nothing is counted twice, and nothing is left out',
    );
    assert.ok(certificate.deleted['sandbox learner']! > 10);
    assert.match(certificate.export!.manifest_sha256, /^[0-9a-f]{64}$/);
    assert.deepEqual([certificate.export!.made_at, certificate.export!.of_suspended], [manifest.made_at, true]);
    assert.ok(certificate.audit_log_ended!.block > 0);
    const text = certificateText(certificate);
    assert.match(text, /CERTIFICATE OF DELETION/);
    assert.match(text, /2 {2}learners/);
    const [kept] = await app.db.query('select certificate from organisation_deletion where public_id = $1', [
      org.publicId,
    ]);
    assert.deepEqual(JSON.parse(kept!.certificate), { ...certificate, name: null });
  });
});
