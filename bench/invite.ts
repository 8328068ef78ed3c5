import { feedLane, inWork } from '../src/db/work.ts';
import { contextOf } from '../src/invitations/context.ts';
import { provisionLearner } from '../src/invitations/provision.ts';
import { checkRows } from '../src/invitations/check.ts';
import { beginRun, draftRun, invitationRuns } from '../src/invitations/run.ts';
import { readInviteTable } from '../src/invitations/table.ts';
import { openApp } from '../src/open-app.ts';
import { createOrganisation } from '../src/organisations/organisations.ts';
import { readSettings } from '../src/settings.ts';
import { endOfDay } from '../src/organisations/zone.ts';
import { figure } from './figures.ts';

/**
 * How long a run of invitations takes, from the pasted text to the last learner, beside the same learners provisioned
 * one by one as POST /learners does it. Needs DATABASE_URL (a database of its own) and ARS_SECRET.
 * Usage: node bench/invite.ts [learners] [learners one by one]
 */
const learners = Number(process.argv[2] ?? 10_000);
const single = Number(process.argv[3] ?? 500);

const { app, close } = await openApp({ ...readSettings(process.env), log: 'none' });
const given = { name: 'Bench', plan: 'standard', credits: 10_000_000, groupAutocreate: true } as const;
const organisation = await inWork(app, null, (work) => createOrganisation(work, given));
const { organisation_id: id } = organisation;
const within = { sight: null, teamId: null };
const text = Array.from(
  { length: learners },
  (_, i) => `L-${i}\tLearner ${i}\tlearner-${i}@college.example\tcohort: C-${i % 40}`,
).join('\n');

const timed = async <T>(inside: () => Promise<T>): Promise<[T, number]> => {
  const before = app.clock.monotonicMs();
  const result = await inside();
  return [result, app.clock.monotonicMs() - before];
};

const [check, checkMs] = await timed(async () => {
  const context = await contextOf(app.db, organisation, app.clock.nowMs(), (day) => endOfDay(day, 'Europe/London'));
  return checkRows(app, id, await readInviteTable(Buffer.from(text)), context, within);
});
const runId = app.random.uuid();
const [, draftMs] = await timed(() =>
  inWork(app, feedLane(id), async (work) => {
    await draftRun(work, id, { runId, by: 'operator', check, ...within });
    await beginRun(work, id, {
      runId,
      by: 'operator',
      check,
      mails: false,
      sight: null,
      credits: organisation.credits,
    });
  }),
);
const [, runMs] = await timed(() => invitationRuns.goOn(app, id, runId));
const [, singleMs] = await timed(async () => {
  for (let i = 0; i < single; i++)
    await inWork(app, feedLane(id), (work) => {
      const groups = [{ type: 'cohort', ref: `C-${i % 40}`, name: `C-${i % 40}` }];
      const request = { full_name: `Single ${i}`, email: null, ref: `S-${i}`, groups };
      return provisionLearner(work, id, request, 'operator');
    });
});
const { invited } = (await invitationRuns.find(app.db, id, runId))!;
const seconds = (ms: number) => (ms / 1000).toFixed(2);
figure(
  `${invited.toLocaleString('en-GB')} learners invited from a pasted table`,
  (checkMs + draftMs + runMs) / 1000,
  's',
  { atMost: 60 },
);
process.stdout.write(
  `${invited} learners: checked in ${seconds(checkMs)} s, kept in ${seconds(draftMs)} s, invited in ${seconds(runMs)} s: ` +
    `${Math.round(invited / (runMs / 1000))} a second. One by one: ${Math.round(single / (singleMs / 1000))} a second.\n`,
);
await close();
