import type { Static, TSchema } from 'typebox';
import { Type } from '../../platform/validation/type.ts';
import { Shapes } from './drawn-shapes.ts';

/** Figures that are drawn by code. Their text alternatives are made from the same data. Only `shapes` has
 * written ones. */

const object = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false });
const oneOf = <const T extends readonly string[]>(names: T) => Type.Unsafe<T[number]>(Type.Enum([...names]));
const Words = Type.String({ minLength: 1, maxLength: 60, pattern: '\\S' });
/** A figure may show several drawings, each with a name below it. */
const named = { name: Type.Optional(Words) };
const caption = Words;
const positive = Type.Number({ exclusiveMinimum: 0 });

const Clock = object({
  ...named,
  hour: Type.Integer({ minimum: 1, maximum: 12 }),
  minute: Type.Integer({ minimum: 0, maximum: 59 }),
});

export const moneyPieces = ['1p', '2p', '5p', '10p', '20p', '50p', '£1', '£2', '£5', '£10', '£20', '£50'] as const;

const scaleLooks = ['dial', 'balance', 'thermometer', 'jug', 'ruler'] as const;
/** A mark stands at each `mark` units, and a number at each `label` units. On a ruler, a thing lies from `start` to `value`. */
const Scale = object({
  ...named,
  look: oneOf(scaleLooks),
  unit: Words,
  from: Type.Number(),
  to: Type.Number(),
  mark: positive,
  label: positive,
  value: Type.Number(),
  start: Type.Optional(Type.Number()),
});

const Axis = object({ title: Words, to: positive, mark: positive, label: positive });
const At = Type.Array(Type.Number({ minimum: 0 }), { minItems: 2, maxItems: 2 });
/** `reads`: the points of the line that a learner reads. They are not drawn, and must lie on the marks of both axes. */
const Graph = object({
  ...named,
  x: Axis,
  y: Axis,
  line: Type.Optional(Type.Array(At, { minItems: 2, maxItems: 2 })),
  dots: Type.Optional(Type.Array(At, { minItems: 3, maxItems: 24 })),
  reads: Type.Optional(Type.Array(At, { minItems: 1 })),
});

const upTo = <T extends TSchema>(maxItems: number, one: T) => Type.Array(one, { minItems: 1, maxItems });

export const drawings = [
  object({ kind: Type.Literal('clocks'), caption, clocks: upTo(4, Clock) }),
  object({
    kind: Type.Literal('money'),
    caption,
    groups: upTo(4, object({ ...named, pieces: upTo(12, oneOf(moneyPieces)) })),
  }),
  object({ kind: Type.Literal('scales'), caption, scales: upTo(3, Scale) }),
  object({ kind: Type.Literal('graphs'), caption, graphs: upTo(4, Graph) }),
  object({
    kind: Type.Literal('counters'),
    caption,
    /** The number of things in each row. */
    rows: upTo(12, Type.Integer({ minimum: 0, maximum: 12 })),
    thing: Words,
  }),
  Shapes,
] as const;

export type Drawing = Static<(typeof drawings)[number]>;
export type DrawingOf<K extends Drawing['kind']> = Extract<Drawing, { kind: K }>;
