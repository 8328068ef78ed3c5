import type { Static, TSchema } from 'typebox';
import { levels, type Subject, subjects } from '../scoring/levels.ts';
import { Type } from '../../platform/validation/type.ts';
import { drawings } from './drawings.ts';

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
/** The domain names that results show. They come from the standards. */
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
/** What evidence packs call the type of a question. */
export const formatNames: Record<RenderedItem['type'], string> = {
  single_choice: 'Choose one',
  multiple_choice: 'Choose several',
  numeric: 'Number',
  short_text: 'Short text',
  ordering: 'Put in order',
  matching: 'Match',
  hotspot: 'Select in a picture or text',
  task: 'Task on a screen',
};
const domains = [...domainsOf.digital, ...domainsOf.english, ...domainsOf.maths] as const;

/**
 * Groups of skills within a domain. Delivery balances the groups, so that a sitting has questions of many kinds.
 * Reports list the groups in this order.
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

/** `cells`: the texts of the further columns, in the order of the field's `columns`. */
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
    kind: oneOf(['bar_chart', 'line_graph', 'pie_chart', 'pictogram', 'tally_chart']),
    caption: Text,
    x_label: Type.Optional(Text),
    y_label: Type.Optional(Text),
    unit: Type.Optional(Type.String()),
    per_symbol: Type.Optional(Type.Number()),
    /** The number of equal parts that marks around a pie chart show. */
    marks: Type.Optional(Type.Integer({ minimum: 2, maximum: 24 })),
    points: Type.Array(Point, { minItems: 2, maxItems: 16 }),
  }),
  object({
    kind: Type.Literal('diagram'),
    caption: Text,
    description: Text,
    lines: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  }),
  ...drawings,
]);
export type Figure = Static<typeof Figure>;

/**
 * `value` and `tolerance` are texts, so that they stay exact: a decimal (`12.50`), a fraction (`3/4`) or a mixed number
 * (`1 3/4`). An answer is right if |answer − value| ≤ tolerance (default 0).
 */
export const NumericKey = object({
  value: Type.String({ pattern: '^-?([0-9]+(\\.[0-9]+)?|[0-9]+/[0-9]+|[0-9]+ [0-9]+/[0-9]+)$' }),
  tolerance: Type.Optional(Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?$' })),
  /** Spellings of the unit that learners may type after the number. £ and $ may also precede the number. */
  units: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 24 }))),
  unit_required: Type.Optional(Type.Boolean()),
  form: Type.Optional(oneOf(['any', 'fraction_simplest', 'decimal', 'whole'])),
  /** The highest number of decimal places that is accepted, if the question asks for rounding. */
  decimals: Type.Optional(Type.Integer({ minimum: 0, maximum: 6 })),
});
export type NumericKey = Static<typeof NumericKey>;

/**
 * How a typed text is compared. `exact`, the default: letter for letter, for example if spelling is measured. Other
 * kinds are compared by meaning: `words` by content without slips of spelling, a time by the minute, a date by the day,
 * a telephone number by its digits, a formula by its values.
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

/** The accepted texts. Quotes around the answer and extra spaces make no difference. */
export const TextKey = object({
  accept: Type.Array(Text, { minItems: 1, maxItems: 40 }),
  kind: Type.Optional(oneOf(textKinds)),
  case_sensitive: Type.Optional(Type.Boolean()),
  ignore_spaces: Type.Optional(Type.Boolean()),
  ignore_final_stop: Type.Optional(Type.Boolean()),
  /** For a time: `12` requires am or pm, `24` requires the 24-hour clock. */
  clock: Type.Optional(oneOf(['any', '12', '24'])),
  /** For a date: `digits` if the box asks for DD/MM/YYYY. */
  date_form: Type.Optional(oneOf(['any', 'digits'])),
  /**
   * For a formula: the cell that contains it, the direction in which it is copied, and whether it must call a function.
   */
  cell: Type.Optional(Type.String({ pattern: '^[A-Z]{1,2}[0-9]{1,3}$' })),
  copied: Type.Optional(oneOf(['none', 'down'])),
  uses_function: Type.Optional(Type.Boolean()),
});
export type TextKey = Static<typeof TextKey>;

/** A higher discrimination that was only judged would flatter the simulation. */
export const maxProvisionalA = 1.3;

const common = {
  id: ItemId,
  subject: oneOf(subjects),
  level: oneOf(levels),
  domain: oneOf(domains),
  skill: Text,
  /** The ID of a subject content statement in `standards/<subject>.json`. */
  statement: Type.Optional(StatementId),
  /** One of the groups of `skillGroupsOf` for the item's domain. */
  skill_group: Type.Optional(oneOf(skillGroups)),
  /**
   * `pilot`: learners get the item, but it is not scored. `retired`: the item is no longer selected, but stored results
   * and open sittings refer to its ID.
   */
  state: Type.Optional(oneOf(['live', 'pilot', 'retired'])),
  /** Discrimination in the logistic metric (D = 1). Provisional items have at most `maxProvisionalA`. */
  a: Type.Number({ minimum: 0.3, maximum: 3 }),
  /** Difficulty, on the scale of θ. */
  b: Type.Number({ minimum: -4, maximum: 4 }),
  /** Pseudo-guessing: the chance that a blind guess is right, to 4 decimals. A chance below 0.02 is stored as 0. */
  c: Type.Number({ minimum: 0, maximum: 0.5 }),
  calibration: oneOf(['provisional', 'calibrated']),
  /**
   * IDs of items that a sitting must not combine with this item, because one helps to answer the other. Both items list
   * each other.
   */
  enemies: Type.Array(ItemId, { uniqueItems: true }),
  calculator: Type.Optional(Type.Boolean()),
  /** Whether the item may be read aloud. False if hearing the item gives the answer away. */
  read_aloud: Type.Boolean(),
};

const content = {
  /** Paragraphs in the bank's markup. The last one asks the question. */
  stem: Type.Array(Text, { minItems: 1, maxItems: 8 }),
  passage: Type.Optional(PassageId),
  figure: Type.Optional(Figure),
  /** Explains why the key is right. In maths this is a worked solution. */
  rationale: Text,
  /** By wrong answer, the error that leads to it. Every wrong option must have an entry. */
  distractor_rationales: Type.Record(Type.String(), Text),
};

/** True: learners see the options in this order. False: shuffled. Missing: shuffled, unless the texts show an order. */
const ordered = { keep_order: Type.Optional(Type.Boolean()) };

const singleChoice = { ...ordered, options: Type.Array(Option, { minItems: 3, maxItems: 6 }), key: ShortId };
const multipleChoice = {
  ...ordered,
  options: Type.Array(Option, { minItems: 4, maxItems: 8 }),
  key: Type.Array(ShortId, { minItems: 2, maxItems: 6, uniqueItems: true }),
};
const numeric = {
  prefix: Type.Optional(Type.String({ maxLength: 8 })),
  suffix: Type.Optional(Type.String({ maxLength: 24 })),
  key: NumericKey,
};
const shortText = {
  /**
   * The width of the box in characters. Answers of one kind have the same width, because the width hints at the
   * answer's length.
   */
  width: Type.Optional(Type.Integer({ minimum: 2, maximum: 60 })),
  key: TextKey,
};
const ordering = {
  options: Type.Array(Option, { minItems: 3, maxItems: 7 }),
  key: Type.Array(ShortId, { minItems: 3, maxItems: 7, uniqueItems: true }),
};
const matching = {
  ...ordered,
  left: Type.Array(Option, { minItems: 3, maxItems: 7 }),
  right: Type.Array(Option, { minItems: 3, maxItems: 9 }),
  key: Type.Record(ShortId, ShortId),
};

/**
 * Labelled boxes on a 100 × 60 board, or words in a text. Pages also list the spots, so that a keyboard can select
 * them.
 */
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
 * `{accept: […]}` or `{value: …}` (text). Fields without a key may have any value. A task is right only if every field
 * is right.
 */
const TaskKey = Type.Record(
  ShortId,
  Type.Union([ShortId, Type.Array(ShortId, { uniqueItems: true }), TextKey, NumericKey]),
);

const task = {
  kind: oneOf(taskKinds),
  title: Text,
  screen: Type.Array(TaskBlock, { minItems: 1, maxItems: 30 }),
  fields: Type.Array(TaskField, { minItems: 1, maxItems: 12 }),
  key: TaskKey,
};

/** By question type, the members that pages show and `mark` reads. */
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

/** A question in the form that templates produce and sittings store. */
export type RenderedItem = {
  [K in keyof typeof renderedForms]: Static<(typeof renderedForms)[K]>;
}[keyof typeof renderedForms];

const written = <T extends Record<string, TSchema>>(form: { properties: T }) =>
  object({ ...common, ...form.properties });

export const TemplateItem = object({
  ...common,
  type: Type.Literal('template'),
  /** The ID of a template in `templates.ts`. */
  template: Type.String({ pattern: '^[a-z0-9_]{3,48}$' }),
  renders: oneOf(['single_choice', 'numeric', 'short_text', 'ordering', 'matching']),
  rationale: Text,
});
export type TemplateItem = Static<typeof TemplateItem>;

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

export function shownType(item: Item): ShownType {
  return item.type === 'template' ? item.renders : item.type;
}
export type ShownType = RenderedItem['type'];

export const Passage = object({
  id: PassageId,
  level: oneOf(levels),
  title: Text,
  /** The kind of text, such as "email", "notice" or "article". The page shows it above the text. */
  genre: Text,
  paragraphs: Type.Array(Text, { minItems: 1, maxItems: 20 }),
});
export type Passage = Static<typeof Passage>;
