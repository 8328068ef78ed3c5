import { parentPort, workerData } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { loadBank } from '../../../src/engine/item-bank/load.ts';
import type { Bank } from '../../../src/engine/item-bank/load.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import type { Subject } from '../../../src/engine/scoring/levels.ts';
import { prepareSimulation, runCondition } from '../simulation/simulate.ts';
import type { ConditionResult, Simulation } from '../simulation/simulate.ts';
import { preparePool } from '../../../src/sittings/selection/pool.ts';
import { deliver, deliverAtRandom } from '../simulation/delivery.ts';

/** One condition of one subject's simulation, which a thread runs. */
export type Task = { subject: Subject; condition: string };
/** How many sittings have ended since the last message, and with the last message the result. */
export type TaskProgress = { sittings: number; result?: ConditionResult };
export type SimulationOptions = { learners: number; seed: string };

export function simulationOf(
  bank: Bank,
  subject: Subject,
  options: SimulationOptions,
  progress?: () => void,
): Simulation {
  const { version } = bank.subjects[subject];
  const pool = preparePool(version);
  return prepareSimulation({
    bank: version,
    learners: options.learners,
    minPerDomain: pool.settings.minPerDomain,
    adaptive: (answers, random, seen) => deliver(pool, answers, random, seen),
    random: (answers, random, length) => deliverAtRandom(pool, answers, random, length),
    seed: (name) => seededRandom(`${options.seed}:${name}`),
    ...(progress === undefined ? {} : { progress }),
  });
}

const reportEvery = 20;

function serve(port: MessagePort): void {
  const bank = loadBank();
  const simulations = new Map<Subject, Simulation>();
  let sittings = 0;
  const report = (result?: ConditionResult) => {
    port.postMessage({ sittings, ...(result === undefined ? {} : { result }) } satisfies TaskProgress);
    sittings = 0;
  };
  const progress = () => {
    if (++sittings >= reportEvery) report();
  };
  port.on('message', ({ subject, condition }: Task) => {
    let simulation = simulations.get(subject);
    if (simulation === undefined)
      simulations.set(subject, (simulation = simulationOf(bank, subject, workerData as SimulationOptions, progress)));
    report(runCondition(simulation, condition));
  });
}

if (parentPort !== null) serve(parentPort);
