import { renderItem } from '../../../src/engine/item-bank/load.ts';
import type { BankFiles } from '../../../src/engine/item-bank/load.ts';
import { itemHash } from '../../../src/engine/item-bank/item-hash.ts';
import { fieldNames } from '../../../src/engine/item-bank/mark.ts';
import { verdictOn } from '../verdict.ts';
import type { Answer } from '../../../src/engine/item-bank/mark.ts';
import type { Item, Passage, RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { error, warning } from './finding.ts';
import type { Finding } from './finding.ts';
import { isUsed } from './statements.ts';

/** Whether an item without a reading fails the check. False only while new items wait for a second reader. */
const missingReadingFails = true;

/**
 * The answer of a second reader, who saw the question without its key. `answer` is the ID of an option or spot, a list
 * of IDs (in order, for an ordering), the typed text, or an object: left ID → right ID, or field ID → value.
 */
export type Reading = {
  item: string;
  hash: string;
  /** For a template: the seed of the rendering that was read. */
  seed?: string;
  answer: string | string[] | Record<string, string | string[]>;
  /** The reader's remark; `clear` if there is none. */
  note: string;
};

export type Readings = {
  /** Hashes of items that were checked by a person before readings were recorded. */
  first_edition: Record<string, string>;
  readings: Reading[];
};

/** A template is read at two seeds. */
const seedsRead = ['1', '2'];
const seedsOf = (item: Item): (string | undefined)[] => (item.type === 'template' ? seedsRead : [undefined]);

function formAnswer(item: RenderedItem, answer: Reading['answer']): Answer {
  if (Array.isArray(answer))
    return item.type === 'ordering'
      ? Object.fromEntries(answer.map((id, at) => [fieldNames.position(id), String(at + 1)]))
      : { [fieldNames.answer]: answer };
  if (typeof answer === 'string') return { [fieldNames.answer]: answer };
  const name = item.type === 'matching' ? fieldNames.match : fieldNames.task;
  return Object.fromEntries(Object.entries(answer).map(([id, value]) => [name(id), value]));
}

type Wanted = { item: Item; passage: Passage | null; hash: string; seed: string | undefined };

/** The live items that need a reading: all that have changed since the first edition. */
function wantedReadings(files: Pick<BankFiles, 'items' | 'passages'>, { first_edition: before }: Readings): Wanted[] {
  const passages = new Map(files.passages.map((passage) => [passage.id, passage]));
  return files.items.filter(isUsed).flatMap((item): Wanted[] => {
    const passage = (item.type !== 'template' && passages.get(item.passage ?? '')) || null;
    const hash = itemHash(item, passage);
    return before[item.id] === hash ? [] : seedsOf(item).map((seed) => ({ item, passage, hash, seed }));
  });
}

const isOf = (wanted: Wanted) => (reading: Reading) =>
  reading.item === wanted.item.id && reading.hash === wanted.hash && reading.seed === wanted.seed;

export function readingsFindings(files: Pick<BankFiles, 'items' | 'passages'>, readings: Readings): Finding[] {
  const wanted = wantedReadings(files, readings);
  const missing = wanted.filter((one) => !readings.readings.some(isOf(one)));
  const wrong = wanted.flatMap((one) => {
    const rendered = renderItem(one.item, one.seed ?? '1');
    return readings.readings
      .filter(isOf(one))
      .filter(({ answer }) => verdictOn(rendered, formAnswer(rendered, answer)) !== 'right')
      .map(({ answer, note }) =>
        error(
          'readings',
          one.item.id,
          `a reader answered ${JSON.stringify(answer)}, which the key calls wrong (${note})`,
        ),
      );
  });
  if (missing.length === 0) return wrong;
  const finding = missingReadingFails ? error : warning;
  const named = [...new Set(missing.map(({ item }) => item.id))];
  return [...wrong, finding('readings', null, `${named.length} items wait for a second reader: ${named.join(', ')}`)];
}

/** The form of a recorded answer for each type of question. */
const answerForms: Record<RenderedItem['type'], string> = {
  single_choice: 'the id of one option',
  multiple_choice: 'a list of option ids',
  numeric: 'what you type',
  short_text: 'what you type',
  ordering: 'a list of all option ids, in the right order',
  matching: 'an object: left id → right id',
  hotspot: 'a list of spot ids',
  task: 'an object: field id → an option id, a list of ids (check boxes), or what you type',
};

/** The questions that wait for a reader, as learners see them: without key, reasons, level and parameters. */
export function unread(files: Pick<BankFiles, 'items' | 'passages'>, readings: Readings): object[] {
  return wantedReadings(files, readings)
    .filter((one) => !readings.readings.some(isOf(one)))
    .map(({ item, passage, hash, seed }) => {
      const rendered = renderItem(item, seed ?? '1');
      const { key, rationale, distractor_rationales, ...shown } = rendered;
      const {
        subject,
        level,
        domain,
        skill,
        statement,
        skill_group,
        state,
        a,
        b,
        c,
        calibration,
        enemies,
        ...question
      } = shown as Partial<Item> & typeof shown;
      return {
        item: item.id,
        hash,
        ...(seed !== undefined && { seed }),
        answer_with: answerForms[rendered.type],
        ...(passage && { text: { title: passage.title, genre: passage.genre, paragraphs: passage.paragraphs } }),
        question,
      };
    });
}
