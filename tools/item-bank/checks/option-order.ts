import type { Option, RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { isInOrder, movable, textOf } from '../../../src/engine/item-bank/option-order.ts';
import { error } from './finding.ts';
import type { CheckedBank, Finding } from './finding.ts';

/**
 * Learners see options in any order (src/engine/item-bank/option-order.ts). These checks find items whose words or
 * options need their order, although the service does not see it.
 */

const ordinal = '(?:first|second|third|fourth|fifth|sixth|last|next|previous|top|bottom|middle)';
const place = '(?:answers?|options?|choices?)';
const speaksOfPlaces = new RegExp(
  [
    `\\b${ordinal} (?:two |three |\\d )?${place}\\b`,
    `\\b(?:options?|choices?|answers?) (?:above|below|[1-6](?![\\d.,]*\\d)|[B-F])\\b`,
    `\\b(?:all|any|both|each|neither|none|some) of the (?:above|answers above)\\b`,
  ].join('|'),
  'u',
);
/** For example "A and B", as an option of its own. */
const joinsLetters = /^(?:both |neither )?[a-h](?:,? (?:and|or|nor) [a-h])+\.?$/iu;

function* faultsOf(item: RenderedItem): Generator<string> {
  if (item.type !== 'single_choice' && item.type !== 'multiple_choice' && item.type !== 'matching') return;
  if (item.keep_order !== undefined) return;
  const options: readonly Option[] = item.type === 'matching' ? item.right : item.options;
  const { free } = movable(options, undefined);
  if (free.length === 0) return;
  const said = [...item.stem, ...options.map(textOf), item.rationale, ...Object.values(item.distractor_rationales)];
  if (said.some((text) => speaksOfPlaces.test(text)) || options.some((one) => joinsLetters.test(textOf(one))))
    yield 'speaks of the places of its options, which are shuffled: set keep_order to true, or name no place';
  if (item.type === 'matching') return;
  const others = free.map((left) => free.filter((one) => one !== left).map(textOf));
  if (others.some((texts, at) => texts.length >= 3 && !/\d/u.test(textOf(free[at]!)) && isInOrder(texts)))
    yield 'has one option without a place among the others, which are in order: set keep_order to true or false';
}

export const optionOrderFindings = (bank: CheckedBank): Finding[] =>
  bank.shown.flatMap(({ item, rendered }) =>
    [...faultsOf(rendered)].map((fault) => error('option order', item.id, fault)),
  );
