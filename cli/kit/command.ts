import type { ParseArgsOptionsConfig } from 'node:util';

type Raw = string | boolean | (string | boolean)[] | undefined;

/** `V`: the values of the command's options. */
export type Call<V = Record<string, Raw>> = {
  options: V;
  positionals: string[];
  /** With `--json`, standard output contains nothing else. */
  json: boolean;
  /** Prints a line to standard error if it is a terminal. */
  progress(line: string): void;
  /** Prints a line to standard error, terminal or not. For the few steps that take seconds. */
  step(line: string): void;
  /** Aborted by SIGINT or SIGTERM. */
  signal: AbortSignal;
};

/**
 * `--json` prints `json` as the last line of standard output; undefined if the command has written all of its output.
 * `text` is for people.
 */
export type Output = { json: unknown; text: string; exitCode?: number };

export type Command = {
  /** Words such as `results import`. */
  name: string;
  /** One sentence for the list of commands. */
  summary: string;
  /** The usage line after the name, such as `--organisation ID FILE|-`. */
  usage: string;
  options: ParseArgsOptionsConfig;
  /** Options whose text can be left out: `--chaos` is `--chaos=`. */
  bare: readonly string[];
  /** Minimum and maximum. */
  positionals: [number, number];
  run(call: Call): Promise<Output>;
};

export type Option<T> = {
  /** The word for the value in the usage line; a switch has none. */
  value?: string;
  isRequired?: boolean;
  isMany?: boolean;
  isBare?: boolean;
  /** @throws Misuse */
  read(raw: Raw, name: string): T;
};

export type Options = Record<string, Option<unknown>>;
export type Values<O extends Options> = { [K in keyof O]: O[K] extends Option<infer T> ? T : never };

/** A command as its file declares it. */
export type Declaration<O extends Options, C = Call<Values<O>>> = {
  name: string;
  summary: string;
  /** Positionals as in the usage line, such as `[ID] FILE|-`, with an option that can replace one. */
  takes?: string;
  /** `dryRun` is `--dry-run`. */
  options?: O;
  run(call: C): Promise<Output>;
};

const flagOf = (key: string): string => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

function usageOf(flag: string, { value, isRequired, isMany, isBare }: Option<unknown>): string {
  if (isBare === true) return `[${flag}[=${value}]]`;
  const text = value === undefined ? flag : `${flag} ${value}`;
  return isRequired === true ? text : `[${text}]${isMany === true ? '…' : ''}`;
}

function countOf(takes: string): [number, number] {
  const words = takes.replace(/\|--[\w-]+( [A-Z]+)?/g, '?').split(' ');
  const needed = words.filter((word) => !word.startsWith('[') && !word.endsWith('?'));
  return takes === '' ? [0, 0] : [needed.length, takes.includes('…') ? Infinity : words.length];
}

/** The command of a declaration. It reads its options before it runs. */
export function command<O extends Options>(declaration: Declaration<O>): Command {
  const { name, summary, takes = '', run } = declaration;
  const options = Object.entries(declaration.options ?? {}).map(([key, option]) => ({
    key,
    flag: flagOf(key),
    option,
  }));
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

/** Wrong words on the command line: one sentence, exit code 2. */
export class Misuse extends Error {}

/** A failure that the person at the keyboard can act on: one sentence, exit code 1. */
export class Failure extends Error {}
