import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { readyRecord } from '../../../src/records/import/record.ts';
import { membershipRuns, orderMoves } from '../../../src/organisations/groups/runs.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { findRequest, openRequest } from '../../../src/governance/subject-requests/subject-requests.ts';
import { ApiError } from '../../../src/platform/errors/errors.ts';
import { placeHold, releaseHold, UnderHold } from '../../../src/governance/legal-holds/holds.ts';
import { changeReference } from '../../../src/records/learners/reference.ts';
import { mergeLearners } from '../../../src/governance/deduplication/merge.ts';
import { previewMerge } from '../../../src/governance/deduplication/preview.ts';
import { feedQueue, withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { readReport } from '../../../src/records/evidence/evidence.ts';
import { findSitting } from '../../../src/sittings/store.ts';
import { removeEmail } from '../../../src/governance/erasure/remove-email.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import type { TestOrganisation } from '../../support/service.ts';
import { withService } from '../../support/service.ts';
import { invited } from '../../sittings/learner.ts';

const service = await withService();
const { app } = service;
const why = { actor: 'operator', reason: 'One person' };

const inFeed = <T>(org: TestOrganisation, inside: Parameters<typeof withUnitOfWork<T>>[2]) =>
  withUnitOfWork(app, feedQueue(org.id), inside);
const merges = (org: TestOrganisation, from: string, into: string) =>
  inFeed(org, (work) => mergeLearners(work, org.id, { from, into }, why));
const idOf = async (org: TestOrganisation, ref: string): Promise<string> =>
  (await org.get(`/learners/${ref}`)).body.data?.learner_id;
const line = (ref: string | null, name: string, subject = 'maths', day = '2026-01-10') => ({
  learner: { ref, full_name: name },
  assessed_at: `${day}T09:00:00Z`,
  subject,
  framework: 'F',
  rqf_level: 'Level 1',
  rqf_level_code: 2,
  below_level_1: false,
});
const imports = (org: TestOrganisation, ...lines: object[]) =>
  inFeed(org, async (work) => {
    const records = lines.map((one) => readyRecord(one, org.publicId, work.nowMs));
    return (await importRecords(work, org.id, records, { events: true, actor: 'operator' })).map((one) => one.outcome);
  });
/** Live results by subject, with the reference and name that they show. */
const results = async (org: TestOrganisation) =>
  (await org.get('/assessments?status=completed&limit=500')).body.data
    .map((one: any) => [one.subject, one.learner.ref, one.learner.full_name])
    .sort();

/** What a merge does with the rows of each table that names a learner; a new table has to say it here. */
const told: Record<string, 'moves' | 'stays as it was' | 'ends'> = {
  assessment: 'moves',
  assessment_feed: 'moves',
  scope_exit: 'moves',
  invitation: 'moves',
  sitting: 'moves',
  learner_alias: 'moves',
  legal_hold: 'moves',
  data_case: 'moves',
  lookup: 'moves',
  review: 'moves',
  learner_distinct: 'moves',
  learner: 'stays as it was',
  invitation_run_row: 'stays as it was',
  learner_change: 'stays as it was',
  learner_feed: 'stays as it was',
  membership: 'ends',
  learner_leaving: 'ends',
};

suite('two learners who are one person', () => {
  test('every table that names a learner says what a merge does with it', async () => {
    const tables = await app.db.query<{ name: string }>(
      `select distinct table_name as name from information_schema.columns
        where table_schema = 'public' and column_name in ('learner_id', 'learner_ids')`,
    );
    assert.deepEqual(
      tables.map((row) => row.name).filter((name) => !Object.hasOwn(told, name)),
      [],
    );
  });

  test('a change of members that is under way, or ordered from a page of before, is of the one who stays', async () => {
    const org = await service.organisation({ plan: 'unlimited' });
    const refs = ['away', 'here', 'third'];
    for (const ref of refs) await org.post('/learners', { ref, full_name: `Learner ${ref}` });
    const ids = await Promise.all(refs.map((ref) => idOf(org, ref)));
    const group = (await org.post('/groups', { type: 'cohort', ref: 'C', name: 'C' })).body.data.id;
    const runId = app.random.uuid();
    await app.db.query(
      `insert into background_job (organisation_id, job_id, kind, status, created_by, created_at, input, items, progress)
       values ($1, $2, 'membership_run', 'running', 'x', $5, jsonb_build_object('joins', $3::text, 'leaves', null), $4, '{"total":2,"reached":0,"changed":0}')`,
      [org.id, runId, group, [ids[2], ids[0]], new Date(app.clock.nowMs())],
    );
    await merges(org, ids[0]!, ids[1]!);
    await membershipRuns.run(app);
    const learners = (await org.get('/learners')).body.data.filter((one: any) => one.groups?.length > 0);
    assert.deepEqual(learners.map((one: any) => one.ref).sort(), ['here', 'third']);
    const later = { runId: app.random.uuid(), joins: null, leaves: group, by: 'x', managingTeams: false };
    const run = await inFeed(org, (work) => orderMoves(work, org.id, { ...later, learnerIds: [ids[0]!, ids[2]!] }));
    assert.deepEqual([run.finished_at !== null, run.changed], [true, 2]);
  });

  test('all that the one had is the other’s: results, evidence, links, sittings, groups, references', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 10 });
    const lost = await invited(service, org, { ref: 'lost-1', name: 'Anna Silva' });
    const kept = await invited(service, org, { ref: 'kept-1', name: 'Ana Silva' });
    const first = await lost.sits();
    const under = await lost.starts();
    await lost.answers('right');
    const [from, into] = [await idOf(org, 'lost-1'), await idOf(org, 'kept-1')];
    const group = (await org.post('/groups', { type: 'cohort', ref: 'C', name: 'C' })).body.data.id;
    await org.post(`/groups/${group}/members`, { learner_refs: ['lost-1'] });
    const evidence = await readReport(app, org.id, first.assessment_id!);
    const preview = await previewMerge(app.db, org.id, { from, into }, new Date(app.clock.nowMs()));
    assert.deepEqual(
      [preview!.from.results, preview!.from.evidence, preview!.from.sitting.length, preview!.joins, preview!.ref],
      [1, 1, 1, ['cohort C'], 'kept-1'],
    );
    const merged = await merges(org, from, into);
    assert.deepEqual(
      [merged.results, merged.invitations, merged.sittings, merged.groups, merged.ref],
      [1, 1, 2, 1, 'kept-1'],
    );
    // The evidence is the same file; the payload shows who the learner is now.
    const again = (await org.get(`/assessments/${first.assessment_id}/report.pdf`)).headers['x-report-sha256'];
    assert.equal(again, evidence!.sha256);
    assert.deepEqual(await results(org), [[first.subject, 'kept-1', 'Ana Silva']]);
    // The sitting goes on under the link that it was begun with, and its result is the survivor's.
    while ((await lost.answers()) !== null);
    assert.equal(await lost.finishes(under), 'completed');
    const shown = (await org.get('/learners/lost-1')).body.data;
    assert.deepEqual(
      [shown.learner_id, shown.ref, shown.full_name, shown.assessments.length, shown.groups.length],
      [into, 'kept-1', 'Ana Silva', 2, 1],
    );
    // What was seen by either is not shown again, and either link works.
    const next = await kept.starts();
    assert.equal((await findSitting(app.db, next))!.learner_id, into);
    const seen = await app.db.query<{ item_id: string }>(
      `select item_id from sitting_item where organisation_id = $1 and sitting_id = any($2)`,
      [org.id, [first.sitting_id]],
    );
    assert.equal(next.subject, first.subject);
    for (const { item_id } of seen) assert.ok(next.withheld.includes(item_id));
    // Provisioning and members by the lost reference are the survivor's.
    const members = await org.post(`/groups/${group}/members`, { learner_refs: ['lost-1', 'kept-1'] });
    assert.deepEqual(members.body.already_members, ['lost-1', 'kept-1']);
    const provisioned = await org.post('/learners', { ref: 'lost-1', full_name: 'Ana Silva' });
    assert.deepEqual([provisioned.status, provisioned.body.data.learner_id], [200, into]);
    const [credits] = await app.db.query<{ balance: number; sum: number }>(
      `select credits as balance, (select sum(amount)::int8 from credit_entry where organisation_id = $1) as sum
         from organisation where organisation_id = $1`,
      [org.id],
    );
    assert.deepEqual([credits!.balance, credits!.sum], [8, 8]);
    const events = await app.db.query<{ ref: string }>(
      `select payload::json ->> 'learner_ref' as ref from event where organisation_id = $1 and type = 'learner.groups.updated' order by number`,
      [org.id],
    );
    assert.deepEqual(
      events.map((one) => one.ref),
      ['lost-1', 'kept-1'],
    );
    // An import of the lost one's file again brings neither the name nor a second result.
    const file = [line('lost-1', 'Anna Silva', 'english', '2026-11-01')];
    assert.deepEqual(await imports(org, ...file), ['imported']);
    assert.deepEqual(await imports(org, { ...file[0], learner: { ref: 'kept-1', full_name: 'Anna Silva' } }), [
      'unchanged',
    ]);
    assert.equal((await org.get('/learners/kept-1')).body.data.full_name, 'Ana Silva');
    assert.deepEqual(
      await app.db.query(
        'select learner_id from learner_change where organisation_id = $1 and kind = $2 and reason = $3 order by learner_id',
        [org.id, 'merged', why.reason],
      ),
      [from, into].sort().map((learner_id) => ({ learner_id })),
    );
  });

  test('a hold or a case that comes just after is on the one who stays; of whoever is erased there is none', async () => {
    const org = await service.organisation();
    for (const ref of ['late-1', 'late-2']) await org.post('/learners', { ref, full_name: `Learner ${ref}` });
    const [from, into] = [await idOf(org, 'late-1'), await idOf(org, 'late-2')];
    await merges(org, from, into);
    const held = { reason: 'Claim', actor: 'x', endsAt: null, learnerId: from };
    const asked = { kind: 'access', about: null, note: 'By letter', actor: 'x', learnerId: from } as const;
    const [holdId, caseId] = [app.random.uuid(), app.random.uuid()];
    const places = (id: string) => inFeed(org, (work) => placeHold(work, org.id, { ...held, holdId: id }));
    const opens = (id: string) =>
      inFeed(org, (work) => openRequest(work, org.id, { ...asked, caseId: id, receivedAt: new Date(work.nowMs) }));
    assert.equal(await places(holdId), into);
    await opens(caseId);
    assert.equal((await findRequest(app.db, org.id, caseId))!.learner_id, into);
    const erases = () => inFeed(org, (work) => eraseLearner(work, org.id, into, why));
    await assert.rejects(erases(), UnderHold);
    await inFeed(org, (work) => releaseHold(work, org.id, holdId, why));
    await erases();
    await assert.rejects(places(app.random.uuid()), ApiError);
    await assert.rejects(opens(app.random.uuid()), ApiError);
  });

  test('under a legal hold the one who goes keeps name and address: nobody is merged away', async () => {
    const org = await service.organisation();
    for (const ref of ['held-1', 'held-2'])
      await org.post('/learners', { ref, full_name: `Learner ${ref}`, email: `${ref}@learner.example` });
    const [from, into] = [await idOf(org, 'held-1'), await idOf(org, 'held-2')];
    const place = (learnerId: string | null) =>
      inFeed(org, async (work) => {
        const holdId = work.uuid();
        await placeHold(work, org.id, { holdId, learnerId, reason: 'Claim', actor: 'x', endsAt: null });
        return holdId;
      });
    const release = (holdId: string) => inFeed(org, (work) => releaseHold(work, org.id, holdId, why));
    const refusal = async () =>
      (await previewMerge(app.db, org.id, { from, into }, new Date(app.clock.nowMs())))!.refused;
    for (const [whose, says] of [
      [from, /learner who would be merged is under a legal hold/],
      [null, /organisation is under a legal hold/],
    ] as const) {
      const hold = await place(whose);
      await assert.rejects(merges(org, from, into), says);
      assert.match((await refusal())!, says);
      const removes = inFeed(org, (work) => removeEmail(work, org.id, { learnerId: from }, why));
      await assert.rejects(removes, UnderHold, 'an address is taken away by nobody else either');
      await release(hold);
    }
    // The one who stays loses nothing, and whatever was the other's is under the hold from now on.
    const hold = await place(into);
    assert.equal(await refusal(), null);
    await merges(org, from, into);
    const erases = () => inFeed(org, (work) => eraseLearner(work, org.id, into, why));
    await assert.rejects(erases(), UnderHold);
    await release(hold);
  });

  test('a reference that would be the name that stays: the preview says it', async () => {
    const org = await service.organisation();
    await org.post('/learners', { ref: 'AnaSilva', full_name: 'A. da Silva' });
    await imports(org, line(null, 'Ana Silva'));
    const from = await idOf(org, 'AnaSilva');
    const [{ learner_id: into }] = (await org.get('/learners')).body.data.filter((one: any) => one.ref === null);
    const preview = await previewMerge(app.db, org.id, { from, into }, new Date(app.clock.nowMs()));
    assert.match(preview!.refused!, /would equal the kept name/);
    await assert.rejects(merges(org, from, into), /would equal the kept name/);
  });

  test('one without a reference gets the other’s, whichever stays, and its file still finds its result', async () => {
    const org = await service.organisation();
    await imports(org, line(null, 'Bo Berg'), line('bo-2', 'Bo Berg', 'english'));
    const all = (await org.get('/learners?limit=500')).body.data;
    const nameless = all.find((one: any) => one.ref === null).learner_id;
    const merged = await merges(org, await idOf(org, 'bo-2'), nameless);
    assert.deepEqual([merged.ref, await idOf(org, 'bo-2')], ['bo-2', nameless]);
    const outcomes = await imports(
      org,
      line(null, 'Bo Berg'),
      line('bo-2', 'Bo Berg', 'english'),
      line('bo-2', 'Bo Berg'),
    );
    assert.deepEqual(outcomes, ['unchanged', 'unchanged', 'unchanged']);
    await imports(org, line(null, 'Cy Cole'), line('cy-2', 'Cy Cole', 'english'));
    const other = (await org.get('/learners?limit=500')).body.data.find((one: any) => one.ref === null).learner_id;
    await merges(org, other, await idOf(org, 'cy-2'));
    assert.deepEqual(await imports(org, line(null, 'Cy Cole'), line('cy-2', 'Cy Cole')), ['unchanged', 'unchanged']);
    assert.deepEqual(await results(org), [
      ['english', 'bo-2', 'Bo Berg'],
      ['english', 'cy-2', 'Cy Cole'],
      ['maths', 'bo-2', 'Bo Berg'],
      ['maths', 'cy-2', 'Cy Cole'],
    ]);
  });

  test('in the middle of one subject on both sides: refused until one has ended', async () => {
    const org = await service.organisation();
    const [one, two] = [
      await invited(service, org, { ref: 'one-3', name: 'Di Dane' }),
      await invited(service, org, { ref: 'two-3', name: 'Di Dane' }),
    ];
    const sitting = await one.starts();
    await two.starts();
    const [from, into] = [await idOf(org, 'one-3'), await idOf(org, 'two-3')];
    await assert.rejects(merges(org, from, into), /both have a sitting in progress in digital/);
    const preview = await previewMerge(app.db, org.id, { from, into }, new Date(app.clock.nowMs()));
    assert.match(preview!.refused!, /sitting in progress in digital/);
    while ((await one.answers()) !== null);
    await one.finishes(sitting);
    assert.equal((await merges(org, from, into)).results, 1);
  });

  test('chains, circles and what is not there', async () => {
    const org = await service.organisation();
    for (const n of [1, 2, 3])
      await imports(org, line(`chain-${n}`, 'Edda East', ['maths', 'english', 'digital'][n - 1]));
    const [a, b, c] = await Promise.all([1, 2, 3].map((n) => idOf(org, `chain-${n}`)));
    await inFeed(org, (work) => changeReference(work, org.id, { ref: 'chain-1' }, 'chain-0', why));
    const both = await Promise.allSettled([merges(org, a!, b!), merges(org, b!, a!)]);
    assert.deepEqual(both.map((one) => one.status).sort(), ['fulfilled', 'rejected']);
    const left = await idOf(org, 'chain-1');
    assert.ok([a, b].includes(left));
    await merges(org, left, c!);
    for (const ref of ['chain-0', 'chain-1', 'chain-2', 'chain-3']) assert.equal(await idOf(org, ref), c);
    assert.deepEqual(
      (await results(org)).map((row: string[]) => row[1]),
      ['chain-3', 'chain-3', 'chain-3'],
    );
    await assert.rejects(merges(org, c!, c!), /belong to one learner/);
    await assert.rejects(merges(org, a!, c!), { code: 'not_found' });
    const other = await service.organisation();
    await other.post('/learners', { ref: 'x', full_name: 'Somebody' });
    await assert.rejects(merges(org, await idOf(other, 'x'), c!), { code: 'not_found' });
    // Erased: nothing of any of them stays, and none of their references is anybody's.
    await inFeed(org, (work) => eraseLearner(work, org.id, c!, { actor: 'operator' }));
    const tables = await app.db.query<{ name: string }>(
      `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
    );
    for (const { name } of tables)
      for (const text of ['chain-', 'Edda', why.reason]) {
        const found = await app.db.query(
          `select from "${name}" t where strpos(t::text, $1) > 0 and to_jsonb(t) ->> 'organisation_id' = $2 limit 1`,
          [text, String(org.id)],
        );
        assert.equal(found.length, 0, `${text} in ${name}`);
      }
    for (const ref of ['chain-0', 'chain-1', 'chain-2', 'chain-3'])
      assert.equal((await org.get(`/assessments?learner_ref=${ref}&status=deleted`)).body.data.length, 3, ref);
  });
});

suite('at the same moment', () => {
  test('a sitting begins or ends, an import or an erasure comes: no result is lost, none is anybody else’s', async () => {
    const org = await service.organisation();
    for (let n = 0; n < 8; n++) {
      const one = await invited(service, org, { ref: `from-${n}`, name: 'Fay Field' });
      await org.post('/learners', { ref: `into-${n}`, full_name: 'Fay Field' });
      const [from, into] = [await idOf(org, `from-${n}`), await idOf(org, `into-${n}`)];
      let results = 0;
      if (n % 4 === 0) {
        await Promise.all([one.starts().catch(() => null), merges(org, from, into)]);
        assert.equal((await one.starts()).learner_id, into);
      } else if (n % 4 === 1) {
        const sitting = await one.starts();
        while ((await one.answers()) !== null);
        await Promise.all([one.finishes(sitting), merges(org, from, into)]);
        results = 1;
      } else if (n % 4 === 2) {
        await Promise.all([imports(org, line(`from-${n}`, 'Fay Field')), merges(org, from, into)]);
        results = 1;
      } else {
        await imports(org, line(`from-${n}`, 'Fay Field'));
        await Promise.allSettled([
          inFeed(org, (work) => eraseLearner(work, org.id, into, { actor: 'operator' })),
          merges(org, from, into),
        ]);
      }
      const strays = await app.db.query(
        `select from assessment_feed where organisation_id = $1 and learner_id = $2
         union all select from sitting where organisation_id = $1 and learner_id = $2`,
        [org.id, from],
      );
      const shown = await org.get(`/learners/from-${n}`);
      if (n % 4 === 3) assert.ok(shown.status === 404 || shown.body.data.learner_id === from, 'erased, or not merged');
      else {
        assert.equal(strays.length, 0, 'something stayed with the lost learner');
        assert.deepEqual([shown.body.data.learner_id, shown.body.data.assessments.length], [into, results]);
      }
    }
  });

  test('kill -9 right before the commit undoes it, right after it leaves it done', async () => {
    const org = await service.organisation();
    await imports(org, line('kill-1', 'Hal Hill'), line('kill-2', 'Hal Hill', 'english'));
    const [from, into] = [await idOf(org, 'kill-1'), await idOf(org, 'kill-2')];
    const dies = async (when: string) => {
      const env = { ...process.env, DATABASE_URL: service.databaseUrl, ARS_SECRET: app.settings.secret };
      const file = join(import.meta.dirname, 'die-merging.ts');
      const child = spawn(process.execPath, [file, String(org.id), from, into, when], { env, stdio: 'inherit' });
      const [, signal] = await once(child, 'close');
      assert.equal(signal, 'SIGKILL');
    };
    await dies('before');
    assert.equal(await idOf(org, 'kill-1'), from);
    assert.deepEqual(await results(org), [
      ['english', 'kill-2', 'Hal Hill'],
      ['maths', 'kill-1', 'Hal Hill'],
    ]);
    await dies('after');
    assert.equal(await idOf(org, 'kill-1'), into);
    assert.deepEqual(
      (await results(org)).map((row: string[]) => row[1]),
      ['kill-2', 'kill-2'],
    );
  });

  test('a merge that fails at any statement has done nothing', async () => {
    const org = await service.organisation();
    for (const ref of ['half-1', 'half-2']) {
      const one = await invited(service, org, { ref, name: 'Gil Green' });
      await one.sits();
      await org.post('/groups', { type: 'cohort', ref, name: ref });
    }
    const groups = (await org.get('/groups')).body.data;
    for (const [n, ref] of ['half-1', 'half-2'].entries())
      await org.post(`/groups/${groups[n].id}/members`, { learner_refs: [ref] });
    const [from, into] = [await idOf(org, 'half-1'), await idOf(org, 'half-2')];
    const tables = await app.db.query<{ name: string }>(
      `select table_name as name from information_schema.columns
        where table_schema = 'public' and column_name = 'organisation_id' and table_name !~ '^(audit|key_use|idempotency)' order by 1`,
    );
    const whole = async () =>
      JSON.stringify(
        await Promise.all(
          tables.map(({ name }) =>
            app.db.query(`select to_jsonb(t) as row from "${name}" t where organisation_id = $1 order by t::text`, [
              org.id,
            ]),
          ),
        ),
      );
    const before = await whole();
    for (let at = 1, done = false; !done; at++) {
      let statements = 0;
      const failing = inFeed(org, (work) => {
        const query: typeof work.tx.query = (...given) => {
          if (++statements === at) throw new Error('the connection is gone');
          return work.tx.query(...given);
        };
        return mergeLearners({ ...work, tx: { ...work.tx, query } }, org.id, { from, into }, why);
      });
      done = await failing.then(
        () => true,
        (error: Error) => {
          assert.equal(error.message, 'the connection is gone');
          return false;
        },
      );
      if (done) assert.ok(at > 20, `only ${at} statements`);
      else assert.equal(await whole(), before, `after ${at} statements something was done`);
    }
    assert.equal(await idOf(org, 'half-1'), into);
  });
});
