import { DatabaseUnavailable, lockHeld } from '../../src/platform/db/connection/unavailable.ts';
import { storageFaultOf } from '../../src/platform/db/connection/storage-fault.ts';
import { build } from '../../src/platform/config/version.ts';
import { Command as Parser, CommanderError, Option as ParserOption } from 'commander';
import { type Command, Misuse } from './command.ts';
import { helpOf, typeable } from './help.ts';
import { terminal } from './terminal.ts';

/** Makes the signal that stops a command. The program calls this function when the command begins. */
type StopSignal = () => AbortSignal;

/**
 * Each file of commands is loaded only when one of its commands is called, so that the service starts without the item
 * bank's tools.
 */
const nouns: Record<string, () => Promise<{ commands: Command[] }>> = {
  serve: () => import('../commands/server/serve.ts'),
  sandbox: () => import('../commands/server/sandbox.ts'),
  migrate: () => import('../commands/server/database.ts'),
  organisation: () => import('../commands/organisations/organisation.ts'),
  key: () => import('../commands/integrations/key.ts'),
  user: () => import('../commands/organisations/user.ts'),
  results: () => import('../commands/records/results.ts'),
  learner: () => import('../commands/records/learner.ts'),
  group: () => import('../commands/organisations/group.ts'),
  team: () => import('../commands/organisations/team.ts'),
  webhooks: () => import('../commands/integrations/webhooks.ts'),
  listen: () => import('../commands/integrations/listen.ts'),
  audit: () => import('../commands/governance/audit.ts'),
  trace: () => import('../commands/integrations/trace.ts'),
  evidence: () => import('../commands/records/evidence.ts'),
  score: () => import('../../tools/item-bank/commands/score.ts'),
  bank: () => import('../../tools/item-bank/commands/bank.ts'),
  invitation: () => import('../commands/sittings/invitation.ts'),
  sittings: () => import('../commands/sittings/sittings.ts'),
  retention: () => import('../commands/governance/retention.ts'),
  hold: () => import('../commands/governance/legal-holds.ts'),
  case: () => import('../commands/governance/subject-requests.ts'),
  secret: () => import('../commands/server/database.ts'),
  status: () => import('../commands/server/status.ts'),
  check: () => import('../commands/server/check.ts'),
  'verify-sync': () => import('../commands/integrations/verify-sync.ts'),
  conform: () => import('../commands/integrations/conform.ts'),
  digest: () => import('../commands/server/check.ts'),
  backup: () => import('../commands/server/backup.ts'),
  restore: () => import('../commands/server/backup.ts'),
  distribute: () => import('../commands/server/database.ts'),
};

async function commandsOf(noun: string): Promise<Command[]> {
  return (await nouns[noun]!()).commands.filter(({ name }) => name.split(' ')[0] === noun);
}

export const allCommands = async (): Promise<Command[]> =>
  (await Promise.all(Object.keys(nouns).map(commandsOf))).flat();

async function overview(): Promise<string> {
  const commands = await allCommands();
  const width = Math.max(...commands.map((command) => command.name.length));
  return [
    'Run the service and work with its data',
    '',
    'Usage: ars COMMAND [OPTIONS]   every command takes --json and --help',
    '',
    ...commands.map((command) => `  ars ${command.name.padEnd(width)}  ${command.summary}`),
    '',
  ].join('\n');
}

/** In the help, a longer list of values is in the description of the option. */
const maxPlaceholder = 14;

function parserOption({ flag, about, option }: Command['options'][number]): ParserOption {
  const { value = '', isMany = false, isBare = false, isRequired = false, fallback } = option;
  const isLong = value.includes('|') && value.length > maxPlaceholder;
  const word = isLong ? 'VALUE' : value;
  const placeholder = isBare ? ` [${word}]` : word === '' ? '' : ` <${word}>`;
  const values = isLong ? `: ${value.replaceAll('|', ', ')}` : '';
  const end = isRequired ? ' (required)' : fallback === undefined || fallback === '' ? '' : ` (default: ${fallback})`;
  const parsed = new ParserOption(`${flag}${placeholder}`, about + values + end);
  if (isBare) parsed.preset('');
  if (isMany) parsed.argParser<string[] | undefined>((one, before) => [...(before ?? []), one]);
  return parsed;
}

function addCommand(parent: Parser, command: Command, run: (call: Called) => Promise<void>): void {
  const word = command.name.split(' ').at(-1)!;
  const parser = parent.commands.find((one) => one.name() === word) ?? parent.command(word);
  parser.summary(command.summary).argument('[WORDS...]').allowExcessArguments();
  for (const option of command.options) parser.addOption(parserOption(option));
  parser.option('--json', 'Print JSON for programs').helpOption('-h, --help', 'Print this help');
  parser.configureHelp({ formatHelp: (own, helper) => helpOf(command, own, helper) });
  parser.action((positionals: string[], options: Called['options']) => run({ command, positionals, options }));
}

type Called = { command: Command; positionals: string[]; options: Record<string, string | boolean | undefined> };

function misuse({ message }: CommanderError, name: string): Misuse {
  const [fault, suggestion] = message.replace(/^error: /, '').split('\n');
  const hint = suggestion === undefined ? `See ${name} --help.` : suggestion.replace(/^\((.*)\)$/, '$1');
  return new Misuse(`${fault}. ${hint}`);
}

async function dispatch(words: string[], stop: StopSignal): Promise<number> {
  const { output } = terminal();
  const [first = ''] = words;
  if (first === '--version') {
    output.write(
      words.includes('--json') ? `${JSON.stringify(build)}\n` : `ars ${build.version} (commit ${build.commit})\n`,
    );
    return 0;
  }
  if (words.length === 0 || first === '--help' || first === '-h' || first === 'help') {
    output.write(typeable(await overview()));
    return words.length === 0 ? 2 : 0;
  }
  let exitCode = 0;
  const program = new Parser('ars')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => output.write(typeable(text)),
      outputError: () => {},
    });
  program.configureHelp({ subcommandTerm: (one) => one.name() });
  const commands = Object.hasOwn(nouns, first) ? await commandsOf(first) : [];
  // The parser needs all nouns, so that it can suggest the nearest noun for an unknown word.
  for (const noun of Object.keys(nouns))
    program.command(noun).helpCommand(false).helpOption('-h, --help', 'Print this help');
  const parent = program.commands.find((one) => one.name() === first);
  for (const command of commands)
    addCommand(command.name === first ? program : parent!, command, async (called) => {
      exitCode = await runCommand(called, stop);
    });
  if (words.length === 1 && commands.length > 0 && commands.every(({ name }) => name !== first))
    throw new Misuse(`ars ${first} needs one of: ${commands.map(({ name }) => `ars ${name}`).join(', ')}`);
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw misuse(error, commands.length === 0 ? 'ars' : `ars ${first}`);
  }
  return exitCode;
}

async function runCommand({ command, positionals, options }: Called, stop: StopSignal): Promise<number> {
  const io = terminal();
  const [min, max] = command.positionals;
  if (positionals.length < min || positionals.length > max)
    throw new Misuse(
      `${positionals.length < min ? 'an argument is missing' : 'there are too many arguments'}; usage: ars ${command.name} ${command.usage}`,
    );
  const json = options.json === true;
  const signal = stop();
  const output = await command.run({
    options,
    positionals,
    json,
    signal,
    progress: (line) => {
      if (io.errors.isTTY && !json) io.errors.write(`\r\u001b[K${line}`);
    },
    step: (line) => {
      io.errors.write(io.errors.isTTY && !json ? `\r\u001b[K${line}` : `${line}\n`);
    },
  });
  if (io.errors.isTTY && !json) io.errors.write('\r\u001b[K');
  const text = !json ? typeable(output.text) : output.json === undefined ? '' : JSON.stringify(output.json);
  (io.outputHasFile ? io.errors : io.output).write(text === '' ? '' : `${text}\n`);
  return output.exitCode ?? 0;
}

const unavailableBecause = new Map([
  ['28P01', 'it refused the user or the password'],
  ['28000', 'it refused the user'],
  ['3D000', 'it has no database of that name'],
  ['42501', 'the user may not use it'],
  ['53300', 'it has no connection left'],
  ['57P03', 'it is starting or stopping'],
  ['ECONNREFUSED', 'nothing answers at that host and port'],
  ['ENOENT', 'there is no socket of PostgreSQL in that folder'],
  ['ECONNRESET', 'it ended the connection'],
  ['EHOSTUNREACH', 'the host cannot be reached'],
  ['ETIMEDOUT', 'the host does not answer'],
  ['ENOTFOUND', 'there is no host of that name'],
  ['EAI_AGAIN', 'the name of its host cannot be looked up'],
]);

const storageFaults = { disk_full: 'The disk of the database is full', read_only: 'The database is read-only' };
const advice = {
  disk_full: 'Free space on it or enlarge it: nothing needs a restart.',
  read_only: 'Set DATABASE_URL to the primary server, or turn default_transaction_read_only off.',
};

/** The message of Citus if the coordinator does not reach another node. */
const nodeUnreachable = /^connection to the remote node (\S+) failed with the following error: (?:FATAL: +)?(.+)/;

function unavailable({ code = '', atCommit, cause }: DatabaseUnavailable): string {
  if (atCommit)
    return 'The connection to the database was lost at the end, so it is not known whether this was done: look before you repeat it.';
  const node = nodeUnreachable.exec((cause as Error | undefined)?.message ?? '');
  if (node !== null)
    return `The coordinator of the cluster does not get through to ${node[1]}: ${node[2]!.replace(/\.$/, '')}. See docs/operate/scale-out.md for what a node needs.`;
  if (code === lockHeld)
    return 'Another process held a lock in the database for too long. It may be a command, an upgrade or a person with psql. Run the command again.';
  const storageFault = storageFaultOf({ code });
  if (storageFault !== null) return `${storageFaults[storageFault]} (${code}). ${advice[storageFault]}`;
  const because = unavailableBecause.get(code);
  const why = `${because === undefined ? '' : `, because ${because}`}${code === '' ? '' : ` (${code})`}`;
  return `The database is not available${why}: check DATABASE_URL, or that the service's own database can start.`;
}

/** Runs a command line in the current terminal. @returns the exit code: 0, 1 (failed) or 2 (misused) */
export async function runProgram(words: string[], stop: StopSignal): Promise<number> {
  try {
    return await dispatch(words, stop);
  } catch (error) {
    const sentence = error instanceof DatabaseUnavailable ? unavailable(error) : (error as Error).message;
    terminal().errors.write(`ars: ${typeable(sentence)}\n`);
    return error instanceof Misuse ? 2 : 1;
  }
}
