type Raw = string | boolean | (string | boolean)[] | undefined;

export type Call<V = Record<string, Raw>> = {
  options: V;
  positionals: string[];
  /** Whether `--json` is set. If so, standard output contains only JSON. */
  json: boolean;
  /** Prints a line to standard error, but only if standard error is a terminal. */
  progress(line: string): void;
  /** Prints a line to standard error, terminal or not. For the few steps that take seconds. */
  step(line: string): void;
  /** Aborted by SIGINT or SIGTERM. */
  signal: AbortSignal;
};

/**
 * `json`: the value that `--json` prints as the last line of standard output; undefined if the command has written all
 * of its output. `text`: the output for people.
 */
export type Output = { json: unknown; text: string; exitCode?: number };

type CommandOption = { key: string; flag: string; about: string; option: Option<unknown> };

export type Command = Texts & {
  /** The usage line after the name, such as `--organisation ID FILE|-`. */
  usage: string;
  options: CommandOption[];
  /** The minimum and maximum number of positionals. */
  positionals: [number, number];
  run(call: Call): Promise<Output>;
};

export type Option<T> = {
  /** The word for the value in the usage line; absent for a switch. */
  value?: string;
  isRequired?: boolean;
  isMany?: boolean;
  /** The value can be left out: `--chaos` means `--chaos=`. */
  isBare?: boolean;
  /** The default in the help. */
  fallback?: string;
  /** @throws Misuse */
  read(raw: Raw, name: string): T;
};

export type Options = Record<string, Option<unknown>>;
export type Values<O extends Options> = { [K in keyof O]: O[K] extends Option<infer T> ? T : never };

export type Texts = {
  /** Words such as `results import`. */
  name: string;
  /** An imperative of at most 10 words. */
  summary: string;
  notes?: string;
  /** Two command lines, without `ars` and the command's name. `$ORG` stands for the ID of an organisation. */
  examples: readonly [string, string];
  /** Environment variables that the command reads. Default: those of the database. */
  environment?: Readonly<Record<string, string>>;
  /** The meaning of exit code 1 if it can mean more than an error. */
  fails?: string;
};

export type Declaration<O extends Options, C = Call<Values<O>>> = Texts & {
  /**
   * The positionals in the usage line, such as `[ID] FILE|-`. An option that can replace a positional is included:
   * `FILE|-|--all`.
   */
  takes?: string;
  /** Keys are in camel case: `dryRun` declares `--dry-run`. */
  options?: O;
  about?: { [K in keyof O]: string };
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

/** Makes a command from its declaration. The command reads its options before `run` is called. */
export function command<O extends Options>(declaration: Declaration<O>): Command {
  const { takes = '', options: declared, about, run, ...texts } = declaration;
  const options = Object.entries(declared ?? {}).map(([key, option]) => ({
    key,
    flag: flagOf(key),
    about: about![key]!,
    option,
  }));
  const usages = options.filter(({ flag }) => !takes.includes(flag)).map(({ flag, option }) => usageOf(flag, option));
  const first = options[0]?.key === 'organisation' ? usages.splice(0, 1) : [];
  return {
    ...texts,
    usage: [...first, takes, ...usages].filter((part) => part !== '').join(' '),
    options,
    positionals: countOf(takes),
    run: async (call) => {
      const values = options.map(({ key, flag, option }) => [key, option.read(call.options[key], flag)]);
      return run({ ...call, options: Object.fromEntries(values) as Values<O> });
    },
  };
}

/** The command line is wrong. The program prints the message, one sentence, and its exit code is 2. */
export class Misuse extends Error {}

/**
 * The command failed for a reason that the user can act on. The program prints the message, one sentence, and its exit
 * code is 1.
 */
export class Failure extends Error {}
