import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { importRuns, keepImport, dryRunImport } from '../../../src/records/import/run.ts';
import { checkRows } from '../../../src/sittings/invitations/runs/check.ts';
import { contextOf } from '../../../src/sittings/invitations/runs/context.ts';
import { beginRun, draftRun, invitationRuns, whyCancelled } from '../../../src/sittings/invitations/runs/run.ts';
import { readInviteTable } from '../../../src/sittings/invitations/runs/table.ts';
import { readOrganisation } from '../../../src/organisations/organisations.ts';
import { lastInstantOf } from '../../../src/organisations/zone.ts';
import { applyErasures, followRestores } from '../../../src/governance/restore/erasures.ts';
import type { TestOrganisation } from '../../support/service.ts';
import { withService } from '../../support/service.ts';

const folder = await mkdtemp(join(tmpdir(), 'ars-waiting-'));
after(() => rm(folder, { recursive: true, force: true }));
const list = join(folder, 'erasures');

test('who came after the backup and was erased is not brought back by a table that waited in it', async () => {
  const service = await withService({ own: 'Keeps a list of erasures.', settings: { ARS_ERASURES_FILE: list } });
  const { app } = service;
  const { db } = app;

  /** Tables of an organisation, as they stand in the backup: begun or waiting to be begun, with a row that isn't written yet. */
  async function waiting(org: TestOrganisation) {
    const organisation = await readOrganisation(db, org.id);
    const context = await contextOf(db, organisation, app.clock.nowMs(), (day) => lastInstantOf(day, 'Europe/London'));
    const rows = await readInviteTable(Buffer.from('L-1\tIda Lost'));
    const check = await checkRows(app, org.id, rows, context, { visibility: null, teamId: null });
    const [runId, importId] = [app.random.uuid(), app.random.uuid()];
    const by = { runId, by: 'operator', check, visibility: null };
    await service.withUnitOfWork((work) => draftRun(work, org.id, { ...by, teamId: null }));
    const begun = await service.withUnitOfWork((work) =>
      beginRun(work, org.id, { ...by, mails: false, credits: null }),
    );
    assert.equal(begun, 'begun');
    const file = `learner_ref,learner_full_name,assessed_at,subject,framework,rqf_level,rqf_level_code,below_level_1
L-2,Joe Lost,2026-01-31T09:30:00Z,maths,F,Level 1,2,false`;
    const trial = await dryRunImport(app, { organisationId: org.id, publicId: org.publicId }, Buffer.from(file), 'uk');
    const given = { runId: importId, by: 'operator', dates: 'uk', events: false, trial } as const;
    await service.withUnitOfWork((work) => keepImport(work, org.id, given));
    await db.query(`update background_job set status = 'running' where job_id = $1`, [importId]);
    return {
      ended: async () => [
        (await invitationRuns.find(db, org.id, runId))!.status,
        (await importRuns.find(db, org.id, importId))!.status,
      ],
      why: async () => whyCancelled((await invitationRuns.find(db, org.id, runId))!),
      kept: async () =>
        (
          await db.query<{ kept: string }>(
            `select cells::text as kept from invitation_run_row where run_id = $1 and cells is not null
              union all select record from import_run_row where run_id = $2`,
            [runId, importId],
          )
        ).length,
    };
  }
  const there = async (org: TestOrganisation) => [
    (await org.get('/learners/L-1')).status,
    (await org.get('/learners/L-2')).status,
  ];

  const [org, other] = [await service.organisation(), await service.organisation({ name: 'Other College' })];
  const [theirs, others] = [await waiting(org), await waiting(other)];
  await other.post('/learners', { ref: 'kim', full_name: 'Kim Lee' });
  const kim = (await other.get('/learners/kim')).body.data.learner_id as string;
  // One whom the backup doesn't know, and one whom it does.
  const lines = [
    { organisation_id: org.publicId, learner_id: app.random.uuid() },
    { organisation_id: other.publicId, learner_id: kim },
  ];
  await writeFile(list, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));

  await applyErasures(app);
  assert.deepEqual(await theirs.ended(), ['running', 'running'], 'nothing was restored');
  await db.query(`update lineage set identity = '7 1 16384'`);
  await followRestores(app);
  assert.deepEqual([await theirs.ended(), await theirs.kept()], [['cancelled', 'cancelled'], 0]);
  assert.match((await theirs.why())!, /cancelled it after a restore/);
  await setImmediate();
  assert.match(
    service.logged.join(''),
    new RegExp(`"erasures.runs_ended".*${org.publicId}.*"invitations":1,"imports":1`),
  );
  assert.deepEqual(await others.ended(), ['running', 'running'], 'everybody on the list of these was known');
  await invitationRuns.run(app);
  await importRuns.run(app);
  assert.deepEqual(
    [await there(org), await there(other)],
    [
      [404, 404],
      [200, 200],
    ],
  );

  const later = await waiting(org);
  await applyErasures(app);
  assert.deepEqual(await later.ended(), ['running', 'running'], 'what was begun since stays');
});
