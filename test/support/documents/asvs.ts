import list from '../../../docs/data/asvs.json' with { type: 'json' };

/** The parts of docs/trust/asvs.md that are made from docs/data/asvs.json. */

export const states = ['met', 'open', 'operator', 'not applicable'] as const;
type State = (typeof states)[number];

/** `evidence`: the test or file that answers a requirement. `reason`: why no file answers it. */
type Requirement = { level: 1 | 2; state: State; evidence?: string; reason?: string };

export const requirements = Object.entries(list.requirements as Record<string, Requirement>);

type Table = (head: string[], rows: string[][]) => string;

const inChapter = (chapter: string) => requirements.filter(([id]) => id.startsWith(`${chapter}.`));

export function asvsCounts(table: Table): string {
  const row = (name: string, some: typeof requirements) => [
    name,
    ...states.map((state) => String(some.filter(([, one]) => one.state === state).length)),
  ];
  return table(
    ['Chapter', 'Met', 'Open', 'Operator', 'Not applicable'],
    [
      ...Object.entries(list.chapters).map(([id, name]) => row(`${id} ${name}`, inChapter(id))),
      row(`All ${requirements.length}`, requirements),
    ],
  );
}

export const asvsOpen = (table: Table): string =>
  table(
    ['Requirement', 'What is open'],
    requirements.filter(([, { state }]) => state === 'open').map(([id, { reason }]) => [id, `${reason}.`]),
  );

export const asvsAll = (table: Table): string =>
  table(
    ['Requirement', 'Level', 'State', 'Test, file or reason'],
    requirements.map(([id, { level, state, evidence, reason }]) => [
      id,
      String(level),
      state,
      evidence === undefined ? `${reason}.` : `\`${evidence}\``,
    ]),
  );
