import { createRequire, syncBuiltinESMExports } from 'node:module';

/** Counts computations of password hashes; imported before whatever computes them. */

const crypto = createRequire(import.meta.url)('node:crypto') as { argon2: (...given: any[]) => void };
const { argon2 } = crypto;

/** The parameters of each computation so far. */
export const derived: string[] = [];

crypto.argon2 = (algorithm, given, ...rest) => {
  derived.push(`${algorithm} ${given.memory} ${given.passes} ${given.parallelism} ${given.tagLength}`);
  argon2(algorithm, given, ...rest);
};
syncBuiltinESMExports();
