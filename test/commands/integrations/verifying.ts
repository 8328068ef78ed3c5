import { parseArgs } from 'node:util';
import type { Call } from '../../../cli/kit/command.ts';
import { Misuse } from '../../../cli/kit/command.ts';
import { commands } from '../../../cli/commands/integrations/verify-sync.ts';

const [command] = commands;
const { signal } = new AbortController();

export type Called = { code: number; said: string; json: any };

/** `ars verify-sync` as the command line runs it, in this process. */
export async function verifySync(environment: Record<string, string>, ...words: string[]): Promise<Called> {
  Object.assign(process.env, environment);
  const { values } = parseArgs({ args: words, options: command!.options });
  const given: Call = { options: values, positionals: [], json: true, progress() {}, step() {}, signal };
  try {
    const { json, exitCode = 0 } = await command!.run(given);
    return { code: exitCode, said: '', json };
  } catch (error) {
    return { code: error instanceof Misuse ? 2 : 1, said: (error as Error).message, json: null };
  }
}
