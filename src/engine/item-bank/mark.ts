import type { Figure, NumericKey, RenderedItem, TaskField, TextKey } from './schema.ts';
import { limits } from '../../platform/config/limits.ts';
import { markNumber, type Surroundings } from './marking/numbers/number-answer.ts';
import { markText, type Question, type TextVerdict } from './marking/text-answer.ts';
import { saysNoAnswer } from './marking/talk.ts';
import { comparable, stemOf, wordsOf } from './marking/text.ts';
import { typedText } from './marking/typed.ts';

/** The values of a submitted form by field name. Check boxes submit a list. */
export type Answer = Readonly<Record<string, string | readonly string[]>>;

/**
 * A fault that the learner must correct before the answer counts.
 * `not_a_number`: the text can't be read as a number. `incomplete`: some parts are empty. `repeated`: two parts have
 * the same position. `wrong_count`: the question asks for another number of choices. The others: the time or date isn't
 * written in the form that the question asks for.
 */
export type Problem =
  'not_a_number' | 'incomplete' | 'repeated' | 'wrong_count' | 'am_or_pm' | 'clock_24' | 'time_digits' | 'date_digits';

export type Marked = { answered: boolean; correct: boolean; problem: Problem | null };

export const fieldNames = {
  answer: 'answer',
  position: (optionId: string) => `position_${optionId}`,
  match: (leftId: string) => `match_${leftId}`,
  task: (fieldId: string) => `task_${fieldId}`,
};

function one(answer: Answer, name: string): string {
  const value = Object.hasOwn(answer, name) ? answer[name] : undefined;
  if (typeof value === 'string') return value.slice(0, limits.answerChars);
  return value?.length === 1 ? value[0]!.slice(0, limits.answerChars) : '';
}

const typed = (answer: Answer, name: string): string => typedText(one(answer, name));

function many(answer: Answer, name: string): string[] {
  const value = Object.hasOwn(answer, name) ? answer[name] : undefined;
  const list = typeof value === 'string' ? [value] : [...(value ?? [])];
  return [...new Set(list.filter((entry) => entry !== ''))];
}

const sameSet = (chosen: readonly string[], key: readonly string[]): boolean =>
  chosen.length === key.length && chosen.every((id) => key.includes(id));

const unanswered: Marked = { answered: false, correct: false, problem: null };
const marked = (correct: boolean, problem: Problem | null = null): Marked => ({ answered: true, correct, problem });

function surroundings(item: RenderedItem, beside: readonly string[], label = ''): Surroundings {
  const text = [...item.stem, label].join(' ');
  // A task's text is an instruction, so it has no sentence to complete.
  const sentences = (item.type === 'task' ? [] : item.stem).flatMap((paragraph) => {
    const isQuoted = paragraph.startsWith('> ');
    // Learners have to replace the bold words of a quotation, so those words count as a gap.
    const open = isQuoted ? paragraph.slice(2).replace(/\*\*[^*]+\*\*/u, '____') : paragraph;
    const spoken = paragraph
      .split('”')
      .slice(0, -1)
      .map((part) => part.slice(part.indexOf('“') + 1 || part.length))
      .filter((quoted) => quoted.lastIndexOf('**') >= quoted.indexOf('**') + 3)
      .map((quoted) => quoted.replace(/\*\*[^*]+\*\*/u, '____'));
    return [...(isQuoted || /_{4,}/u.test(open) ? [open] : []), ...spoken].map((one) => one.replace(/[*`]/gu, ''));
  });
  return { beside, text, words: new Set(wordsOf(text).map(stemOf)), sentences };
}

function figureText(figure: Figure): string {
  const { caption } = figure;
  if (figure.kind === 'notice') return [caption, ...figure.lines].join(' ');
  return figure.kind === 'table' ? [caption, ...figure.header, ...figure.rows.flat()].join(' ') : caption;
}

/**
 * The English domains in which a slip of spelling is forgiven. Reading isn't listed, because its keys are compared by
 * meaning.
 */
const slipsForgiven: readonly unknown[] = ['grammar', 'writing'];

function questionOf(item: RenderedItem, label = ''): Question {
  return {
    ...surroundings(item, [], label),
    isForm: item.type === 'task',
    forgivesSlips: item.type === 'short_text' && 'domain' in item && slipsForgiven.includes(item.domain),
    namedWrong: new Set(
      item.type === 'short_text' && 'distractor_rationales' in item
        ? Object.keys(item.distractor_rationales as object).map((wrong) => comparable(wrong))
        : [],
    ),
    screenWords: new Set(item.type === 'task' ? wordsOf(screenText(item)).map(stemOf) : []),
    figureWords: new Set(
      item.type === 'short_text' && item.figure !== undefined ? wordsOf(figureText(item.figure)).map(stemOf) : [],
    ),
    sheet: item.type === 'task' ? (item.screen.find((block) => block.block === 'sheet')?.rows ?? []) : [],
  };
}

function screenText({ screen }: RenderedItem & { type: 'task' }): string {
  return screen
    .flatMap((block) => [
      'text' in block ? block.text : '',
      'heading' in block ? block.heading : '',
      ...('lines' in block ? block.lines : []),
    ])
    .join(' ');
}

function choices(chosen: readonly string[], key: readonly string[]): Marked {
  if (chosen.length === 0) return unanswered;
  return marked(sameSet(chosen, key), chosen.length === key.length ? null : 'wrong_count');
}

function ordering(options: readonly { id: string }[], key: readonly string[], answer: Answer): Marked {
  const positions = options.map((option) => one(answer, fieldNames.position(option.id)));
  const filled = positions.filter((position) => position !== '');
  if (filled.length === 0) return unanswered;
  if (filled.length < options.length) return marked(false, 'incomplete');
  if (new Set(filled).size < filled.length) return marked(false, 'repeated');
  return marked(key.every((id, at) => one(answer, fieldNames.position(id)) === String(at + 1)));
}

function matching(left: readonly { id: string }[], key: Readonly<Record<string, string>>, answer: Answer): Marked {
  const chosen = left.map(({ id }) => one(answer, fieldNames.match(id)));
  const filled = chosen.filter((id) => id !== '').length;
  if (filled === 0) return unanswered;
  if (filled < left.length) return marked(false, 'incomplete');
  return marked(left.every(({ id }, at) => chosen[at] === key[id]));
}

type TaskKeyValue = string | readonly string[] | TextKey | NumericKey;

type FieldVerdict = TextVerdict | 'unreadable' | 'empty';

export function markField(item: RenderedItem, field: TaskField, key: TaskKeyValue, answer: Answer): FieldVerdict {
  const name = fieldNames.task(field.id);
  if (field.control === 'checkboxes') {
    const ticked = many(answer, name);
    if (ticked.length === 0 && Array.isArray(key) && key.length > 0 && field.initial === undefined) return 'empty';
    return Array.isArray(key) && sameSet(ticked, key) ? 'right' : 'wrong';
  }
  const entry = field.control === 'text' ? typed(answer, name) : one(answer, name);
  if (field.control === 'text' ? saysNothing(entry) : entry === '' || asksToChoose(field, entry)) return 'empty';
  if (field.control !== 'text') return entry === key ? 'right' : 'wrong';
  if (typeof key === 'string' || Array.isArray(key)) return 'wrong';
  const label = `${field.label} ${field.hint ?? ''}`;
  const verdict =
    'accept' in key
      ? markText(entry, key, questionOf(item, label))
      : markNumber(entry, key as NumericKey, surroundings(item, [], label));
  return verdict !== 'right' && saysNoAnswer(entry) ? 'empty' : verdict;
}

/** Whether the text has no letter and no digit, such as "?", "..." or an emoji. */
const saysNothing = (text: string): boolean => !/[\p{L}\p{N}]/u.test(text);

/** The problem to report if the answer is right but isn't written in the form that the question asks for. */
function formOf({ kind, clock, accept }: TextKey): Problem {
  if (/^\d+$/u.test(accept[0]!)) return 'not_a_number';
  if (kind === 'date') return 'date_digits';
  if (clock === '12') return 'am_or_pm';
  return clock === '24' ? 'clock_24' : 'time_digits';
}

function asksToChoose(field: TaskField, entry: string): boolean {
  if (field.control !== 'select' || entry !== field.initial) return false;
  return /^Choose\b/u.test(field.options.find(({ id }) => id === entry)?.text ?? '');
}

function markTask(item: RenderedItem & { type: 'task' }, answer: Answer): Marked {
  if (!item.fields.some((field) => changed(field, answer))) return unanswered;
  const verdicts = item.fields.map((field) => {
    const key = Object.hasOwn(item.key, field.id) ? item.key[field.id] : undefined;
    return key === undefined ? 'right' : markField(item, field, key, answer);
  });
  const otherForm = item.fields[verdicts.indexOf('form')];
  const problem = verdicts.includes('empty')
    ? 'incomplete'
    : verdicts.includes('unreadable')
      ? 'not_a_number'
      : otherForm !== undefined
        ? formOf(item.key[otherForm.id] as TextKey)
        : null;
  return marked(
    verdicts.every((verdict) => verdict === 'right'),
    problem,
  );
}

/**
 * Whether the learner changed the field. Fields of a task may begin with a value, so a filled field isn't yet an
 * answer.
 */
function changed(field: TaskField, answer: Answer): boolean {
  const name = fieldNames.task(field.id);
  if (field.control === 'checkboxes') return !sameSet(many(answer, name), [field.initial ?? []].flat());
  if (field.control === 'text') return comparable(typed(answer, name)) !== comparable(field.initial ?? '');
  return one(answer, name) !== '' && one(answer, name) !== (field.initial ?? '');
}

/** Marks an answer as right or wrong, without part marks. The same item and answer always give the same mark. */
export function mark(item: RenderedItem, answer: Answer): Marked {
  switch (item.type) {
    case 'single_choice':
      return choices(many(answer, fieldNames.answer), [item.key]);
    case 'multiple_choice':
    case 'hotspot':
      return choices(many(answer, fieldNames.answer), item.key);
    case 'numeric': {
      const text = typed(answer, fieldNames.answer);
      if (text.trim() === '') return unanswered;
      const around = surroundings(item, [item.prefix ?? '', item.suffix ?? '']);
      // An answer may repeat the words next to its number in a list or table: "Section 4: Repairs".
      const shown = item.figure === undefined ? [] : wordsOf(figureText(item.figure)).map(stemOf);
      const verdict = markNumber(text, item.key, { ...around, words: around.words.union(new Set(shown)) });
      if (verdict !== 'right' && saysNoAnswer(text)) return unanswered;
      return marked(verdict === 'right', verdict === 'unreadable' ? 'not_a_number' : null);
    }
    case 'short_text': {
      const text = typed(answer, fieldNames.answer);
      if (saysNothing(text)) return unanswered;
      const verdict = markText(text, item.key, questionOf(item));
      if (verdict !== 'right' && saysNoAnswer(text)) return unanswered;
      return marked(verdict === 'right', verdict === 'form' ? formOf(item.key) : null);
    }
    case 'ordering':
      return ordering(item.options, item.key, answer);
    case 'matching':
      return matching(item.left, item.key, answer);
    case 'task':
      return markTask(item, answer);
  }
}

/** Returns the right answer as a learner would submit it. */
export function rightAnswer(item: RenderedItem): Answer {
  switch (item.type) {
    case 'single_choice':
      return { [fieldNames.answer]: item.key };
    case 'multiple_choice':
    case 'hotspot':
      return { [fieldNames.answer]: item.key };
    case 'numeric':
      return {
        [fieldNames.answer]: item.key.unit_required ? `${item.key.value} ${item.key.units?.[0] ?? ''}` : item.key.value,
      };
    case 'short_text':
      return { [fieldNames.answer]: item.key.accept[0]! };
    case 'ordering':
      return Object.fromEntries(item.key.map((id, at) => [fieldNames.position(id), String(at + 1)]));
    case 'matching':
      return Object.fromEntries(Object.entries(item.key).map(([left, right]) => [fieldNames.match(left), right]));
    case 'task':
      return Object.fromEntries(
        item.fields.map((field) => {
          const key = Object.hasOwn(item.key, field.id) ? item.key[field.id] : undefined;
          const value =
            key === undefined
              ? (field.initial ?? '')
              : typeof key === 'string' || Array.isArray(key)
                ? key
                : 'accept' in key
                  ? key.accept[0]!
                  : key.value;
          return [fieldNames.task(field.id), value];
        }),
      );
  }
}
