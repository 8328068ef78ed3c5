import type { Static, TSchema } from 'typebox';
import { Type } from '../../platform/validation/type.ts';

/**
 * The schemas of drawn shapes, solids, maps and icons. Each family has its drawing function in
 * `src/web/player/drawings/shapes`. A drawing holds measures and positions, and the page makes the picture from them.
 */

const object = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false });
const oneOf = <const T extends readonly string[]>(names: T) => Type.Unsafe<T[number]>(Type.Enum([...names]));
const Text = Type.String({ minLength: 1, maxLength: 300, pattern: '\\S' });
const Pair = Type.Unsafe<[number, number]>(Type.Array(Type.Number(), { minItems: 2, maxItems: 2 }));
const Size = Type.Number({ minimum: 0.1, maximum: 100 });

/** Names of the pictures in `icons.json`. */
const IconName = Type.String({ pattern: '^[a-z_]{2,24}$' });
const look = oneOf(['plain', 'shade', 'dark', 'dashed', 'open']);

const PlanePart = Type.Union([
  /**
   * `lengths` and `equal` are by side, the first from corner 0 to corner 1: a text, and a number of marks for equal
   * sides. `right` lists the corners with a right-angle mark, and `angles` has a text for each corner. `look: "open"`
   * draws a line that does not close.
   */
  object({
    part: Type.Literal('polygon'),
    points: Type.Array(Pair, { minItems: 2, maxItems: 40 }),
    look: Type.Optional(look),
    lengths: Type.Optional(Type.Array(Type.String({ maxLength: 20 }))),
    equal: Type.Optional(Type.Array(Type.Integer({ minimum: 0, maximum: 3 }))),
    right: Type.Optional(Type.Array(Type.Integer({ minimum: 0, maximum: 39 }))),
    angles: Type.Optional(Type.Array(Type.String({ maxLength: 8 }))),
  }),
  object({ part: Type.Literal('circle'), at: Pair, radius: Size, look: Type.Optional(look) }),
  object({ part: Type.Literal('line'), from: Pair, to: Pair, look: oneOf(['plain', 'dashed', 'arrow', 'measure']) }),
  object({ part: Type.Literal('road'), points: Type.Array(Pair, { minItems: 2, maxItems: 12 }) }),
  object({ part: Type.Literal('text'), at: Pair, text: Text, strong: Type.Optional(Type.Boolean()) }),
  object({
    part: Type.Literal('dot'),
    at: Pair,
    text: Type.Optional(Text),
    side: Type.Optional(oneOf(['left', 'right', 'above', 'below'])),
  }),
  object({ part: Type.Literal('icon'), at: Pair, size: Size, name: IconName }),
  object({ part: Type.Literal('north'), at: Pair }),
]);
export type PlanePart = Static<typeof PlanePart>;

/**
 * A flat picture. `size` is its width and height in units, with y down. With `axes`, y goes up and the units are those
 * of the axes. A lettered grid has letters below and numbers on the left, from the bottom.
 */
const Plane = object({
  draw: Type.Literal('plane'),
  size: Type.Optional(Pair),
  axes: Type.Optional(object({ x: Pair, y: Pair })),
  grid: Type.Optional(oneOf(['squares', 'lettered'])),
  parts: Type.Array(PlanePart, { maxItems: 60 }),
});
export type Plane = Static<typeof Plane>;

export const solidNames = [
  'cuboid',
  'cylinder',
  'cone',
  'sphere',
  'square_pyramid',
  'triangular_prism',
  'hexagonal_prism',
  'l_prism',
] as const;

/** A solid with its hidden edges dashed. `size` is width, height and depth, and `lengths` are their labels. */
const Solid = object({
  draw: Type.Literal('solid'),
  solid: oneOf(solidNames),
  size: Type.Array(Size, { minItems: 3, maxItems: 3 }),
  lengths: Type.Optional(Type.Array(Type.String({ maxLength: 20 }), { minItems: 3, maxItems: 3 })),
});
export type Solid = Static<typeof Solid>;

/** Stacks of cubes: the height of each stack, by rows from the back to the front. `front`: marks the front. */
const Cubes = object({
  draw: Type.Literal('cubes'),
  heights: Type.Array(Type.Array(Type.Integer({ minimum: 0, maximum: 5 }), { minItems: 1, maxItems: 6 }), {
    minItems: 1,
    maxItems: 6,
  }),
  front: Type.Optional(Type.Boolean()),
});
export type Cubes = Static<typeof Cubes>;

/** An angle of `size` degrees. Its first arm points `start` degrees anticlockwise from the right. */
const Angle = object({
  draw: Type.Literal('angle'),
  start: Type.Number({ minimum: 0, maximum: 360 }),
  size: Type.Number({ minimum: 1, maximum: 359 }),
  text: Type.Optional(Text),
  protractor: Type.Optional(Type.Boolean()),
});
export type Angle = Static<typeof Angle>;

/** A compass. `named`: the points with a name. `arrow`: where a hand points, in degrees clockwise from north. */
const Compass = object({
  draw: Type.Literal('compass'),
  named: oneOf(['north', 'four', 'eight']),
  arrow: Type.Optional(Type.Number({ minimum: 0, maximum: 359 })),
});
export type Compass = Static<typeof Compass>;

const Icon = object({ draw: Type.Literal('icon'), name: IconName });

export const Shape = Type.Union([Plane, Solid, Cubes, Angle, Compass, Icon]);
export type Shape = Static<typeof Shape>;

/**
 * One or more drawings. `letter` names a drawing that options refer to. `description` is the text alternative: what
 * the drawing shows, without the answer.
 */
export const Shapes = object({
  kind: Type.Literal('shapes'),
  caption: Text,
  columns: Type.Optional(Type.Integer({ minimum: 1, maximum: 4 })),
  panels: Type.Array(
    object({
      letter: Type.Optional(Type.String({ pattern: '^[A-Z]$' })),
      description: Text,
      shape: Shape,
    }),
    { minItems: 1, maxItems: 12 },
  ),
});
export type Shapes = Static<typeof Shapes>;
