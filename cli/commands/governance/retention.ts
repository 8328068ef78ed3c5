import { setTimeout as wait } from 'node:timers/promises';
import { type KindName, kindNames, kinds } from '../../../src/governance/retention/kinds.ts';
import { readMonths, readPolicy, setPolicy } from '../../../src/governance/retention/policy.ts';
import { type Run, orderRun, retentionRuns, shareDone, stopRun } from '../../../src/governance/retention/run.ts';
import { type Call, type Command, type Output, Failure, Misuse } from '../../kit/command.ts';
import { type Inside, operator, organisationCommand } from '../../kit/open.ts';
import { flag, limit, onOff } from '../../kit/options.ts';
import { linesOf, listOf, pick, tableOf } from '../../kit/table.ts';
import { isUuid } from '../../../src/platform/crypto/random.ts';

function tallyOf(run: Run): Output {
  const data = kindNames.map((kind) => {
    const { learners = 0, items = 0, held = 0 } = run.tally[kind] ?? {};
    return { kind, months: run.months[kind], learners, items, held };
  });
  return {
    json: { run_id: run.run_id, dry_run: run.dry_run, stopped_by: run.stopped_by, data },
    text: tableOf(data, [
      ['Kind', (row) => kinds[row.kind].label],
      ['Months', (row) => row.months ?? 'for ever'],
      ['Learners', 'learners'],
      ['Items', 'items'],
      ['Held', 'held'],
    ]),
  };
}

function endOf(run: Run): Output {
  const { json, text } = tallyOf(run);
  const { stopped_by: by, dry_run } = run;
  if (by === null) return { json, text };
  const why = `It was stopped by ${by}: this is what was ${dry_run ? 'counted' : 'deleted'} until then. Order it again with ars retention ${dry_run ? 'preview' : 'run'}.`;
  return { json, text: `${text}\n${why}`, exitCode: 1 };
}

/** Orders a run and processes its batches until the run ends. The service may process batches at the same time. */
async function runToItsEnd(call: Call<unknown> & Inside, isDryRun: boolean): Promise<Output> {
  const { app, organisationId, signal } = call;
  const order = { runId: app.random.uuid(), isDryRun, actor: operator };
  const { runId } = await call.act({ of: 'runId' }, async (work) => ({
    runId: await orderRun(work, organisationId, order),
  }));
  for (;;) {
    await retentionRuns.goOn(app, organisationId, runId, { signal, evenSuspended: true });
    const run = (await retentionRuns.find(app.db, organisationId, runId))!;
    if (run.finished_at !== null) return endOf(run);
    const share = `${Math.floor(100 * shareDone(run))} %`;
    if (signal.aborted) throw new Failure(`Stopped at ${share}. The service continues the run within 1 minute.`);
    call.progress(share);
    // The service is processing a batch of the run, so the command waits.
    await wait(200);
  }
}

/** Reads words such as `results=36`: a kind of data and the months to keep it. @throws Misuse */
function monthsOf(words: readonly string[], kept: Record<KindName, number | null>) {
  const texts = Object.fromEntries(kindNames.map((kind) => [kind, String(kept[kind] ?? '')]));
  const named = words.map((word) => {
    const [, kind, months] = /^(\w+)=(.*)$/.exec(word) ?? [];
    const name = kindNames.find((one) => one === kind);
    if (name === undefined) throw new Misuse(`${word} must be one of ${kindNames.join(', ')} with =MONTHS`);
    texts[name] = months!;
    return name;
  });
  const read = readMonths(texts as Record<KindName, string>);
  if ('faults' in read) throw new Misuse(Object.values(read.faults).join(' '));
  return Object.fromEntries(named.map((kind) => [kind, read.months[kind]]));
}

export const commands: Command[] = [
  organisationCommand({
    name: 'retention show',
    summary: 'Show how long each kind of data is kept',
    examples: ['--organisation $ORG', '--organisation $ORG --json'],
    run: async ({ app, organisationId }) => {
      const { changed_at, automatic, months } = await readPolicy(app.db, organisationId);
      return {
        json: { decided: changed_at !== null, automatic, months },
        text: linesOf(
          tableOf(kindNames, [
            ['Kind', (kind) => kind],
            ['', (kind) => kinds[kind].label],
            ['Months', (kind) => months[kind] ?? 'for ever'],
          ]),
          changed_at === null && 'Nothing is decided yet: these are proposals.',
          automatic ? 'What is due is deleted every day.' : 'Nothing is deleted automatically.',
        ),
      };
    },
  }),
  organisationCommand({
    name: 'retention set',
    summary: 'Set how many months kinds of data are kept',
    notes: 'KIND= without a number keeps the data without end.',
    examples: ['--organisation $ORG results=72', '--organisation $ORG results=72 --automatic on'],
    about: { automatic: 'Whether due data is deleted every day' },
    takes: '[KIND=MONTHS…]',
    options: { automatic: onOff },
    prepare({ positionals, options }) {
      if (positionals.length === 0 && options.automatic === undefined)
        throw new Misuse(`name what is to be set: --automatic, or one of ${kindNames.join(', ')} with =MONTHS`);
    },
    run: async ({ app, organisation, organisationId, act, positionals, options }) => {
      const months = monthsOf(positionals, (await readPolicy(app.db, organisationId)).months);
      const set = await act(organisation.public_id, async (work) => {
        await setPolicy(work, organisationId, { months, automatic: options.automatic ?? null, actor: operator });
        return readPolicy(work.tx, organisationId);
      });
      return { json: { automatic: set.automatic, months: set.months }, text: 'It is set. Nothing was deleted.' };
    },
  }),
  organisationCommand({
    name: 'retention preview',
    summary: 'Count the data that is due for deletion',
    examples: ['--organisation $ORG', '--organisation $ORG --json'],
    run: (call) => runToItsEnd(call, true),
  }),
  organisationCommand({
    name: 'retention run',
    summary: 'Delete the data that is due',
    notes: 'The deletion cannot be undone. The command retention preview counts the data first.',
    examples: ['--organisation $ORG --confirm', '--organisation $ORG --confirm --json'],
    about: { confirm: 'Deletes the data' },
    options: { confirm: flag },
    prepare({ options }) {
      if (!options.confirm)
        throw new Misuse('--confirm is required: nothing brings back what is deleted; ars retention preview counts it');
    },
    run: (call) => runToItsEnd(call, false),
  }),
  organisationCommand({
    name: 'retention runs',
    summary: 'List previews and runs, newest first',
    examples: ['--organisation $ORG', '--organisation $ORG --limit 5'],
    about: { limit: 'The most rows to print' },
    options: { limit: limit(20, 1000) },
    run: async ({ app, organisationId, options }) => {
      const data = (await retentionRuns.list(app.db, organisationId, options.limit)).map((run) => ({
        ...pick(run, 'run_id', 'dry_run', 'created_at', 'created_by', 'finished_at', 'stopped_by'),
        done: Math.floor(100 * shareDone(run)) / 100,
      }));
      return listOf(data, [
        'run_id',
        ['what', (run) => (run.dry_run ? 'preview' : 'run')],
        'created_at',
        ['by', 'created_by'],
        ['done', (run) => `${Math.floor(100 * run.done)} %`],
        'stopped_by',
      ]);
    },
  }),
  organisationCommand({
    name: 'retention stop',
    summary: 'Stop a preview or a run',
    notes: 'Data that the run has deleted stays deleted.',
    examples: ['--organisation $ORG RUN_ID', '--organisation $ORG RUN_ID --json'],
    takes: 'RUN_ID',
    prepare({ positionals: [runId] }) {
      if (!isUuid(runId!)) throw new Misuse('RUN_ID must be a UUID');
      return runId!.toLowerCase();
    },
    run: async ({ organisationId, act, prepared: runId }) => {
      await act(runId, async (work) => {
        if (!(await stopRun(work, organisationId, runId, { actor: operator })))
          throw new Failure(`No run with the ID ${runId} is under way in this organisation.`);
      });
      return { json: { run_id: runId, stopped: true }, text: `${runId} is stopped.` };
    },
  }),
];
