import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { strFromU8, unzipSync } from 'fflate';
import { limits } from '../../../../src/platform/config/limits.ts';
import { ExportsBusy, sheetFile } from '../../../../src/records/results/lists/export.ts';
import { unguard } from '../../../../src/platform/formats/csv.ts';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { addToTeam } from '../../../support/teams.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import type { Person } from '../visitor.ts';
import { personOf } from '../visitor.ts';

/** Results as an organisation's people look through them, and take them away. */

const service = await withService();
const { db } = service.app;
const scene = await scenario(service);
const { org } = scene;
const base = `/console/${org.publicId}`;
const formula = '=HYPERLINK("http://evil.example","Ana")';
const ana = await scene.learner('ana-1', formula);
const ben = await scene.learner('ben-1', 'Ben <b>Bold</b>');
const chi = await scene.learner('chi-1', 'Chi Last');
const cohort = await scene.group('autumn');
await ana.joins(cohort);
await chi.joins(cohort);
const anaMaths = await ana.completes({ level: 2, assessed_at: '2026-01-10T10:00:00Z' });
await ana.completes({ subject: 'digital', level: 1, assessed_at: '2026-02-10T23:30:00Z' });
const benMaths = await ben.completes({ level: 4, assessed_at: '2026-03-10T10:00:00Z' });
const chiMaths = await chi.completes({ level: 3, assessed_at: '2026-07-10T23:30:00Z' });
const probabilities = { 'Entry Level 3': 0.3, 'Level 1': 0.65, 'Level 2': 0.05 };
await chiMaths.isAmended({ is_borderline: true, level_probabilities: probabilities });

const team = await service.withUnitOfWork((work) => ensureTeam(work, org.id, { ref: 'north', name: 'North' }));
const tutor = await personOf(service, org.id, 'tutor');
await service.withUnitOfWork((work) => addTeamStaff(work, org.id, team, [tutor.userId]));
await service.withUnitOfWork((work) => addToTeam(work, org.id, team, ['ben-1']));

const owner = await personOf(service, org.id, 'owner');
const shownIds = (text: string) =>
  [...text.matchAll(/<th scope="row"[^>]*><span><a href="[^"]*\/results\/([0-9a-f-]{36})"/g)].map((match) => match[1]);
const listed = async (person: Person, query = '') => shownIds((await person.get(`${base}/results${query}`)).text);

async function exported(person: Person, query: string, format: string) {
  const answer = await person.post(`${base}/results/export${query}`, { format });
  assert.equal(answer.status, 200);
  return answer;
}

async function csvRows(person: Person, query = ''): Promise<Record<string, string>[]> {
  const { text } = await exported(person, query, 'csv');
  assert.ok(text.startsWith('\uFEFF'));
  return parse(text, { columns: true, bom: true });
}

suite('the list of results', () => {
  test('filters by what stands in the address, sorts, and escapes what people are called', async () => {
    const { text } = await owner.get(`${base}/results`);
    assert.deepEqual(shownIds(text).slice(0, 2), [chiMaths.id, benMaths.id]);
    assert.match(text, /Ben &lt;b&gt;Bold/);
    assert.match(text, /11 Jul 2026/, 'the day is that of the organisation’s clocks');
    assert.match(text, /Entry Level 3 to Level 2/);
    assert.match(text, /: a scenario<\/span>/, 'the last change with its reason');
    assert.deepEqual(await listed(owner, `?group=${cohort.id}&subject=maths&sort=assessed`), [
      anaMaths.id,
      chiMaths.id,
    ]);
    assert.deepEqual(await listed(owner, '?level=level-2'), [benMaths.id]);
    assert.equal((await listed(owner, '?below=yes')).length, 2);
    assert.deepEqual(await listed(owner, '?flag=borderline'), [chiMaths.id]);
    assert.deepEqual(await listed(owner, '?from=2026-07-11&to=2026-07-11'), [chiMaths.id]);
    assert.deepEqual(await listed(owner, '?from=2026-07-10&to=2026-07-10'), []);
    assert.deepEqual(await listed(owner, '?source=sitting'), []);
    assert.deepEqual(await listed(owner, '?sort=placement&subject=maths'), [anaMaths.id, chiMaths.id, benMaths.id]);
    assert.deepEqual(await listed(owner, '?sort=-learner&subject=maths'), [chiMaths.id, benMaths.id, anaMaths.id]);
  });

  test('no name stands in an address, also where names are what is sorted by', async () => {
    for (let i = 0; i < 55; i++) await ben.completes({ subject: 'english', assessed_at: '2025-01-01T00:00:00Z' });
    const seen = [];
    for (let path: string | null = `${base}/results?sort=learner`; path !== null;) {
      const { text }: { text: string } = await owner.get(path);
      assert.doesNotMatch(text, /href="[^"]*(Ben|Bold|HYPERLINK)/i);
      seen.push(...shownIds(text));
      path = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? null;
    }
    assert.deepEqual([seen.length, new Set(seen).size], [59, 59]);
  });

  test('what an address holds beside filters asks for nothing and runs nowhere', async () => {
    const hostile = encodeURIComponent('"><script>alert(1)</script>');
    const names = 'team type group subject level below from to flag source changed latest sort after'.split(' ');
    for (const sort of ['placement', 'subject', 'flags', 'source', 'changed', 'assessed'])
      for (const after of ['9999999999.1', '9999999999999999.9999999999999999', `9999999999999999.${org.publicId}`])
        assert.equal((await owner.get(`${base}/results?sort=${sort}&after=${after}`)).status, 200);
    for (const path of ['results', 'results/export']) {
      const { status, text } = await owner.get(`${base}/${path}?${names.map((one) => `${one}=${hostile}`).join('&')}`);
      assert.equal(status, 200);
      assert.doesNotMatch(text, /<script>alert/);
    }
    for (const after of ['1.2', '9'.repeat(15), `1.${'x'.repeat(36)}`, `${'9'.repeat(15)}.${anaMaths.id}`, '-1', '.'])
      for (const sort of ['assessed', 'changed', 'learner', 'placement'])
        assert.equal((await owner.get(`${base}/results?sort=${sort}&after=${encodeURIComponent(after)}`)).status, 200);
    for (const day of ['9999-12-31', '0001-01-01', '2026-02-30', '2026-13-01'])
      assert.equal((await owner.get(`${base}/results?from=${day}&to=${day}&changed=${day}`)).status, 200);
  });
});

suite('one result', () => {
  test('whole, in words, with its evidence, its history and why', async () => {
    const { text } = await owner.get(`${base}/results/${chiMaths.id}`);
    assert.match(text, /<h1>Maths: Level 1<\/h1>/);
    assert.match(text, /Borderline: no → yes/);
    assert.match(text, /Amended on .* by operator: a scenario/);
    const evidence = await owner.get(`${base}/results/${chiMaths.id}/evidence`);
    assert.equal(evidence.headers['content-type'], 'application/pdf');
    assert.deepEqual(evidence.bytes, (await chiMaths.readReport()).bytes);
    const taken = await db.query(
      `select actor from audit where action = 'GET /console/results/{assessment_id}/evidence' and resource = $1`,
      [chiMaths.id],
    );
    assert.deepEqual(taken, [{ actor: owner.userId }]);
  });

  test('a withdrawn one says who withdrew it and why, and nothing of what it was', async () => {
    const wrong = await chi.completes({ subject: 'digital', level: 5 });
    await wrong.isWithdrawn();
    const { status, text } = await owner.get(`${base}/results/${wrong.id}`);
    assert.equal(status, 200);
    assert.match(text, /Withdrawn on .*: a scenario/);
    assert.doesNotMatch(text, /Level 3|Number/);
    assert.equal((await owner.get(`${base}/results/${wrong.id}/evidence`)).status, 404);
  });
});

suite('a tutor', () => {
  test('sees the results of their teams’ learners, in every list, file and page, whatever the address says', async () => {
    const theirs = new Set((await listed(owner, '?sort=learner')).length > 0 ? [benMaths.id] : []);
    for (const query of [
      '',
      '?sort=learner',
      '?latest=yes',
      `?group=${cohort.id}`,
      `?team=${cohort.id}`,
      '?from=2000-01-01',
      '?changed=2000-01-01',
    ]) {
      const { text } = await tutor.get(`${base}/results${query}`);
      assert.doesNotMatch(text, /Chi Last|HYPERLINK/, query);
      assert.ok(!(await listed(tutor, query)).includes(anaMaths.id));
      const rows = await csvRows(tutor, query);
      assert.ok(
        rows.every((row) => row['Reference'] === 'ben-1'),
        query,
      );
    }
    assert.ok((await listed(tutor, '?subject=maths')).every((id) => theirs.has(id!)));
    const unknown = await tutor.get(`${base}/results/5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d`);
    for (const path of [anaMaths.id, `${anaMaths.id}/evidence`]) {
      const answer = await tutor.get(`${base}/results/${path}`);
      assert.deepEqual([answer.status, answer.text], [404, unknown.text]);
    }
    assert.equal((await tutor.get(`${base}/results/${benMaths.id}`)).status, 200);
    const nobody = await personOf(service, org.id, 'tutor');
    assert.match((await nobody.get(`${base}/results`)).text, /You are in no team yet/);
    assert.deepEqual(await csvRows(nobody), []);
  });
});

suite('results as a file', () => {
  const everyPage = async (query: string) => {
    const ids = [];
    for (let path: string | null = `${base}/results${query}`; path !== null;) {
      const { text }: { text: string } = await owner.get(path);
      ids.push(...shownIds(text));
      path = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? null;
    }
    return ids;
  };

  test('it holds what the list shows with the same filters, in the same order, in both forms', async () => {
    for (const query of [
      '',
      '?sort=learner',
      `?group=${cohort.id}&sort=changed`,
      '?below=yes',
      '?flag=any',
      '?latest=yes&sort=-placement',
    ]) {
      const wanted = await everyPage(query);
      assert.deepEqual(
        (await csvRows(owner, query)).map((row) => row['Result’s id']),
        wanted,
        query,
      );
      const { bytes } = await exported(owner, query, 'xlsx');
      const xml = strFromU8(unzipSync(bytes)['xl/worksheets/sheet1.xml']!);
      assert.deepEqual(
        [...xml.matchAll(/>([0-9a-f]{8}-[0-9a-f-]{27})<\/t><\/is><\/c><\/row>/g)].map((match) => match[1]),
        wanted,
        query,
      );
    }
  });

  test('a name that is a formula is text in both; times are those of the organisation’s clocks', async () => {
    const rows = await csvRows(owner, `?group=${cohort.id}`);
    const cell = rows.find((row) => row['Reference'] === 'ana-1')!['Learner']!;
    assert.equal(cell, `'${formula}`);
    assert.equal(unguard(cell), formula);
    const row = rows.find((one) => one['Result’s id'] === chiMaths.id)!;
    assert.equal(row['Assessed (Europe/London)'], '2026-07-11 00:30');
    assert.deepEqual([row['Likely level, lowest'], row['Likely level, highest']], ['Entry Level 3', 'Level 2']);
    assert.equal(row['Groups'], 'The cohort autumn');
    const { bytes } = await exported(owner, `?group=${cohort.id}`, 'xlsx');
    const xml = strFromU8(unzipSync(bytes)['xl/worksheets/sheet1.xml']!);
    assert.doesNotMatch(xml, /<f[ >]/);
    assert.ok(xml.includes('t="inlineStr"><is><t xml:space="preserve">=HYPERLINK(&quot;http://evil.example&quot;'));
  });

  test('no column of a file begins as a formula does, whatever the result says', async () => {
    const scene2 = await scenario(service);
    const admin = await personOf(service, scene2.org.id, 'admin');
    const begins = ['=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '\u2212', ' =', '\u00a0+'];
    for (const [i, mark] of begins.entries()) {
      const text = `${mark}1+cmd|'x'!A0`;
      const learner = await scene2.learner(`r-${i}`, text);
      const { body } = await scene2.org.post('/groups', { type: 'cohort', ref: `g-${i}`, name: text });
      await scene2.org.post(`/groups/${body.data.id}/members`, { learner_refs: [`r-${i}`] });
      const result = await learner.completes();
      await result.isAmended({ framework: text, working_level: text, recommended_next_level: text });
    }
    const sent = await admin.post(`/console/${scene2.org.publicId}/results/export`, { format: 'csv' });
    const rows: string[][] = parse(sent.text, { bom: true });
    assert.equal(rows.length, begins.length + 1);
    const cells = rows.flat().filter((cell) => !/^-?[\d.]*$/.test(cell));
    assert.deepEqual(
      cells.filter((cell) => /^[\s\p{Cf}]*[=+@＝＋－＠﹦﹢﹣﹫\u2212-]/u.test(cell)),
      [],
    );
    assert.ok(cells.filter((cell) => cell.startsWith("'")).length >= 3 * begins.length);
  });

  test('it asks who somebody is, and stands in the log with its filters before it is sent', async () => {
    const admin = await personOf(service, org.id, 'admin');
    await csvRows(admin, '?subject=maths&after=1');
    const [row] = await db.query('select action, resource from audit where actor = $1', [admin.userId]);
    assert.deepEqual(row, { action: 'POST /console/results/export', resource: 'results as csv: subject=maths' });
    for (const [name, value] of [
      ['group', 'QQ 12 34 56 C'],
      ['type', 'Ana Silva'],
      ['sort', 'ana'],
      ['from', 'QQ123456C'],
    ])
      await exported(admin, `?${new URLSearchParams({ [name!]: value! }).toString()}`, 'csv');
    const kept = await service.app.db.query<{ resource: string }>(
      "select distinct resource from audit where organisation_id = $1 and action = 'POST /console/results/export'",
      [org.id],
    );
    for (const { resource } of kept) assert.doesNotMatch(resource, /ana|QQ/i, 'what asks for nothing is kept nowhere');
    const longAgo = new Date(service.app.clock.nowMs() - 11 * 60_000);
    await db.query('update user_session set proved_at = $2 where user_id = $1', [admin.userId, longAgo]);
    const answer = await admin.post(`${base}/results/export`, { format: 'csv' });
    assert.equal(answer.status, 401);
    assert.match(answer.text, /action="\/console\/confirm"/);
  });

  test('a workbook is refused where more are counted than a sheet holds, and not for results that the dates leave out', async () => {
    const many = await scenario(service);
    const admin = await personOf(service, many.org.id, 'admin');
    await (await many.learner('one-1')).completes({ assessed_at: '2026-07-10T10:00:00Z' });
    await db.query('update feed set digest_n = $2 where organisation_id = $1', [many.org.id, limits.sheetRows]);
    const path = `/console/${many.org.publicId}/results/export`;
    const refused = await admin.post(path, { format: 'xlsx' });
    assert.deepEqual([refused.status, refused.text.includes('One sheet has room for 1,048,575 results.')], [422, true]);
    const week = `${path}?from=2026-07-06&to=2026-07-12`;
    assert.match((await admin.get(week)).text, /At most 1,048,576.*A larger workbook stops early/s);
    const sent = await admin.post(week, { format: 'xlsx' });
    assert.equal(sent.status, 200);
    assert.match(strFromU8(unzipSync(sent.bytes)['xl/worksheets/sheet1.xml']!), /one-1/);
  });

  test('when nobody takes it any more its snapshot ends, and so few are written at once', async () => {
    const columns = [{ key: 'x', head: 'x', width: 9, kind: 'text' as const, value: () => 'x'.repeat(10_000) }];
    async function* endless() {
      for (;;) yield [null];
    }
    const open = [1, 2].map(() => sheetFile(service.app, 'csv', () => ({ name: 'x', columns, rows: endless() })));
    assert.throws(() => sheetFile(service.app, 'csv', () => ({ name: 'x', columns, rows: endless() })), ExportsBusy);
    assert.equal((await owner.post(`${base}/results/export`, { format: 'csv' })).status, 429);
    for (const one of open) one.on('error', () => {}).destroy();
    for (let status = 429; status !== 200;)
      ({ status } = await owner.post(`${base}/results/export`, { format: 'csv' }));
    // A snapshot ends a moment after its last byte was taken.
    for (let open = 1; open > 0;) {
      const [idle] = await db.query<{ n: number }>(
        `select count(*) as n from pg_stat_activity where datname = current_database() and state like 'idle in%'`,
      );
      open = idle!.n;
    }
  });
});
