import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { loadBank, renderItem } from '../../../src/engine/item-bank/load.ts';
import { BankFileFault } from '../files.ts';
import type { Bank } from '../../../src/engine/item-bank/load.ts';
import type { Answer } from '../../../src/engine/item-bank/mark.ts';
import type { Verdict } from '../verdict.ts';
import { fieldNames } from '../../../src/engine/item-bank/mark.ts';
import { verdictOn, verdictOnField } from '../verdict.ts';
import type { RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { command, Failure } from '../../../cli/kit/command.ts';
import { terminal } from '../../../cli/kit/terminal.ts';

/** One line of input: an answer to an item, or to one field of a task. `seed`: the seed of a template item. */
type Line = {
  item: string;
  field?: string;
  answer: Typed | Record<string, Typed | Typed[]>;
  seed?: Typed;
};
/** Accepts numbers as answers, because programs also write these files. */
type Typed = string | number;

const isTyped = (value: unknown): value is Typed => typeof value === 'string' || typeof value === 'number';

function readLine(text: string): Line | string {
  let value: Partial<Line> | null;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, '')) as Partial<Line> | null;
  } catch {
    return 'is not JSON';
  }
  if (value === null || typeof value !== 'object' || typeof value.item !== 'string') return 'has no item';
  if (value.field !== undefined && typeof value.field !== 'string') return 'has a field that is no text';
  if (!isTyped(value.seed ?? '1')) return 'has a seed that is no text';
  const { answer } = value;
  const isObject = answer !== null && typeof answer === 'object' && !Array.isArray(answer);
  if (!isTyped(answer) && !isObject) return 'has no answer: a text, or an object of field → text';
  if (isObject && !Object.values(answer).flat().every(isTyped))
    return 'has an answer with something that is neither a text nor a list of texts';
  return value as Line;
}

const typed = (answer: Typed | Typed[]): string | string[] =>
  Array.isArray(answer) ? answer.map(String) : String(answer);

/**
 * Accepts the form's field names. For fields of a task, options of an ordering and left sides of a matching, the ID
 * alone is enough.
 */
function formAnswer(item: RenderedItem, answer: Line['answer']): Answer {
  if (typeof answer !== 'object') return { [fieldNames.answer]: typed(answer) };
  const named = { task: fieldNames.task, ordering: fieldNames.position, matching: fieldNames.match } as const;
  const name = Object.hasOwn(named, item.type) ? named[item.type as keyof typeof named] : (id: string) => id;
  return Object.fromEntries(Object.entries(answer).map(([id, value]) => [name(id), typed(value)]));
}

/** @throws Failure where the line names no item or field */
function verdictFor(bank: Bank, line: Line): Verdict {
  const found = bank.item(line.item);
  if (found === undefined) throw new Failure(`There is no item ${line.item}.`);
  const item = renderItem(found, String(line.seed ?? '1'));
  if (line.field === undefined) return verdictOn(item, formAnswer(item, line.answer));
  const answer = typeof line.answer === 'object' ? line.answer[line.field] : line.answer;
  if (!isTyped(answer)) throw new Failure('An answer to one field is a text.');
  const verdict = verdictOnField(item, line.field, String(answer));
  if (verdict === null) throw new Failure(`${line.item} has no field ${line.field}.`);
  return verdict;
}

/** The lines that cannot be marked, each with a sentence. */
const maxTold = 20;

export const markBank = command({
  name: 'bank mark',
  summary: 'Mark answers of a file',
  notes: 'Each line is {item, field?, answer}. The command prints the line with its verdict.',
  examples: ['answers.ndjson', '- < answers.ndjson'],
  environment: {},
  takes: 'FILE|-',
  async run(call) {
    const [file] = call.positionals as [string];
    const bank = loadBank();
    const counts: Record<Verdict, number> = { right: 0, wrong: 0, 'ask again': 0 };
    const source = file === '-' ? terminal().input : createReadStream(file);
    const failed = new Promise<never>((_, reject) => {
      source.once('error', () => reject(new Failure(`${file} cannot be read.`)));
    });
    let number = 0;
    const faults: string[] = [];
    const work = async () => {
      for await (const text of createInterface({ input: source, crlfDelay: Infinity })) {
        number++;
        if (text.trim() === '') continue;
        try {
          const line = readLine(text);
          if (typeof line === 'string') throw new Failure(`it ${line}.`);
          const verdict = verdictFor(bank, line);
          counts[verdict]++;
          terminal().output.write(`${JSON.stringify({ ...line, verdict })}\n`);
        } catch (error) {
          // A faulty line is reported, and the other lines are marked.
          if (!(error instanceof Failure)) throw error;
          faults.push(`Line ${number}: ${error.message}`);
        }
      }
    };
    try {
      await Promise.race([work(), failed]);
    } catch (error) {
      if (error instanceof BankFileFault) throw new Failure(error.message);
      throw error;
    }
    const more = faults.length > maxTold ? ` And ${faults.length - maxTold} lines more.` : '';
    if (faults.length > 0)
      throw new Failure(`${faults.slice(0, maxTold).join(' ')}${more} All other lines are marked.`);
    return { json: counts, text: '' };
  },
});
