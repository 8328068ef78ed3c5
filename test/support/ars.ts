import type { ChildProcess } from 'node:child_process';
import { execFile } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { runProgram } from '../../cli/kit/run.ts';
import { withTerminal } from '../../cli/kit/terminal.ts';

/** The command line, in this process (`ars`) or in its own process as operators run it (`begin`). */

/** For whoever starts it in another way. */
export const program = new URL('../../cli/ars.ts', import.meta.url).pathname;

type Ended = {
  code: number;
  /** Standard output. */
  out: string;
  /** Standard error. */
  said: string;
  /** What `--json` has written, line by line. */
  lines: any[];
  /** The same where it is one line. */
  json: any;
};

function ended(given: { code: number; out: string; said: string }, words: readonly string[]): Ended {
  const written = words.includes('--json') ? given.out.split('\n').filter((line) => line !== '') : [];
  const lines = written.map((line) => JSON.parse(line));
  return { ...given, lines, json: lines.length === 1 ? lines[0] : undefined };
}

/**
 * Starts `ars` with these words.
 * @param environment beside that of this process; a variable that is undefined is left out
 * @returns `ended` is rejected where a signal has ended it, and where its output is cut
 */
export function begin(
  words: readonly string[],
  environment: Record<string, string | undefined> = {},
  { input = '', cwd }: { input?: string; cwd?: string } = {},
): { child: ChildProcess; ended: Promise<Ended> } {
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number; out: string; said: string }>();
  const options = { env: { ...process.env, ...environment }, cwd, maxBuffer: 2 ** 26 };
  const child = execFile(process.execPath, [program, ...words], options, (error, out, said) => {
    if (error !== null && typeof error.code !== 'number') reject(error);
    else resolve({ code: Number(error?.code ?? 0), out, said });
  });
  child.stdin!.end(input);
  return { child, ended: promise.then((given) => ended(given, words)) };
}

class Collected extends Writable {
  text = '';
  #decoder = new TextDecoder();

  override _write(part: Buffer, _encoding: string, done: () => void): void {
    this.text += this.#decoder.decode(part, { stream: true });
    done();
  }
}

/**
 * Runs a command line in this process, with its own environment, standard input and output.
 * @param environment in addition to that of this process; a variable that is undefined is left out
 */
export async function ars(
  words: readonly string[],
  environment: Record<string, string | undefined> = {},
  { input = '' }: { input?: string } = {},
): Promise<Ended> {
  const [output, errors] = [new Collected(), new Collected()];
  const merged = Object.entries({ ...process.env, ...environment }).filter(([, value]) => value !== undefined);
  const terminal = {
    environment: Object.fromEntries(merged),
    input: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    output,
    errors,
    outputHasFile: false,
  };
  const code = await withTerminal(terminal, () => runProgram([...words], () => new AbortController().signal));
  return ended({ code, out: output.text, said: errors.text }, words);
}
