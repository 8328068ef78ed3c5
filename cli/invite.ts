import { lastInstantOf } from '../src/organisations/zone.ts';
import { UnreadableFile } from '../src/files/encoding.ts';
import { contextOf } from '../src/invitations/context.ts';
import type { Check } from '../src/invitations/check.ts';
import { checkRows } from '../src/invitations/check.ts';
import type { Run } from '../src/invitations/read-runs.ts';
import { findRun, pageOfRows } from '../src/invitations/read-runs.ts';
import { beginRun, cancelRun, draftRun, endsAt, goOn, whyCancelled } from '../src/invitations/run.ts';
import { readInviteTable } from '../src/invitations/table.ts';
import { limits } from '../src/limits.ts';
import { isUuid } from '../src/uuid.ts';
import type { Call, Command, Output } from './command.ts';
import { Failure } from './command.ts';
import { readWholeFile } from './file.ts';
import { act, missing, operator, organisationOf, requiredOption, withApp } from './open.ts';

/** Faulty rows that are told on the screen. */
const toldRows = 20;

const within = { sight: null, teamId: null };
const count = (n: number, one: string) => `${n.toLocaleString('en-GB')} ${one}${n === 1 ? '' : 's'}`;

async function readTable(file: string) {
  const bytes = await readWholeFile(file);
  if (bytes.length > limits.inviteTableBytes)
    throw new Failure(`${file} is too large: at most ${limits.inviteTableBytes / 2 ** 20} MiB are read.`);
  try {
    return await readInviteTable(bytes);
  } catch (error) {
    if (error instanceof UnreadableFile) throw new Failure(`${file} can't be read: ${error.message}.`);
    throw error;
  }
}

function checkOutput({ rows, faulty, known, again, credits }: Check): Output {
  const wrong = rows.filter((row) => row.faults.length > 0);
  const told = wrong
    .slice(0, toldRows)
    .flatMap(({ row_no, faults }) =>
      faults.map(({ column, expected }) => `row ${row_no}: ${column} must be ${expected}`),
    );
  const more = wrong.length > toldRows ? [`and ${count(wrong.length - toldRows, 'more row')} with faults`] : [];
  return {
    json: {
      rows: rows.length,
      faulty,
      known,
      open_already: again,
      credits,
      faults: wrong.flatMap(({ row_no, faults }) => faults.map((fault) => ({ row: row_no, ...fault }))),
    },
    text: [
      `${count(rows.length, 'row')}: ${count(known, 'learner')} there already, ${count(again, 'open invitation')} to be given again, ${count(credits, 'credit')} needed. ${faulty === 0 ? 'All rows are right.' : `${count(faulty, 'row')} must be corrected; nothing was written.`}`,
      ...told,
      ...more,
    ].join('\n'),
    exitCode: faulty === 0 ? 0 : 1,
  };
}

function runOutput(run: Run): Output {
  const { run_id, status, total, reached, invited, again, refused } = run;
  const where =
    status === 'waiting'
      ? ` No credit is left: it stopped after row ${reached}, and goes on once there are credits, until ${endsAt(run).toISOString()}: then it is cancelled.`
      : status === 'running'
        ? ` It stopped after row ${reached}; the service goes on with it.`
        : status === 'cancelled'
          ? ` It was cancelled after row ${reached}. ${whyCancelled(run) ?? ''}`.trimEnd()
          : '';
  return {
    json: { run_id, status, total, reached, invited, open_already: again, refused },
    text: `${count(invited, 'learner')} invited, ${count(again, 'open invitation')} given again, ${count(refused, 'row')} refused, of ${count(total, 'row')}.${where}`,
    exitCode: status === 'finished' && refused === 0 ? 0 : 1,
  };
}

async function invite(call: Call): Promise<Output> {
  const id = requiredOption(call, 'organisation');
  const given = await readTable(call.positionals[0]!);
  return withApp(async (app) => {
    const organisation = await organisationOf(app, id);
    const { organisation_id: organisationId, time_zone: zone } = organisation;
    const context = await contextOf(app.db, organisation, app.clock.nowMs(), (day) => lastInstantOf(day, zone));
    const check = await checkRows(app, organisationId, given, context, within);
    if (call.options.check === true || check.faulty > 0) return checkOutput(check);
    const runId = app.random.uuid();
    const mails = call.options.mail === true;
    const credits = organisation.plan === 'standard' ? organisation.credits : null;
    await act(app, organisationId, 'learner invite', async (work) => {
      await draftRun(work, organisationId, { runId, by: operator, check, ...within });
      const begun = await beginRun(work, organisationId, { runId, by: operator, check, mails, sight: null, credits });
      if (typeof begun === 'object')
        throw new Failure(
          `These rows need ${count(begun.credits, 'credit')}, ${begun.missing.toLocaleString('en-GB')} more than there are; nothing was written.`,
        );
      if (begun !== 'begun') throw new Failure('The rows have changed since they were checked; nothing was written.');
      return { result: null, resource: runId };
    });
    call.progress(`${count(given.length, 'row')} checked, being invited`);
    await goOn(app, organisationId, runId, { signal: call.signal, evenSuspended: true });
    return runOutput((await findRun(app.db, organisationId, runId))!);
  });
}

export const inviteCommands: Command[] = [
  {
    name: 'learner invite',
    usage: '--organisation ID FILE|- [--check] [--mail]',
    summary:
      'Invite the learners of a table (CSV, or cells pasted from a spreadsheet); nothing is written before all rows are right',
    positionals: [1, 1],
    options: { organisation: { type: 'string' }, check: { type: 'boolean' }, mail: { type: 'boolean' } },
    run: invite,
  },
  {
    name: 'learner invite-run',
    usage: '--organisation ID RUN_ID [--cancel]',
    summary: 'Show how far a run of invitations has come, or end it where it stands',
    positionals: [1, 1],
    options: { organisation: { type: 'string' }, cancel: { type: 'boolean' } },
    run: (call) => {
      const id = requiredOption(call, 'organisation');
      const runId = call.positionals[0]!.toLowerCase();
      return withApp(async (app) => {
        const { organisation_id: organisationId } = await organisationOf(app, id);
        const find = async () => (isUuid(runId) ? findRun(app.db, organisationId, runId) : undefined);
        if ((await find()) === undefined) throw missing('run', runId);
        if (call.options.cancel === true)
          await act(app, organisationId, 'learner invite-run --cancel', async (work) => {
            if (!(await cancelRun(work, organisationId, runId))) throw new Failure('The run has ended already.');
            return { result: null, resource: runId };
          });
        const output = runOutput((await find())!);
        const refused = (
          await pageOfRows(app.db, organisationId, runId, { after: 0, limit: 1000, faulty: true })
        ).flatMap(({ row_no, faults }) => faults!.map((fault) => ({ row: row_no, ...fault })));
        return {
          json: { ...(output.json as object), faults: refused },
          text: [output.text, ...refused.map((one) => `row ${one.row}: ${one.column} must be ${one.expected}`)].join(
            '\n',
          ),
        };
      });
    },
  },
];
