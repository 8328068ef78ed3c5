import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { ars } from '../../support/ars.ts';
import { withService } from '../../support/service.ts';

const folder = await mkdtemp(join(tmpdir(), 'ars-invite-'));
after(() => rm(folder, { recursive: true }));

suite('ars learner invite', async () => {
  const service = await withService();
  const { app } = service;
  const org = await service.organisation({ name: 'Test College', plan: 'standard', credits: 3 });
  const run = (words: string[], input = '') => ars(words, service.environment, { input });
  const invite = ['learner', 'invite', '--organisation', org.publicId];
  const learners = async () => (await app.db.query('select from learner where organisation_id = $1', [org.id])).length;

  test('says what is wrong, and writes nothing', async () => {
    const file = join(folder, 'class.csv');
    await writeFile(file, 'ref;name;extra time\nA-1;Ana Silva;25\nA 2;Ben;900\n');
    for (const more of [['--check'], []]) {
      const { code, out } = await run([...invite, ...more, file]);
      assert.equal(code, 1);
      assert.equal(
        out,
        `2 rows: 0 learners there already, 0 open invitations to be given again, 1 credit needed. 1 row must be corrected; nothing was written.
row 2: ref must be letters, digits, . _ : / or -, at most 100, beginning with a letter or digit; never a name, an email address or a National Insurance number
row 2: extra_time must be per cent from 0 to 100, such as 25
`,
      );
    }
    assert.equal(await learners(), 0);
    const none = await run([...invite, join(folder, 'nowhere.csv')]);
    assert.deepEqual([none.code, /^ars: There is no file [^\n]+\n$/.test(none.said)], [1, true]);
    const strange = await run([...invite, '-'], 'ref,name,shoe size\nA,B,42\n');
    assert.match(strange.said, /^ars: - can't be read: the column “shoe size” is not known[^\n]+\n$/);
  });

  test('asks by its options about names that look damaged or are there already, and writes nothing before', async () => {
    const table = 'ref,name\nZ-1,ZoÃ« Marsh\n,Zo? Marsh\n,#N/A\n';
    const wrong = await run([...invite, '-'], table);
    assert.equal(wrong.code, 1);
    assert.match(wrong.out, /1 row must be corrected, 2 rows must be corrected or accepted; nothing was written/);
    assert.match(wrong.out, /row 1: full_name looks damaged/);
    assert.match(wrong.out, /row 3: full_name must be a name: an error value/);
    assert.match(wrong.out, /\n--accept-names takes/);
    assert.doesNotMatch(wrong.out, /Marsh/);
    const known = await service.organisation();
    const there = (await known.post('/learners', { full_name: 'Ana Silva' })).body.data;
    const to = ['learner', 'invite', '--organisation', known.publicId];
    const asked = await run([...to, '--json', '-'], '\tSilva, Ana\n');
    assert.deepEqual(
      [asked.code, asked.json.doubts],
      [1, [{ row: 1, column: 'full_name', about: 'known', learner_ids: [there.learner_id] }]],
    );
    const chosen = await run([...to, '-'], `name,learner_id\nAna Silva,${there.learner_id}\n`);
    assert.equal(chosen.out, '0 learners invited, 1 open invitation given again, 0 rows refused, of 1 row.\n');
    const both = await run([...to, '--new-learners', '--accept-names', '-'], '\tAna Silva\n\tZo? Marsh\n');
    assert.equal(both.out, '2 learners invited, 0 open invitations given again, 0 rows refused, of 2 rows.\n');
    const rename = ['learner', 'rename', '--organisation', known.publicId, '--learner-id', there.learner_id, '--name'];
    assert.match((await run([...rename, 'Zo? Marsh'])).said, /^ars: The name looks damaged/);
    assert.match((await run([...rename, '0'])).said, /at least one letter/);
    assert.equal((await run([...rename, 'Zo? Marsh', '--accept-names'])).code, 0);
    assert.equal(await learners(), 0);
  });

  test('invites from a file or from standard input, and tells how a run went', async () => {
    const short = await run([...invite, '-'], 'A-1\tAna\nA-2\tBen\nA-3\tCy\nA-4\tDee\n');
    assert.equal(short.said, 'ars: These rows need 4 credits, 1 more than there are; nothing was written.\n');
    assert.equal(await learners(), 0);
    const { code, json } = await run([...invite, '--json', '-'], 'A-1\tAna\nA-2\tBen\n');
    const { run_id, ...counts } = json;
    assert.deepEqual(
      { code, ...counts },
      { code: 0, status: 'finished', total: 2, reached: 2, invited: 2, open_already: 0, refused: 0 },
    );
    const again = await run([...invite, '-'], 'A-1\tAna\n');
    assert.equal(again.out, '0 learners invited, 1 open invitation given again, 0 rows refused, of 1 row.\n');
    const shown = await run(['learner', 'invite-run', '--organisation', org.publicId, run_id]);
    assert.equal(shown.out, '2 learners invited, 0 open invitations given again, 0 rows refused, of 2 rows.\n');
    const ended = await run(['learner', 'invite-run', '--organisation', org.publicId, run_id, '--cancel']);
    assert.equal(ended.said, 'ars: The run has ended already.\n');
    const [row] = await app.db.query('select invitation_id from invitation where organisation_id = $1 limit 1', [
      org.id,
    ]);
    const resent = await run(['invitation', 'resend', '--organisation', org.publicId, row!.invitation_id]);
    assert.equal(resent.said, 'ars: No mail server is set (ARS_SMTP_URL).\n');
    const code2 = await run([
      'invitation',
      'update',
      '--organisation',
      org.publicId,
      row!.invitation_id,
      '--purpose',
      'end',
      '--start-code',
      'on',
      '--json',
    ]);
    assert.deepEqual([code2.json.purpose, code2.json.start_code], ['end', true]);
  });
});
