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

/** The contents of a bank's files. If `shares` is missing, `firstDomainShares` apply. */
export type BankFiles = {
  number: number;
  items: Item[];
  passages: Passage[];
  shares?: DomainShares;
};

/** An item with the facts that scoring and delivery need. `domain` is the name that results show. */
export type CountedItem = ScoredItem & {
  enemies: readonly string[];
  passage: string | null;
  type: ShownType;
  /** The ID of a statement in `standards/<subject>.json`. */
  statement?: string;
  skillGroup?: string;
  /** The number of words to read in the item, without its passage. */
  words: number;
  passageWords: number;
};

export type SubjectBank = {
  items: readonly Item[];
  /** The bank version that `preparePool` and `prepareBank` read. Its items are in the same order as `items` above. */
  version: {
    subject: Subject;
    version: string;
    /** The domains in the order of results: the name that results show, and the share of a sitting. */
    domains: readonly { name: string; share: number }[];
    items: readonly CountedItem[];
    /** Items on trial, which no level and no score depends on. */
    pilots: readonly CountedItem[];
  };
  /**
   * The cuts of all levels, lowest first. At a level's cut, a learner is expected to answer 65 % of the level's items
   * right.
   */
  cuts: readonly Cut[];
};

export type Bank = {
  /**
   * `<number>-<first 12 hex digits of sha256>`, fixed when the version was made. Sittings and results store this name.
   */
  version: string;
  number: number;
  sha256: string;
  files: BankFiles;
  subjects: Record<Subject, SubjectBank>;
  item(id: string): Item | undefined;
  passage(id: string): Passage | undefined;
};

export const itemsDirectory = new URL('./items/', import.meta.url);

/** Reads the shipped bank's files. Tests and `ars bank check` validate the files, so this function does not. */
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
 * Hashes the content. White space and the order of files and members make no difference. The hash leaves out
 * `firstDomainShares`, so that versions stored without shares keep their names.
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

/** Words of templates are counted with this one seed, because all seeds give about the same number of words. */
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

export const isLive = ({ state = 'live' }: Item): boolean => state === 'live';

/**
 * @param storedAs the name under which the version was stored; templates of a later release may give another hash, so
 * the name can't be computed again
 * @throws BankFault if the cuts of a subject can't be solved or don't rise from level to level
 */
export function bankOf(files: BankFiles, storedAs: string | null = null): Bank {
  const sha256 = contentHash(files);
  const items = new Map(files.items.map((item) => [item.id, item]));
  const passages = new Map(files.passages.map((passage) => [passage.id, passage]));
  const version = storedAs ?? `${files.number}-${sha256.slice(0, 12)}`;
  const shares = files.shares ?? firstDomainShares;
  const of = (subject: Subject): SubjectBank => {
    const every = files.items.filter((item) => item.subject === subject);
    const own = every.filter(isLive);
    const counted = own.map((item) => countedItem(item, passages));
    const pilots = every.filter(({ state }) => state === 'pilot').map((item) => countedItem(item, passages));
    const domains = domainsOf[subject].map((domain) => ({ name: domainNames[domain], share: shares[domain] }));
    return {
      items: own,
      version: { subject, version, domains, items: counted, pilots },
      cuts: solveCuts(subject, counted),
    };
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

/** Returns the shipped bank. Each process reads the files once. */
export function loadBank(): Bank {
  shipped ??= bankOf(shippedFiles());
  return shipped;
}

/**
 * Returns the question that a learner sees: the item itself, or a question that the item's template makes from `seed`.
 * Callers store this question and mark the stored copy, so that later changes of a template change no result.
 */
export function renderItem(item: Item, seed: string): RenderedItem {
  if (item.type !== 'template') return item;
  const template = templates.get(item.template);
  if (!template) throw new RangeError(`${item.id}: there is no template ${item.template}.`);
  return template.make(seededRandom(`${item.id}:${seed}`));
}
