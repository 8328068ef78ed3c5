import assert from 'node:assert/strict';
import { link, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { unzipSync } from 'fflate';
import { amendAssessment } from '../../../src/records/results/amend.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { feedQueue, withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { exportLearner, momentName, shown } from '../../../src/governance/subject-access/export.ts';
import { learnerTables } from '../../../src/governance/subject-access/tables.ts';
import { byteReaders, redactions } from '../../../src/governance/redaction/redaction.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { correctName } from '../../../src/records/learners/rename.ts';
import { readOrganisation } from '../../../src/organisations/organisations.ts';
import { releaseStartCode, requireStartCode } from '../../../src/sittings/invitations/start-code.ts';
import { startSitting } from '../../../src/sittings/start.ts';
import { levels, personalTables, tablesOfNobody } from '../../support/documents/data-protection.ts';
import { ars } from '../../support/ars.ts';
import { personOf } from '../../web/console/visitor.ts';
import { onCitus } from '../../support/postgres.ts';
import type { TestOrganisation } from '../../support/service.ts';
import { withService } from '../../support/service.ts';
import { invited } from '../../sittings/learner.ts';

/** Tables that hold only IDs, and tell nothing more about the learner. */
const idsOnly: Record<string, string> = {
  digest_cell: 'sums over many results',
  distance_total: 'counts over many results',
  learner_distinct: 'that two learners are not one person, by their ids',
  learner_feed: 'the place of the learner in the order of changes',
  learner_leaving: 'when to look whether anything is left of a learner',
  result_day: 'counts of results by day',
  scope_exit: 'that a result left a group, which the memberships say',
  user_invitation: 'invitations of the provider’s own people',
};

/** A learner's export: everything that is held of them, and nothing of anybody else. */

const service = await withService({ own: 'Changes the time zone of the database.' });
const { app } = service;
const org = await service.organisation({ name: 'Northfield College', plan: 'standard', credits: 10 });
await org.post('/webhooks', {
  url: 'https://platform.example/hook',
  event_types: ['assessment.completed', 'learner.groups.updated'],
});

/** Somebody of whom there is something in every table. */
async function person(ref: string, name: string): Promise<string> {
  const email = `${ref}@${name.split(' ')[1]!.toLowerCase()}.example`;
  const made = await org.post('/learners', { ref, full_name: name, email }, { 'idempotency-key': `first ${ref}` });
  const id = made.body.data.learner_id as string;
  const sitter = await invited(service, org, { ref, name });
  const { assessment_id: result } = await sitter.sits();
  const group = await org.post('/groups', { type: 'cohort', ref: `C-${ref}`, name: `Cohort of ${ref}` });
  await org.post(`/groups/${group.body.data.id}/members`, { learner_refs: [ref] });
  const why = { actor: 'operator', reason: `${name} asked` };
  await withUnitOfWork(app, feedQueue(org.id), async (work) => {
    await amendAssessment(work, org.id, result!, { framework: 'G' }, why);
    await correctName(work, org.id, { ref }, `${name} Senior`, why);
  });
  await org.get(`/assessments/${result}/report.pdf`);
  return id;
}

const zebediah = await person('zq-4471', 'Zebediah Quagmire');
const other = await person('op-1', 'Ophelia Underhill');
const both = await org.post('/groups', { type: 'cohort', ref: 'both', name: 'Both' });
for (const path of ['members', 'members', 'members/remove'])
  await org.post(
    `/groups/${both.body.data.id}/${path}`,
    { learner_refs: ['op-1', 'zq-4471', 'nobody-1'] },
    { 'idempotency-key': app.random.uuid() },
  );

async function exported(of: TestOrganisation, learnerId: string, by = app): Promise<Record<string, Buffer>> {
  const organisation = await readOrganisation(by.db, of.id);
  const parts: Uint8Array[] = [];
  for await (const part of exportLearner(by, { organisation, learnerId })) parts.push(part);
  return opened(Buffer.concat(parts));
}

const opened = (zip: Buffer): Record<string, Buffer> =>
  Object.fromEntries(Object.entries(unzipSync(zip)).map(([name, bytes]) => [name, Buffer.from(bytes)]));

const held = await exported(org, zebediah);
/** Looking at somebody is held of them, too: each look at the page adds to it. */
const partsOf = (files: Record<string, Buffer>) =>
  Object.keys(files)
    .filter((name) => name !== 'data/lookup.json')
    .sort();
const textOf = (files: Record<string, Buffer>) =>
  Object.entries(files)
    .filter(([name]) => !name.endsWith('.pdf'))
    .map(([, bytes]) => bytes.toString('utf8'))
    .join('\n');

suite('the export of a learner', () => {
  test('has every table in which the person stands, as the database itself tells', async () => {
    const tables = await app.db.query<{ name: string }>(
      `select table_name as name from information_schema.tables t
        where table_schema = 'public' and table_type = 'BASE TABLE'
          and not coalesce((select relispartition from pg_class where oid = to_regclass(table_name)), false)`,
    );
    const found: string[] = [];
    for (const { name } of tables) {
      const rows = await app.db.query(
        `select from "${name}" t where strpos(lower(t::text), 'zebediah') > 0 or strpos(t::text, 'zq-4471') > 0 or strpos(t::text, $1) > 0 limit 1`,
        [zebediah],
      );
      if (rows.length > 0) found.push(name);
    }
    assert.ok(found.length > 10, found.join());
    for (const table of found)
      assert.ok(held[`data/${table}.json`] !== undefined || Object.hasOwn(idsOnly, table), `${table} is not exported`);
    assert.ok(held['data/kept_replies.json']!.includes('zq-4471'));
  });

  test('knows every table of the schema that a learner can stand in', async () => {
    const tables = await app.db.query<{ name: string }>(
      `select distinct table_name as name from information_schema.columns
        where table_schema = 'public' and column_name in ('learner_id', 'assessment_id', 'invitation_id', 'sitting_id', 'event_id', 'delivery_id')
          and not (select relispartition from pg_class where oid = to_regclass(table_name))`,
    );
    const known = [...Object.keys(learnerTables), ...Object.keys(idsOnly)];
    const unknown = tables.map(({ name }) => name).filter((name) => !known.includes(name));
    assert.deepEqual(unknown, [], 'src/governance/subject-access/tables.ts says nothing of these tables');
    const columns = await app.db.query<{ name: string }>(
      `select table_name || '.' || column_name as name from information_schema.columns where table_schema = 'public'`,
    );
    for (const [table, { omits = {} }] of Object.entries(learnerTables))
      for (const column of Object.keys(omits))
        assert.ok(
          columns.some((one) => one.name === `${table}.${column}`),
          `${table}.${column} is gone`,
        );
  });

  test('has nothing of anybody else, no keys of questions, and every evidence file', async () => {
    const text = textOf(held);
    for (const word of ['Ophelia', 'Underhill', 'op-1', 'nobody-1', other]) assert.ok(!text.includes(word), word);
    const replies = JSON.parse(held['data/kept_replies.json']!.toString()) as { body: string }[];
    const lists = replies.map(({ body }) => JSON.parse(body)).filter((body) => !('data' in body));
    assert.deepEqual(
      lists.map((body) => JSON.stringify(body)).toSorted(),
      [
        { added: [], already_members: ['zq-4471'], not_found: [] },
        { added: ['zq-4471'], already_members: [], not_found: [] },
        { removed: ['zq-4471'], not_members: [] },
      ]
        .map((body) => JSON.stringify(body))
        .toSorted(),
    );
    assert.ok(textOf(await exported(org, other)).includes('Underhill'));
    const items = JSON.parse(held['data/sitting_item.json']!.toString()) as any[];
    assert.ok(items.length > 3);
    for (const { rendered, answer } of items) {
      assert.ok(Array.isArray(rendered.stem));
      assert.ok(answer !== undefined);
      assert.doesNotMatch(JSON.stringify(rendered), /"(key|rationale|distractor_rationales|accept)":/);
    }
    const pdfs = Object.entries(held).filter(([name]) => name.startsWith('evidence/'));
    const [{ count }] = (await app.db.query<{ count: number }>(
      `select count(*) as count from evidence e join assessment_feed f using (organisation_id, assessment_id)
        where f.learner_id = $1 and e.pdf is not null`,
      [zebediah],
    )) as [{ count: number }];
    assert.equal(pdfs.length, count);
    for (const [, bytes] of pdfs) assert.equal(bytes.subarray(0, 5).toString(), '%PDF-');
  });

  test('begins with a page in plain words: who, results, questions with answers, changes with reasons', async () => {
    const page = held['read-me-first.html']!.toString();
    assert.match(page, /Zebediah Quagmire Senior/);
    assert.match(page, /zq-4471@quagmire\.example/);
    assert.match(page, /probability of each level/);
    assert.match(page, /Zebediah Quagmire asked/);
    assert.match(page, /<strong>[^<]+<\/strong> \((right|wrong|not answered)/);
    assert.doesNotMatch(page, /undefined|\[object/);
    const [row] = JSON.parse(held['data/assessment.json']!.toString()) as any[];
    assert.match(row.assessed_at, /^\d{4}-\d\d-\d\dT/);
    assert.equal(row.body.framework, 'G');
  });

  test('its times are UTC whatever the time zone of the database', async () => {
    await app.db.query(
      `do $$ begin execute format('alter database %I set timezone = %L', current_database(), 'Pacific/Auckland'); end $$`,
    );
    // As behind a pooler, which passes no settings on.
    const db = openDatabase(service.databaseUrl, app.log, 4, service.databaseUrl, onCitus);
    after(() => db.close());
    const [{ zone }] = (await db.query<{ zone: string }>(`select current_setting('timezone') as zone`)) as [
      { zone: string },
    ];
    assert.equal(zone, 'Pacific/Auckland');
    const there = await exported(org, zebediah, { ...app, db });
    for (const [name, bytes] of Object.entries(await exported(org, zebediah)))
      if (name.startsWith('data/') && name !== 'data/kept_replies.json')
        assert.equal(there[name]!.toString(), bytes.toString(), name);
    const [sitting] = JSON.parse(there['data/sitting.json']!.toString()) as any[];
    const [{ at }] = (await app.db.query<{ at: Date }>('select started_at as at from sitting where sitting_id = $1', [
      sitting.sitting_id,
    ])) as [{ at: Date }];
    assert.equal(sitting.started_at, at.toISOString());
    const began = at.toISOString().slice(0, 16).replace('T', ' at ');
    assert.ok(there['read-me-first.html']!.toString().includes(`begun on ${began}`), began);
    const moments = await app.db.query<{ column: string }>(
      `select distinct column_name as column from information_schema.columns
        where table_schema = 'public' and table_name = any($1) and data_type = 'timestamp with time zone'`,
      [Object.keys(learnerTables)],
    );
    assert.ok(moments.length > 10);
    for (const { column } of moments) assert.match(column, momentName);
  });

  test('what somebody wrote stays as it is, whatever it looks like', () => {
    const texts = { reason: '[1]', text: '', about: '{"a":1}', supervision: '2026-07-01T10:00:00+01:00' };
    for (const table of ['learner_change', 'data_case_entry', 'sitting']) assert.deepEqual(shown(table, texts), texts);
    assert.deepEqual(shown('review', { answer: '[1]' }), { answer: '[1]' });
    assert.deepEqual(shown('assessment', { body: '', learner: '"ref":"a"' }), { body: '', learner: { ref: 'a' } });
    assert.deepEqual(shown('sitting_item', { rendered: '{"stem":["Q"],"key":1}' }), { rendered: { stem: ['Q'] } });
  });

  test('the same file comes from the page and from the command line, each audited', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const here = `/console/${org.publicId}/learners/${zebediah}/export`;
    assert.match((await owner.get(here)).text, /Export learner data/);
    const response = await fetch(service.url + here, {
      method: 'POST',
      headers: { cookie: owner.cookie!, 'sec-fetch-site': 'same-origin' },
    });
    assert.equal(response.headers.get('content-type'), 'application/zip');
    assert.match(response.headers.get('content-disposition')!, /filename="learner-[0-9a-f-]{36}\.zip"/);
    const sent = opened(Buffer.from(await response.arrayBuffer()));
    assert.deepEqual(partsOf(sent), partsOf(held));
    for (const role of ['developer', 'reviewer', 'tutor', 'auditor'] as const)
      assert.equal((await (await personOf(service, org.id, role)).post(here)).status, 404);

    const folder = await mkdtemp(join(tmpdir(), 'learner-export-'));
    after(() => rm(folder, { recursive: true }));
    const file = join(folder, 'zebediah.zip');
    const words = ['learner', 'export', '--organisation', org.publicId, 'zq-4471', '--out', file, '--json'];
    await writeFile(file, 'what was there', { mode: 0o600 });
    await link(file, `${file}.before`);
    const { code, said, json } = await ars(words, service.environment);
    assert.equal(code, 0, said);
    assert.equal(await readFile(`${file}.before`, 'utf8'), 'what was there', 'it is not written in place');
    assert.deepEqual(json, { learner_id: zebediah, out: file, bytes: (await stat(file)).size });
    assert.equal((await stat(file)).mode & 0o077, 0, 'only its owner may read it');
    assert.deepEqual(partsOf(opened(await readFile(file))), partsOf(held));
    const acts = await app.db.query<{ actor: string }>(
      `select actor from audit where organisation_id = $1 and action ~ '(learner |/)export' and resource = $2 order by audit_id`,
      [org.id, zebediah],
    );
    assert.deepEqual(
      acts.map(({ actor }) => actor),
      [owner.userId, 'operator'],
    );
  });
});

suite('the list of personal columns', () => {
  test('knows every table and every text of the schema, and names no column that is gone', async () => {
    const columns = await app.db.query<{ table: string; column: string; type: string }>(
      `select table_name as "table", column_name as "column", data_type as type from information_schema.columns
        where table_schema = 'public' and not (select relispartition from pg_class where oid = to_regclass(table_name))
          and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = to_regclass(table_name) and deptype = 'e')`,
    );
    const tables = [...new Set(columns.map(({ table }) => table))].sort();
    const listed = [...Object.keys(personalTables), ...Object.keys(tablesOfNobody)];
    assert.deepEqual(listed.toSorted(), tables, 'docs/data/personal-columns.json');
    for (const [table, { kept, level }] of Object.entries({ ...personalTables, ...tablesOfNobody })) {
      assert.match(kept, /\w/, `${table} grows without a rule`);
      assert.ok(levels.includes(level), `${table} has no protection level`);
      const exported = learnerTables[table];
      if (level === 'secret' && exported !== undefined) assert.ok(exported.omits !== undefined, `${table} is exported`);
    }
    const named = Object.entries(personalTables).flatMap(([table, one]) =>
      Object.keys(one.columns).map((column) => `${table}.${column}`),
    );
    const there = new Set(columns.map(({ table, column }) => `${table}.${column}`));
    for (const name of named) assert.ok(there.has(name), `${name} is gone`);
    // What redaction takes for text that people write, and every column of bytes, is about somebody or of no table here.
    const texts = [...Object.keys(redactions), ...Object.keys(byteReaders(app.secrets))].filter(
      (name) => !Object.hasOwn(tablesOfNobody, name.split('.')[0]!),
    );
    for (const name of texts)
      assert.ok(named.includes(name), `docs/data/personal-columns.json says nothing of ${name}`);
    for (const name of Object.keys(redactions))
      assert.ok(!Object.hasOwn(tablesOfNobody, name.split('.')[0]!), `${name} is text of somebody`);
  });

  test('says of what an erasure empties what it does: nothing that is called emptied stays', async () => {
    const gone = await service.organisation({ plan: 'standard', credits: 10 });
    const ana = await invited(service, gone, { ref: 'gone-1', name: 'Nia Kettleburn' });
    const supervisor = await personOf(service, gone.id, 'tutor', { name: 'Gwen Gray' });
    await requireStartCode(app.db, gone.id, [ana.invitationId], true);
    const released = await service.withUnitOfWork((work) =>
      releaseStartCode(work, gone.id, ana.invitationId, supervisor.userId),
    );
    await startSitting(app, await ana.link(), released!.code);
    const sitting = (await ana.link()).open!;
    while ((await ana.answers()) !== null);
    await ana.finishes(sitting);
    // What stays because it is an id is nobody's name.
    for (const [table, { columns }] of Object.entries(personalTables))
      for (const [column, erasure] of Object.entries(columns)) {
        if (!erasure.includes('an ID')) continue;
        const text: string = `select ${column} from ${table} where ${column}::text in (
          select full_name from user_account union all select full_name from learner where full_name <> '')`;
        assert.deepEqual(await app.db.query(text), [], `${table}.${column}`);
      }
    const { learner_id: id } = (await gone.get('/learners/gone-1')).body.data;
    await withUnitOfWork(app, feedQueue(gone.id), (work) => eraseLearner(work, gone.id, id, { actor: 'operator' }));
    for (const [table, { columns }] of Object.entries(personalTables)) {
      const whose = learnerTables[table]?.whose;
      if (whose === undefined) continue;
      for (const [column, erasure] of Object.entries(columns)) {
        if (!erasure.startsWith('content deleted')) continue;
        const text: string = `select from ${table} t where t.organisation_id = $1 and ${whose} and $2::uuid is not null
          and coalesce(nullif(t.${column}::text, ''), 'Erased') <> 'Erased' limit 1`;
        assert.deepEqual(await app.db.query(text, [gone.id, id]), [], `${table}.${column}`);
      }
    }
  });
});
