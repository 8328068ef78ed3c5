import type { PlanePart, Shapes } from '../../../src/engine/item-bank/drawn-shapes.ts';
import { plainText } from '../../../src/engine/item-bank/markup.ts';
import type { RenderModel } from '../../../src/engine/item-bank/render-model.ts';
import { hasIcon } from '../../../src/web/player/drawings/shapes/icon.ts';

/** Faults of drawn shapes: a picture that does not exist, or letters that the options do not match. */
export function* shapesFaults({ caption, panels }: Shapes, { fields }: Pick<RenderModel, 'fields'>): Generator<string> {
  for (const { shape } of panels) {
    const names = shape.draw === 'icon' ? [shape.name] : shape.draw === 'plane' ? iconsOf(shape.parts) : [];
    for (const name of names) if (!hasIcon(name)) yield `“${caption}” shows ${name}, and there is no such picture`;
  }
  const letters = panels.flatMap(({ letter }) => letter ?? []);
  if (letters.join('') !== 'ABCDEFGHIJKL'.slice(0, letters.length))
    yield `the letters of “${caption}” are not A, B, C and so on`;
  // Options and labels such as “C” and “Picture C” name a drawing.
  const texts = fields.flatMap(({ label, options }) => [plainText(label), ...options.map(({ text }) => text)]);
  const named = texts.flatMap((text) => /^(?:\p{Lu}\p{Ll}+ )?([A-Z])$/u.exec(text)?.[1] ?? []);
  const shown = new Set([
    ...letters,
    ...panels.flatMap(({ shape }) => (shape.draw === 'plane' ? textsOf(shape.parts) : [])),
  ]);
  for (const letter of new Set(named))
    if (!shown.has(letter)) yield `the question names ${letter}, which “${caption}” does not show`;
}

function iconsOf(parts: readonly PlanePart[]): string[] {
  return parts.flatMap((part) => (part.part === 'icon' ? [part.name] : []));
}

function textsOf(parts: readonly PlanePart[]): string[] {
  return parts.flatMap((part) => ('text' in part && part.text !== undefined ? [part.text] : []));
}
