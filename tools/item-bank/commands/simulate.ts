import { once } from 'node:events';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { loadBank } from '../../../src/engine/item-bank/load.ts';
import type { Bank } from '../../../src/engine/item-bank/load.ts';
import { simulationMarkdown, simulationPlots } from '../simulation/report.ts';
import type { SubjectSimulation } from '../simulation/report.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { BankFault } from '../../../src/engine/scoring/cuts.ts';
import { judgeGoals, verdictOf } from '../simulation/goals.ts';
import { reportOf, sittingsOf } from '../simulation/simulate.ts';
import type { ConditionResult } from '../simulation/simulate.ts';
import { simulationOf } from './simulate-thread.ts';
import type { SimulationOptions, Task, TaskProgress } from './simulate-thread.ts';
import type { Call } from '../../../cli/kit/command.ts';
import { command, Failure, Misuse } from '../../../cli/kit/command.ts';
import { count, or, text, word } from '../../../cli/kit/options.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import type { Subject } from '../../../src/engine/scoring/levels.ts';

const toldEveryMs = 30_000;

/** Prints the progress and the remaining time: continuously on a terminal, elsewhere twice a minute. */
function progressOf(call: Call<unknown>, total: number): (sittings: number) => void {
  const beganMs = systemClock.monotonicMs();
  let toldMs = beganMs;
  let done = 0;
  return (sittings) => {
    done += sittings;
    const nowMs = systemClock.monotonicMs();
    const minutesLeft = Math.ceil((((nowMs - beganMs) / done) * (total - done)) / 60_000);
    const line = `${counted(done)} of ${counted(total)} sittings, about ${minutesLeft} min left`;
    if (nowMs - toldMs < toldEveryMs) return call.progress(line);
    toldMs = nowMs;
    call.step(line);
  };
}

const counted = (n: number): string => n.toLocaleString('en-GB');

function runOn(thread: Worker, task: Task, progress: (sittings: number) => void): Promise<ConditionResult> {
  return new Promise((resolve, reject) => {
    const receive = ({ sittings, result }: TaskProgress) => {
      progress(sittings);
      if (result === undefined) return;
      thread.off('message', receive);
      thread.off('error', reject);
      resolve(result);
    };
    thread.on('message', receive);
    thread.on('error', reject);
    thread.postMessage(task);
  });
}

/** Runs conditions on one thread for each core. A signal stops the threads immediately. */
async function runTasks(
  tasks: readonly Task[],
  input: SimulationOptions,
  call: Call<unknown>,
  progress: (sittings: number) => void,
) {
  const results = new Map<Task, ConditionResult>();
  const waiting = [...tasks];
  const cores = Math.min(availableParallelism(), tasks.length);
  const script = new URL('simulate-thread.ts', import.meta.url);
  const threads = Array.from({ length: cores }, () => new Worker(script, { workerData: input }));
  const work = async (thread: Worker) => {
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift())
      results.set(task, await runOn(thread, task, progress));
  };
  try {
    if (!call.signal.aborted) await Promise.race([Promise.all(threads.map(work)), once(call.signal, 'abort')]);
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
  if (call.signal.aborted) throw new Failure('Stopped before the end: there is no report.');
  return results;
}

async function simulateSubjects(
  bank: Bank,
  chosen: readonly Subject[],
  input: SimulationOptions,
  call: Call<unknown>,
): Promise<SubjectSimulation[]> {
  const simulations = chosen.map((subject) => ({ subject, simulation: simulationOf(bank, subject, input) }));
  const planned = simulations.flatMap(({ subject, simulation }) =>
    [...simulation.conditions.values()].map((condition) => ({
      task: { subject, condition: condition.name },
      sittings: sittingsOf(condition),
    })),
  );
  // The longest tasks start first, so that no thread runs alone at the end.
  planned.sort((x, y) => y.sittings - x.sittings);
  const total = planned.reduce((sum, { sittings }) => sum + sittings, 0);
  call.step(`Simulating ${counted(total)} sittings.`);
  const tasks = planned.map(({ task }) => task);
  const results = await runTasks(tasks, input, call, progressOf(call, total));
  return simulations.map(({ subject, simulation }) => {
    const own = tasks.filter((task) => task.subject === subject);
    const report = reportOf(simulation, new Map(own.map((task) => [task.condition, results.get(task)!])));
    return { report, goals: judgeGoals(report) };
  });
}

function bankOrFailure(): Bank {
  try {
    return loadBank();
  } catch (cause) {
    if (cause instanceof BankFault) throw new Failure(cause.message);
    throw cause;
  }
}

export const simulateBank = command({
  name: 'bank simulate',
  summary: 'Simulate sittings and compare them with the goals',
  examples: ['--subject maths --learners 500', '--learners 2000 --seed 1 --out report.md'],
  environment: {},
  fails: 'A goal is missed, or the command has failed.',
  about: {
    subject: 'Only this subject',
    learners: 'Simulated learners for each subject',
    seed: 'The seed of the simulation',
    out: 'The file for the report',
  },
  options: {
    subject: word(subjects),
    learners: or(count(20, 1_000_000), 10_000),
    seed: or(text('S'), 'bank'),
    out: text('FILE'),
  },
  async run(call) {
    const { subject, learners, seed, out } = call.options;
    // The plots are in a folder that has the report's name without its ending.
    if (out !== undefined && (extname(out) === '' || statSync(out, { throwIfNoEntry: false })?.isDirectory() === true))
      throw new Misuse('--out is a file with an ending, such as report.md.');

    const bank = bankOrFailure();
    const chosen = subject === undefined ? subjects : [subject];
    const simulations = await simulateSubjects(bank, chosen, { learners, seed }, call);
    const repeated = [
      'ars bank simulate',
      ...(subject === undefined ? [] : [`--subject ${subject}`]),
      `--learners ${learners}`,
      `--seed ${seed}`,
    ].join(' ');
    if (out !== undefined) {
      const folder = join(dirname(out), basename(out, extname(out)));
      mkdirSync(folder, { recursive: true });
      for (const simulation of simulations) {
        for (const [name, svg] of simulationPlots(simulation, bank.subjects[simulation.report.subject]))
          writeFileSync(join(folder, name), svg);
      }
      writeFileSync(
        out,
        simulationMarkdown(simulations, bank.subjects, bank.version, `${repeated} --out ${out}`, basename(folder)),
      );
    }
    const missed = simulations.flatMap(({ report, goals }) =>
      goals
        .filter((goal) => !goal.met)
        .map(
          (goal) =>
            `${verdictOf(goal)}: ${report.subject}: ${goal.goal}: ${goal.figure === null ? 'no figure' : goal.figure.toFixed(3)}`,
        ),
    );
    const total = simulations.reduce((sum, { goals }) => sum + goals.length, 0);
    return {
      json: {
        bank_version: bank.version,
        learners,
        seed,
        goals_met: total - missed.length,
        goals: total,
        subjects: simulations.map(({ report, goals }) => ({ ...report, goals })),
      },
      text: [
        `Bank ${bank.version}, ${learners} learners a subject: ${total - missed.length} of ${total} goals met.`,
        ...missed,
      ].join('\n'),
    };
  },
});
