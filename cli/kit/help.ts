import type { Command as Parser, Help } from 'commander';
import type { Command } from './command.ts';
import { terminal } from './terminal.ts';

const databaseEnvironment = {
  DATABASE_URL: 'The PostgreSQL database (default: the embedded database)',
  ARS_DATA_DIR: 'The folder of the embedded database (default: ./data)',
  ARS_SECRET: "The service's secret (default: the generated secret in ARS_DATA_DIR)",
};

export const keyEnvironment = {
  ACCESS_KEY_ID: 'The ID of an access key',
  SECRET_ACCESS_KEY: 'The secret of the access key',
};

/** @param parser the command's object in the command-line library */
export function helpOf(command: Command, parser: Parser, helper: Help): string {
  const { name, summary, notes, usage, examples, environment = databaseEnvironment, fails } = command;
  const width = Math.max(
    helper.longestOptionTermLength(parser, helper),
    ...Object.keys(environment).map(({ length }) => length),
  );
  const list = (title: string, rows: [string, string][], titleWidth = width) =>
    rows.length === 0
      ? []
      : ['', title, ...rows.map(([term, text]) => helper.formatItem(term, titleWidth, text, helper))];
  const options = helper
    .visibleOptions(parser)
    .map((one): [string, string] => [helper.optionTerm(one), one.description]);
  return [
    summary,
    '',
    `Usage: ars ${name} ${usage}`.trimEnd(),
    ...(notes === undefined ? [] : ['', helper.boxWrap(notes, helper.helpWidth ?? 80)]),
    ...list('Options:', options),
    ...list('Environment:', Object.entries(environment)),
    '',
    'Examples:',
    ...examples.map((example) => `  ars ${name} ${example}`.trimEnd()),
    ...list(
      'Exit codes:',
      [
        ['0', 'The command has succeeded.'],
        ['1', fails ?? 'The command has failed. Standard error says why.'],
        ['2', 'The command line is wrong.'],
      ],
      1,
    ),
    '',
  ].join('\n');
}

/** Changes the commands in a text to the form that the reader can type: after `npm run` if npm started this process. */
export function typeable(text: string): string {
  if (!['ars', 'start'].includes(terminal().environment.npm_lifecycle_event ?? '')) return text;
  return text.replace(/(?<![\w/.-])ars (?=[a-z-]+\b)/g, 'npm run -s ars -- ');
}
