import { sources } from './source-tree.ts';

/**
 * The picture of the architecture: the rooms of src, one on another in the order in which they may import, each with
 * the folders inside it. `cli` and `main.ts` stand on top.
 */

/** The rooms of src from the ground up: a file imports from its own room and from those before it. */
export const rooms = [
  'platform',
  'engine',
  'feed',
  'organisations',
  'records',
  'sittings',
  'integrations',
  'api',
  'governance',
  'sandbox',
  'web',
  'server',
];

const [width, margin, rowHeight, gap] = [960, 12, 44, 8];

/** The folders inside a room, and files that stand beside them. */
async function insideOf(room: string): Promise<string[]> {
  const parts = (await sources(`src/${room}`)).map((file) => file.split('/'));
  return [...new Set(parts.filter((path) => path.length > 3).map((path) => path[2]!))];
}

export async function architecturePicture(): Promise<string> {
  const rows = [
    { name: 'cli, main.ts', holds: ['commands', 'kit', 'supervisor'] },
    ...(await Promise.all(rooms.toReversed().map(async (name) => ({ name, holds: await insideOf(name) })))),
  ];
  const height = rows.length * (rowHeight + gap) - gap + 2 * margin;
  const boxes = rows.flatMap(({ name, holds }, i) => {
    const y = margin + i * (rowHeight + gap);
    return [
      `<rect x="${margin}" y="${y}" width="${width - 2 * margin}" height="${rowHeight}" rx="4" class="box"/>`,
      `<text x="${margin + 14}" y="${y + 27}" font-weight="bold">${name}</text>`,
      `<text x="${margin + 160}" y="${y + 27}" font-size="13">${holds.join(' · ')}</text>`,
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`,
    ' role="img" aria-labelledby="t d" font-family="system-ui, sans-serif" font-size="15">',
    '<title id="t">Rooms of the service, each above what it may import</title>',
    `<desc id="d">From the top: ${rows.map(({ name, holds }) => `${name} (${holds.join(', ')})`).join('; ')}.</desc>`,
    // Colours follow the reader's scheme, wherever the picture is shown.
    '<style>text{fill:#1b1f23}.paper{fill:#fff}.box{fill:#ddeaf8;stroke:#0a58a8}',
    '@media screen and (prefers-color-scheme:dark){text{fill:#e6e9ec}.paper{fill:#14191d}.box{fill:#1f4460;stroke:#86bdf5}}</style>',
    `<rect class="paper" width="${width}" height="${height}"/>`,
    ...boxes,
    '</svg>',
    '',
  ].join('\n');
}
