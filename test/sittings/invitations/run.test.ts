import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import { resumeOrganisation, suspendOrganisation } from '../../../src/governance/offboarding/suspend.ts';
import { fileURLToPath } from 'node:url';
import { feedQueue, withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { checkRows } from '../../../src/sittings/invitations/runs/check.ts';
import { contextOf } from '../../../src/sittings/invitations/runs/context.ts';
import { extendInvitation, TooSoon } from '../../../src/sittings/invitations/extend.ts';
import type { Within } from '../../../src/sittings/invitations/invite.ts';
import { pageOfRows } from '../../../src/sittings/invitations/runs/read-runs.ts';
import { beginRun, draftRun, invitationRuns } from '../../../src/sittings/invitations/runs/run.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { readInviteTable } from '../../../src/sittings/invitations/runs/table.ts';
import { lastInstantOf } from '../../../src/organisations/zone.ts';
import { grantCredits, listCreditEntries } from '../../../src/organisations/credits.ts';
import { readOrganisation } from '../../../src/organisations/organisations.ts';
import { ensureTeam } from '../../../src/organisations/teams.ts';
import { findPersonalData } from '../../../src/governance/redaction/redaction.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { scenario } from '../../support/scenario.ts';
import type { TestOrganisation } from '../../support/service.ts';
import { withService } from '../../support/service.ts';
import { invited } from '../learner.ts';

const service = await withService();
const { app } = service;
const program = fileURLToPath(new URL('die.ts', import.meta.url));
const anybody: Within = { visibility: null, teamId: null };

const inFeed = <T>(org: TestOrganisation, inside: Parameters<typeof withUnitOfWork<T>>[2]) =>
  withUnitOfWork(app, feedQueue(org.id), inside);

async function check(org: TestOrganisation, table: string | Buffer, within = anybody) {
  const organisation = await readOrganisation(app.db, org.id);
  const context = await contextOf(app.db, organisation, app.clock.nowMs(), (day) =>
    lastInstantOf(day, 'Europe/London'),
  );
  return checkRows(app, org.id, await readInviteTable(Buffer.from(table)), context, within);
}

async function draft(org: TestOrganisation, table: string, within = anybody) {
  const { visibility } = within;
  const checked = await check(org, table, within);
  const runId = app.random.uuid();
  await inFeed(org, (work) => draftRun(work, org.id, { runId, by: 'operator', check: checked, ...within }));
  const begins = (credits: number | null = null) =>
    inFeed(org, (work) =>
      beginRun(work, org.id, { runId, by: 'operator', check: checked, mails: false, visibility, credits }),
    );
  return { runId, check: checked, begins, run: async () => (await invitationRuns.find(app.db, org.id, runId))! };
}

const rowsOf = (n: number, from = 0) =>
  Array.from({ length: n }, (_, i) => `L-${from + i}\tLearner ${from + i}`).join('\n');
const faultsOf = ({ rows }: Awaited<ReturnType<typeof check>>) =>
  rows.flatMap((row) => row.faults.map((fault) => `${row.row_no} ${fault.column}`));
const counted = async (org: TestOrganisation, table: string) =>
  (
    await app.db.query<{ count: number }>(`select count(*) as count from ${table} where organisation_id = $1`, [org.id])
  )[0]!.count;

async function assertAddsUp(org: TestOrganisation): Promise<number> {
  const entries = (await listCreditEntries(app.db, org.id, { before: null, limit: 100_000 })).reverse();
  let sum = 0;
  entries.forEach((entry, i) => {
    sum += entry.amount;
    assert.deepEqual([entry.entry_no, entry.balance], [i + 1, sum]);
  });
  const [{ credits }] = (await app.db.query('select credits from organisation where organisation_id = $1', [
    org.id,
  ])) as [{ credits: number }];
  assert.equal(credits, sum);
  return sum;
}

suite('a table of learners is read', async () => {
  test('waits while its organisation is suspended, and goes on afterwards', async () => {
    const org = await service.organisation();
    const { begins, run } = await draft(org, rowsOf(2, 900));
    assert.equal(await begins(), 'begun');
    await inFeed(org, (work) => suspendOrganisation(work, org.id, 'Contract ended'));
    await invitationRuns.run(app);
    assert.deepEqual([(await run()).status, (await run()).invited], ['running', 0]);
    await inFeed(org, (work) => resumeOrganisation(work, { organisation_id: org.id, public_id: org.publicId }));
    await invitationRuns.run(app);
    assert.deepEqual([(await run()).status, (await run()).invited], ['finished', 2]);
  });

  test('a name that came after the check makes no second learner, and takes no second credit', async () => {
    const org = await service.organisation();
    const [one, two] = [
      await draft(org, 'full_name\nZoë Marsh\nAna Silva'),
      await draft(org, 'full_name\nzoe  MARSH\nBen Brown'),
    ];
    assert.deepEqual([await one.begins(), await two.begins()], ['begun', 'begun']);
    await invitationRuns.run(app);
    const [first, second] = [await one.run(), await two.run()];
    assert.deepEqual([first.invited, second.invited, second.refused, second.status], [2, 1, 1, 'finished']);
    assert.equal(await counted(org, 'learner'), 3);
    const [row] = await pageOfRows(app.db, org.id, two.runId);
    assert.match(JSON.stringify(row!.faults), /another learner has had this name since the check/);
  });

  const org = await service.organisation();

  test('as pasted or as a file, with headings or without, in each encoding', async () => {
    const cells = { ref: 'A-1', full_name: 'Zoë Müller' };
    const tables: (string | Buffer)[] = [
      'A-1\tZoë Müller\r\n',
      'Reference;Full name\nA-1;Zoë Müller',
      '\uFEFFref,name\nA-1,Zoë Müller\n\n',
      'Surname\tForename\tStudent number\nMüller\tZoë\tA-1',
      Buffer.from('ref;full name\r\nA-1;Zo\xeb M\xfcller\r\n', 'latin1'),
      'ref,full_name\n"A-1","Zoë Müller"',
      'sep=;\r\nref;name\r\nA-1;Zoë Müller',
      'ref,name\rA-1,Zoë Müller\r',
      '\u200Bref\u00a0\tname\n\u200B \t\nA-1\u200B\t\u2060Zoë Müller\u200E',
    ];
    for (const table of tables) {
      const [row, ...more] = await readInviteTable(Buffer.from(table));
      assert.deepEqual([row!.cells, more], [cells, []], String(table));
    }
  });

  test('or refused as a whole, with a sentence that says what to do', async () => {
    const bad: [string | Buffer, RegExp][] = [
      ['', /no row/],
      ['ref,full_name\n', /no row/],
      [Buffer.from('ref\tname\nA\tB', 'utf16le'), /CSV UTF-8/],
      [Buffer.concat([Buffer.from('ref,name\nA,Zoë\nB,'), Buffer.from([0x5a, 0xeb])]), /damaged/],
      ['ref,name,shoe size\nA,B,42', /“shoe size” is not known/],
      ['ref,name,full_name\nA,B,C', /twice/],
      ['ref,email\nA,b@c.example', /full_name/],
      ['ref,name\nA,"B" C', /quote/],
    ];
    for (const [table, sentence] of bad) await assert.rejects(readInviteTable(Buffer.from(table)), sentence);
  });

  test('a quote in a pasted cell is a character, and one in a cell of several lines holds it together', async () => {
    const [one, two] = await readInviteTable(Buffer.from('A\tAna "Annie" Silva\nB\t"Ben\nBrown"'));
    assert.equal(one!.cells.full_name, 'Ana "Annie" Silva');
    assert.equal(two!.cells.full_name, 'Ben\nBrown');
  });

  test('every fault of a row is told by its column, and nothing is written', async () => {
    const table = [
      'ref\tname\temail\tgroups\tsubjects\textra time\texpires\tpurpose',
      'A-1\tAna Silva\tana@x.example\tcohort: C1 = Cohort\tmaths and English\t25%\t2099-01-01\tinitial',
      'Ana\tAna\t\t\t\t\t\t',
      'A 2\tBen\tnobody\tteam: T\thistory\t101\t31/02/2020\tfun',
      'QQ123456C\tCy\t\t\t\t\t\t',
      '\tQQ 12 34 56 C\t\tcohort: C1\t\t\t\t',
      'A-1\tAna Silva\t\t\t\t\t\t',
      '\tDee\t\t\t\t\t\t',
      '\tDee\t\t\t\t\t\t',
      '1.23E+9\tEve\t\t\t\t\t\t',
      'A-9\t\t\tnowhere\t\t\t\t\textra',
      'A-10\tFay\t\tcohort: C2 = One\t\t\t\t',
      'A-11\tGil\t\tcohort: C2 = Two\t\t\t\t',
    ].join('\n');
    assert.deepEqual(faultsOf(await check(org, table)), [
      '1 expires',
      '2 ref',
      '3 ref',
      '3 email',
      '3 groups',
      '3 subjects',
      '3 extra_time',
      '3 expires',
      '3 purpose',
      '4 ref',
      '5 full_name',
      '5 ref',
      '6 ref',
      '8 ref',
      '9 ref',
      '10 full_name',
      '10 groups',
      '10 row',
      '12 groups',
    ]);
    assert.equal(await counted(org, 'learner'), 0);
    assert.equal(await counted(org, 'learner_group'), 0);
  });
});

suite('a run of invitations', () => {
  test('writes learners, groups, invitations and credits, and keeps nothing of what the rows said', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 10 });
    const { body } = await org.post('/learners', { full_name: 'Old Name', ref: 'A-2' });
    const table = [
      'ref\tname\tgroups\tsubjects\textra time\tsupervision\tsupervisor\texpires\tpurpose',
      'A-1\tAna Silva\tcohort: C1 = Cohort\tmaths\t25\tIn a room\tMs Gray\t\tprogress',
      'A-2\tNew Name\tcohort: C1\t\t\t\t\t\t',
      '\tNo Reference\t\t\t\t\t\t\t',
    ].join('\n');
    const { runId, check: checked, begins, run } = await draft(org, table);
    assert.deepEqual([checked.faulty, checked.known, checked.again, checked.credits], [0, 1, 1, 2]);
    assert.equal(await begins(9), 'begun');
    assert.equal(await begins(9), 'not_draft', 'twice is once');
    await invitationRuns.goOn(app, org.id, runId);
    const { status, invited, again, refused } = await run();
    assert.deepEqual({ status, invited, again, refused }, { status: 'finished', invited: 2, again: 1, refused: 0 });
    const rows = await pageOfRows(app.db, org.id, runId);
    assert.deepEqual(
      rows.map((row) => [row.outcome, row.cells, row.ready]),
      [
        ['invited', null, null],
        ['again', null, null],
        ['invited', null, null],
      ],
    );
    assert.equal(rows[1]!.invitation_id, body.data.invitation_id);
    const invitations = await app.db.query(
      'select extra_time_pct, supervision, supervisor, purpose, subjects from invitation where invitation_id = $1',
      [rows[0]!.invitation_id],
    );
    assert.deepEqual(invitations, [
      { extra_time_pct: 25, supervision: 'In a room', supervisor: 'Ms Gray', purpose: 'progress', subjects: ['maths'] },
    ]);
    assert.equal((await org.get('/learners/A-2')).body.data.full_name, 'New Name');
    const groups = (await org.get('/groups')).body.data;
    assert.deepEqual([groups.length, groups[0].name], [1, 'Cohort']);
    assert.equal(await assertAddsUp(org), 7);
  });

  test('stops where credits run out, says where, and goes on after a grant', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 4 });
    const { runId, begins, run } = await draft(org, rowsOf(6));
    assert.deepEqual(await begins(4), { missing: 2, credits: 6 });
    assert.equal(await counted(org, 'learner'), 0);
    // Somebody else spends what was there when it began.
    assert.equal(await begins(6), 'begun');
    await invitationRuns.goOn(app, org.id, runId);
    assert.deepEqual([(await run()).status, (await run()).reached, (await run()).invited], ['waiting', 4, 4]);
    assert.equal(await counted(org, 'learner'), 4);
    await invitationRuns.run(app);
    assert.equal((await run()).status, 'waiting');
    await inFeed(org, (work) => grantCredits(work, org.id, 5, { actor: 'operator', reason: 'more' }));
    await invitationRuns.run(app);
    assert.deepEqual([(await run()).status, (await run()).invited], ['finished', 6]);
    assert.equal(await assertAddsUp(org), 3);
  });

  test('waits no longer than 30 days, suspended or not: then it is cancelled, and its names are gone', async () => {
    const [org, closed] = [await service.organisation({ plan: 'standard', credits: 1 }), await service.organisation()];
    const [run, stopped] = [await draft(org, rowsOf(2)), await draft(closed, rowsOf(2))];
    await run.begins();
    await stopped.begins();
    await inFeed(closed, (work) => suspendOrganisation(work, closed.id, 'Contract ended'));
    const states = async () => (await Promise.all([run.run(), stopped.run()])).map((one) => one.status);
    const runsAfter = (ms: number) => {
      const clock = { ...app.clock, nowMs: () => app.clock.nowMs() + ms };
      return invitationRuns.run({ ...app, clock });
    };
    await runsAfter(0);
    await runsAfter(limits.inviteRunMs - 3600_000);
    assert.deepEqual(await states(), ['waiting', 'running']);
    await runsAfter(limits.inviteRunMs);
    assert.deepEqual(await states(), ['cancelled', 'cancelled']);
    for (const [{ id }, { runId }] of [
      [org, run],
      [closed, stopped],
    ] as const) {
      assert.ok((await pageOfRows(app.db, id, runId)).every((row) => row.cells === null && row.ready === null));
      const acts = await app.db.query(
        `select actor, split_part(resource, ':', 1) as run from audit where organisation_id = $1 and action = 'learner invite overdue'`,
        [id],
      );
      assert.deepEqual(acts, [{ actor: 'service', run: runId }]);
    }
    assert.deepEqual([(await run.run()).cancelled_because, (await run.run()).invited], ['overdue', 1]);
  });

  test('two workers at once, and two runs of the same rows: nobody is invited twice', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 1000 });
    const [one, two] = [await draft(org, rowsOf(300)), await draft(org, rowsOf(300))];
    await Promise.all([one.begins(), two.begins()]);
    await Promise.all([one, two, one, two].map(({ runId }) => invitationRuns.goOn(app, org.id, runId)));
    const [a, b] = [await one.run(), await two.run()];
    assert.deepEqual(
      [a.status, b.status, a.invited + b.invited, a.again + b.again],
      ['finished', 'finished', 300, 300],
    );
    assert.equal(await counted(org, 'invitation'), 300);
    assert.equal(await assertAddsUp(org), 700);
  });

  test('killed anywhere, it goes on where it was: nobody is invited twice, no credit is spent twice', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 2000 });
    const { runId, begins, run } = await draft(org, rowsOf(1100));
    await begins();
    const dies = async (at: string) => {
      const child = spawn(process.execPath, [program, String(org.id), runId, at], {
        env: { ...process.env, ...service.environment },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
      assert.equal(signal, 'SIGKILL', `after statement ${at}`);
    };
    for (const [at, invited] of [
      ['4', 0],
      ['12', 0],
      ['commit', 0],
      ['reply', 250],
      ['9', 250],
      ['reply', 500],
    ] as const) {
      await dies(at);
      assert.equal((await run()).invited, invited, at);
      assert.equal(await counted(org, 'invitation'), invited, at);
      assert.equal(await assertAddsUp(org), 2000 - invited, at);
    }
    await invitationRuns.run(app);
    assert.deepEqual([(await run()).status, (await run()).invited], ['finished', 1100]);
    assert.equal(await counted(org, 'learner'), 1100);
    assert.equal(await assertAddsUp(org), 900);
  });

  test('a number that must not be stored is not, and rows with the same number stay apart', async () => {
    const org = await service.organisation();
    const number = 'QQ 12 34 56 C';
    const table = `row\tref\tname\tgroups\n5\tA-1\t${number}\t\n5\tA-2\tBen\t${number}\n5\tA-3\tCy\t`;
    const { runId, check: checked } = await draft(org, table);
    assert.deepEqual(
      checked.rows.map((row) => row.row_no),
      [5, 6, 7],
    );
    assert.equal(checked.faulty, 2);
    const rows = await pageOfRows(app.db, org.id, runId);
    assert.deepEqual([rows.length, /12 34 56/.test(JSON.stringify(rows))], [3, false]);
    assert.deepEqual(await findPersonalData(app.db, app.secrets, org.id), []);
  });

  test('cancelled while it runs: what is written stays, the rest is emptied', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 1000 });
    const { runId, begins, run } = await draft(org, rowsOf(600));
    await begins();
    const going = invitationRuns.goOn(app, org.id, runId);
    await inFeed(org, (work) => invitationRuns.cancel(work, org.id, runId));
    await going;
    const { status, invited } = await run();
    assert.equal(status, 'cancelled');
    assert.equal(await counted(org, 'invitation'), invited);
    assert.equal(await assertAddsUp(org), 1000 - invited);
    assert.ok((await pageOfRows(app.db, org.id, runId)).every((row) => row.cells === null && row.ready === null));
    assert.equal(await inFeed(org, (work) => invitationRuns.cancel(work, org.id, runId)), false);
    assert.equal(await begins(), 'not_draft');
  });

  test('who is erased between the check and the run is not invited', async () => {
    const org = await service.organisation();
    const { body } = await org.post('/learners', { full_name: 'Zebediah Quagmire', ref: 'L-1' });
    const { runId, begins, run } = await draft(org, `L-0\tAna\nL-1\tZebediah Quagmire\nL-2\tCy`);
    await begins();
    await inFeed(org, (work) => eraseLearner(work, org.id, body.data.learner_id, { actor: 'operator' }));
    await invitationRuns.goOn(app, org.id, runId);
    assert.deepEqual([(await run()).status, (await run()).invited], ['finished', 2]);
    assert.equal((await pageOfRows(app.db, org.id, runId)).length, 2);
    assert.equal((await org.get('/learners/L-1')).status, 404);
  });

  test('within the gap between two assessments only with a reason, which is kept', async () => {
    const scene = await scenario(service);
    const { org } = scene;
    const ana = await scene.learner('A-1', 'Ana Silva');
    await ana.completes({ subject: 'maths', assessed_at: new Date(app.clock.nowMs() - 86_400_000).toISOString() });
    await app.db.query('update organisation set retake_gap_days = 30 where organisation_id = $1', [org.id]);
    await app.db.query("update invitation set status = 'used' where organisation_id = $1", [org.id]);
    const head = 'ref\tname\tsubjects\tretake reason';
    assert.deepEqual(faultsOf(await check(org, `${head}\nA-1\tAna Silva\tmaths\t`)), ['1 retake_reason']);
    assert.deepEqual(faultsOf(await check(org, `${head}\nA-1\tAna Silva\tenglish\t`)), []);
    const { runId, begins } = await draft(org, `${head}\nA-1\tAna Silva\tmaths\tThe fire alarm rang`);
    await begins();
    await invitationRuns.goOn(app, org.id, runId);
    const [row] = await pageOfRows(app.db, org.id, runId);
    assert.deepEqual(
      await app.db.query('select retake_reason from invitation where invitation_id = $1', [row!.invitation_id]),
      [{ retake_reason: 'The fire alarm rang' }],
    );
    const moves = (invitationId: string, days: number, retakeReason: string | null) => {
      const end = new Date(app.clock.nowMs() + days * 86_400_000);
      return inFeed(org, (work) => extendInvitation(work, org.id, invitationId, { end, retakeReason }));
    };
    assert.notEqual(await moves(row!.invitation_id!, 60, null), undefined, 'the reason that it has still counts');
    // Whoever lets an invitation last longer invites again: at once, and by a table.
    const bo = await org.post('/learners', { ref: 'B-1', full_name: 'Bo Berg' });
    const { invitation_id: id } = bo.body.data;
    const learner = await scene.learner('B-1', 'Bo Berg');
    await learner.completes({ subject: 'maths', assessed_at: new Date(app.clock.nowMs() - 86_400_000).toISOString() });
    await assert.rejects(moves(id, 30, null), (error) => error instanceof TooSoon && /maths on/.test(error.message));
    const later = new Date(app.clock.nowMs() + 60 * 86_400_000).toISOString().slice(0, 10);
    const longer = (reason: string) =>
      check(
        org,
        `ref\tname\tsubjects\texpires\tretake reason\nB-1\tBo Berg\tdigital english maths\t${later}\t${reason}`,
      );
    assert.deepEqual(faultsOf(await longer('')), ['1 retake_reason']);
    assert.deepEqual(faultsOf(await longer('The fire alarm rang')), []);
    assert.notEqual(await moves(id, 1, null), undefined, 'sooner is no retake');
    // What was sat under it is sat once: the rest of it may take longer.
    const cy = await invited(service, org, { ref: 'C-1', name: 'Cy Cole' });
    await cy.sits();
    assert.notEqual(await moves(cy.invitationId, 30, null), undefined);
    const given = await moves(id, 30, 'The fire alarm rang');
    assert.equal(given!.retake_reason, 'The fire alarm rang');
  });

  test('a tutor’s run touches only learners of their teams, and puts everybody into the team', async () => {
    const org = await service.organisation();
    await org.post('/learners', { full_name: 'Out Of Sight', ref: 'far' });
    await org.post('/learners', { full_name: 'In Sight', ref: 'near' });
    const teamId = await inFeed(org, (work) => ensureTeam(work, org.id, { ref: 'T', name: 'Team' }));
    const within = { visibility: [teamId], teamId };
    const refused = await check(org, 'far\tSomebody Else\nnew\tNew Learner', within);
    assert.deepEqual(faultsOf(refused), ['1 ref']);
    assert.ok(!JSON.stringify(refused.rows).includes('Out Of Sight'));
    const { runId, begins, run } = await draft(org, 'new\tNew Learner\nlate\tMade Meanwhile', within);
    await org.post('/learners', { full_name: 'Made By Another', ref: 'late' });
    await begins();
    await invitationRuns.goOn(app, org.id, runId);
    assert.deepEqual([(await run()).invited, (await run()).refused], [1, 1]);
    assert.equal((await org.get('/learners/late')).body.data.full_name, 'Made By Another');
    const { groups } = (await org.get('/learners/new')).body.data;
    assert.deepEqual(
      groups.map((group: { type: string }) => group.type),
      ['team'],
    );
  });

  test('a hundred organisations without credits keep no other one waiting', async () => {
    for (let i = 0; i < 100; i++) {
      const org = await service.organisation({ plan: 'standard', credits: 1 });
      const { runId, begins } = await draft(org, rowsOf(1));
      assert.equal(await begins(1), 'begun');
      await inFeed(org, (work) => grantCredits(work, org.id, -1, { actor: 'operator', reason: 'taken back' }));
      await invitationRuns.goOn(app, org.id, runId);
    }
    const org = await service.organisation({ plan: 'standard', credits: 1 });
    const { begins, run } = await draft(org, rowsOf(1));
    assert.equal(await begins(1), 'begun');
    await invitationRuns.run(app);
    assert.equal((await run()).status, 'finished');
  });
});
