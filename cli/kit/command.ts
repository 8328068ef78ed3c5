import type { ParseArgsOptionsConfig } from 'node:util';

type Given = string | boolean | (string | boolean)[] | undefined;

/** What a command is called with. `V`: the values of its options; as they were typed, before a command reads them. */
export type Call<V = Record<string, Given>> = {
  options: V;
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

/**
 * `json` is the single value that `--json` prints as the last line of standard output. It is undefined if the command has
 * written all of its output there. `text` is for people.
 */
export type Output = { json: unknown; text: string; exitCode?: number };

/** One command of the command line, as `run.ts` calls it. */
export type Command = {
  /** The words that name it, such as `results import`. */
  name: string;
  /** One sentence for the list of commands. */
  summary: string;
  /** What follows the name in the usage line, such as `--organisation ID FILE|-`. */
  usage: string;
  options: ParseArgsOptionsConfig;
  /** Options of text that may stand without one: `--chaos` is `--chaos=`. */
  bare: readonly string[];
  /** How many positionals it takes: [least, most]. */
  positionals: [number, number];
  run(call: Call): Promise<Output>;
};

/** One option of a command. */
export type Option<T> = {
  /** The word for its text in the usage line; a switch has none. */
  value?: string;
  isRequired?: boolean;
  isMany?: boolean;
  isBare?: boolean;
  /** @throws Misuse */
  read(given: Given, name: string): T;
};

export type Options = Record<string, Option<unknown>>;
export type Values<O extends Options> = { [K in keyof O]: O[K] extends Option<infer T> ? T : never };

/** A command as it is written down. */
export type Declaration<O extends Options, C = Call<Values<O>>> = {
  name: string;
  summary: string;
  /** Its positionals as they stand in the usage line: `[ID] FILE|-`. An option that can replace one stands there, too. */
  takes?: string;
  /** By the option's name: `dryRun` is `--dry-run`. */
  options?: O;
  run(call: C): Promise<Output>;
};

const flagOf = (key: string): string => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

function usageOf(flag: string, { value, isRequired, isMany, isBare }: Option<unknown>): string {
  if (isBare === true) return `[${flag}[=${value}]]`;
  const text = value === undefined ? flag : `${flag} ${value}`;
  return isRequired === true ? text : `[${text}]${isMany === true ? '…' : ''}`;
}

/** How many words `takes` stands for. */
function countOf(takes: string): [number, number] {
  const words = takes.replace(/\|--[\w-]+( [A-Z]+)?/g, '?').split(' ');
  const needed = words.filter((word) => !word.startsWith('[') && !word.endsWith('?'));
  return takes === '' ? [0, 0] : [needed.length, takes.includes('…') ? Infinity : words.length];
}

/** The command that a declaration describes: its usage line, and what reads its options before it runs. */
export function command<O extends Options>(given: Declaration<O>): Command {
  const { name, summary, takes = '', run } = given;
  const options = Object.entries(given.options ?? {}).map(([key, option]) => ({ key, flag: flagOf(key), option }));
  const usages = options.filter(({ flag }) => !takes.includes(flag)).map(({ flag, option }) => usageOf(flag, option));
  const first = options[0]?.key === 'organisation' ? usages.splice(0, 1) : [];
  return {
    name,
    summary,
    usage: [...first, takes, ...usages].filter((part) => part !== '').join(' '),
    options: Object.fromEntries(
      options.map(({ flag, option: { value, isMany = false } }) => [
        flag.slice(2),
        { type: value === undefined ? 'boolean' : 'string', multiple: isMany },
      ]),
    ),
    bare: options.filter(({ option }) => option.isBare === true).map(({ flag }) => flag),
    positionals: countOf(takes),
    run: async (call) => {
      const values = options.map(({ key, flag, option }) => [key, option.read(call.options[flag.slice(2)], flag)]);
      return run({ ...call, options: Object.fromEntries(values) as Values<O> });
    },
  };
}

/** The call's words are wrong: printed in one sentence, exit code 2. */
export class Misuse extends Error {}

/** The work failed for a reason that the person at the keyboard can act on: one sentence, exit code 1. */
export class Failure extends Error {}
