import type { Static } from 'typebox';
import { levels } from '../../src/engine/scoring/levels.ts';
import { StatementId, Text } from '../../src/engine/item-bank/schema.ts';
import { schemas, Type } from '../../src/platform/validation/type.ts';
import digital from './standards/digital.json' with { type: 'json' };
import english from './standards/english.json' with { type: 'json' };
import maths from './standards/maths.json' with { type: 'json' };

/** The means that a statement needs and that questions of text and simple figures lack. */
export const needs = {
  speech: 'speaking and listening',
  picture: 'pictures',
  drawing: 'drawing',
  instruments: 'measuring instruments',
} as const;

/**
 * A statement in our words: of the Functional Skills subject content (DfE 2018), or of the national standards for
 * essential digital skills (DfE 2019). `reference`: its number there. `extension`: our own statement above the
 * standards.
 */
const Statement = Type.Object(
  {
    id: StatementId,
    level: Type.Unsafe<(typeof levels)[number]>(Type.Enum([...levels])),
    reference: Text,
    text: Text,
    /** About things to be seen, such as clocks, scales or graphs. Only items that draw them count. */
    visual: Type.Optional(Type.Boolean()),
    /** Present if the statement cannot be tested yet. */
    needs: Type.Optional(Type.Unsafe<keyof typeof needs>(Type.Enum(Object.keys(needs)))),
  },
  { additionalProperties: false },
);
export type Statement = Static<typeof Statement>;

function sound(list: readonly unknown[]): Statement[] {
  const shape = schemas().Compile(Statement);
  return list.map((value) => {
    if (!shape.Check(value)) throw new TypeError(`This is no statement: ${JSON.stringify(value)}`);
    return value as Statement;
  });
}

/** All statements by ID, in the order of the standards. */
export const statements: ReadonlyMap<string, Statement> = new Map(
  [digital, english, maths].flatMap(sound).map((statement) => [statement.id, statement]),
);
