import type { ParseArgsOptionsConfig } from 'node:util';

/**
 * One command of the command line. `run` gets parsed options and positionals and returns what to print:
 * `json` is the single value that `--json` prints as the last line of standard output (undefined where a list has been written
 * there, which is all of it), `text` is for people.
 */
export type Command = {
  /** The words that name it, such as `results import`. */
  name: string;
  /** One sentence for the list of commands. */
  summary: string;
  /** What follows the name in the usage line, such as `--organisation ID FILE|-`. */
  usage: string;
  options?: ParseArgsOptionsConfig;
  /** Options of text that may stand without one: `--chaos` is `--chaos=`. */
  bare?: readonly string[];
  /** How many positionals it takes: [least, most]. */
  positionals?: [number, number];
  run(call: Call): Promise<Output>;
};

export type Call = {
  options: Record<string, string | boolean | (string | boolean)[] | undefined>;
  positionals: string[];
  /** True when `--json` was given: print nothing else on standard output. */
  json: boolean;
  /** A line for people while the command works; goes to standard error, silent without a terminal. */
  progress(line: string): void;
  /** The same for the few steps of a start that take seconds: a plain line where there is no terminal. */
  step(line: string): void;
  /** Aborted by SIGINT or SIGTERM. */
  signal: AbortSignal;
};

export type Output = { json: unknown; text: string; exitCode?: number };

/** The call's words are wrong: printed in one sentence, exit code 2. */
export class Misuse extends Error {}

/** The work failed for a reason that the person at the keyboard can act on: one sentence, exit code 1. */
export class Failure extends Error {}
