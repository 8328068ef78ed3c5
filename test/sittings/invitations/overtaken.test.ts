import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { checkRows } from '../../../src/sittings/invitations/runs/check.ts';
import { contextOf } from '../../../src/sittings/invitations/runs/context.ts';
import { pageOfRows } from '../../../src/sittings/invitations/runs/read-runs.ts';
import { beginRun, correctRun, draftRun, invitationRuns } from '../../../src/sittings/invitations/runs/run.ts';
import { readInviteTable } from '../../../src/sittings/invitations/runs/table.ts';
import { lastInstantOf } from '../../../src/organisations/zone.ts';
import { readOrganisation } from '../../../src/organisations/organisations.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { withService } from '../../support/service.ts';

/** Rows of a draft are checked before they are begun or corrected; an erasure may come between. */
suite('an erasure between the check of a draft and what follows', async () => {
  const service = await withService();
  const { app, withUnitOfWork } = service;
  const within = { visibility: null, teamId: null };
  const address = 'zebediah@college.example';

  /** A draft in which a row of somebody else has the address of a learner. */
  async function draft() {
    const org = await service.organisation();
    const organisation = await readOrganisation(app.db, org.id);
    const context = await contextOf(app.db, organisation, app.clock.nowMs(), (day) =>
      lastInstantOf(day, 'Europe/London'),
    );
    const { body } = await org.post('/learners', { ref: 'Z-1', full_name: 'Zebediah Quagmire', email: address });
    const table = `ref\tname\temail\nE-3\tEd\t${address}\nE-4\tFay\tnone\n`;
    const runId = app.random.uuid();
    const check = async (given: Parameters<typeof checkRows>[2]) => checkRows(app, org.id, given, context, within);
    const first = await check(await readInviteTable(Buffer.from(table)));
    assert.deepEqual(
      first.rows.map((row) => row.faults.length),
      [0, 1],
    );
    await withUnitOfWork((work) => draftRun(work, org.id, { runId, by: 'operator', check: first, ...within }));
    const rows = () => pageOfRows(app.db, org.id, runId);
    const given = async () => (await rows()).map(({ row_no, cells }) => ({ row_no, cells: cells! }));
    const erases = () =>
      withUnitOfWork((work) => eraseLearner(work, org.id, body.data.learner_id, { actor: 'operator' }));
    const corrects = (checked: Awaited<ReturnType<typeof check>>) =>
      withUnitOfWork((work) =>
        correctRun(work, org.id, { runId, replaced: [2], kept: [1], check: checked, visibility: null }),
      );
    const begins = (checked: Awaited<ReturnType<typeof check>>) =>
      withUnitOfWork((work) =>
        beginRun(work, org.id, { runId, by: 'operator', check: checked, mails: true, visibility: null, credits: null }),
      );
    const run = async () => (await invitationRuns.find(app.db, org.id, runId))!;
    return { org, check, rows, given, erases, corrects, begins, run };
  }

  test('leaves their row out of a draft that is kept only then, and out of rows that are put in', async () => {
    const { org, check, rows, erases, corrects, run } = await draft();
    const person = { row_no: 1, cells: { ref: 'Z-1', full_name: 'Zebediah Quagmire' } };
    const other = { row_no: 2, cells: { ref: 'E-4', full_name: 'Fay' } };
    // Without references, who is meant is told by name or address; under another one, only the address is theirs.
    const more = [
      { row_no: 4, cells: { full_name: 'zebediah QUAGMIRE' } },
      { row_no: 5, cells: { full_name: 'Z. Q.', email: address.toUpperCase() } },
      { row_no: 6, cells: { ref: 'E-6', full_name: 'Zebediah Quagmire' } },
      { row_no: 7, cells: { ref: 'E-7', full_name: 'Gil', email: address } },
    ];
    const [asDraft, asCorrection] = [
      await check([person, other, ...more]),
      await check([other, { ...person, row_no: 3 }]),
    ];
    await erases();
    const runId = app.random.uuid();
    await withUnitOfWork((work) => draftRun(work, org.id, { runId, by: 'operator', check: asDraft, ...within }));
    const kept = await pageOfRows(app.db, org.id, runId);
    assert.deepEqual(
      kept.map((row) => row.cells),
      [other.cells, more[2]!.cells, { ref: 'E-7', full_name: 'Gil' }],
    );
    assert.equal(kept[2]!.ready?.email ?? null, null);
    assert.equal((await invitationRuns.find(app.db, org.id, runId))!.total, 3);
    assert.ok(await corrects(asCorrection));
    assert.deepEqual(
      (await rows()).map((row) => row.cells!.ref),
      ['E-3', 'E-4'],
    );
    assert.equal((await run()).total, 2);
  });

  test('brings nothing back where other rows are corrected', async () => {
    const { check, rows, given, erases, corrects } = await draft();
    const mended = { row_no: 2, cells: { ref: 'E-4', full_name: 'Fay' } };
    const checked = await check([(await given())[0]!, mended]);
    await erases();
    assert.ok(await corrects(checked));
    const [first, second, ...more] = await rows();
    assert.deepEqual([first!.cells, first!.ready!.email, more], [{ ref: 'E-3', full_name: 'Ed' }, null, []]);
    assert.deepEqual([second!.cells, second!.faults], [mended.cells, null]);
  });

  test('brings nothing back where the run is begun: it is not, and what is begun then has no such address', async () => {
    const { check, rows, given, erases, corrects, begins, run } = await draft();
    assert.ok(await corrects(await check((await given()).slice(0, 1))));
    const checked = await check(await given());
    await erases();
    assert.equal(await begins(checked), 'not_draft');
    assert.deepEqual([(await run()).status, JSON.stringify(await rows()).includes(address)], ['draft', false]);
    assert.equal(await begins(await check(await given())), 'begun');
    assert.ok(!JSON.stringify(await rows()).includes(address));
  });
});
