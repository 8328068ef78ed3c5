import { importsOf, sources } from './source-tree.ts';

/**
 * The picture of the architecture, made from the imports: a box for each folder, above everything that it imports. An
 * arrow that follows from two others is left out.
 */

type Graph = Map<string, Set<string>>;

/** Files at the top of src that put the service together. */
const roof =
  /^src\/(main|open-app|pages|probes|figures|operations|housekeeping|upgrade|restamp|digest|redaction|service-secret|warm-up)\.ts$/;
/** What stands on its own at the top of src and is used everywhere: one box. */
const ground = 'clock · random · settings · limits · errors · fields · personal data · secrets · log';

/** The box that a file belongs to. */
export function roomOf(file: string): string {
  if (file.startsWith('cli/')) return 'cli';
  const folder = /^src\/(\w+)\//.exec(file)?.[1];
  if (folder !== undefined) return folder;
  if (file === 'src/platform/app.ts') return 'app';
  return roof.test(file) ? 'main' : ground;
}

/** Rooms and the rooms that they import, types included. */
async function roomGraph(): Promise<Graph> {
  const files = [...(await sources('src')), ...(await sources('cli'))];
  const graph: Graph = new Map();
  for (const file of files) {
    const from = roomOf(file);
    const targets = graph.get(from) ?? new Set<string>();
    graph.set(from, targets);
    for (const { to } of importsOf(file)) {
      if (/^(src|cli)\//.test(to) && roomOf(to) !== from) targets.add(roomOf(to));
    }
  }
  return graph;
}

/** How many boxes stand below at most: the row of a box, counted from the ground, which has its row for itself. */
function rowOf(graph: Graph, room: string, above: string[] = []): number {
  if (room === ground) return 0;
  const way = [...above, room];
  if (above.includes(room)) throw new Error(`Folders import one another: ${way.join(' → ')}. Remove one import.`);
  return Math.max(0, ...[...graph.get(room)!].map((below) => rowOf(graph, below, way))) + 1;
}

function reaches(graph: Graph, from: string, to: string): boolean {
  return [...graph.get(from)!].some((next) => next === to || reaches(graph, next, to));
}

/** A box, or the place in a row where an arrow passes between its boxes. */
type Place = { room: string | null; width: number; x: number; row: number; above: Place[]; below: Place[] };

const [width, margin, boxHeight, rowHeight] = [960, 12, 32, 72];
const fontSize = 14;

/** Rows from the ground up, each in an order that keeps arrows short; an arrow over several rows has a place in each. */
function rowsOf(graph: Graph): Place[][] {
  const rows: Place[][] = [];
  const put = (room: string | null, row: number): Place => {
    const textWidth = room === null ? 0 : room.length * fontSize * 0.56 + 22;
    const place = { room, width: room === ground ? width - 2 * margin : textWidth, x: 0, row, above: [], below: [] };
    (rows[row] ??= []).push(place);
    return place;
  };
  const boxes = new Map([...graph.keys()].sort().map((room) => [room, put(room, rowOf(graph, room))]));
  for (const [from, targets] of graph) {
    for (const to of targets) {
      if ([...targets].some((other) => other !== to && reaches(graph, other, to))) continue;
      let at = boxes.get(from)!;
      const end = boxes.get(to)!;
      while (at !== end) {
        const next = at.row === end.row + 1 ? end : put(null, at.row - 1);
        at.below.push(next);
        next.above.push(at);
        at = next;
      }
    }
  }
  return rows;
}

/** Spreads a row over the width in the order of its places. */
function spread(row: Place[]): void {
  const gap = (width - row.reduce((sum, place) => sum + place.width, 0)) / (row.length + 1);
  let x = gap;
  for (const place of row) {
    place.x = x + place.width / 2;
    x += place.width + gap;
  }
}

const mean = (places: Place[], otherwise: number): number =>
  places.length === 0 ? otherwise : places.reduce((sum, place) => sum + place.x, 0) / places.length;

/** Orders each row by what its places are joined to, downwards and upwards in turn. */
function order(rows: Place[][]): void {
  for (const row of rows) spread(row);
  for (let sweep = 0; sweep < 24; sweep++) {
    const side = sweep % 2 === 0 ? 'below' : 'above';
    for (const row of side === 'below' ? rows : rows.toReversed()) {
      const wanted = new Map(row.map((place) => [place, mean(place[side], place.x)]));
      row.sort((a, b) => wanted.get(a)! - wanted.get(b)!);
      spread(row);
    }
  }
}

/** Where the places of a row are when each that is too close to the one before is pushed on, in a direction. */
function apartFrom(row: Place[], direction: 1 | -1): number[] {
  let least = -Infinity;
  return row.map((place) => {
    const x = Math.max(place.x * direction, least + place.width / 2);
    least = x + place.width / 2 + 22;
    return x * direction;
  });
}

/** Moves the places of each row, in their order, towards what they are joined to: arrows become straighter. */
function straighten(rows: Place[][]): void {
  for (let round = 0; round < 200; round++) {
    for (const row of rows) {
      for (const place of row) {
        const joined = [...place.above, ...place.below].filter((one) => one.room !== ground);
        place.x = (place.x + mean(joined, place.x)) / 2;
      }
      // Pushed apart from the left and from the right, and the mean of both: neither side is preferred.
      const ahead = apartFrom(row, 1);
      const back = apartFrom(row.toReversed(), -1).toReversed();
      row.forEach((place, i) => {
        place.x = (ahead[i]! + back[i]!) / 2;
      });
    }
  }
  const places = rows.slice(1).flat();
  const left = Math.min(...places.map((place) => place.x - place.width / 2));
  const right = Math.max(...places.map((place) => place.x + place.width / 2));
  const scale = (width - 2 * margin) / (right - left);
  for (const place of places) place.x = margin + (place.x - left) * scale;
  for (const place of rows[0]!) place.x = width / 2;
}

const round = (value: number): number => Math.round(value);

export async function architecturePicture(): Promise<string> {
  const graph = await roomGraph();
  const rows = rowsOf(graph);
  order(rows);
  straighten(rows);
  const height = rows.length * rowHeight - (rowHeight - boxHeight) + 2 * margin;
  const topOf = (place: Place) => margin + (rows.length - 1 - place.row) * rowHeight;
  const places = rows.flat();
  const line = (from: Place, to: Place): string => {
    // The ground is as wide as the picture: arrows fall straight onto it.
    const x2 = round(to.room === ground ? from.x : to.x);
    const [x1, y1, y2] = [round(from.x), topOf(from) + (from.room === null ? boxHeight / 2 : boxHeight), topOf(to)];
    const bend = round((y1 + y2) / 2);
    return to.room === null
      ? `M${x1} ${y1}C${x1} ${bend} ${x2} ${bend} ${x2} ${y2}v${boxHeight / 2}`
      : `M${x1} ${y1}C${x1} ${bend} ${x2} ${bend} ${x2} ${y2 - 2}m-4 -7 4 7 4 -7`;
  };
  const arrows = places.flatMap((from) => from.below.map((to) => `<path d="${line(from, to)}"/>`));
  const boxes = places.flatMap((place) => {
    if (place.room === null) return [];
    const [x, y] = [round(place.x), topOf(place)];
    const box = `x="${round(place.x - place.width / 2)}" y="${y}" width="${round(place.width)}" height="${boxHeight}"`;
    return [
      `<rect ${box} rx="4" class="box"/>`,
      `<text x="${x}" y="${y + 21}" text-anchor="middle">${place.room}</text>`,
    ];
  });
  const says = [...graph.keys()]
    .sort()
    .map((room) => `${room} imports ${[...graph.get(room)!].sort().join(', ') || 'nothing'}.`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`,
    ` role="img" aria-labelledby="t d" font-family="system-ui, sans-serif" font-size="${fontSize}">`,
    '<title id="t">Folders of the service, each above what it imports</title>',
    `<desc id="d">${says.join(' ')}</desc>`,
    // Colours follow the reader's scheme, wherever the picture is shown.
    '<style>text{fill:#1b1f23}.paper{fill:#fff}.box{fill:#ddeaf8;stroke:#0a58a8}.lines{stroke:#6e7781;fill:none}',
    '@media screen and (prefers-color-scheme:dark){text{fill:#e6e9ec}.paper{fill:#14191d}.box{fill:#1f4460;stroke:#86bdf5}}</style>',
    `<rect class="paper" width="${width}" height="${height}"/>`,
    '<g class="lines">',
    ...arrows,
    '</g>',
    ...boxes,
    '</svg>',
    '',
  ].join('\n');
}
