import type { Static, TSchema } from 'typebox';
import { levels, type Subject, subjects } from '../scoring/levels.ts';
import { Type } from '../../platform/validation/type.ts';

/**
 * The schemas of the item bank's data files: `items/<subject>/<level>.json` (arrays of items) and
 * `items/english/passages.json` (an array of passages). `items/README.md` explains the fields for writers.
 */

const closed = { additionalProperties: false };
const object = <T extends Record<string, TSchema>>(properties: T) => Type.Object(properties, closed);
const oneOf = <const T extends readonly string[]>(names: T) => Type.Unsafe<T[number]>(Type.Enum([...names]));

export const domainsOf = {
  digital: ['devices_information', 'creating_editing', 'communicating', 'transacting', 'safe_online'],
  english: ['reading', 'spelling', 'punctuation', 'grammar', 'writing'],
  maths: ['number', 'measures_shape', 'data'],
} as const satisfies Record<Subject, readonly string[]>;
export type Domain = (typeof domainsOf)[Subject][number];
/** The names of domains in results, from the standards. */
export const domainNames: Record<Domain, string> = {
  devices_information: 'Using devices and handling information',
  creating_editing: 'Creating and editing',
  communicating: 'Communicating',
  transacting: 'Transacting',
  safe_online: 'Being safe and responsible online',
  reading: 'Reading',
  spelling: 'Spelling',
  punctuation: 'Punctuation',
  grammar: 'Grammar',
  writing: 'Writing composition',
  number: 'Number and the number system',
  measures_shape: 'Common measures, shape and space',
  data: 'Handling information and data',
};
const domains = [...domainsOf.digital, ...domainsOf.english, ...domainsOf.maths] as const;

/**
 * Groups of skills, coarser than statements and finer than domains. Delivery balances them, so that a sitting has
 * questions of many kinds. The order is that of reports.
 */
export const skillGroupsOf = {
  devices_information: ['devices_apps', 'finding_information', 'files_storage', 'solving_problems'],
  creating_editing: ['documents', 'media', 'numerical_data'],
  communicating: ['messages_calls', 'sharing', 'traces'],
  transacting: ['online_services', 'buying_paying'],
  safe_online: ['privacy', 'security', 'responsible', 'wellbeing'],
  reading: ['detail', 'purpose', 'inference', 'language', 'reference'],
  spelling: ['common_words', 'word_building', 'confusable_words', 'alphabet'],
  punctuation: ['sentence_marks', 'capitals', 'commas', 'apostrophes', 'other_marks'],
  grammar: ['verbs', 'agreement', 'words_and_pronouns', 'sentences'],
  writing: ['purpose_and_reader', 'structure', 'content', 'cohesion'],
  number: ['whole_numbers', 'fractions_decimals', 'percentages_ratio', 'algebra'],
  measures_shape: ['money', 'time', 'units_scales', 'shape_space', 'perimeter_area_volume'],
  data: ['tables_charts', 'averages_spread', 'probability', 'conclusions'],
} as const satisfies Record<Domain, readonly string[]>;
const skillGroups = Object.values(skillGroupsOf).flat();

export const Text = Type.String({ minLength: 1, maxLength: 2000, pattern: '\\S' });
const ShortId = Type.String({ pattern: '^[a-z0-9_]{1,24}$' });
export const ItemId = Type.String({ pattern: '^(dig|eng|mat)-(e|e1|e2|e3|l1|l2|l3)-[a-z]{2,8}-[0-9]{3}$' });
export const PassageId = Type.String({ pattern: '^pas-(e1|e2|e3|l1|l2|l3)-[a-z0-9-]{2,30}$' });

export const StatementId = Type.String({
  pattern: '^(dig|eng|mat)-(e|e1|e2|e3|l1|l2|l3)-([0-9]{2}|[0-9]\\.[0-9][a-z]?|x[0-9])$',
});

/** `cells` are further columns, in the order of the field's `columns`. */
const Option = object({ id: ShortId, text: Text, cells: Type.Optional(Type.Array(Type.String({ maxLength: 200 }))) });
const Options = Type.Array(Option, { minItems: 2, maxItems: 30 });
export type Option = Static<typeof Option>;

// ---- figures: data that the renderer turns into a table or a picture with the same facts in text ----

const Point = object({ label: Text, value: Type.Number() });
export const Figure = Type.Union([
  object({
    kind: Type.Literal('table'),
    caption: Text,
    header: Type.Array(Type.String(), { minItems: 1 }),
    rows: Type.Array(Type.Array(Type.String()), { minItems: 1 }),
  }),
  object({ kind: Type.Literal('notice'), caption: Text, lines: Type.Array(Type.String(), { minItems: 1 }) }),
  object({
    kind: oneOf(['bar_chart', 'line_graph', 'pie_chart', 'pictogram']),
    caption: Text,
    x_label: Type.Optional(Text),
    y_label: Type.Optional(Text),
    unit: Type.Optional(Type.String()),
    per_symbol: Type.Optional(Type.Number()),
    points: Type.Array(Point, { minItems: 2, maxItems: 16 }),
  }),
  object({
    kind: Type.Literal('diagram'),
    caption: Text,
    description: Text,
    lines: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  }),
]);
export type Figure = Static<typeof Figure>;

// ---- keys ----

/**
 * `value` and `tolerance` are text, so that they stay exact: a decimal (`12.50`), a fraction (`3/4`) or a mixed number
 * (`1 3/4`). A response is right if |response − value| ≤ tolerance (default 0).
 */
export const NumericKey = object({
  value: Type.String({ pattern: '^-?([0-9]+(\\.[0-9]+)?|[0-9]+/[0-9]+|[0-9]+ [0-9]+/[0-9]+)$' }),
  tolerance: Type.Optional(Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?$' })),
  /** Names of the unit of `value` that may be typed after the number, or before it for £ and $. */
  units: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 24 }))),
  /** True if the question asks for the unit, so that a number alone is wrong. */
  unit_required: Type.Optional(Type.Boolean()),
  /** The form of the number, if the question asks for one. */
  form: Type.Optional(oneOf(['any', 'fraction_simplest', 'decimal', 'whole'])),
  /** The most decimal places, if the question asks for rounding. */
  decimals: Type.Optional(Type.Integer({ minimum: 0, maximum: 6 })),
});
export type NumericKey = Static<typeof NumericKey>;

/**
 * The kind of a typed text. `exact`, the default, is compared letter for letter, for example if spelling is measured.
 * Other kinds are compared by meaning: `words` by content without slips of spelling, a time by the minute, a date by
 * the day, a telephone number by its digits, a formula by its values.
 */
export const textKinds = [
  'exact',
  'words',
  'time',
  'date',
  'phone',
  'email',
  'address',
  'code',
  'web_address',
  'pages',
  'coordinates',
  'formula',
] as const;

/** The right texts. A full stop at the end, quotes around the text and extra spaces make no difference. */
export const TextKey = object({
  accept: Type.Array(Text, { minItems: 1, maxItems: 40 }),
  kind: Type.Optional(oneOf(textKinds)),
  case_sensitive: Type.Optional(Type.Boolean()),
  /** True if spaces have no meaning, as in a postcode. */
  ignore_spaces: Type.Optional(Type.Boolean()),
  /** True if a full stop at the end makes no difference although the accepted text has one. */
  ignore_final_stop: Type.Optional(Type.Boolean()),
  /** For a time: `12` if am or pm is measured, `24` if the 24-hour clock is measured. */
  clock: Type.Optional(oneOf(['any', '12', '24'])),
  /** For a date: `digits` if the box asks for DD/MM/YYYY. */
  date_form: Type.Optional(oneOf(['any', 'digits'])),
  /** For a formula: its cell, the direction of copies, and whether it has to call a function. */
  cell: Type.Optional(Type.String({ pattern: '^[A-Z]{1,2}[0-9]{1,3}$' })),
  copied: Type.Optional(oneOf(['none', 'down'])),
  uses_function: Type.Optional(Type.Boolean()),
});
export type TextKey = Static<typeof TextKey>;

// ---- what every item has ----

const common = {
  id: ItemId,
  subject: oneOf(subjects),
  level: oneOf(levels),
  domain: oneOf(domains),
  /** The skill in a few words, such as "Recognise and use HTTPS". */
  skill: Text,
  /** The statement of the subject content: an ID of `standards/<subject>.json`. */
  statement: Type.Optional(StatementId),
  /** One of the groups of `skillGroupsOf` for the item's domain. */
  skill_group: Type.Optional(oneOf(skillGroups)),
  /** `retired`: not given any more, but kept because stored results and open sittings have its ID. */
  state: Type.Optional(oneOf(['live', 'retired'])),
  /** Discrimination, logistic metric (D = 1), capped at 1.3 until calibrated on real answers. */
  a: Type.Number({ minimum: 0.3, maximum: 1.3 }),
  /** Difficulty, on the scale of θ. */
  b: Type.Number({ minimum: -4, maximum: 4 }),
  /** Pseudo-guessing: the chance that a blind answer is right (4 decimals), 0 if it is below 0.02. */
  c: Type.Number({ minimum: 0, maximum: 0.5 }),
  calibration: oneOf(['provisional', 'calibrated']),
  /** IDs of items that must not be in the same sitting, because one helps with the other. Symmetric. */
  enemies: Type.Array(ItemId, { uniqueItems: true }),
  /** Maths only: whether the learner may use a calculator. */
  calculator: Type.Optional(Type.Boolean()),
  /** Whether reading the item aloud does not give away the answer. */
  read_aloud: Type.Boolean(),
};

const content = {
  /** Paragraphs in the bank's markup. The last one asks the question. */
  stem: Type.Array(Text, { minItems: 1, maxItems: 8 }),
  passage: Type.Optional(PassageId),
  figure: Type.Optional(Figure),
  /** Why the key is right: a worked solution in maths. */
  rationale: Text,
  /** The error behind each wrong response. Every wrong option has one. */
  distractor_rationales: Type.Record(Type.String(), Text),
};

const singleChoice = { options: Type.Array(Option, { minItems: 3, maxItems: 6 }), key: ShortId };
const multipleChoice = {
  options: Type.Array(Option, { minItems: 4, maxItems: 8 }),
  key: Type.Array(ShortId, { minItems: 2, maxItems: 6, uniqueItems: true }),
};
const numeric = {
  /** Text before and after the box, such as £ or cm. */
  prefix: Type.Optional(Type.String({ maxLength: 8 })),
  suffix: Type.Optional(Type.String({ maxLength: 24 })),
  key: NumericKey,
};
const shortText = {
  /** The box's width in characters. It is the same for all answers of a kind, because it hints at the length. */
  width: Type.Optional(Type.Integer({ minimum: 2, maximum: 60 })),
  key: TextKey,
};
const ordering = {
  options: Type.Array(Option, { minItems: 3, maxItems: 7 }),
  key: Type.Array(ShortId, { minItems: 3, maxItems: 7, uniqueItems: true }),
};
const matching = {
  left: Type.Array(Option, { minItems: 3, maxItems: 7 }),
  right: Type.Array(Option, { minItems: 3, maxItems: 9 }),
  key: Type.Record(ShortId, ShortId),
};

/** Labelled boxes on a 100 × 60 board, or words in a text. Pages also show a list for the keyboard. */
const Surface = Type.Union([
  object({
    kind: Type.Literal('picture'),
    description: Text,
    spots: Type.Array(
      object({
        id: ShortId,
        label: Text,
        x: Type.Number({ minimum: 0, maximum: 100 }),
        y: Type.Number({ minimum: 0, maximum: 60 }),
        width: Type.Number({ minimum: 4, maximum: 100 }),
        height: Type.Number({ minimum: 4, maximum: 60 }),
      }),
      { minItems: 4, maxItems: 12 },
    ),
  }),
  /** Paragraphs with spots as `[[id|words]]`. */
  object({ kind: Type.Literal('text'), lines: Type.Array(Text, { minItems: 1, maxItems: 12 }) }),
]);
const hotspot = { surface: Surface, key: Type.Array(ShortId, { minItems: 1, maxItems: 5, uniqueItems: true }) };

// ---- tasks: a small simulated screen, which is a plain form ----

export const taskKinds = [
  'mail_form',
  'file_list',
  'browser_bar',
  'settings_page',
  'message_thread',
  'web_form',
  'document_editor',
  'spreadsheet',
] as const;

const fieldCommon = { id: ShortId, label: Text, hint: Type.Optional(Text) };
export const TaskField = Type.Union([
  /** `buttons` are radio buttons that look like buttons of the simulated program. */
  object({
    ...fieldCommon,
    control: oneOf(['radios', 'select', 'buttons']),
    options: Options,
    columns: Type.Optional(Type.Array(Text)),
    initial: Type.Optional(ShortId),
  }),
  object({
    ...fieldCommon,
    control: Type.Literal('checkboxes'),
    options: Type.Array(Option, { minItems: 1, maxItems: 30 }),
    columns: Type.Optional(Type.Array(Text)),
    initial: Type.Optional(Type.Array(ShortId)),
  }),
  object({
    ...fieldCommon,
    control: Type.Literal('text'),
    width: Type.Optional(Type.Integer({ minimum: 2, maximum: 60 })),
    initial: Type.Optional(Type.String({ maxLength: 200 })),
  }),
]);
export type TaskField = Static<typeof TaskField>;

/** The parts of the screen in order. Each field has exactly one `field` block. */
export const TaskBlock = Type.Union([
  object({ block: Type.Literal('heading'), text: Text }),
  object({ block: Type.Literal('text'), text: Text }),
  object({
    block: Type.Literal('address_bar'),
    address: Text,
    padlock: oneOf(['closed', 'open', 'none']),
    tabs: Type.Optional(Type.Array(Text)),
  }),
  object({ block: Type.Literal('details'), rows: Type.Array(object({ name: Text, value: Text }), { minItems: 1 }) }),
  object({
    block: Type.Literal('message'),
    from: Text,
    when: Type.Optional(Text),
    lines: Type.Array(Text, { minItems: 1 }),
  }),
  object({ block: Type.Literal('document'), lines: Type.Array(Text, { minItems: 1 }) }),
  object({ block: Type.Literal('pop_up'), heading: Text, text: Text }),
  object({ block: Type.Literal('sheet'), caption: Text, rows: Type.Array(Type.Array(Type.String()), { minItems: 1 }) }),
  object({
    block: Type.Literal('table'),
    caption: Text,
    header: Type.Array(Type.String()),
    rows: Type.Array(Type.Array(Type.String()), { minItems: 1 }),
  }),
  object({ block: Type.Literal('field'), field: ShortId }),
]);
export type TaskBlock = Static<typeof TaskBlock>;

/**
 * The right value of each field: an option's ID (radios, select, buttons), a list of IDs (checkboxes; `[]` for none),
 * `{accept: […]}` or `{value: …}` (text). Fields without a key may have any value. All or nothing.
 */
const TaskKey = Type.Record(
  ShortId,
  Type.Union([ShortId, Type.Array(ShortId, { uniqueItems: true }), TextKey, NumericKey]),
);

const task = {
  kind: oneOf(taskKinds),
  /** The simulated program's name, generic, such as "Email". */
  title: Text,
  screen: Type.Array(TaskBlock, { minItems: 1, maxItems: 30 }),
  fields: Type.Array(TaskField, { minItems: 1, maxItems: 12 }),
  key: TaskKey,
};

/** The part of each type that pages show and `mark` marks. */
export const renderedForms = {
  single_choice: object({ type: Type.Literal('single_choice'), ...content, ...singleChoice }),
  multiple_choice: object({ type: Type.Literal('multiple_choice'), ...content, ...multipleChoice }),
  numeric: object({ type: Type.Literal('numeric'), ...content, ...numeric }),
  short_text: object({ type: Type.Literal('short_text'), ...content, ...shortText }),
  ordering: object({ type: Type.Literal('ordering'), ...content, ...ordering }),
  matching: object({ type: Type.Literal('matching'), ...content, ...matching }),
  hotspot: object({ type: Type.Literal('hotspot'), ...content, ...hotspot }),
  task: object({ type: Type.Literal('task'), ...content, ...task }),
};

/** A question as templates make it and sittings store it. */
export type RenderedItem = {
  [K in keyof typeof renderedForms]: Static<(typeof renderedForms)[K]>;
}[keyof typeof renderedForms];

const written = <T extends Record<string, TSchema>>(form: { properties: T }) =>
  object({ ...common, ...form.properties });

export const TemplateItem = object({
  ...common,
  type: Type.Literal('template'),
  /** An ID of `templates.ts`. */
  template: Type.String({ pattern: '^[a-z0-9_]{3,48}$' }),
  /** The type of the template's questions. */
  renders: oneOf(['single_choice', 'numeric', 'short_text', 'ordering', 'matching']),
  rationale: Text,
});
export type TemplateItem = Static<typeof TemplateItem>;

/** The shape of each type of item. */
export const itemForms = {
  single_choice: written(renderedForms.single_choice),
  multiple_choice: written(renderedForms.multiple_choice),
  numeric: written(renderedForms.numeric),
  short_text: written(renderedForms.short_text),
  ordering: written(renderedForms.ordering),
  matching: written(renderedForms.matching),
  hotspot: written(renderedForms.hotspot),
  task: written(renderedForms.task),
  template: TemplateItem,
};

export type Item = { [K in keyof typeof itemForms]: Static<(typeof itemForms)[K]> }[keyof typeof itemForms];

/** The response type of an item. */
export function shownType(item: Item): ShownType {
  return item.type === 'template' ? item.renders : item.type;
}
export type ShownType = RenderedItem['type'];

/** A text that several reading items share. */
export const Passage = object({
  id: PassageId,
  level: oneOf(levels),
  title: Text,
  /** For example "email", "notice", "article". Shown above the text. */
  genre: Text,
  /** Paragraphs in the bank's markup. */
  paragraphs: Type.Array(Text, { minItems: 1, maxItems: 20 }),
});
export type Passage = Static<typeof Passage>;
