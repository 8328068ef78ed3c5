import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { type Cut, type ScoredItem, solveCuts } from '../scoring/cuts.ts';
import { canonical } from './canonical.ts';
import { readingLoad } from './reading-load.ts';
import { seededRandom } from '../../platform/crypto/random.ts';
import { domainShares, type DomainShares, firstDomainShares } from './blueprint.ts';
import {
  domainNames,
  domainsOf,
  type Item,
  type Passage,
  type RenderedItem,
  shownType,
  type ShownType,
} from './schema.ts';
import { templates } from './templates.ts';
import { levelsOf, type Subject, subjects } from '../scoring/levels.ts';

/** Items and passages of the files, and the blueprint. Without `shares`, `firstDomainShares` apply. */
export type BankFiles = {
  number: number;
  items: Item[];
  passages: Passage[];
  shares?: DomainShares;
};

/** An item for scoring and delivery. `domain` is the published name. */
export type CountedItem = ScoredItem & {
  enemies: readonly string[];
  passage: string | null;
  /** The response type. */
  type: ShownType;
  /** The statement of the subject content. */
  statement?: string;
  skillGroup?: string;
  /** Words to read: of the item itself, and of its passage. */
  words: number;
  passageWords: number;
};

export type SubjectBank = {
  items: readonly Item[];
  /** The same items in the same order, for `preparePool` and `prepareBank`. */
  version: {
    subject: Subject;
    version: string;
    /** Published domain names with their shares of a sitting, in the order in which results show them. */
    domains: readonly { name: string; share: number }[];
    items: readonly CountedItem[];
  };
  /** The cuts of all levels, lowest first: mean probability 0.65 over a level's items. */
  cuts: readonly Cut[];
};

export type Bank = {
  /**
   * `<number>-<first 12 hex digits of the content's SHA-256>` when the version was made. Sittings and results store
   * it.
   */
  version: string;
  number: number;
  /** SHA-256 over all items, passages, and questions that the templates make from fixed seeds. */
  sha256: string;
  files: BankFiles;
  subjects: Record<Subject, SubjectBank>;
  item(id: string): Item | undefined;
  passage(id: string): Passage | undefined;
};

export const itemsDirectory = new URL('./items/', import.meta.url);

/** The shipped bank's files. Tests and `ars bank check` prove their shape, so the service does not. */
function shippedFiles(): BankFiles {
  const read = <T>(path: string) => JSON.parse(readFileSync(new URL(path, itemsDirectory), 'utf8')) as T;
  return {
    number: read<{ number: number }>('bank.json').number,
    items: subjects.flatMap((subject) =>
      levelsOf(subject).flatMap((level) => read<Item[]>(`${subject}/${level}.json`)),
    ),
    passages: read<Passage[]>('english/passages.json'),
    shares: domainShares,
  };
}

const fingerprintSeeds = ['1', '2', '3', '4'];

/**
 * The content's SHA-256, independent of white space and of the order of files and members. It leaves out the first
 * blueprint, so that versions that were hashed without one keep their names.
 */
export function contentHash(files: Omit<BankFiles, 'number'>): string {
  const hash = createHash('sha256');
  const byId = <T extends { id: string }>(list: readonly T[]) => [...list].sort((a, b) => (a.id < b.id ? -1 : 1));
  for (const entry of [...byId(files.items), ...byId(files.passages)]) hash.update(canonical(entry)).update('\n');
  const used = new Set(files.items.flatMap((item) => (item.type === 'template' ? [item.template] : [])));
  for (const id of [...used].sort()) {
    for (const seed of fingerprintSeeds)
      hash.update(canonical(templates.get(id)?.make(seededRandom(seed)) ?? null)).update('\n');
  }
  if (files.shares !== undefined && !isDeepStrictEqual(files.shares, firstDomainShares))
    hash.update(canonical(files.shares)).update('\n');
  return hash.digest('hex');
}

export function scoredItem(item: Item): ScoredItem {
  return {
    id: item.id,
    subject: item.subject,
    domain: domainNames[item.domain],
    level: item.level,
    a: item.a,
    b: item.b,
    c: item.c,
  };
}

/** All seeds of a template give about the same number of words. */
const loadSeed = '1';

function countedItem(item: Item, passages: ReadonlyMap<string, Passage>): CountedItem {
  const passage = item.type === 'template' ? undefined : passages.get(item.passage ?? '');
  const { statement, skill_group: skillGroup } = item;
  const rendered = renderItem(item, loadSeed);
  const words = readingLoad(rendered, null);
  return {
    ...scoredItem(item),
    enemies: item.enemies,
    passage: passage?.id ?? null,
    type: shownType(item),
    ...(statement === undefined ? {} : { statement }),
    ...(skillGroup === undefined ? {} : { skillGroup }),
    words,
    passageWords: passage === undefined ? 0 : readingLoad(rendered, passage) - words,
  };
}

/**
 * @param storedAs the stored version of the files. The templates of a later release may give another hash.
 * @throws BankFault if cuts can't be solved or don't rise
 */
export function bankOf(files: BankFiles, storedAs: string | null = null): Bank {
  const sha256 = contentHash(files);
  const items = new Map(files.items.map((item) => [item.id, item]));
  const passages = new Map(files.passages.map((passage) => [passage.id, passage]));
  const version = storedAs ?? `${files.number}-${sha256.slice(0, 12)}`;
  const shares = files.shares ?? firstDomainShares;
  const of = (subject: Subject): SubjectBank => {
    const own = files.items.filter((item) => item.subject === subject && item.state !== 'retired');
    const counted = own.map((item) => countedItem(item, passages));
    const domains = domainsOf[subject].map((domain) => ({ name: domainNames[domain], share: shares[domain] }));
    return { items: own, version: { subject, version, domains, items: counted }, cuts: solveCuts(subject, counted) };
  };
  return {
    version,
    number: files.number,
    sha256,
    files,
    subjects: { digital: of('digital'), english: of('english'), maths: of('maths') },
    item: (id) => items.get(id),
    passage: (id) => passages.get(id),
  };
}

let shipped: Bank | undefined;

/** The bank that the service ships with, read once. */
export function loadBank(): Bank {
  shipped ??= bankOf(shippedFiles());
  return shipped;
}

/**
 * The question that a learner sees: the item itself, or the question that its template makes from `seed`. Callers store
 * the question and mark the stored one, so that a later change of a template changes no result.
 */
export function renderItem(item: Item, seed: string): RenderedItem {
  if (item.type !== 'template') return item;
  const template = templates.get(item.template);
  if (!template) throw new RangeError(`${item.id}: there is no template ${item.template}.`);
  return template.make(seededRandom(`${item.id}:${seed}`));
}
