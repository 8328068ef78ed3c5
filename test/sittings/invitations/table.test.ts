import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { choicesToRemember, UnknownColumns } from '../../../src/records/learners/headings.ts';
import { readInviteTable } from '../../../src/sittings/invitations/runs/table.ts';

suite('the header of a table', () => {
  test('the line that names the columns is the first: below a title, or once more, it is said which it is', async () => {
    const tables: [string, RegExp][] = [
      ['Class 5B\nref\tfull_name\nA-1\tAna', /line 2 looks like the header.*take out the lines above it/],
      ['Class 5B\n\n\nStudent ref,Full name,E-mail\nA-1,Ana,', /line 4 looks like the header/],
      ['Class list,,\nSurname,Forename,ref\nSilva,Ana,A-1', /line 2 looks like the header/],
      ['Class list;;\n;;\nemail;Learner name;groups\n;Ana;', /line 3 looks like the header/],
      ['Register\nref;name\nA-1;Ana', /line 2 looks like the header/],
      ['Register 2026\nFULL NAME\nAna', /line 2 looks like the header/],
      ['Register\nName,Date of birth\nAna,1', /line 2 looks like the header/],
      ['Register\nULN,Learner\n1234,Ana', /line 2 looks like the header/],
      ['Learners\nID;Pupil name\n1234;Ana', /line 2 looks like the header/],
      ['Ref,Candidate,Class\n1234,Ana,B', /column “Class” is not known/],
      ['UPN,Candidate\n1234,Ana', /column “UPN” is not known/],
      ['ULN,Given Names,FAMILY NAME\n1234,Ana,Silva', /column “ULN” is not known/],
      ['Register\tMs Gray\nReference\tE-mail address\nA-1\ta@b.example', /line 2 looks like the header/],
      ['ref,name\nA-1,Ana\nref,name\nA-2,Ben', /line 3 is the header once more: take it out/],
      ['A-1\tAna\nref\tname\nA-2\tBen', /line 2 looks like the header/],
    ];
    for (const [table, sentence] of tables)
      await assert.rejects(readInviteTable(Buffer.from(table)), sentence, JSON.stringify(table));
    const rows = await readInviteTable(Buffer.from('A-1\tName 1\nA-2\tNamé Ref\nA-3\tSurname Jones\nA-4\tEmail'));
    assert.equal(rows.length, 4);
    const headed = await readInviteTable(Buffer.from('ID,Student\nA-1,Ana Silva'));
    assert.deepEqual(headed, [{ row_no: 1, cells: { ref: 'A-1', full_name: 'Ana Silva' } }]);
  });

  test('headings of other systems are recognised, whatever their case and spaces', async () => {
    for (const head of [
      'LearnRefNumber,GivenNames,FamilyName',
      'learn ref number,FIRST NAME,Surname',
      'Learner ID,Forename,Last name',
    ])
      assert.deepEqual(await readInviteTable(Buffer.from(`${head}\n00042,Ana,Silva`)), [
        { row_no: 1, cells: { ref: '00042', full_name: 'Ana Silva' } },
      ]);
    const id = '01890000-0000-7000-8000-000000000001';
    const [own] = await readInviteTable(Buffer.from(`Learner ID,Name\n${id},Ana`));
    assert.deepEqual(own!.cells, { learner_id: id, full_name: 'Ana' });
  });

  test('choices come before headings: of this table by position, of earlier tables by heading', async () => {
    const table = Buffer.from('Pupil,Known as,ULN,Notes\nP-1,Ana,123,x');
    const chosen = ['ref', 'full_name', 'left_out', 'left_out'];
    const is = [{ row_no: 1, cells: { ref: 'P-1', full_name: 'Ana' } }];
    assert.deepEqual(await readInviteTable(table, { chosen }), is);
    const remembered = new Map(['pupil', 'knownas', 'uln', 'notes'].map((key, i) => [key, chosen[i]!]));
    assert.deepEqual(await readInviteTable(table, { remembered }), is);
    await assert.rejects(readInviteTable(table, { chosen: ['ref'] }), /other columns than the file/);
    await assert.rejects(readInviteTable(table, { chosen: ['ref', 'ref', 'full_name', 'left_out'] }), /named twice/);
    await assert.rejects(readInviteTable(table), (error) => {
      assert.ok(error instanceof UnknownColumns);
      assert.deepEqual(error.columns, [
        { heading: 'Pupil', sample: 'P-1', column: 'full_name' },
        { heading: 'Known as', sample: 'Ana', column: null },
        { heading: 'ULN', sample: '123', column: null },
        { heading: 'Notes', sample: 'x', column: null },
      ]);
      return true;
    });
  });
});

suite('a national number is never remembered as the reference', () => {
  test('but that it is left out is', () => {
    const kept = (choice: string) =>
      choicesToRemember(['ULN', 'U.P.N.', 'Pupil'], [choice, choice, 'ref'], () => undefined);
    assert.deepEqual([...kept('ref')], [['pupil', 'ref']]);
    assert.deepEqual([...kept('left_out').keys()], ['uln', 'upn', 'pupil']);
  });
});
