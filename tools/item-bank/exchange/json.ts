import type { JsonFault } from '../../../src/platform/formats/json.ts';
import { parseJson } from '../../../src/platform/formats/json.ts';
import type { BankFiles } from '../../../src/engine/item-bank/load.ts';
import type { Item, Passage } from '../../../src/engine/item-bank/schema.ts';

/** The content of an exchange file in any format. The importer validates the items. */
export type Exchanged = {
  items: Item[];
  passages: Passage[];
  rejected?: Rejection[];
  /** Parts of the file that were left out, because they are no part of a question. */
  notes?: { file?: string; id: string; note: string }[];
};

/** The reason why an entry is rejected, with its ID and, for several files, the name of its file. */
export type Rejection = { file?: string; id: string; reason: string };

/** The file that contained the entry. */
export const fileOf = new WeakMap<object, string>();

/** The file is not in the named format. */
export class ExchangeFault extends Error {}

/** One item or passage cannot be imported. The others can. */
export class EntryFault extends ExchangeFault {}

const format = 'assessment-item-bank';

/** Writes the bank as one JSON document. */
export function toJson(files: BankFiles): string {
  return `${JSON.stringify({ format, format_version: 1, bank_number: files.number, items: files.items, passages: files.passages }, null, 1)}\n`;
}

/** Reads a JSON document with items and passages, or an array of items. */
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
