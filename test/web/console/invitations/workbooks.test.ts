import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { withService } from '../../../support/service.ts';
import { rowsXml, xlsx, xlsxParts, zipped } from '../../../support/workbooks.ts';
import { fieldsOf, type Person, personOf } from '../visitor.ts';

/** Workbooks and tables of other systems, for invitations and for results. */

const service = await withService();
const { app } = service;

async function sendFile(person: Person, path: string, file: Buffer | null, fields: readonly [string, string][] = []) {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  if (file !== null) form.append('file', new Blob([new Uint8Array(file)]), 'learners.xlsx');
  const response = await fetch(service.url + path, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: person.cookie!, 'sec-fetch-site': 'same-origin' },
    body: form,
  });
  return { status: response.status, to: response.headers.get('location'), text: await response.text() };
}

/** The fields of the page's main form, as a browser would send them. */
const formOf = (text: string): [string, string][] => fieldsOf(/<main[\s\S]*<\/main>/.exec(text)![0]);

suite('a workbook of learners', () => {
  test('is checked like a table; its rows and their places are named', async () => {
    const org = await service.organisation({ plan: 'unlimited' });
    const owner = await personOf(service, org.id, 'owner');
    const path = `/console/${org.publicId}/invite`;
    const sent = await sendFile(
      owner,
      path,
      xlsx([
        ['LearnRefNumber', 'GivenNames', 'FamilyName'],
        ['00042', 'Ana', 'Silva'],
      ]),
    );
    assert.equal(sent.status, 303, sent.text);
    const { text } = await owner.get(sent.to!);
    assert.match(text, /Invite 1 learner\?/);
    assert.match(text, /00042[\s\S]*Ana Silva/);
    const two = zipped(
      xlsxParts({
        A: rowsXml([
          ['ref', 'name'],
          ['A-1', 'Ana'],
        ]),
        B: rowsXml([
          ['ref', 'name'],
          ['B-1', 'Ben'],
        ]),
      }),
    );
    const refused = await sendFile(owner, path, two);
    assert.equal(refused.status, 422);
    assert.match(refused.text, /rows in 2 sheets/);
    const named = await sendFile(owner, path, two, [['sheet', 'B']]);
    assert.match((await owner.get(named.to!)).text, /B-1/);
    const formula = zipped(xlsxParts({ Learners: '<row r="2"><c r="B2"><f>A1</f></c></row>' }));
    assert.match((await sendFile(owner, path, formula)).text, /sheet “Learners”, row 2, column B/);
  });

  test('columns are chosen by hand once, and the next table is read in that way', async () => {
    const org = await service.organisation({ plan: 'unlimited' });
    const owner = await personOf(service, org.id, 'owner');
    const tutor = await personOf(service, org.id, 'admin');
    const path = `/console/${org.publicId}/invite`;
    const table = (n: number) =>
      xlsx([
        ['Pupil code', 'Known as', 'ULN', 'Notes'],
        [`P-${n}`, `Zoë ${'A'.repeat(n)}`, '9900000042', 'x\ny'],
      ]);
    const asked = await sendFile(owner, path, table(1));
    assert.equal(asked.status, 200);
    assert.match(asked.text, /Choose columns[\s\S]*Pupil code[\s\S]*The first row has “P-1”/);
    assert.match(asked.text, /identifies a person for life/);
    const fields = formOf(asked.text);
    assert.deepEqual(
      fields.filter(([name]) => name.startsWith('column-')).map(([, value]) => value),
      ['left_out', 'left_out', 'left_out', 'left_out'],
    );
    const choose = (...chosen: string[]) =>
      fields.map(([name, value]): [string, string] =>
        name.startsWith('column-') ? [name, chosen[Number(name.slice(7))]!] : [name, value],
      );
    const again = await sendFile(owner, path, null, choose('ref', 'left_out', 'left_out', 'left_out'));
    assert.equal(again.status, 422);
    assert.match(again.text, /The columns are not complete/);
    const read = await sendFile(owner, path, null, choose('ref', 'full_name', 'ref', 'left_out'));
    assert.match(read.text, /named twice/);
    const done = await sendFile(owner, path, null, choose('ref', 'full_name', 'left_out', 'left_out'));
    assert.equal(done.status, 303, done.text);
    assert.match((await owner.get(done.to!)).text, /P-1[\s\S]*Zoë A/);
    const next = await sendFile(tutor, path, table(2));
    assert.equal(next.status, 303, 'the organisation remembers');
    const other = await service.organisation({ plan: 'unlimited' });
    const stranger = await personOf(service, other.id, 'owner');
    assert.equal((await sendFile(stranger, `/console/${other.publicId}/invite`, table(3))).status, 200);
    const rows = await app.db.query<{ action: string; resource: string }>(
      `select action, resource from audit where organisation_id = $1 and resource like 'columns%'`,
      [org.id],
    );
    assert.deepEqual(rows, [{ action: 'POST /console/invite', resource: 'columns: invite' }]);
  });

  test('a person can choose the columns of a table whose headings are known', async () => {
    const org = await service.organisation({ plan: 'unlimited' });
    const owner = await personOf(service, org.id, 'owner');
    const path = `/console/${org.publicId}/invite`;
    const asked = await sendFile(owner, path, Buffer.from('ID,Name\nA-1,Ana'), [['ask', 'yes']]);
    const chosen = formOf(asked.text).filter(([name]) => name.startsWith('column-'));
    assert.deepEqual(chosen, [
      ['column-0', 'ref'],
      ['column-1', 'full_name'],
    ]);
    assert.equal((await sendFile(owner, path, null, formOf(asked.text))).status, 303);
  });
});

suite('a workbook of results', () => {
  const head = [
    'LearnRefNumber',
    'First name',
    'Surname',
    'Assessed at',
    'Subject',
    'Framework',
    'RQF level',
    'RQF level code',
    'Below Level 1',
  ];
  const cells = (ref: string) => [ref, 'Ana', 'Silva', '', 'maths', 'functional_skills', 'Level 1', '2', 'FALSE'];
  const row = (ref: string) =>
    rowsXml([cells(ref)]).replace('<c t="inlineStr"><is><t></t></is></c>', '<c t="d"><v>2026-07-10T09:30:00</v></c>');

  test('is imported with other headings; dates are read by British clocks; faults name the row', async () => {
    const org = await service.organisation({ plan: 'unlimited' });
    const owner = await personOf(service, org.id, 'owner');
    const path = `/console/${org.publicId}/results/import`;
    const file = zipped(xlsxParts({ Results: `${rowsXml([head])}${row('A-1')}<row r="9"/>${row('bad ref')}` }));
    const sent = await sendFile(owner, path, file, [['dates', 'rfc3339']]);
    assert.equal(sent.status, 303, sent.text);
    const { text } = await owner.get(sent.to!);
    assert.match(text, /Import 1 results\?/);
    assert.match(text, />10<[\s\S]*learner_ref/);
    await owner.post(`${sent.to!}/start`, {});
    for (let tries = 0; tries < 100 && !(await owner.get(sent.to!)).text.includes('Results are imported'); tries++)
      await new Promise((resolve) => setTimeout(resolve, 50));
    const [result] = (await org.get('/assessments')).body.data;
    assert.equal(result.assessed_at, '2026-07-10T08:30:00.000Z');
    assert.deepEqual([result.learner.ref, result.learner.full_name], ['A-1', 'Ana Silva']);
  });

  test('other headings are chosen and remembered; IDs of the service are asked about', async () => {
    const org = await service.organisation({ plan: 'unlimited' });
    const owner = await personOf(service, org.id, 'owner');
    const path = `/console/${org.publicId}/results/import`;
    const csv = (heading: string, ref: string) =>
      Buffer.from(
        `${heading};Learner;assessed_at;subject;framework;rqf_level;rqf_level_code;below_level_1;Comment\n${ref};Ana;2026-07-10T08:30:00Z;maths;functional_skills;Level 1;2;false;"a;b"`,
      );
    const asked = await sendFile(owner, path, csv('Pupil', 'A-1'));
    assert.match(asked.text, /Choose columns/);
    const fields = formOf(asked.text).map(([name, value]): [string, string] =>
      name === 'column-0' ? [name, 'learner_ref'] : [name, value],
    );
    const done = await sendFile(owner, path, null, fields);
    assert.match((await owner.get(done.to!)).text, /Import 1 results\?/, done.text);
    assert.equal((await sendFile(owner, path, csv('Pupil', 'A-2'))).status, 303);
    const own = await sendFile(owner, path, csv('Learner ID', app.random.uuid()));
    assert.match(own.text, /Choose columns/);
  });
});
