import { type Draw, type QuestionTexts, template, type Template } from './templates/question.ts';
import { entry1 } from './templates/entry1.ts';
import { entry2 } from './templates/entry2.ts';
import { entry3 } from './templates/entry3.ts';
import { level1 } from './templates/level1.ts';
import { level2 } from './templates/level2.ts';
import { level3 } from './templates/level3.ts';
import entry1Texts from './templates/entry1.json' with { type: 'json' };
import entry2Texts from './templates/entry2.json' with { type: 'json' };
import entry3Texts from './templates/entry3.json' with { type: 'json' };
import level1Texts from './templates/level1.json' with { type: 'json' };
import level2Texts from './templates/level2.json' with { type: 'json' };
import level3Texts from './templates/level3.json' with { type: 'json' };

const draws: Record<string, Draw> = { ...entry1, ...entry2, ...entry3, ...level1, ...level2, ...level3 };
const texts: Record<string, QuestionTexts> = {
  ...entry1Texts,
  ...entry2Texts,
  ...entry3Texts,
  ...level1Texts,
  ...level2Texts,
  ...level3Texts,
};

export const templates: ReadonlyMap<string, Template> = new Map(
  Object.entries(draws).map(([id, draw]) => [id, template(id, draw, texts[id]!)]),
);
