import { comparable } from '../../../src/engine/item-bank/marking/text.ts';
import { shownTexts } from '../../../src/engine/item-bank/reading-load.ts';
import { error, warning } from './finding.ts';
import { isUsed } from './statements.ts';
import type { CheckedBank, Finding } from './finding.ts';

/**
 * The share of common three-word runs above which two questions are near-duplicates, and the share above which a person
 * should compare the questions.
 */
const nearDuplicate = 0.8;
const alike = 0.6;
/** A paragraph that at least this many items share is an instruction, not content. */
const instructionFrom = 3;

function shingles(texts: readonly string[]): Set<string> {
  const words = texts.join(' . ').match(/[\p{L}\p{N}£%/.,:'-]+/gu) ?? [];
  if (words.length < 3) return new Set([words.join(' ')]);
  return new Set(words.slice(0, -2).map((word, at) => `${word} ${words[at + 1]} ${words[at + 2]}`));
}

function similarity(a: Set<string>, b: Set<string>): number {
  let shared = 0;
  for (const entry of a) if (b.has(entry)) shared += 1;
  return shared / (a.size + b.size - shared);
}

/** Finds equal and nearly equal questions. Enemy items may be alike, because no learner gets both. */
export function duplicateFindings(bank: CheckedBank): Finding[] {
  const shown = bank.shown.filter(({ item }) => isUsed(item));
  const texts = shown.map(({ rendered }) => shownTexts(rendered).map((text) => comparable(text)));
  const uses = new Map<string, number>();
  for (const list of texts) for (const text of new Set(list)) uses.set(text, (uses.get(text) ?? 0) + 1);
  const entries = shown.map(({ item }, at) => ({
    item,
    whole: [item.type === 'template' ? item.template : '', ...texts[at]!].join('\u0000'),
    shingles: shingles(texts[at]!.filter((text) => uses.get(text)! < instructionFrom)),
  }));

  const findings: Finding[] = [];
  for (const [at, one] of entries.entries()) {
    for (const other of entries.slice(at + 1)) {
      if (one.item.subject !== other.item.subject) continue;
      const enemies = one.item.enemies.includes(other.item.id);
      if (one.whole === other.whole) {
        findings.push(error('duplicate', other.item.id, `the same question as ${one.item.id}`));
        continue;
      }
      if (enemies || one.shingles.size < 3 || other.shingles.size < 3) continue;
      const share = similarity(one.shingles, other.shingles);
      const message = `${Math.round(share * 100)} % like ${one.item.id}: change one, or make them enemies`;
      if (share >= nearDuplicate) findings.push(error('near-duplicate', other.item.id, message));
      else if (share >= alike) findings.push(warning('near-duplicate', other.item.id, message));
    }
  }
  return findings;
}
