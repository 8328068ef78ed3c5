import type { JsonFault } from '../../../src/platform/formats/json.ts';
import { parseJson } from '../../../src/platform/formats/json.ts';
import type { BankFiles } from '../../../src/engine/item-bank/load.ts';
import type { Item, Passage } from '../../../src/engine/item-bank/schema.ts';

/** What any exchange format holds. Shapes are validated by the importer, not by the format. */
export type Exchanged = {
  items: Item[];
  passages: Passage[];
  rejected?: Rejection[];
  /** What of a file is no part of its question, and was left out. */
  notes?: { file?: string; id: string; note: string }[];
};

/** Why an entry isn't taken: its id in its file, and the file where there are several. */
export type Rejection = { file?: string; id: string; reason: string };

/** From which file an entry was read. */
export const fileOf = new WeakMap<object, string>();

/** The file can't be read as the format that it is said to be. */
export class ExchangeFault extends Error {}

/** One item or passage of a file can't be taken; the others can. */
export class EntryFault extends ExchangeFault {}

const format = 'assessment-item-bank';

/** The bank as one JSON document. */
export function toJson(files: BankFiles): string {
  return `${JSON.stringify({ format, format_version: 1, bank_number: files.number, items: files.items, passages: files.passages }, null, 1)}\n`;
}

/** Reads such a document; a bare array of items will do too. */
export function fromJson(text: string): Exchanged {
  let value: unknown;
  try {
    value = parseJson(text.replace(/^\ufeff/u, ''));
  } catch (cause) {
    throw new ExchangeFault(`The file ${(cause as JsonFault).detail}`);
  }
  if (Array.isArray(value)) return { items: value as Item[], passages: [] };
  const document = value as { format?: unknown; items?: unknown; passages?: unknown } | null;
  if (document?.format !== format || !Array.isArray(document.items) || !Array.isArray(document.passages)) {
    throw new ExchangeFault(`The file is neither an array of items nor a document of the format ${format}.`);
  }
  return { items: document.items as Item[], passages: document.passages as Passage[] };
}
