import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { Failure } from './command.ts';

/** The input, output and environment of a command. They belong to the process or to a test. */
export type Terminal = {
  environment: NodeJS.ProcessEnv;
  input: Readable;
  output: Writable & { fd?: number };
  errors: Writable & { isTTY?: boolean };
  /** Standard output contains a requested file, so other text goes to `errors`. */
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

export const terminal = (): Terminal => current.getStore() ?? ofProcess;

/** Runs `inside` with a terminal of its own, so that several commands can run in one process. */
export const withTerminal = <T>(own: Terminal, inside: () => Promise<T>): Promise<T> => current.run(own, inside);

/** Writes to standard output, and waits for a slow reader. @throws Failure */
export async function writeOut(part: string | Uint8Array): Promise<void> {
  const { output } = terminal();
  if (!output.write(part) && output.writable) await once(output, 'drain');
  if (!output.writable) throw new Failure('the output cannot be written');
}
