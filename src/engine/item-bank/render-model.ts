import { fieldNames } from './mark.ts';
import { type Block, type Inline, parseBlocks, parseInline, plainText } from './markup.ts';
import type { Domain, Figure, Item, Option, Passage, RenderedItem, TaskBlock, TaskField } from './schema.ts';
import type { Level, Subject } from '../scoring/levels.ts';

/**
 * An item as the player, the checks and the exports read it: parsed text and form fields, without key or rationale. A
 * page that shows all parts and submits all fields by name can deliver any item.
 */
export type RenderModel = {
  id: string;
  subject: Subject;
  level: Level;
  domain: Domain;
  type: RenderedItem['type'];
  /** Whether the learner may use a calculator. Null outside maths. */
  calculator: boolean | null;
  readAloud: boolean;
  passage: { id: string; title: string; genre: string; blocks: Block[] } | null;
  stem: Block[];
  figure: Figure | null;
  /** The simulated screen of a task. Each `field` part marks the position of the field with that name. */
  task: { kind: string; title: string; screen: ScreenPart[] } | null;
  /** The picture or text of a hotspot. The item's field lists the same spots, so that a keyboard can select them. */
  surface:
    | {
        kind: 'picture';
        description: string;
        spots: { id: string; label: string; x: number; y: number; width: number; height: number }[];
      }
    | { kind: 'text'; lines: Inline[][] }
    | null;
  fields: Field[];
};

export type FieldOption = { value: string; label: Inline[]; text: string; cells: string[] };

/**
 * One form control, or one group such as radio buttons. `label` is the accessible name, which the page may show as a
 * legend.
 */
export type Field = {
  name: string;
  control: 'radios' | 'checkboxes' | 'buttons' | 'select' | 'text';
  label: Inline[];
  hint: string | null;
  options: FieldOption[];
  /** Column headings, beginning with the heading of the option itself. Empty if the options have no columns. */
  columns: string[];
  initial: string | string[] | null;
  /** The number of options to choose. Null if the question doesn't say a number. */
  choose: number | null;
  /** Only for text: the keyboard, the width in characters, and the text around the box. Spelling help is always off. */
  input: { mode: 'text' | 'decimal'; width: number; prefix: string | null; suffix: string | null } | null;
};

export type ScreenPart =
  | { part: 'heading'; inline: Inline[] }
  | { part: 'text'; inline: Inline[] }
  | { part: 'address_bar'; address: string; padlock: 'closed' | 'open' | 'none'; tabs: string[] }
  | { part: 'details'; rows: { name: string; value: Inline[] }[] }
  | { part: 'message'; from: string; when: string | null; blocks: Block[] }
  | { part: 'document'; blocks: Block[] }
  | { part: 'pop_up'; heading: Inline[]; inline: Inline[] }
  | { part: 'sheet'; caption: string; columns: string[]; rows: { number: number; cells: string[] }[] }
  | { part: 'table'; caption: string; header: string[]; rows: string[][] }
  | { part: 'field'; name: string };

/** Column names of a spreadsheet: A … Z, AA, AB … */
export function columnName(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26));
  return index < 26 ? letter : columnName(Math.floor(index / 26) - 1) + letter;
}

function screenPart(block: TaskBlock): ScreenPart {
  switch (block.block) {
    case 'heading':
      return { part: 'heading', inline: parseInline(block.text) };
    case 'text':
      return { part: 'text', inline: parseInline(block.text) };
    case 'address_bar':
      return { part: 'address_bar', address: block.address, padlock: block.padlock, tabs: block.tabs ?? [] };
    case 'details':
      return { part: 'details', rows: block.rows.map((row) => ({ name: row.name, value: parseInline(row.value) })) };
    case 'message':
      return { part: 'message', from: block.from, when: block.when ?? null, blocks: parseBlocks(block.lines) };
    case 'document':
      return { part: 'document', blocks: parseBlocks(block.lines) };
    case 'pop_up':
      return { part: 'pop_up', heading: parseInline(block.heading), inline: parseInline(block.text) };
    case 'sheet': {
      const width = Math.max(...block.rows.map((row) => row.length));
      return {
        part: 'sheet',
        caption: block.caption,
        columns: Array.from({ length: width }, (_, at) => columnName(at)),
        rows: block.rows.map((row, at) => ({
          number: at + 1,
          cells: Array.from({ length: width }, (_, column) => row[column] ?? ''),
        })),
      };
    }
    case 'table':
      return { part: 'table', caption: block.caption, header: block.header, rows: block.rows };
    case 'field':
      return { part: 'field', name: fieldNames.task(block.field) };
  }
}

const option = ({ id, text, cells = [] }: Option): FieldOption => {
  const label = parseInline(text);
  return { value: id, label, text: plainText(label), cells };
};

const say = (text: string): Inline[] => [{ kind: 'text', text }];

const bare = {
  hint: null,
  columns: [],
  initial: null,
  choose: null,
  input: null,
  options: [] as FieldOption[],
} satisfies Partial<Field>;

const inputOf = (mode: 'text' | 'decimal', width = 20, prefix: string | null = null, suffix: string | null = null) =>
  ({ mode, width, prefix, suffix }) satisfies Field['input'];

function taskField(field: TaskField): Field {
  const common = {
    ...bare,
    name: fieldNames.task(field.id),
    label: parseInline(field.label),
    hint: field.hint ?? null,
    initial: field.initial ?? null,
  };
  if (field.control === 'text')
    return {
      ...common,
      control: 'text',
      input: inputOf('text', field.width),
    };
  return { ...common, control: field.control, options: field.options.map(option), columns: field.columns ?? [] };
}

function surfaceOf(item: RenderedItem): RenderModel['surface'] {
  if (item.type !== 'hotspot') return null;
  if (item.surface.kind === 'picture') return item.surface;
  return { kind: 'text', lines: item.surface.lines.map(parseInline) };
}

/** Returns the spots of a hotspot in reading order. A repeated word gets a number, so that all labels differ. */
function spotOptions(surface: NonNullable<RenderModel['surface']>): FieldOption[] {
  const spots =
    surface.kind === 'picture'
      ? surface.spots.map((spot) => ({ id: spot.id, text: spot.label }))
      : surface.lines.flat().flatMap((part) => (part.kind === 'spot' ? [{ id: part.id, text: part.text }] : []));
  const all = new Map<string, number>();
  for (const { text } of spots) all.set(text, (all.get(text) ?? 0) + 1);
  const met = new Map<string, number>();
  return spots.map(({ id, text }) => {
    met.set(text, (met.get(text) ?? 0) + 1);
    const shown = all.get(text)! > 1 ? `${text} (${ordinal(met.get(text)!)} in the text)` : text;
    return { value: id, label: say(shown), text: shown, cells: [] };
  });
}

function namesOfSpots(surface: NonNullable<RenderModel['surface']>): [single: string, several: string] {
  if (surface.kind === 'picture') return ['place', 'places'];
  const spots = surface.lines.flat().flatMap((part) => (part.kind === 'spot' ? [part.text.trim()] : []));
  if (spots.every((text) => /^["'‘“(]?[\p{L}'’-]+(?:(?!['’-])\p{P}+)?$/u.test(text))) return ['word', 'words'];
  const isSentence = (text: string) => /^\p{Lu}.*\s.*[.!?]$/u.test(text);
  return spots.every(isSentence) ? ['sentence', 'sentences'] : ['part', 'parts'];
}

function ordinal(n: number): string {
  return ['first', 'second', 'third', 'fourth', 'fifth'][n - 1] ?? `number ${n}`;
}

/** A number pad has no fraction bar and no minus sign, so it is shown only for keys that need neither. */
function numericMode(level: Level, key: string): 'text' | 'decimal' {
  return level.startsWith('entry') && !/[/-]/u.test(key) ? 'decimal' : 'text';
}

export function fieldsOf(item: RenderedItem, level: Level): Field[] {
  const answer = { ...bare, name: fieldNames.answer };
  switch (item.type) {
    case 'single_choice':
      return [
        { ...answer, control: 'radios', label: say('Choose one answer'), options: item.options.map(option), choose: 1 },
      ];
    case 'multiple_choice': {
      const choose = item.key.length;
      const label = say(`Choose ${choose} answers`);
      return [{ ...answer, control: 'checkboxes', label, options: item.options.map(option), choose }];
    }
    case 'numeric': {
      const input = inputOf(numericMode(level, item.key.value), 10, item.prefix, item.suffix);
      return [{ ...answer, control: 'text', label: say('Your answer'), input }];
    }
    case 'short_text':
      return [{ ...answer, control: 'text', label: say('Your answer'), input: inputOf('text', item.width) }];
    case 'ordering': {
      const positions = item.options.map((_, at) => option({ id: String(at + 1), text: String(at + 1) }));
      return item.options.map((one) => ({
        ...bare,
        name: fieldNames.position(one.id),
        control: 'select',
        label: parseInline(one.text),
        hint: 'Position',
        options: positions,
      }));
    }
    case 'matching': {
      const right = item.right.map(option);
      return item.left.map((one) => ({
        ...bare,
        name: fieldNames.match(one.id),
        control: 'select',
        label: parseInline(one.text),
        options: right,
      }));
    }
    case 'hotspot': {
      const surface = surfaceOf(item)!;
      const options = spotOptions(surface);
      const [single, several] = namesOfSpots(surface);
      const choose = item.key.length;
      return choose === 1
        ? [{ ...answer, control: 'radios', label: say(`Choose one ${single}`), options, choose }]
        : [{ ...answer, control: 'checkboxes', label: say(`Choose ${choose} ${several}`), options, choose }];
    }
    case 'task':
      return item.fields.map(taskField);
  }
}

type ItemHead = Pick<Item, 'id' | 'subject' | 'level' | 'domain' | 'calculator' | 'read_aloud'>;

/** @param rendered the item itself, or the question that its template made */
export function renderModel(head: ItemHead, rendered: RenderedItem, passage: Passage | null): RenderModel {
  return {
    id: head.id,
    subject: head.subject,
    level: head.level,
    domain: head.domain,
    type: rendered.type,
    calculator: head.calculator ?? null,
    readAloud: head.read_aloud,
    passage: passage && {
      id: passage.id,
      title: passage.title,
      genre: passage.genre,
      blocks: parseBlocks(passage.paragraphs),
    },
    stem: parseBlocks(rendered.stem),
    figure: rendered.figure ?? null,
    task:
      rendered.type === 'task'
        ? { kind: rendered.kind, title: rendered.title, screen: rendered.screen.map(screenPart) }
        : null,
    surface: surfaceOf(rendered),
    fields: fieldsOf(rendered, head.level),
  };
}
