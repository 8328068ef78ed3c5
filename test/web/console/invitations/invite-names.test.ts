import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { RecordRefused } from '../../../../src/records/results/result-fields.ts';
import { readyRecord } from '../../../../src/records/import/record.ts';
import { invitationRuns } from '../../../../src/sittings/invitations/runs/run.ts';
import { correctName, NameRefused } from '../../../../src/records/learners/rename.ts';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { withService } from '../../../support/service.ts';
import type { TestOrganisation } from '../../../support/service.ts';
import type { Visitor } from '../visitor.ts';
import { personOf } from '../visitor.ts';

/** Damaged names, and names that a learner has already: no invitation is made before a person confirms them. */

const service = await withService();
const { app } = service;
const fresh = () => app.random.uuid();
const baseOf = (org: TestOrganisation) => `/console/${org.publicId}`;
const named = async (org: TestOrganisation) =>
  (
    await app.db.query<{ full_name: string }>(
      "select full_name from learner where organisation_id = $1 and full_name <> '' order by full_name",
      [org.id],
    )
  ).map((row) => row.full_name);
const creditsOf = async (org: TestOrganisation) =>
  (await app.db.query<{ credits: number }>('select credits from organisation where organisation_id = $1', [org.id]))[0]!
    .credits;

async function college() {
  const org = await service.organisation({ plan: 'standard', credits: 50 });
  return { org, base: baseOf(org), owner: await personOf(service, org.id, 'owner') };
}

/** Sends a table, and the address of its page. */
async function draft(who: Visitor, base: string, rows: string, more: Record<string, string> = {}): Promise<string> {
  const once = fresh();
  const sent = await who.post(`${base}/invite`, { rows, once, ...more });
  assert.equal(sent.headers.location, `${base}/invite/${once}`, sent.text);
  return sent.headers.location;
}

async function begin(who: Visitor, org: TestOrganisation, to: string): Promise<string> {
  await who.post(`${to}/start`);
  await invitationRuns.goOn(app, org.id, to.slice(to.lastIndexOf('/') + 1));
  return (await who.get(to)).text;
}

const one = { purpose: '', subjects: 'maths' };
const record = (full_name: string) => ({
  learner: { ref: 'r-1', full_name },
  assessed_at: '2026-01-15T10:00:00Z',
  subject: 'maths',
  framework: 'F',
  rqf_level: 'Level 1',
  rqf_level_code: 2,
  below_level_1: false,
});

suite('what is no name', () => {
  test('is refused by every way in, and nothing of it is kept', async () => {
    const { org, base, owner } = await college();
    const known = (await org.post('/learners', { full_name: 'Ana Silva', ref: 'A-1' })).body.data.learner_id;
    for (const name of ['#N/A', '#REF!', '#NAME?', '#SPILL!', '########', '0', '-', '1.23E+11', 'Zoe #N/A']) {
      const answer = await org.post('/learners', { full_name: name });
      assert.deepEqual([answer.status, answer.body.error.code], [422, 'invalid_full_name'], name);
      assert.ok(!answer.body.error.message.includes('Zoe'));
      const again = await org.post('/learners', { full_name: name, ref: 'A-1' });
      assert.equal(again.status, 422, name);
      assert.throws(() => readyRecord(record(name), org.publicId, app.clock.nowMs()), RecordRefused, name);
      const renames = service.withUnitOfWork((work) =>
        correctName(work, org.id, { ref: 'A-1' }, name, { actor: 'operator', reason: null }),
      );
      await assert.rejects(renames, NameRefused, name);
      const fields = { full_name: name, reason: 'Misspelt', confirmed: 'yes' };
      assert.equal((await owner.post(`${base}/learners/${known}/name`, fields)).status, 422, name);
      assert.equal((await owner.post(`${base}/invite/one`, { ...one, full_name: name })).status, 422, name);
      const to = await draft(owner, base, `ref,full_name\nB-1,${name}`);
      assert.match((await owner.get(to)).text, /1 row needs correcting/, name);
      await owner.post(`${to}/cancel`);
    }
    assert.deepEqual(await named(org), ['Ana Silva']);
  });

  test('what is one comes in by every way, without a question', async () => {
    const { org, base, owner } = await college();
    const names = ['Null', 'True', 'Ng', 'Madonna', 'Anne Ångström-Ãvila', '李小龍', 'X'];
    const to = await draft(owner, base, names.join('\n').replaceAll(/^/gm, '\t'));
    assert.match(await begin(owner, org, to), /7 learners are invited/);
    for (const name of names.map((text) => `${text} Two`)) {
      assert.equal((await owner.post(`${base}/invite/one`, { ...one, full_name: name })).status, 303, name);
      assert.equal((await org.post('/learners', { full_name: `${name} b` })).status, 201, name);
      readyRecord(record(name), org.publicId, app.clock.nowMs());
    }
    assert.equal((await named(org)).length, 21);
  });

  test('an error value in any cell, and references that a spreadsheet has changed, are refused or asked about', async () => {
    const { org, base, owner } = await college();
    const head = 'ref\tname\tgroups\tsupervisor\tretake reason\n';
    const rows =
      '#N/A\tAna\t\t\t\n1.23E+11\tBen\t\t\t\n5E+15\tCy\t\t\t\nD-1\tDee\tcohort: #REF! = #N/A\t\t\nE-1\tEve\t\t#NAME?\t\nF-1\tFay\t\t\t#VALUE!';
    const to = await draft(owner, base, head + rows);
    assert.match((await owner.get(to)).text, /6 rows need correcting/);
    const asks = await draft(
      owner,
      base,
      'Mar-26\tAna\n12-May\tBen\n1234567890123450\tCy\n01/02/2026\tDee\nD-2026\tEve',
    );
    assert.match((await owner.get(asks)).text, /4 rows need confirming/);
    assert.deepEqual(await named(org), []);
  });
});

suite('a name that looks damaged', () => {
  const rows = 'A-1\tZoÃ« Marsh\nA-2\tSeÃ¡n Oâ€™Dell\nA-3\t?ukasz Marsh\nA-4\tAnne Ångström-Ãvila';

  test('is shown on the page of the table, and corrected, confirmed or left out before anybody is invited', async () => {
    const { org, base, owner } = await college();
    const to = await draft(owner, base, rows);
    const page = (await owner.get(to)).text;
    assert.match(page, /3 rows need confirming/);
    assert.match(page, /Correct it: Seán O’Dell/);
    assert.match(await begin(owner, org, to), /3 rows need confirming/);
    const half = await owner.post(`${to}/confirm`, [
      ['asked', '1'],
      ['asked', '2'],
      ['row-1', 'repair'],
    ]);
    assert.equal(half.status, 422);
    assert.match(half.text, /Choose what to do with row 2/);
    await owner.post(`${to}/confirm`, [
      ...['1', '2', '3'].map((row) => ['asked', row] as [string, string]),
      ['row-1', 'repair'],
      ['row-2', 'as_is'],
      ['row-3', 'out'],
    ]);
    assert.match((await owner.get(to)).text, /Invite 3 learners\?/);
    assert.match(await begin(owner, org, to), /3 learners are invited/);
    assert.deepEqual(await named(org), ['Anne Ångström-Ãvila', 'SeÃ¡n Oâ€™Dell', 'Zoë Marsh'].sort());
    // A learner who has the name is not asked about again.
    const again = await draft(owner, base, 'A-2\tSeÃ¡n Oâ€™Dell');
    assert.match((await owner.get(again)).text, /Invite 1 learner\?/);
  });

  test('can be typed again there', async () => {
    const { org, base, owner } = await college();
    const to = await draft(owner, base, rows);
    await owner.post(`${to}/rows`, [
      ['rows', 'row\tref\tfull_name\n1\tA-1\tZoë Marsh\n3\tA-3\tŁukasz Marsh'],
      ...['1', '2', '3'].map((row) => ['replaced', row] as [string, string]),
    ]);
    assert.match(await begin(owner, org, to), /3 learners are invited/);
    assert.deepEqual(await named(org), ['Anne Ångström-Ãvila', 'Zoë Marsh', 'Łukasz Marsh']);
  });

  test('of one learner, or in a correction, is asked about; the API takes it, because a program can’t be asked', async () => {
    const { org, base, owner } = await college();
    const asked = await owner.post(`${base}/invite/one`, { ...one, full_name: 'ZoÃ« Marsh' });
    assert.equal(asked.status, 422);
    assert.match(asked.text, /It may be “Zoë Marsh”/);
    const other = { ...one, full_name: '?ukasz', asked: 'ZoÃ« Marsh', as_is: 'yes' };
    assert.equal((await owner.post(`${base}/invite/one`, other)).status, 422, 'a name is confirmed, not a form');
    assert.deepEqual(await named(org), []);
    const said = { ...one, full_name: '?ukasz', asked: '?ukasz', as_is: 'yes' };
    assert.equal((await owner.post(`${base}/invite/one`, said)).status, 303);
    const made = await org.post('/learners', { full_name: 'Zo? Marsh', ref: 'Z-1' });
    assert.equal(made.status, 201);
    const correction = { full_name: 'ZoÃ« Marsh', reason: 'Misspelt' };
    const page = await owner.post(`${base}/learners/${made.body.data.learner_id}/name`, correction);
    assert.match(page.text, /looks damaged/);
  });

  test('in a file of results is told by its line before it is imported', async () => {
    const { base, owner } = await college();
    const lines = ['Ana', 'Zo? Marsh'].map((name, i) =>
      JSON.stringify({ ...record(name), learner: { ref: `r-${i}`, full_name: name } }),
    );
    const sent = await owner.post(`${base}/results/import`, { rows: lines.join('\n'), once: fresh() });
    const page = (await owner.follow(sent)).text;
    assert.match(page, /A name looks damaged on line 2/);
    assert.match(page, /Import 2 results\?/);
    assert.doesNotMatch(page, /Rows to correct/);
  });
});

suite('the name of a learner who is there', () => {
  test('in the form for one learner: the learner is offered, and a second one is made only when that is said', async () => {
    const { org, base, owner } = await college();
    const send = (more: Record<string, string>) =>
      owner.post(`${base}/invite/one`, { ...one, full_name: 'Ana Silva', once: fresh(), ...more });
    assert.equal((await send({})).status, 303);
    const before = await creditsOf(org);
    for (const full_name of ['Ana Silva', 'ana  silva', 'Silva, Ana', 'Ána Sílva']) {
      const asked = await send({ full_name });
      assert.deepEqual([asked.status, await creditsOf(org)], [422, before], full_name);
      assert.match(asked.text, /Invite the existing learner: Ana Silva, without a reference/);
    }
    const [{ learner_id: id }] = (await app.db.query('select learner_id from learner where organisation_id = $1', [
      org.id,
    ])) as [{ learner_id: string }];
    const same = await send({ asked: 'Ana Silva', who: id });
    assert.match(same.headers.location!, /did=again/);
    assert.doesNotMatch(same.headers.location!, /Ana/);
    assert.deepEqual([await named(org), await creditsOf(org)], [['Ana Silva'], before]);
    assert.equal((await send({ asked: 'Ana Silva', who: fresh() })).status, 422, 'a learner who is not there');
    assert.equal((await send({ asked: 'Bo Berg', who: 'new' })).status, 422, 'said of another name');
    assert.equal((await send({ asked: 'Ana Silva', who: 'new' })).status, 303);
    assert.deepEqual([await named(org), await creditsOf(org)], [['Ana Silva', 'Ana Silva'], before - 1]);
    assert.equal((await send({ ref: 'A-9' })).status, 303, 'a reference says who it is');
  });

  test('both questions are answered one after the other', async () => {
    const { base, owner } = await college();
    const name = 'ZoÃ« Marsh';
    await owner.post(`${base}/invite/one`, { ...one, full_name: name, asked: name, as_is: 'yes' });
    const first = await owner.post(`${base}/invite/one`, { ...one, full_name: name, asked: name, as_is: 'yes' });
    assert.deepEqual([first.status, /name="as_is" value="yes"/.test(first.text)], [422, true]);
    const last = { ...one, full_name: name, asked: name, as_is: 'yes', who: 'new' };
    assert.equal((await owner.post(`${base}/invite/one`, last)).status, 303);
  });

  test('in a table: asked row by row, for an existing learner, for two rows of one name, and for neither with a reference', async () => {
    const { org, base, owner } = await college();
    const ana = (await org.post('/learners', { full_name: 'Ana Silva' })).body.data;
    await org.post('/learners', { full_name: 'Learner 1' });
    const before = await creditsOf(org);
    const table =
      'name\temail\tref\nana silva\t\t\nBo Berg\tb1@x.example\t\nBo Berg\tb2@x.example\t\nAna Silva\t\tA-2\nLearner 2\t\t';
    const to = await draft(owner, base, table);
    const page = (await owner.get(to)).text;
    assert.match(page, /3 rows need confirming/);
    assert.ok(page.includes(ana.learner_id), 'the learner is offered');
    assert.match(await begin(owner, org, to), /3 rows need confirming/);
    assert.equal(await creditsOf(org), before);
    await owner.post(`${to}/confirm`, [
      ...['1', '2', '3'].map((row) => ['asked', row] as [string, string]),
      ['row-1', ana.learner_id],
      ['row-2', 'as_is'],
      ['row-3', 'as_is'],
    ]);
    const ready = (await owner.get(to)).text;
    assert.match(ready, /Invite 5 learners\?/);
    assert.match(ready, /The open invitation is reused. No credit is used/);
    assert.match(await begin(owner, org, to), /5 learners are invited/);
    assert.equal(await creditsOf(org), before - 4);
    assert.equal((await named(org)).length, 6);
  });

  test('a tutor does not see or choose learners of other teams', async () => {
    const { org, base } = await college();
    const hidden = (await org.post('/learners', { full_name: 'Ana Silva' })).body.data.learner_id;
    const tutor = await personOf(service, org.id, 'tutor');
    const team = await service.withUnitOfWork(async (work) => {
      const id = await ensureTeam(work, org.id, { ref: 'T', name: 'Team' });
      await addTeamStaff(work, org.id, id, [tutor.userId]);
      return id;
    });
    const chosen = { ...one, team, full_name: 'Ana Silva', asked: 'Ana Silva', who: hidden };
    assert.equal((await tutor.post(`${base}/invite/one`, chosen)).status, 422);
    const byTable = await draft(tutor, base, `name\tlearner_id\nAna Silva\t${hidden}`, { team });
    assert.match((await tutor.get(byTable)).text, /1 row needs correcting/);
    const to = await draft(tutor, base, '\tAna Silva', { team });
    assert.match((await tutor.get(to)).text, /Invite 1 learner\?/);
    assert.equal((await tutor.post(`${base}/invite/one`, { ...one, team, full_name: 'Ana Silva' })).status, 303);
    const own = await tutor.post(`${base}/invite/one`, { ...one, team, full_name: 'Ana Silva' });
    assert.deepEqual([own.status, own.text.includes(hidden)], [422, false]);
  });
});
