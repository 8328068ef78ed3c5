import { allCommands } from '../../../cli/kit/run.ts';
import type { Command } from '../../../cli/kit/command.ts';

/** The reference of the command line, made from the declarations of the commands. */

const cell = (text: string) => text.replaceAll('|', '\\|');

function section({ name, summary, notes, usage, options, examples, fails }: Command): string {
  const rows = options.map(({ flag, about, option: { value, isRequired, fallback } }) => {
    const term = value === undefined ? flag : `${flag} ${value}`;
    return `| \`${cell(term)}\` | ${about} | ${isRequired === true ? 'required' : fallback ? `\`${cell(fallback)}\`` : ''} |`;
  });
  return [
    `### ${name}`,
    `${summary}.${notes === undefined ? '' : ` ${notes}`}`,
    ['```text', `ars ${name} ${usage}`.trimEnd(), '```'].join('\n'),
    ...(rows.length === 0 ? [] : [['| Option | Meaning | Default |', '| --- | --- | --- |', ...rows].join('\n')]),
    ['```console', ...examples.map((example) => `ars ${name} ${example}`.trimEnd()), '```'].join('\n'),
    ...(fails === undefined ? [] : [`Exit code 1: ${fails}`]),
  ].join('\n\n');
}

export async function commandsPage(): Promise<string> {
  const commands = await allCommands();
  const nouns = Map.groupBy(commands, ({ name }) => name.split(' ')[0]!);
  return [
    '# Commands',
    '`ars COMMAND --help` prints the same text, and also lists environment variables. In a checkout, type `npm run -s ars --` in place of `ars`.',
    'Every command takes `--json`, which prints JSON for programs, and `--help`. `$ORG` stands for the ID of an organisation.',
    'Exit codes: 0 is success, 1 is an error, and 2 is a wrong command line. Errors go to standard error.',
    ...[...nouns].flatMap(([noun, own]) => [`## ars ${noun}`, ...own.map(section)]),
    '',
  ].join('\n\n');
}
