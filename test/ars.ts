import type { ChildProcess } from 'node:child_process';
import { execFile } from 'node:child_process';

/** The command line as operators run it: in a process of its own. */

/** For whoever starts it in another way. */
export const program = new URL('../cli/ars.ts', import.meta.url).pathname;

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
  const ended = promise.then((given) => {
    const written = words.includes('--json') ? given.out.split('\n').filter((line) => line !== '') : [];
    const lines = written.map((line) => JSON.parse(line));
    return { ...given, lines, json: lines.length === 1 ? lines[0] : undefined };
  });
  return { child, ended };
}

/** Runs it to its end. */
export const ars = (...given: Parameters<typeof begin>): Promise<Ended> => begin(...given).ended;
