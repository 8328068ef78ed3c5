import { feedQueue, withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { contextOf } from '../../src/sittings/invitations/runs/context.ts';
import { checkRows } from '../../src/sittings/invitations/runs/check.ts';
import { beginRun, draftRun, invitationRuns } from '../../src/sittings/invitations/runs/run.ts';
import { readInviteTable } from '../../src/sittings/invitations/runs/table.ts';
import { createOrganisation } from '../../src/organisations/organisations.ts';
import { endOfDay } from '../../src/organisations/zone.ts';
import { figure } from '../support/figures.ts';
import { openBench } from '../support/process.ts';

/**
 * How long a run of invitations takes, from the pasted table to the last learner.
 * Usage: node bench/scenarios/invite.ts [learners]
 */
const learners = Number(process.argv[2] ?? 10_000);

const { app, close } = await openBench();
const made = { name: 'Bench', plan: 'standard', credits: 10_000_000, groupAutocreate: true } as const;
const organisation = await withUnitOfWork(app, null, (work) => createOrganisation(work, made));
const { organisation_id: id } = organisation;
const within = { visibility: null, teamId: null };
const table = Array.from(
  { length: learners },
  (_, i) => `L-${i}\tLearner ${i}\tlearner-${i}@college.example\tcohort: C-${i % 40}`,
).join('\n');

const begunMs = performance.now();
const context = await contextOf(app.db, organisation, app.clock.nowMs(), (day) => endOfDay(day, 'Europe/London'));
const check = await checkRows(app, id, await readInviteTable(Buffer.from(table)), context, within);
const runId = app.random.uuid();
const by = 'operator';
await withUnitOfWork(app, feedQueue(id), async (work) => {
  await draftRun(work, id, { runId, by, check, ...within });
  await beginRun(work, id, { runId, by, check, mails: false, visibility: null, credits: organisation.credits });
});
await invitationRuns.goOn(app, id, runId);
const seconds = (performance.now() - begunMs) / 1000;
const { invited } = (await invitationRuns.find(app.db, id, runId))!;
if (invited !== learners) throw new Error(`${invited} of ${learners} learners are invited.`);
figure(`${learners.toLocaleString('en-GB')} learners from a pasted table`, seconds, 's', { atMost: 60 });
await close();
