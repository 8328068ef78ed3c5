import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { idPrefix } from './checks/items.ts';
import { fixedC } from './checks/guessing.ts';
import { keyFaults } from './checks/keys.ts';
import { fileOf } from './exchange/json.ts';
import type { Exchanged, Rejection } from './exchange/json.ts';
import { itemHash } from '../../src/engine/item-bank/item-hash.ts';
import { bankOf } from '../../src/engine/item-bank/load.ts';
import { scanBankFiles } from './files.ts';
import type { BankFiles } from '../../src/engine/item-bank/load.ts';
import { domainsOf } from '../../src/engine/item-bank/schema.ts';
import { targetB } from './difficulty.ts';
import type { Domain, Item, Passage } from '../../src/engine/item-bank/schema.ts';
import { templates } from '../../src/engine/item-bank/templates.ts';
import { itemFaults, passageFaults } from './validate.ts';
import { BankFault } from '../../src/engine/scoring/cuts.ts';
import { levelsOf, subjects } from '../../src/engine/scoring/levels.ts';
import type { Level, Subject } from '../../src/engine/scoring/levels.ts';

export type ImportOutcome = {
  added: string[];
  replaced: string[];
  unchanged: string[];
  rejected: Rejection[];
  /** The number of the bank's version after the import: one more if anything changed. */
  number: number;
};

const unexplained = 'Not given by the source.';
const ownId = /^(?:dig|eng|mat)-(?:e|e1|e2|e3|l1|l2|l3)-[a-z]{2,8}-\d{3}$/u;

/** Default parameters for items of another system: those of an average item of the level. */
export function foreignDefaults(place: { subject: Subject; level: Level; domain: Domain }): Record<string, unknown> {
  const [min, max] = targetB[place.level];
  return {
    ...place,
    skill: 'Imported',
    rationale: unexplained,
    a: 1,
    b: Math.round(50 * (min + max)) / 100,
    c: 0,
    calibration: 'provisional',
    enemies: [],
    read_aloud: false,
    ...(place.subject === 'maths' ? { calculator: false } : {}),
  };
}

/**
 * Completes an item of another system: the next free ID of its subject, level and domain, the fixed c, and a reason for
 * each wrong option that has none.
 */
function adopt(item: Item, taken: ReadonlySet<string>): Item {
  if (typeof item.id === 'string' && ownId.test(item.id)) return item;
  if (item.subject === undefined || item.level === undefined || item.domain === undefined) return item;
  let n = 1;
  const idOf = (at: number) => `${idPrefix(item)}${String(at).padStart(3, '0')}`;
  while (taken.has(idOf(n))) n += 1;
  const adopted = { ...item, id: idOf(n) };
  if (itemFaults(adopted).length > 0 || adopted.type === 'template') return adopted;
  adopted.c = fixedC(adopted);
  if (adopted.type === 'single_choice' || adopted.type === 'multiple_choice') {
    const right = [adopted.key].flat();
    const wrong = adopted.options.filter((option) => !right.includes(option.id));
    adopted.distractor_rationales = Object.fromEntries(
      wrong.map(({ id }) => [id, adopted.distractor_rationales[id] ?? unexplained]),
    );
  }
  return adopted;
}

function faultOf(item: Item): string | null {
  const shape = itemFaults(item);
  if (shape.length > 0) return shape.join('; ');
  const { subject, level, domain } = item;
  if (!(levelsOf(subject) as readonly Level[]).includes(level)) return `${subject} has no level ${level}`;
  if (!(domainsOf[subject] as readonly Domain[]).includes(domain)) return `${subject} has no domain ${domain}`;
  if (item.type !== 'template') return keyFaults(item).join('; ') || null;
  const template = templates.get(item.template);
  return template
    ? keyFaults(template.make(seededRandom(item.id))).join('; ') || null
    : `there is no template ${item.template}`;
}

type Entry = { id: string };

/**
 * Adds an entry to `list`. An entry with the same ID is replaced only if `replace` is true. `record`: the entry as it
 * was read.
 */
function merge<T extends Entry>(
  list: T[],
  record: T,
  entry: T,
  fault: string | null,
  replace: boolean,
  outcome: ImportOutcome,
): void {
  const id = typeof entry?.id === 'string' ? entry.id : '(without id)';
  const reject = (reason: string): void => {
    const file = fileOf.get(record);
    const itsOwn = typeof record?.id === 'string' ? record.id : '(without id)';
    outcome.rejected.push({ ...(file === undefined ? {} : { file }), id: itsOwn, reason });
  };
  if (fault !== null) {
    reject(fault);
    return;
  }
  const at = list.findIndex((other) => other.id === id);
  if (at === -1) {
    list.push(entry);
    outcome.added.push(id);
  } else if (isDeepStrictEqual(list[at], entry)) {
    outcome.unchanged.push(id);
  } else if (replace) {
    list[at] = entry;
    outcome.replaced.push(id);
  } else {
    reject('the bank has another item of this id (use --replace)');
  }
}

/**
 * Merges imported entries into a bank's files, without writing them. Invalid items and items with a wrong key are
 * rejected one by one.
 */
export function mergeBank(
  files: BankFiles,
  read: Exchanged,
  replace: boolean,
): { files: BankFiles; outcome: ImportOutcome } {
  const items = [...files.items];
  const passages = [...files.passages];
  const rejected = [...(read.rejected ?? [])];
  const outcome: ImportOutcome = { added: [], replaced: [], unchanged: [], rejected, number: files.number };
  for (const passage of read.passages)
    merge<Passage>(passages, passage, passage, passageFaults(passage).join('; ') || null, replace, outcome);
  const taken = new Set(items.map((item) => item.id));
  const passageOf = (item: Item) => passages.find(({ id }) => item.type !== 'template' && id === item.passage) ?? null;
  // Items of other systems have no ID of the bank, so they are recognised by place and question. The map is made only
  // if needed.
  const contentOf = (item: Item) => [item.subject, item.level, item.domain, itemHash(item, passageOf(item))].join(' ');
  let known: Map<string, string> | undefined;
  for (const record of read.items) {
    if (typeof record !== 'object' || record === null) {
      outcome.rejected.push({ id: '(without id)', reason: itemFaults(record).join('; ') });
      continue;
    }
    const item = adopt(record, taken);
    const missing =
      'passage' in item && item.passage !== undefined && !passages.some((passage) => passage.id === item.passage);
    const fault = faultOf(item) ?? (missing ? `is on ${String(item.passage)}, which the bank does not have` : null);
    if (item.id !== record.id && fault === null) {
      known ??= new Map(items.filter(({ state }) => state !== 'retired').map((own) => [contentOf(own), own.id]));
      const same = known.get(contentOf(item));
      if (same !== undefined) {
        outcome.unchanged.push(same);
        continue;
      }
      known.set(contentOf(item), item.id);
    }
    taken.add(item.id);
    merge<Item>(items, record, item, fault, replace, outcome);
  }
  if (outcome.added.length + outcome.replaced.length > 0) outcome.number += 1;
  return { files: { ...files, number: outcome.number, items, passages }, outcome };
}

const holds = (url: URL, value: unknown): boolean =>
  existsSync(url) && isDeepStrictEqual(JSON.parse(readFileSync(url, 'utf8')), value);

/** The order of an item's members in the bank's files, for every import format. */
const memberOrder = [
  'id',
  'subject',
  'level',
  'domain',
  'type',
  'skill',
  'stem',
  'passage',
  'figure',
  'kind',
  'title',
  'screen',
  'fields',
  'prefix',
  'suffix',
  'width',
  'options',
  'left',
  'right',
  'surface',
  'template',
  'renders',
  'key',
  'rationale',
  'distractor_rationales',
  'a',
  'b',
  'c',
  'calibration',
  'enemies',
  'calculator',
  'read_aloud',
];

function inOrder(item: Item): object {
  return Object.fromEntries(Object.entries(item).sort(([a], [b]) => memberOrder.indexOf(a) - memberOrder.indexOf(b)));
}

/**
 * Writes the files of a bank that have changed. Each file is replaced atomically. If one file cannot be written, no
 * file changes. `bank.json` is written last.
 */
export function writeBankFiles(directory: URL, files: BankFiles): void {
  const byFile = Map.groupBy(files.items, (item) => `${item.subject}/${item.level}.json`);
  // A replaced item may have been the last item of its level's file.
  for (const path of subjects.flatMap((subject) => levelsOf(subject).map((level) => `${subject}/${level}.json`)))
    if (!byFile.has(path) && existsSync(new URL(path, directory))) byFile.set(path, []);
  const contents: [path: string, value: unknown][] = [...byFile].map(([path, items]) => [path, items.map(inOrder)]);
  if (files.passages.length > 0) contents.push(['english/passages.json', files.passages]);
  contents.push(['bank.json', { number: files.number }]);
  const changed = contents
    .map(([path, value]) => ({ url: new URL(path, directory), beside: new URL(`${path}.new`, directory), value }))
    .filter(({ url, value }) => !holds(url, value));
  const written: URL[] = [];
  try {
    for (const { url, beside, value } of changed) {
      mkdirSync(new URL('./', url), { recursive: true });
      writeFileSync(beside, `${JSON.stringify(value, null, 2)}\n`, { flush: true });
      written.push(beside);
    }
    for (const { url, beside } of changed) renameSync(beside, url);
  } catch (cause) {
    for (const beside of written) rmSync(beside, { force: true });
    throw cause;
  }
}

/**
 * Refuses an import that would break a valid bank. An unfinished bank may lack levels.
 * @throws BankFault with the reason why the service would not start
 */
export function staysLoadable(before: BankFiles, after: BankFiles): void {
  try {
    bankOf(before);
  } catch (cause) {
    if (cause instanceof BankFault) return;
    throw cause;
  }
  bankOf(after);
}

/**
 * Reads the files of a bank for an import. A directory without files is an empty bank.
 * @throws if the files have faults
 */
export function bankToExtend(directory: URL): BankFiles {
  if (!existsSync(new URL('bank.json', directory))) return { number: 0, items: [], passages: [] };
  const { files, faults } = scanBankFiles(directory);
  if (faults.length > 0)
    throw new RangeError(
      `The bank to import into has ${faults.length} faults; the first: ${faults[0]!.id}: ${faults[0]!.fault}`,
    );
  return files;
}
