import { readFile, readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { refusalsOf } from '../../../src/api/reference/codes.ts';
import type { HeaderMeaning } from '../../../src/api/http/headers.ts';
import { replyHeaders, requestHeaders } from '../../../src/api/http/headers.ts';
import { scenarios } from '../../../src/sandbox/conformance/scenarios.ts';
import { chaosKinds } from '../../../src/sandbox/chaos/chaos.ts';
import { makeOpenApi, referenceFiles } from '../../../src/api/reference/openapi.ts';
import { routes } from '../../../src/api/route-table.ts';
import { ApiError, errorTable } from '../../../src/platform/errors/errors.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import '../../../src/platform/observability/metric-definitions.ts';
import { metricsTable } from '../../../src/platform/observability/metrics.ts';
import { exampleOrigin, settingsTable } from '../../../src/platform/config/settings.ts';
import { architecturePicture } from '../structure/architecture.ts';
import { projectFiles } from '../structure/source-tree.ts';
import { asvsAll, asvsCounts, asvsOpen } from './asvs.ts';
import { clientTypes } from './client-types.ts';
import { commandsPage } from './commands-page.ts';
import { growth, leftOut, ofNobody, personalColumns } from './data-protection.ts';

/** Documents, or parts of them, that are made from the sources: what test/check.ts compares and writes. */

const root = join(import.meta.dirname, '../../..');

/** Makes the text of a part. */
type Maker = () => string | Promise<string>;

const marker = /(<!-- made: (.+?) -->\n)([^]*?)(<!-- end -->)/g;

/** The committed page with each part between `<!-- made: NAME -->` and `<!-- end -->` made from the sources. */
async function filled(path: string): Promise<string> {
  const text = await readFile(join(root, path), 'utf8');
  let result = '';
  let at = 0;
  for (const match of text.matchAll(marker)) {
    const [all, begin = '', name = '', old = '', end = ''] = match;
    const maker = makers[name];
    const file = /^file (\S+)$/.exec(name)?.[1];
    if (maker === undefined && file === undefined) throw new Error(`${path}: nothing makes the part ${name}`);
    const made = file === undefined ? await maker!() : await example(file, old);
    result += `${text.slice(at, match.index)}${begin}${made}\n${end}`;
    at = match.index + all.length;
  }
  return result + text.slice(at);
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

function table(head: string[], rows: string[][]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');
}

type Told = { status: number; code: string; message: string; where: string };

/** Everything that the API refuses, by status, in the order of the table of codes. */
function toldErrors(): Told[] {
  const found = new Map<string, { status: number; code: string; message: string; where: string[] }>();
  for (const route of routes) {
    for (const { status, code, message } of refusalsOf(route)) {
      const key = `${status} ${code} ${message}`;
      const row = found.get(key) ?? { status, code, message, where: [] };
      row.where.push(`${route.method} ${route.path}`);
      found.set(key, row);
    }
  }
  const lost = new ApiError('method_not_allowed');
  found.set('405', { status: lost.status, code: lost.code, message: lost.message, where: ['any URL'] });
  const everywhere = (where: string[]) =>
    where.length === routes.length
      ? 'everywhere'
      : where.length > 4
        ? `${where.length} endpoints`
        : where.map((one) => `\`${one}\``).join(', ');
  const order = Object.keys(errorTable);
  const rows = [...found.values()].sort(
    (a, b) => a.status - b.status || order.indexOf(a.code) - order.indexOf(b.code) || (a.code < b.code ? -1 : 1),
  );
  return rows.map((row) => ({
    ...row,
    where: row.where[0] === 'any URL' ? row.where[0] : everywhere(row.where),
  }));
}

/** For each code the part of its section that says when it comes and what it says. */
function errorParts(): Record<string, Maker> {
  const line = ({ status, where, message }: Told) => `${status}, ${where}: “${message}”`;
  return Object.fromEntries(
    [...Map.groupBy(toldErrors(), ({ code }) => code)].map(([code, told]) => [
      code,
      () => told.map((one) => (told.length === 1 ? line(one) : `- ${line(one)}`)).join('\n'),
    ]),
  );
}

function headerTable(headers: Record<string, HeaderMeaning>): string {
  return table(
    ['Header', 'Example', 'Meaning'],
    Object.entries(headers).map(([name, { example, meaning }]) => [`\`${name}\``, `\`${example}\``, meaning]),
  );
}

/** Every filter of every list that is polled. */
function sinceTable(): string {
  const polled = routes.filter(({ query = [] }) => query.some(({ name }) => name === 'since'));
  return table(
    ['List', 'Filter', 'With `since`', 'Why'],
    polled.flatMap(({ path, query }) => {
      const filters = query!.filter(({ name }) => name !== 'since');
      const alike = Map.groupBy(filters, ({ withSince }) => JSON.stringify(withSince));
      return [...alike.values()].map((some) => [
        `\`${path}\``,
        some.map(({ name }) => `\`${name}\``).join(', '),
        some[0]!.withSince!.is.toLowerCase(),
        some[0]!.withSince!.why,
      ]);
    }),
  );
}

function chaosTable(): string {
  return table(
    ['Kind', 'What happens'],
    Object.entries(chaosKinds).map(([kind, meaning]) => [`\`${kind}\``, meaning]),
  );
}

function scenarioTable(): string {
  return table(
    ['Scenario', 'What happens'],
    scenarios.map(({ name, summary }) => [`\`${name}\``, `${summary}.`]),
  );
}

const days = (ms: number) => `${ms / 86_400_000} days`;

function limitTable(): string {
  return table(
    ['Limit', 'Value'],
    [
      [
        'Requests per key in any 60 seconds',
        `${settingsTable.find((row) => row.name === 'ARS_RATE_LIMIT')!.default} (the operator can set another number)`,
      ],
      ['Page size', `${limits.pageDefault}, at most ${limits.pageMax}`],
      ['IDs in one `group_id` filter', String(limits.filterGroups)],
      ['Active groups of an organisation, teams not counted', String(limits.groupsPerOrganisation)],
      ['Groups in one provisioning request', String(limits.groupsPerProvisioning)],
      ['References in one membership request', String(limits.refsPerRequest)],
      ["Characters of a learner's reference", String(limits.learnerRefChars)],
      ["Characters of a group's reference, of its name", `${limits.groupRefChars}, ${limits.groupNameChars}`],
      ["Characters of a learner's name", String(limits.fullNameChars)],
      [
        'Webhook endpoints of an organisation, groups of one endpoint',
        `${limits.webhooksPerOrganisation}, ${limits.webhookGroups}`,
      ],
      ['Bytes of a request body', limits.bodyBytes.toLocaleString('en-GB')],
      ['Responses kept for an `Idempotency-Key`', `${limits.idempotencyMs / 3600_000} hours`],
      ['An invitation can be opened for', days(limits.invitationMs)],
    ],
  );
}

function settings(): string {
  return table(
    ['Setting', 'Default', 'Meaning'],
    settingsTable.map((row) => [`\`${row.name}\``, row.default === '' ? 'none' : `\`${row.default}\``, row.meaning]),
  );
}

/** What becomes of the values of several processes. */
const overAll = { counter: 'summed', histogram: 'summed', sum: 'summed', max: 'largest' };

function metrics(): string {
  return table(
    ['Metric', 'Kind', 'Labels', 'With `--processes`', 'Meaning'],
    metricsTable().map(({ name, kind, labels, over, help }) => [
      `\`${name}\``,
      kind,
      labels.map((label) => `\`${label}\``).join(', '),
      overAll[kind === 'gauge' ? over : kind],
      help,
    ]),
  );
}

async function decisions(): Promise<string> {
  const folder = join(root, 'docs/decisions');
  const files = (await readdir(folder)).filter((name) => name.endsWith('.md') && name !== 'README.md').sort();
  const titles = await Promise.all(
    files.map(async (name) => /^# (.*)$/m.exec(await readFile(join(folder, name), 'utf8'))?.[1] ?? name),
  );
  return files.map((name, i) => `- [${titles[i]!}](${name})`).join('\n');
}

/** The code of a file, or its parts between `example begins` and `example ends`. The fence keeps its first line. */
async function example(path: string, old: string): Promise<string> {
  const text = await readFile(join(root, path), 'utf8');
  const parts = [...text.matchAll(/^.*example begins.*\n([^]*?)^.*example ends.*$/gm)].map(([, part]) => part!);
  const code = parts.length === 0 ? text : parts.join('\n');
  const indents = code
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => /^ */.exec(line)![0].length);
  const fence = /^```.*/.exec(old)?.[0] ?? `\`\`\`${extname(path).slice(1)}`;
  return `${fence}\n${code.replaceAll(new RegExp(`^ {${Math.min(...indents)}}`, 'gm'), '').trim()}\n\`\`\``;
}

/** The parts by their names. */
const makers: Record<string, Maker> = {
  ...errorParts(),
  'request headers': () => headerTable(requestHeaders),
  'reply headers': () => headerTable(replyHeaders),
  limits: limitTable,
  'filters with since': sinceTable,
  chaos: chaosTable,
  scenarios: scenarioTable,
  'personal columns': () => personalColumns(table),
  'left out': () => leftOut(table),
  'tables of nobody': () => ofNobody(table),
  list: decisions,
  settings,
  metrics,
  growth: () => growth(table),
  'asvs counts': () => asvsCounts(table),
  'asvs open': () => asvsOpen(table),
  'asvs all': () => asvsAll(table),
};

/** The pages of users. Engineers have the pages in docs/engineering and docs/decisions too. */
export const userPages = projectFiles().filter((file) =>
  /^(README|client\/README|docs\/(?!engineering\/|decisions\/).+)\.md$/.test(file),
);

export const documents: { path: string; make(): Promise<string> }[] = [
  { path: 'docs/reference/commands.md', make: commandsPage },
  ...Object.entries(referenceFiles).map(([name, textOf]) => ({
    path: `docs/${name}`,
    make: async () => textOf(await makeOpenApi(exampleOrigin)),
  })),
  {
    path: 'client/src/openapi.ts',
    make: async () => clientTypes(referenceFiles['openapi.json']!(await makeOpenApi(exampleOrigin))),
  },
  { path: 'docs/engineering/architecture.svg', make: architecturePicture },
  ...[...userPages, 'docs/decisions/README.md'].map((path) => ({ path, make: () => filled(path) })),
];
