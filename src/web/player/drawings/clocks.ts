import { html } from '../../../platform/html/html.ts';
import type { DrawingOf } from '../../../engine/item-bank/drawings.ts';
import { type Drawn, arranged, line, many, onCircle, text } from './parts.ts';

type Clock = DrawingOf<'clocks'>['clocks'][number];

export function clocks(figure: DrawingOf<'clocks'>): Drawn {
  const panels = figure.clocks.map((clock) => ({ ...face(clock), name: clock.name }));
  return arranged(panels, Math.min(2, panels.length));
}

function face({ hour, minute }: Clock): Drawn {
  const at = (radius: number, turn: number) => onCircle(104, 104, radius, turn);
  const marks = Array.from({ length: 60 }, (_, mark) => {
    const inner = at(mark % 5 === 0 ? 88 : 93, mark / 60);
    const outer = at(98, mark / 60);
    return line(inner.x, inner.y, outer.x, outer.y, mark % 5 === 0 ? 'base' : 'fine');
  });
  const numbers = Array.from({ length: 12 }, (_, number) => {
    const place = at(76, (number + 1) / 12);
    return text(place.x, place.y + 6, String(number + 1), 17);
  });
  const short = at(42, ((hour % 12) + minute / 60) / 12);
  const long = at(minute % 5 === 0 ? 66 : 84, minute / 60);
  return {
    width: 208,
    height: 208,
    words: `${shortHand(hour, minute)} ${longHand(minute)}`,
    body: html`<circle cx="104" cy="104" r="100" class="outline"/>${marks}${numbers}${line(104, 104, short.x, short.y, 'hand hour')}${line(104, 104, long.x, long.y, 'hand')}<circle cx="104" cy="104" r="6" class="solid"/>`,
  };
}

/** The words say where the hands point, and never the time. */
const shortHand = (hour: number, minute: number): string =>
  `The short hand points ${minute === 0 ? `to ${hour}` : `between ${hour} and ${(hour % 12) + 1}`}.`;

function longHand(minute: number): string {
  const number = Math.floor(minute / 5) || 12;
  const past = minute % 5;
  return `The long hand points ${past === 0 ? '' : `${many(past, 'small mark')} past `}${past === 0 ? `to ${number}` : number}.`;
}
