import { existsSync, readFileSync } from 'node:fs';
import type { JsonFault } from '../../src/platform/formats/json.ts';
import { parseJson } from '../../src/platform/formats/json.ts';
import { domainShares } from '../../src/engine/item-bank/blueprint.ts';
import type { BankFiles } from '../../src/engine/item-bank/load.ts';
import { itemsDirectory } from '../../src/engine/item-bank/load.ts';
import type { Item, Passage } from '../../src/engine/item-bank/schema.ts';
import { levelsOf, subjects } from '../../src/engine/scoring/levels.ts';
import { itemFaults, passageFaults } from './validate.ts';

/** The message lists at most ten faults of the bank's files, one in each line. */
export class BankFileFault extends Error {
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(
      [`The item bank has ${faults.length} fault${faults.length === 1 ? '' : 's'}:`, ...faults.slice(0, 10)].join('\n'),
    );
    this.faults = faults;
  }
}

function readJson(url: URL): unknown {
  const text = readFileSync(url, 'utf8');
  try {
    return parseJson(text);
  } catch (cause) {
    throw new BankFileFault([`${url.pathname.split('/items/').at(-1)} ${(cause as JsonFault).detail}`]);
  }
}

function arrayIn(directory: URL, path: string): unknown[] {
  const url = new URL(path, directory);
  if (!existsSync(url)) return [];
  const value = readJson(url);
  if (!Array.isArray(value)) throw new BankFileFault([`${path} is not an array.`]);
  return value;
}

export type FileFault = { id: string; fault: string };

/**
 * Reads the files of a bank. Invalid items and passages, repeated IDs, and entries in the wrong file are left out and
 * reported.
 * @throws BankFileFault if a file is not a JSON array
 */
export function scanBankFiles(directory: URL = itemsDirectory): { files: BankFiles; faults: FileFault[] } {
  const faults: FileFault[] = [];
  const ids = new Set<string>();
  const sound = <T extends { id: string }>(path: string, wrongWith: (value: unknown) => string[]): T[] =>
    arrayIn(directory, path).flatMap((value, at) => {
      const wrong = wrongWith(value);
      const entry = value as T;
      const id = typeof entry?.id === 'string' ? entry.id : `${path}[${at}]`;
      if (ids.has(id)) wrong.push('has an id that is already in use');
      ids.add(id);
      faults.push(...wrong.map((fault) => ({ id, fault })));
      return wrong.length === 0 ? [entry] : [];
    });

  const items = subjects.flatMap((subject) =>
    levelsOf(subject).flatMap((level) => {
      const path = `${subject}/${level}.json`;
      return sound<Item>(path, (value) => {
        const wrong = itemFaults(value);
        if (wrong.length > 0) return wrong;
        const { subject: s, level: l } = value as Item;
        return s !== subject || l !== level ? [`belongs in ${s}/${l}.json, not in ${path}`] : [];
      });
    }),
  );
  const passages = sound<Passage>('english/passages.json', passageFaults);
  const number = (readJson(new URL('bank.json', directory)) as { number?: unknown } | null)?.number;
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0)
    throw new BankFileFault(['bank.json must hold a whole number named "number".']);
  return { files: { number, items, passages, shares: domainShares }, faults };
}

/**
 * Reads the files of a bank.
 * @throws BankFileFault with all faults
 */
export function readBankFiles(directory: URL = itemsDirectory): BankFiles {
  const { files, faults } = scanBankFiles(directory);
  if (faults.length > 0) throw new BankFileFault(faults.map(({ id, fault }) => `${id}: ${fault}`));
  return files;
}
