import { setTimeout as wait } from 'node:timers/promises';
import type { App } from '../src/app.ts';
import type { KindName } from '../src/retention/kinds.ts';
import { kindNames, kinds } from '../src/retention/kinds.ts';
import { readMonths, readPolicy, setPolicy } from '../src/retention/policy.ts';
import type { Run } from '../src/retention/run.ts';
import { orderRun, retentionRuns, shareDone, stopRun } from '../src/retention/run.ts';
import { isUuid } from '../src/uuid.ts';
import type { Call, Command, Output } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { act, numberOption, operator, option, organisationOf, requiredOption, table, withApp } from './open.ts';

function tallyOf(run: Run): Output {
  const rows = kindNames.map((kind) => ({ kind, months: run.months[kind], ...run.tally[kind] }));
  const plain = rows.map(({ kind, months, learners = 0, items = 0, held = 0 }) => ({
    kind,
    months,
    learners,
    items,
    held,
  }));
  return {
    json: { run_id: run.run_id, rehearsal: run.rehearsal, stopped_by: run.stopped_by, data: plain },
    text: table([
      ['Kind', 'Months', 'Learners', 'Items', 'Held'],
      ...plain.map((row) => [
        kinds[row.kind].label,
        row.months === null ? 'for ever' : String(row.months),
        String(row.learners),
        String(row.items),
        String(row.held),
      ]),
    ]),
  };
}

/** What came of it. A run that was stopped isn't what was asked for, though it has ended. */
function endOf(run: Run): Output {
  const { json, text } = tallyOf(run);
  const { stopped_by: by, rehearsal } = run;
  if (by === null) return { json, text };
  const why = `It was stopped by ${by}: this is what was ${rehearsal ? 'counted' : 'deleted'} until then. Order it again with ars retention ${rehearsal ? 'preview' : 'run'}.`;
  return { json, text: `${text}\n${why}`, exitCode: 1 };
}

/** Orders a run and does it to its end, with whoever else is at it. */
async function runToItsEnd(app: App, organisationId: number, rehearsal: boolean, call: Call): Promise<Output> {
  const runId = await act(app, organisationId, `retention ${rehearsal ? 'preview' : 'run'}`, async (work) => {
    const result = await orderRun(work, organisationId, { runId: work.uuid(), rehearsal, actor: operator });
    return { result, resource: result };
  });
  for (;;) {
    await retentionRuns.goOn(app, organisationId, runId, { signal: call.signal, evenSuspended: true });
    const run = (await retentionRuns.find(app.db, organisationId, runId))!;
    if (run.finished_at !== null) return endOf(run);
    if (call.signal.aborted)
      throw new Failure(
        `Stopped at ${Math.floor(100 * shareDone(run))} %; the service goes on with it within a minute.`,
      );
    call.progress(`${Math.floor(100 * shareDone(run))} %`);
    // Somebody else is at it.
    await wait(200);
  }
}

const organisationOption = { organisation: { type: 'string' } } as const;

export const commands: Command[] = [
  {
    name: 'retention show',
    usage: '--organisation ID',
    summary: 'Show for how many months each kind of data is kept',
    options: organisationOption,
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        const policy = await readPolicy(app.db, organisation_id);
        return {
          json: { decided: policy.changed_at !== null, automatic: policy.automatic, months: policy.months },
          text: [
            table([
              ['Kind', '', 'Months'],
              ...kindNames.map((kind) => [kind, kinds[kind].label, String(policy.months[kind] ?? 'for ever')]),
            ]),
            policy.changed_at === null ? 'Nothing is decided yet: these are proposals.' : '',
            policy.automatic ? 'What is due is deleted every day.' : 'Nothing is deleted by itself.',
          ]
            .filter((line) => line !== '')
            .join('\n'),
        };
      });
    },
  },
  {
    name: 'retention set',
    usage: '--organisation ID [--automatic on|off] [KIND=MONTHS…]',
    summary: 'Set for how many months kinds of data are kept; KIND= alone keeps it for ever',
    positionals: [0, kindNames.length],
    options: { ...organisationOption, automatic: { type: 'string' } },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const automatic = option(call, 'automatic');
      if (automatic !== undefined && automatic !== 'on' && automatic !== 'off')
        throw new Misuse('--automatic must be on or off');
      if (call.positionals.length === 0 && automatic === undefined)
        throw new Misuse(`name what is to be set: --automatic, or one of ${kindNames.join(', ')} with =MONTHS`);
      return withApp(async (app) => {
        const { organisation_id, public_id } = await organisationOf(app, id);
        const policy = await readPolicy(app.db, organisation_id);
        const given = Object.fromEntries(
          kindNames.map((kind) => [kind, policy.months[kind] === null ? '' : String(policy.months[kind])]),
        ) as Record<KindName, string>;
        const named: KindName[] = [];
        for (const word of call.positionals) {
          const [, kind, months] = /^(\w+)=(.*)$/.exec(word) ?? [];
          const known = kindNames.find((one) => one === kind);
          if (known === undefined) throw new Misuse(`${word} must be one of ${kindNames.join(', ')} with =MONTHS`);
          given[known] = months!;
          named.push(known);
        }
        const read = readMonths(given);
        if ('faults' in read) throw new Misuse(Object.values(read.faults).join(' '));
        const set = await act(app, organisation_id, 'retention set', async (work) => {
          await setPolicy(work, organisation_id, {
            months: Object.fromEntries(named.map((kind) => [kind, read.months[kind]])),
            automatic: automatic === undefined ? null : automatic === 'on',
            actor: operator,
          });
          return { result: await readPolicy(work.tx, organisation_id), resource: public_id };
        });
        return {
          json: { automatic: set.automatic, months: set.months },
          text: 'It is set. Nothing was deleted.',
        };
      });
    },
  },
  {
    name: 'retention preview',
    usage: '--organisation ID',
    summary: 'Count what is due to be deleted; nothing is',
    options: organisationOption,
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      return withApp(async (app) => runToItsEnd(app, (await organisationOf(app, id)).organisation_id, true, call));
    },
  },
  {
    name: 'retention run',
    usage: '--organisation ID --confirm',
    summary: 'Delete what is due, for good; retention preview counts it first',
    options: { ...organisationOption, confirm: { type: 'boolean' } },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      if (call.options.confirm !== true)
        throw new Misuse('--confirm is required: nothing brings back what is deleted; ars retention preview counts it');
      return withApp(async (app) => runToItsEnd(app, (await organisationOf(app, id)).organisation_id, false, call));
    },
  },
  {
    name: 'retention runs',
    usage: '--organisation ID [--limit N]',
    summary: 'List previews and runs, the newest first',
    options: { ...organisationOption, limit: { type: 'string' } },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const limit = numberOption(call, 'limit', 20, 1, 1000);
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        const data = (await retentionRuns.list(app.db, organisation_id, limit)).map((run) => ({
          run_id: run.run_id,
          rehearsal: run.rehearsal,
          created_at: run.created_at.toISOString(),
          created_by: run.created_by,
          done: Math.floor(100 * shareDone(run)) / 100,
          finished_at: run.finished_at?.toISOString() ?? null,
          stopped_by: run.stopped_by,
        }));
        return {
          json: { data },
          text: table([
            ['run_id', 'what', 'created_at', 'by', 'done', 'stopped_by'],
            ...data.map((run) => [
              run.run_id,
              run.rehearsal ? 'preview' : 'run',
              run.created_at,
              run.created_by,
              `${Math.floor(100 * run.done)} %`,
              run.stopped_by ?? '',
            ]),
          ]),
        };
      });
    },
  },
  {
    name: 'retention stop',
    usage: '--organisation ID RUN_ID',
    summary: 'End a preview or a run where it is; what it has deleted is gone',
    options: organisationOption,
    positionals: [1, 1],
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const runId = call.positionals[0]!.toLowerCase();
      if (!isUuid(runId)) throw new Misuse('RUN_ID must be a UUID');
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        await act(app, organisation_id, 'retention stop', async (work) => {
          if (!(await stopRun(work, organisation_id, runId, { actor: operator })))
            throw new Failure(`No run with the id ${runId} is under way in this organisation.`);
          return { result: null, resource: runId };
        });
        return { json: { run_id: runId, stopped: true }, text: `${runId} is stopped.` };
      });
    },
  },
];
