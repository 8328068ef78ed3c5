import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { storedTexts } from '../../../src/platform/db/stored-text.ts';
import { withoutNationalInsuranceNumbers } from '../../../src/platform/validation/personal-data.ts';
import { byteReaders, findPersonalData, redactions, redactPlace } from '../../../src/governance/redaction/redaction.ts';
import { ars, program } from '../../support/ars.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

suite('ars check personal-data', async () => {
  const service = await withService({ own: 'Looks through the whole database.' });
  const scene = await scenario(service);
  const { app } = service;
  const number = 'QQ:12:34:56:C';

  test('finds nothing in what the service stores by its own rules, in any column', async () => {
    const ana = await scene.learner('ana', 'Ana Silva');
    const result = await ana.completes();
    await result.readReport();
    await result.isAmended();
    await scene.org.post('/learners', { full_name: 'Kept Reply', ref: 'kept' }, { 'idempotency-key': 'one' });
    assert.deepEqual(await findPersonalData(app.db, app.secrets, null), []);
    const read = new Set<string>();
    for await (const { table, column } of storedTexts(app.db, null, byteReaders(app.secrets)))
      read.add(`${table}.${column}`);
    for (const column of [
      'learner.full_name',
      'assessment.body',
      'assessment_change.reason',
      'evidence.input',
      'idempotency.reply',
    ])
      assert.ok(read.has(column), column);
  });

  test('finds one in any column of text, and says where without saying what', async () => {
    const other = await service.organisation();
    const [{ learner_id: learnerId }] = (await app.db.query<{ learner_id: string }>(
      'select learner_id from learner where organisation_id = $1 order by created_at limit 1',
      [scene.org.id],
    )) as [{ learner_id: string }];
    await app.db.query('update learner set email = $2 where learner_id = $1', [learnerId, `${number}@x.example`]);
    await app.db.query('update assessment_change set reason = $1', [`about ${number}`]);
    await app.db.query("update evidence set input = json_build_object('deep', json_build_array($1::text))::text", [
      number,
    ]);
    await app.db.query('update idempotency set reply = $1', [
      app.secrets.seal('idempotency', JSON.stringify({ status: 201, body: number }), app.random),
    ]);
    const found = await findPersonalData(app.db, app.secrets, null);
    assert.deepEqual([...new Set(found.map((one) => `${one.table}.${one.column}`))].sort(), [
      'assessment_change.reason',
      'evidence.input',
      'idempotency.reply',
      'learner.email',
    ]);
    assert.equal(found.find((one) => one.table === 'learner')!.key.learner_id, learnerId);
    assert.ok(!JSON.stringify(found).includes('12:34'));
    assert.deepEqual(
      await findPersonalData(app.db, app.secrets, other.id),
      [],
      "an organisation's check sees its own rows only",
    );
    assert.ok((await findPersonalData(app.db, app.secrets, scene.org.id)).length >= 4);
  });

  test('what only the punctuation of JSON joins is not a finding', async () => {
    await app.db.query('update assessment_change set reason = $1', ['{"de":"123456","a":1}']);
    assert.ok((await findPersonalData(app.db, app.secrets, null)).every((one) => one.table !== 'assessment_change'));
  });

  test('a column of bytes that nobody has described stops the check', async () => {
    await assert.rejects(async () => {
      for await (const _ of storedTexts(app.db, null, {})) break;
    }, /access_key\.secret_sha256 has no reader/);
  });
});

/** Columns of text that only machines write: a number in one of them is listed and left. */
const machineText = `
  data_case.kind data_case.outcome data_case.opened_by data_case_entry.actor data_case_entry.kind lookup.page
  access_key.key_id access_key.networks access_key.replaces access_key.subjects assessment.report_sha256
  assessment.source assessment_change.kind background_job.created_by background_job.input
  background_job.kind background_job.progress background_job.status audit_hour.action audit_hour.actor audit_hour.code
  bank_version.content bank_version.version credit_entry.kind delivery.status delivery_attempt.sent
  endpoint_notice.kind event.emptied event.type evidence.renderer evidence.sha256 invitation.purpose invitation.status
  invitation.subjects invitation_run_row.outcome key_link.created_by key_link.key_id key_use.key_id key_use.network
  learner_change.kind learner_group.type lineage.identity lineage.mark lineage.nodes mail.cause mail.status
  milestone.kind migration.name organisation.default_subjects legal_hold.placed_by legal_hold.released_by
  membership.joined_by membership.left_by organisation.funding_rules_url learner_change.field organisation.plan
  organisation.time_zone organisation_sso.client_id organisation_sso.client_secret organisation_sso.issuer
  organisation_sso.tenant organisation.ukprn rate_window.key_id organisation.export_sha256
  organisation_deletion.audit_end organisation_deletion.certificate organisation_deletion.counts review.flags
  review.outcome review.subject retention_policy.changed_by retention_policy.months service_secret.fingerprint
  saved_view.path scheduled_report.every scheduled_report.page distance_total.subject organisation.table_columns sitting.bank_version sitting.status sitting.stop sitting.subject sitting.withheld sitting_item.item_id
  sitting_item.device sitting_item.language sitting_item.outcome sitting_item.seed user_account.password user_account.recovery_codes user_account.totp_secret
  user_identity.issuer user_identity.subject user_invitation.invited_by user_invitation.role user_membership.role
  user_session.client user_session.pending_totp user_session.stage webhook_endpoint.earlier_secrets
  webhook_endpoint.event_types webhook_endpoint.previous_secret webhook_endpoint.secret webhook_endpoint.status
  webhook_endpoint.url`
  .trim()
  .split(/\s+/);

suite('ars check personal-data --redact', async () => {
  const service = await withService({ own: 'Looks through the whole database.' });
  const scene = await scenario(service);
  const { app } = service;
  const { db } = app;
  const number = 'QQ 12 34 56 C';
  const run = (...words: string[]) => ars(['check', 'personal-data', ...words, '--json'], service.environment);

  test('knows of every column of text whether it redacts it', async () => {
    const columns = await db.query<{ name: string }>(
      `select table_name || '.' || column_name as name from information_schema.columns
        where table_schema = current_schema() and data_type in ('text', 'jsonb', 'json', 'ARRAY')
          and udt_name not in ('_int8', '_uuid') and table_name !~ '^citus_'
          and not (select relispartition from pg_class where oid = to_regclass(table_name))`,
    );
    const known = [
      ...machineText,
      ...Object.keys(redactions).filter(
        (name) => !/^(idempotency\.reply|mail\.sealed|user_session\.kept_form)$/.test(name),
      ),
    ];
    assert.deepEqual(columns.map((column) => column.name).sort(), known.sort());
  });

  test('everything that shows one is put right, consumers and evidence follow, and a second run finds nothing', async () => {
    const ana = await scene.learner('ana', 'Ana Silva');
    const bo = await scene.learner('bo', 'Bo Berg');
    const group = await scene.group('C1');
    await ana.joins(group);
    const maths = await ana.completes();
    const english = await bo.completes({ subject: 'english' });
    await maths.isAmended({ recommended_next_level: 'Level 2' });
    await bo.completes({ subject: 'digital' });
    await scene.org.post('/learners', { full_name: 'Kept Reply', ref: 'kept' }, { 'idempotency-key': 'one' });

    // As rules of before let it in.
    const name = `Ana ${number} Silva`;
    const planted: [string, string, ...string[]][] = [
      ['learner.full_name', "where ref = 'ana'", name],
      ['learner.email', "where ref = 'ana'", `${number.replaceAll(' ', ':')}@x.example`],
      ['assessment.learner', 'where assessment_id = $2', JSON.stringify({ ref: 'ana', full_name: name }), maths.id],
      ['learner.ref', "where ref = 'bo'", 'QQ:12:34:56:C'],
      ['learner_group.name', '', `The group of ${number}`],
      ['assessment_change.reason', '', `about ${number}, again`],
      ['organisation.name', '', `College ${number}`],
    ];
    for (const [place, where, ...values] of planted) {
      const [table, column] = place.split('.');
      await db.query(`update ${table} set ${column} = $1 ${where}`, values);
    }
    await db.query('update assessment set learner = replace(learner, \'"bo"\', \'"QQ:12:34:56:C"\')');
    await db.query(
      "update assessment set body = replace(body, 'Functional Skills subject content', $1) where assessment_id = $2",
      [`Framework ${number}`, english.id],
    );
    await db.query('update idempotency set reply = $1', [
      app.secrets.seal('idempotency', JSON.stringify({ status: 201, body: JSON.stringify({ name }) }), app.random),
    ]);
    const before = await maths.readReport();
    const [{ input }] = (await db.query<{ input: string }>('select input from evidence')) as [{ input: string }];
    assert.ok(input.includes(number));
    const follower = scene.follow();
    await follower.poll();

    const listed = await run();
    assert.equal(listed.code, 1);
    const ended = await run('--redact');
    assert.equal(ended.code, 0, ended.said);
    assert.deepEqual(ended.json.redacted, ended.json.found);
    for (const { table, key } of ended.json.found)
      if (table !== 'lineage') assert.equal(key.organisation_id, scene.org.publicId, table);
    const places = new Set(ended.json.redacted.map((one: any) => `${one.table}.${one.column}`));
    for (const [place] of planted) assert.ok(places.has(place), place);
    for (const place of ['assessment.body', 'evidence.input', 'idempotency.reply']) assert.ok(places.has(place), place);
    assert.ok(!/12.?34.?56/.test(ended.out + ended.said));
    assert.deepEqual(await findPersonalData(app.db, app.secrets, null), []);

    await follower.poll();
    const swept = (await scene.org.get('/assessments')).body.data;
    assert.deepEqual(new Map(swept.map((one: any) => [one.assessment_id, one])), follower.held, 'law 2');
    const shown = (await maths.read()).body.data;
    assert.equal(shown.learner.full_name, 'Ana [redacted] Silva');
    assert.equal((await english.read()).body.data.framework, 'Framework [redacted]');
    assert.match((await english.read()).body.data.learner.ref, /^redacted-[0-9a-f-]{36}$/);
    const after = await maths.readReport();
    assert.notEqual(after.headers['x-report-sha256'], before.headers['x-report-sha256']);
    assert.equal(shown.report_sha256, after.headers['x-report-sha256'], 'made anew by the command');
    const editions = await db.query<{ edition: number; has: boolean }>(
      'select edition, pdf is not null as has from evidence where assessment_id = $1 order by edition',
      [maths.id],
    );
    assert.deepEqual(editions, [
      { edition: 1, has: false },
      { edition: 2, has: true },
    ]);
    const verdict = await fetch(`${service.url}/verify?sha256=${before.headers['x-report-sha256']}`);
    assert.match(await verdict.text(), /genuine, but not the latest/);

    const audited = await db.query("select from audit where action = 'check personal-data redact'");
    assert.equal(audited.length, ended.json.redacted.length);
    const etag = (await scene.org.get('/assessments')).headers.etag;
    const again = await run('--redact');
    assert.deepEqual([again.code, again.json], [0, { found: [], redacted: [] }]);
    for (const place of ended.json.redacted) {
      const key = { ...place.key, organisation_id: String(scene.org.id) };
      await service.withUnitOfWork((work) => redactPlace(work, { ...place, key }));
    }
    assert.equal((await scene.org.get('/assessments')).headers.etag, etag, 'done twice, it changes nothing more');
  });

  test('killed again and again it goes on where it was, and consumers never see half of it', async () => {
    const cy = await scene.learner('cy', 'Cy Cole');
    const results = [await cy.completes(), await cy.completes({ subject: 'english' })];
    for (const result of results) await result.readReport();
    await db.query(`update evidence set input = replace(input, 'Cy Cole', $1)`, [`Cy ${number}`]);
    for (const column of ['full_name', 'email'])
      await db.query(`update learner set ${column} = $1 where ref = 'cy'`, [`Cy ${number}`]);
    await db.query(`update assessment set learner = replace(learner, 'Cy Cole', $1)`, [`Cy ${number}`]);
    const follower = scene.follow();
    await follower.poll();
    const planted = (await findPersonalData(db, app.secrets, null)).length;
    assert.ok(planted >= 5);

    const redactedPlaces = async () =>
      (await db.query("select from audit where action = 'check personal-data redact'")).length;
    let kills = 0;
    for (let ended = false; !ended;) {
      const before = await redactedPlaces();
      const env = { ...process.env, ...service.environment };
      const child = spawn(process.execPath, [program, 'check', 'personal-data', '--redact'], { env, stdio: 'ignore' });
      const exit = once(child, 'exit') as Promise<[number | null, string | null]>;
      while (child.exitCode === null && (await redactedPlaces()) === before);
      child.kill('SIGKILL');
      const [code, signal] = await exit;
      ended = signal === null;
      if (ended) assert.equal(code, 0);
      else kills++;
      assert.ok(kills <= planted, 'each run comes a place further at least');
      await follower.poll();
      const swept = (await scene.org.get('/assessments')).body.data;
      assert.deepEqual(new Map(swept.map((one: any) => [one.assessment_id, one])), follower.held, 'law 2');
    }
    assert.ok(kills > 0);
    assert.deepEqual(await findPersonalData(db, app.secrets, null), []);
    for (const result of results) {
      const report = await result.readReport();
      assert.equal(report.status, 200);
      assert.equal((await result.read()).body.data.report_sha256, report.headers['x-report-sha256']);
    }
  });

  test('what only machines write is listed and left', async () => {
    await db.query(
      `insert into bank_version (version, content, created_at) values ('0', '"QQ123456C"', to_timestamp(0))`,
    );
    const ended = await run('--redact');
    assert.deepEqual([ended.code, ended.json.redacted.length, ended.json.found[0].table], [1, 0, 'bank_version']);
  });

  test('as few words as hold one become the mark; what is JSON stays JSON', () => {
    assert.equal(withoutNationalInsuranceNumbers(`a b ${number}, c QQ123456C`), 'a b [redacted] c [redacted]');
    assert.equal(
      withoutNationalInsuranceNumbers(`"n":1,"deep":["x ${number}",{"QQ123456C":null}]`),
      '"n":1,"deep":["x [redacted]",{"[redacted]":null}]',
    );
    const joined = '{ "de" : "123456", "a": 1 }';
    assert.equal(withoutNationalInsuranceNumbers(joined), joined);
  });
});
