import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { loadBank } from '../src/bank/load.ts';
import type { Bank, SubjectBank } from '../src/bank/load.ts';
import { simulationMarkdown, simulationPlots } from '../src/bank/simulation/report.ts';
import type { SubjectSimulation } from '../src/bank/simulation/report.ts';
import { seededRandom } from '../src/random.ts';
import { BankFault } from '../src/scoring/cuts.ts';
import { judgeGoals } from '../src/scoring/goals.ts';
import { simulate } from '../src/scoring/simulate.ts';
import { preparePool } from '../src/sittings/pool.ts';
import { deliver, deliverAtRandom } from '../src/sittings/selection.ts';
import { defaultSettings } from '../src/sittings/settings.ts';
import { Failure, Misuse } from './command.ts';
import type { Call, Command } from './command.ts';
import { subjects } from '../src/scoring/levels.ts';
import type { Subject } from '../src/scoring/levels.ts';

const defaultLearners = 10_000;

function text(call: Call, name: string): string | undefined {
  const value = call.options[name];
  if (value !== undefined && typeof value !== 'string') throw new Misuse(`--${name} takes one value.`);
  return value;
}

function simulateSubject(bank: SubjectBank, learners: number, seed: string, call: Call): SubjectSimulation {
  const { version } = bank;
  const pool = preparePool(version);
  const report = simulate({
    bank: version,
    learners,
    minPerDomain: defaultSettings(version.subject).minPerDomain,
    adaptive: (answers, random, seen) => deliver(pool, answers, random, seen),
    random: (answers, random, length) => deliverAtRandom(pool, answers, random, length),
    seed: (name) => seededRandom(`${seed}:${name}`),
    progress: (name) => {
      if (call.signal.aborted) throw new Failure('Stopped.');
      call.progress(`${version.subject}: ${name}`);
    },
  });
  return { report, goals: judgeGoals(report) };
}

function bankOrFailure(): Bank {
  try {
    return loadBank();
  } catch (cause) {
    if (cause instanceof BankFault) throw new Failure(cause.message);
    throw cause;
  }
}

export const simulateBank: Command = {
  name: 'bank simulate',
  summary: 'Simulate sittings of the item bank and compare the figures with the goals',
  usage: '[--subject digital|english|maths] [--learners N] [--seed S] [--out FILE]',
  options: {
    subject: { type: 'string' },
    learners: { type: 'string' },
    seed: { type: 'string' },
    out: { type: 'string' },
  },
  positionals: [0, 0],
  async run(call) {
    const learners = Number(text(call, 'learners') ?? defaultLearners);
    if (!Number.isInteger(learners) || learners < 20 || learners > 1_000_000)
      throw new Misuse('--learners is a whole number from 20 to 1000000.');
    const subject = text(call, 'subject');
    if (subject !== undefined && !(subjects as readonly string[]).includes(subject))
      throw new Misuse(`--subject is one of ${subjects.join(', ')}.`);
    const seed = text(call, 'seed') ?? 'bank';

    const bank = bankOrFailure();
    const chosen = subject === undefined ? subjects : [subject as Subject];
    const simulations = chosen.map((name) => simulateSubject(bank.subjects[name], learners, seed, call));
    const command = [
      'ars bank simulate',
      ...(subject === undefined ? [] : [`--subject ${subject}`]),
      `--learners ${learners}`,
      `--seed ${seed}`,
    ].join(' ');
    const out = text(call, 'out');
    if (out !== undefined) {
      const folder = join(dirname(out), basename(out, extname(out)));
      mkdirSync(folder, { recursive: true });
      for (const simulation of simulations) {
        for (const [name, svg] of simulationPlots(simulation, bank.subjects[simulation.report.subject]))
          writeFileSync(join(folder, name), svg);
      }
      writeFileSync(
        out,
        simulationMarkdown(simulations, bank.subjects, bank.version, `${command} --out ${out}`, basename(folder)),
      );
    }
    const missed = simulations.flatMap(({ report, goals }) =>
      goals
        .filter((goal) => !goal.met)
        .map(
          (goal) => `${report.subject}: ${goal.goal}: ${goal.figure === null ? 'no figure' : goal.figure.toFixed(3)}`,
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
        ...missed.map((line) => `not met: ${line}`),
      ].join('\n'),
    };
  },
};
