import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
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
      ['UPN,Candidate,Class\n1234,Ana,B', /column “Class” is not known/],
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
});
