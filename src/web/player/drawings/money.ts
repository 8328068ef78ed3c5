import { type Markup, html } from '../../../platform/html/html.ts';
import type { DrawingOf } from '../../../engine/item-bank/drawings.ts';
import { type Drawn, arranged, fullWidth, onCircle, polygon, round, text } from './parts.ts';

type Group = DrawingOf<'money'>['groups'][number];
type Piece = Group['pieces'][number];

type Look = { width: number; edge: 'round' | 'seven' | 'twelve' | 'note'; metal: string; inner?: string };

/** Coins have their real proportions. */
const looks: Record<Piece, Look> = {
  '1p': { width: 50, edge: 'round', metal: 'copper' },
  '2p': { width: 62, edge: 'round', metal: 'copper' },
  '5p': { width: 46, edge: 'round', metal: 'silver' },
  '10p': { width: 60, edge: 'round', metal: 'silver' },
  '20p': { width: 53, edge: 'seven', metal: 'silver' },
  '50p': { width: 67, edge: 'seven', metal: 'silver' },
  '£1': { width: 58, edge: 'twelve', metal: 'gold', inner: 'silver' },
  '£2': { width: 70, edge: 'round', metal: 'gold', inner: 'silver' },
  '£5': { width: 104, edge: 'note', metal: 'note-5' },
  '£10': { width: 110, edge: 'note', metal: 'note-10' },
  '£20': { width: 116, edge: 'note', metal: 'note-20' },
  '£50': { width: 122, edge: 'note', metal: 'note-50' },
};

const number = (piece: Piece): string => piece.replace(/[£p]/u, '');
const coinWords = (piece: Piece): string =>
  piece.endsWith('p') ? (piece === '1p' ? 'penny' : 'pence') : piece === '£1' ? 'pound' : 'pounds';

export function money(figure: DrawingOf<'money'>): Drawn {
  const piles = figure.groups.map((group) => ({ ...pile(group.pieces), name: group.name }));
  const isNarrow = piles.every(({ width }) => width <= fullWidth / piles.length - 8);
  return arranged(piles, isNarrow ? piles.length : 1);
}

const gap = 6;
const heightOf = (piece: Piece): number => (looks[piece].edge === 'note' ? 58 : looks[piece].width);

/** Lays the pieces in rows from left to right, in the order of the item. */
function pile(pieces: readonly Piece[]): Drawn {
  const rows: Piece[][] = [];
  let room = 0;
  for (const piece of pieces) {
    const { width } = looks[piece];
    if (room < width) {
      rows.push([]);
      room = fullWidth - 8;
    }
    rows.at(-1)!.push(piece);
    room -= width + gap;
  }
  const widthOf = (row: readonly Piece[]) => row.reduce((sum, piece) => sum + looks[piece].width + gap, -gap);
  const width = Math.max(...rows.map(widthOf));
  let top = 3;
  const body = rows.map((row) => {
    const height = Math.max(...row.map(heightOf));
    let left = (width - widthOf(row)) / 2;
    const drawn = row.map((piece) => {
      const middle = left + looks[piece].width / 2;
      left += looks[piece].width + gap;
      return drawPiece(piece, middle, top + height / 2);
    });
    top += height + gap;
    return drawn;
  });
  return { width, height: top, body: html`${body}`, words: pileWords(pieces) };
}

function drawPiece(piece: Piece, x: number, y: number): Markup {
  const { width, edge, metal, inner } = looks[piece];
  const words = html`<g class="minted">${text(x, y + 4, number(piece), edge === 'note' ? 22 : width > 52 ? 20 : 18)}${text(x, y + 15, coinWords(piece), width > 52 ? 11 : 9.5)}</g>`;
  if (edge === 'note')
    return html`<rect x="${x - width / 2}" y="${y - 29}" width="${width}" height="58" rx="4" class="coin ${metal}"/><rect x="${x - width / 2 + 5}" y="${y - 24}" width="${width - 10}" height="48" rx="2" class="rim"/><circle cx="${x + width / 2 - 20}" cy="${y}" r="11" class="rim"/>
<g class="minted">${text(x - 8, y + 4, `£${number(piece)}`, 22)}${text(x - 8, y + 17, coinWords(piece), 11)}</g>`;
  return html`${outline(edge, x, y, width / 2, `coin ${metal}`)}${
    inner === undefined
      ? outline(edge, x, y, width / 2 - 3, 'rim')
      : html`<circle cx="${x}" cy="${y}" r="${round(width * 0.36)}" class="coin ${inner}"/>`
  }${words}`;
}

function outline(edge: Look['edge'], x: number, y: number, radius: number, className: string): Markup {
  if (edge === 'round') return html`<circle cx="${x}" cy="${y}" r="${radius}" class="${className}"/>`;
  const corners = (count: number, shift: number) =>
    Array.from({ length: count }, (_, at) => onCircle(x, y, radius, (at + shift) / count));
  if (edge === 'twelve') return polygon(corners(12, 0.5), className);
  // A 20p or 50p coin has seven curved sides. Each is an arc around the opposite corner.
  const [first, ...others] = corners(7, 0);
  const arc = round(radius * 1.95);
  const sides = [...others, first!].map((to) => ` A${arc} ${arc} 0 0 1 ${to.x} ${to.y}`).join('');
  return html`<path d="M${first!.x} ${first!.y}${sides} Z" class="${className}"/>`;
}

/** The words name each piece, because counting and adding is the task. */
const pileWords = (pieces: readonly Piece[]): string =>
  `${pieces.map((piece) => `${piece} ${looks[piece].edge === 'note' ? 'note' : 'coin'}`).join(', ')}.`;
