import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { Failure } from './command.ts';

/** What a command reads and writes besides files: the process's own, or what a caller of `runProgram` passes in. */
export type Terminal = {
  environment: NodeJS.ProcessEnv;
  input: Readable;
  output: Writable & { fd?: number };
  errors: Writable & { isTTY?: boolean };
  /** Standard output contains a file that the reader asked for, so all other text goes to `errors`. */
  outputHasFile: boolean;
};

const current = new AsyncLocalStorage<Terminal>();

const ofProcess: Terminal = {
  environment: process.env,
  get input() {
    return process.stdin;
  },
  output: process.stdout,
  errors: process.stderr,
  outputHasFile: false,
};

/** The terminal of the command that runs. */
export const terminal = (): Terminal => current.getStore() ?? ofProcess;

/** Runs `inside` with another terminal. Several can run in one process together. */
export const withTerminal = <T>(its: Terminal, inside: () => Promise<T>): Promise<T> => current.run(its, inside);

/** Writes to standard output, and waits while its reader is slow. @throws Failure */
export async function writeOut(part: string | Uint8Array): Promise<void> {
  const { output } = terminal();
  if (!output.write(part) && output.writable) await once(output, 'drain');
  if (!output.writable) throw new Failure('the output cannot be written');
}
