// Tier: full. Plays the day of a training provider with 2,000 learners in a browser.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { createTeam } from '../../src/organisations/teams.ts';
import { subjectNames } from '../../src/engine/scoring/levels.ts';
import { declarationText } from '../../src/sittings/evidence.ts';
import { personOf } from '../web/console/visitor.ts';
import { withService } from '../support/service.ts';
import { SimulatedLearner } from '../sittings/learner.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from './browser.ts';
import { answerByKeyboard, goByMenu, pressByKeyboard, typeByKeyboard } from './keyboard.ts';
import { currentOf } from './player/question.ts';

/** A provider's day from the first page to the last: invite, sit, review, report, move, forget; each page looked at. */
suite('a day of a training provider', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const headingIs = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor();

  for (const [width, script, colorScheme] of [
    [1280, true, 'light'],
    [320, false, 'dark'],
  ] as const)
    test(`at ${width} px, ${script ? 'with' : 'without'} script: 2,000 learners invited, one sits, is reviewed, listed, moved and erased`, async () => {
      const org = await service.organisation({ name: `College ${width}`, plan: 'standard', credits: 2500 });
      const owner = await personOf(service, org.id, 'owner');
      await org.post('/learners', { full_name: 'Former Name', ref: 'L-5' });
      const [north] = await service.withUnitOfWork(async (work) => [
        await createTeam(work, org.id, { ref: 'NORTH', name: 'North' }),
        await createTeam(work, org.id, { ref: 'SOUTH', name: 'South' }),
      ]);
      const base = `${service.url}/console/${org.publicId}`;
      const { page, complaints } = await openPage({ width, script, colorScheme });
      const isSound = async (what: string, on = page) => {
        assert.deepEqual(await overhanging(on), [], `${what}: reaches past the edge`);
        if (script) assert.deepEqual(await axeFaults(on), [], `${what}: axe`);
      };
      const [cookie, value] = owner.cookie!.split('=') as [string, string];
      await page.context().addCookies([{ name: cookie, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);

      // Pasted from a spreadsheet; what is wrong is corrected on the page.
      const lines = Array.from({ length: 2000 }, (_, i) => [
        `L-${i}`,
        i === 1 ? 'Wilhelmina-Alexandrina Featherstonehaugh' : `Learner ${i}`,
        `l${i}@x.example`,
        'cohort: C1 = Cohort',
        'digital',
      ]);
      lines[10]![2] = 'no address';
      lines[700]![0] = 'has a blank';
      lines[1999]![0] = 'L-3';
      await page.goto(`${base}`);
      await goByMenu(page, 'Day to day', 'Invite learners');
      await isSound('the table');
      await pressByKeyboard(page, 'Check rows');
      await page.getByRole('alert').waitFor();
      await isSound('nothing pasted');
      const head = 'Reference\tName\tE-mail\tGroups\tSubjects';
      await page
        .getByLabel('Rows from a spreadsheet')
        .fill([head, ...lines.map((cells) => cells.join('\t'))].join('\n'));
      await page.getByLabel('Team').selectOption(north!);
      await pressByKeyboard(page, 'Check rows');
      await headingIs(page, '3 rows need correcting');
      await isSound('faulty rows');
      const faulty = page.getByRole('table', { name: 'Rows to correct' }).getByRole('row');
      assert.deepEqual(await faulty.locator('th[scope=row]').allInnerTexts(), ['11', '701', '2000']);
      const text = await page.getByLabel('Correct these rows').inputValue();
      const corrected = text
        .replace('no address', 'mended@x.example')
        .replace('has a blank', 'L-700')
        .split('\n')
        .filter((line) => !line.startsWith('2000\t'));
      assert.equal(corrected.length, 3);
      await page.getByLabel('Correct these rows').fill(corrected.join('\n'));
      await pressByKeyboard(page, 'Check rows again');
      await headingIs(page, 'Invite 1,999 learners?');
      await isSound('right rows');
      assert.match(
        await page.getByRole('main').innerText(),
        /The name changes from Former Name to the name in this row/,
      );
      assert.match(await page.getByRole('main').innerText(), /1,99\d of 2,499/);
      await pressByKeyboard(page, 'Invite 1,999 learners');
      await headingIs(page, /being invited|are invited/);
      while ((await page.getByRole('heading', { name: '1,999 learners are invited' }).count()) === 0)
        await page.reload();
      await isSound('the report');
      await pressByKeyboard(page, 'Links and cards');
      await headingIs(page, 'Links and cards');
      assert.equal(await page.locator('.card').count(), 16);
      await isSound('cards');
      const print = (await page.pdf({ format: 'A4' })).toString('latin1');
      assert.equal(print.match(/\/Type\s*\/Page\b(?!s)/g)!.length, 2, 'eight cards a sheet');
      const links = await page.getByLabel('Links to copy into a spreadsheet').inputValue();
      const link = /Featherstonehaugh\tL-1\t(\S+)/.exec(links)![1]!;
      const [row] = await service.app.db.query<{ credits: number; left: number }>(
        `select o.credits, (select count(*) from invitation_run_row r where r.organisation_id = o.organisation_id
                  and (r.cells is not null or r.ready is not null)) as left
           from organisation o where o.organisation_id = $1`,
        [org.id],
      );
      assert.deepEqual({ ...row }, { credits: 2500 - 2000, left: 0 });

      await goByMenu(page, 'Day to day', 'Invitations');
      await isSound('invitations');
      await page.getByRole('checkbox').first().press('Space');
      await page.getByRole('button', { name: 'Links and cards of selected learners' }).press('Enter');
      await headingIs(page, 'Links and cards');
      assert.equal(await page.locator('.card').count(), 1);
      await page.goBack();
      await page.getByRole('rowheader').first().getByRole('link').press('Enter');
      await page.getByRole('heading', { level: 1 }).waitFor();
      await isSound('an invitation');

      // One of them sits, and asks for a person's look at the result.
      const { page: theirs } = await openPage({ width, script, colorScheme });
      const learner = new SimulatedLearner(service, new URL(link).pathname.slice('/a/'.length), 'L-1', -2);
      await theirs.goto(link);
      await isSound('welcome', theirs);
      await pressByKeyboard(theirs, `Start ${subjectNames.digital}`);
      while (theirs.url().endsWith('/question')) await answerByKeyboard(theirs, (await currentOf(learner, 1)).answer);
      await pressByKeyboard(theirs, declarationText, 'Space');
      await pressByKeyboard(theirs, 'Send my answers');
      await isSound('closing', theirs);
      const address = theirs.url();
      const asking = theirs.getByRole('link', { name: /review|person/i });
      if ((await asking.count()) > 0) await asking.first().press('Enter');
      await typeByKeyboard(theirs, 'What should they know? You can leave this empty.', 'The sound was off.');
      await pressByKeyboard(theirs, 'Ask for a person’s review');
      await theirs.getByRole('heading', { name: 'You asked for a person to look at it' }).waitFor();

      // Somebody reviews it.
      await goByMenu(page, 'Day to day', 'Reviews');
      await isSound('the queue');
      await pressByKeyboard(page, 'Wilhelmina-Alexandrina Featherstonehaugh');
      await isSound('a result to look at');
      await typeByKeyboard(page, 'Answer to the learner', 'We looked at every answer: it stands.');
      await pressByKeyboard(page, 'Confirm result');
      await page.getByRole('status').waitFor();
      await theirs.reload();
      assert.match(await theirs.locator('main').innerText(), /We looked at every answer: it stands\./, address);

      // The list for funding, as a file.
      await page.goto(`${base}/results/lists/digital-below-level-1?start=2026-01-01`);
      await isSound('the list');
      await pressByKeyboard(page, 'Export list');
      await isSound('the export');
      const coming = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download file' }).press('Enter');
      const folder = mkdtempSync(join(tmpdir(), 'ars-story-'));
      try {
        const path = join(folder, 'list.xlsx');
        await (await coming).saveAs(path);
        if (script && spawnSync('which', ['soffice']).status === 0) {
          const home = `-env:UserInstallation=file://${folder}/profile`;
          const run = spawnSync('soffice', [home, '--headless', '--convert-to', 'csv', '--outdir', folder, path]);
          assert.equal(run.status, 0, String(run.stderr));
          const opened = readFileSync(join(folder, 'list.csv'), 'utf8');
          assert.match(opened, /Featherstonehaugh,L-1,digital/);
          assert.doesNotMatch(opened, /eligib/i);
        } else assert.ok(readFileSync(path).length > 1000);
      } finally {
        rmSync(folder, { recursive: true });
      }

      // The whole team goes to another tutor's.
      await goByMenu(page, 'Day to day', 'Teams');
      await pressByKeyboard(page, 'North');
      await isSound('a team');
      await page.getByRole('link', { name: 'Move all learners' }).press('Enter');
      await page.getByLabel('New group').selectOption({ label: 'South (SOUTH)' });
      await isSound('moving');
      await pressByKeyboard(page, 'Move learners');
      while ((await page.getByRole('heading', { name: 'Memberships are changed' }).count()) === 0) await page.reload();
      assert.match(await page.getByRole('main').innerText(), /1,999 of 1,999 learners/);

      // And one of them is forgotten.
      await goByMenu(page, 'Day to day', 'Learners');
      await typeByKeyboard(page, 'Name or reference', 'feather');
      await pressByKeyboard(page, 'Search');
      await isSound('search');
      await pressByKeyboard(page, 'Wilhelmina-Alexandrina Featherstonehaugh');
      assert.match(await page.getByRole('main').innerText(), /South/);
      await isSound('the learner');
      await pressByKeyboard(page, 'Erase learner');
      await headingIs(page, 'Erase learner?');
      await isSound('what goes');
      await pressByKeyboard(page, 'Erase learner');
      await headingIs(page, 'The learner is erased');
      await isSound('what came of it');
      assert.equal((await org.get('/learners/L-1')).status, 404);
      const { data } = (await org.get('/assessments?learner_ref=L-1')).body;
      assert.deepEqual(
        data.map((one: { status: string }) => one.status),
        ['deleted'],
      );
      await theirs.goto(link);
      await headingIs(theirs, 'Nothing is kept here any more');
      assert.deepEqual(
        complaints.filter((one) => !/422/.test(one)),
        [],
      );
    });
});
