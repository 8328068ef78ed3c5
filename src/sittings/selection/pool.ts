import type { Cut, ScoredItem } from '../../engine/scoring/cuts.ts';
import { logPriorAt, logProbabilities, quadratureNodes } from '../../engine/scoring/irt.ts';
import { wholeShares } from '../../engine/scoring/probabilities.ts';
import { type BankVersion, prepareBank } from '../../engine/scoring/score.ts';
import { type ContentControl, defaultSettings, type DeliverySettings } from './settings.ts';

/** The fields of an item that selection needs. If two items are enemies, one gives away the answer to the other. */
export type DeliveryItem = ScoredItem & {
  enemies?: readonly string[];
  passage?: string | null;
  type?: string;
  /** The ID of the item's statement of the subject content. `skillGroup`: the group of that statement's skill. */
  statement?: string;
  skillGroup?: string;
  words?: number;
  passageWords?: number;
};

/** A bank version made ready for delivery. All sittings of the version share it, so nothing may change it. */
export type DeliveryPool = {
  bank: BankVersion<DeliveryItem>;
  settings: DeliverySettings;
  cuts: readonly Cut[];
  nodes: Float64Array;
  logPrior: Float64Array;
  /** log P and log(1 − P) of each item at each node. */
  logRight: readonly Float64Array[];
  logWrong: readonly Float64Array[];
  indexById: ReadonlyMap<string, number>;
  itemsByDomain: readonly (readonly number[])[];
  domainOfItem: readonly number[];
  enemies: readonly (readonly number[])[];
  /** Items on trial, each with all its enemies. A text has either items on trial or scored ones. */
  pilots: readonly DeliveryItem[];
  /** The index of each item's text; −1 for items without a text. */
  passageOfItem: Int16Array;
  passages: readonly Passage[];
  content: Content;
};

export type Passage = { items: readonly number[]; domain: number; words: number };

/** The content limits of a test, with the properties of each item that they limit. */
export type Content = {
  control: ContentControl;
  /** The number of questions of each domain in a sitting of full length. */
  planned: readonly number[];
  /** A kind is a response type, a skill group or a statement. `maxPerKind` applies to a full sitting. */
  kindsOfItem: readonly (readonly number[])[];
  maxPerKind: Float64Array;
  /** The kind of the item's response type; −1 for items without a type. */
  typeOfItem: Int16Array;
  /** `isFloored`: 1 if the item's skill group has a minimum share on texts. `hasFloor`: 1 if the level has one. */
  isFloored: Uint8Array;
  hasFloor: Uint8Array;
  words: Float64Array;
};

type DeliveryBank = BankVersion<DeliveryItem> & { pilots?: readonly DeliveryItem[] };

/** @throws BankFault if the bank can't be scored */
export function preparePool(
  bank: DeliveryBank,
  settings: DeliverySettings = defaultSettings(bank.subject),
): DeliveryPool {
  const { cuts } = prepareBank(bank);
  const nodes = quadratureNodes(settings.prior);
  const logRight: Float64Array[] = [];
  const logWrong: Float64Array[] = [];
  for (const item of bank.items) {
    const logs = Array.from(nodes, (theta) => logProbabilities(item, theta));
    logRight.push(Float64Array.from(logs, (log) => log.right));
    logWrong.push(Float64Array.from(logs, (log) => log.wrong));
  }
  const indexById = new Map(bank.items.map((item, i) => [item.id, i]));
  const domainIndex = new Map(bank.domains.map((domain, d) => [domain.name, d]));
  const domainOfItem = bank.items.map((item) => domainIndex.get(item.domain)!);
  const passageNames = [...new Set(bank.items.flatMap((item) => item.passage ?? []))];
  const passages = passageNames.map((name): Passage => {
    const items = bank.items.flatMap((item, i) => (item.passage === name ? [i] : []));
    const first = items[0]!;
    return { items, domain: domainOfItem[first]!, words: bank.items[first]!.passageWords ?? 0 };
  });
  return {
    bank,
    settings,
    cuts,
    nodes,
    logPrior: logPriorAt(settings.prior, nodes),
    logRight,
    logWrong,
    indexById,
    domainOfItem,
    itemsByDomain: bank.domains.map((_, d) => bank.items.flatMap((_item, i) => (domainOfItem[i] === d ? [i] : []))),
    enemies: enemiesOf(bank, indexById),
    pilots: pilotsOf(bank),
    passageOfItem: Int16Array.from(bank.items, ({ passage }) => (passage ? passageNames.indexOf(passage) : -1)),
    passages,
    content: contentOf(bank, settings),
  };
}

/** Two items are enemies even if only one of them names the other. */
function enemiesOf(bank: BankVersion<DeliveryItem>, indexById: ReadonlyMap<string, number>): number[][] {
  const enemies = bank.items.map(() => new Set<number>());
  bank.items.forEach((item, i) => {
    for (const id of item.enemies ?? []) {
      const other = indexById.get(id);
      if (other === undefined) continue;
      enemies[i]!.add(other);
      enemies[other]!.add(i);
    }
  });
  return enemies.map((set) => [...set]);
}

function pilotsOf({ items, pilots = [] }: DeliveryBank): DeliveryItem[] {
  const scored = new Set(items.flatMap(({ passage }) => passage || []));
  const namedBy = (id: string) => [...items, ...pilots].filter(({ enemies }) => enemies?.includes(id));
  return pilots
    .filter(({ passage }) => !scored.has(passage || ''))
    .map((item) => ({
      ...item,
      enemies: [...new Set([...(item.enemies ?? []), ...namedBy(item.id).map(({ id }) => id)])],
    }));
}

function contentOf(bank: BankVersion<DeliveryItem>, { maxItems, content: control }: DeliverySettings): Content {
  const planned = wholeShares(
    bank.domains.map(({ share }) => share),
    maxItems,
  );
  const kinds = new Map<string, number>();
  const max: number[] = [];
  const kind = (name: string, limit: number): number => {
    let index = kinds.get(name);
    if (index === undefined) {
      kinds.set(name, (index = kinds.size));
      max.push(limit);
    }
    return index;
  };
  const groups = bank.domains.map(
    ({ name }) => new Set(bank.items.flatMap((item) => (item.domain === name ? (item.skillGroup ?? []) : []))).size,
  );
  // The maximum leaves one place below the share free, because questions on an open text can't wait.
  const typeOfItem = Int16Array.from(bank.items, ({ type }) =>
    type === undefined ? -1 : kind(`type ${type}`, Math.floor(control.maxTypeShare * maxItems) - 1),
  );
  const statements = Map.groupBy(bank.items, ({ domain, level }) => `${domain} ${level}`);
  const kindsOfItem = bank.items.map(({ domain, level, skillGroup, statement, passage }, i) => {
    const d = bank.domains.findIndex(({ name }) => name === domain);
    const own = typeOfItem[i]! < 0 ? [] : [typeOfItem[i]!];
    // Only the type of questions on texts is limited, because texts of the lowest levels mainly allow detail questions.
    if (passage) return own;
    if (skillGroup !== undefined && groups[d]! >= 3)
      own.push(kind(`group ${domain} ${skillGroup}`, Math.ceil(control.maxGroupShare * planned[d]!)));
    const others = new Set(statements.get(`${domain} ${level}`)!.map((item) => item.statement));
    if (statement !== undefined && others.size >= control.statementsFrom)
      own.push(kind(`statement ${domain} ${statement}`, control.maxPerStatement));
    return own;
  });
  const { textFloor } = control;
  return {
    control,
    planned,
    kindsOfItem,
    maxPerKind: Float64Array.from(max),
    typeOfItem,
    isFloored: Uint8Array.from(bank.items, ({ skillGroup }) =>
      skillGroup !== undefined && textFloor.groups.includes(skillGroup) ? 1 : 0,
    ),
    hasFloor: Uint8Array.from(bank.items, ({ level }) => (textFloor.levels.includes(level) ? 1 : 0)),
    words: Float64Array.from(bank.items, ({ words = 0 }) => words),
  };
}
