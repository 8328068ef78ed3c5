import { type Markup, html } from '../../../platform/html/html.ts';
import type { DrawingOf } from '../../../engine/item-bank/drawings.ts';
import { type Drawn, type Panel, arranged, line, many, onCircle, polygon, round, short, text } from './parts.ts';

type Scale = DrawingOf<'scales'>['scales'][number];

export function scales(figure: DrawingOf<'scales'>): Drawn {
  const panels = figure.scales.map((scale): Panel => ({ ...draw(scale), name: scale.name }));
  const isWide = figure.scales.some(({ look }) => look === 'ruler' || look === 'balance');
  return arranged(panels, isWide ? 1 : panels.length);
}

function draw(scale: Scale): Drawn {
  switch (scale.look) {
    case 'dial':
      return dial(scale);
    case 'balance':
      return balance(scale);
    case 'thermometer':
      return thermometer(scale);
    case 'jug':
      return jug(scale);
    case 'ruler':
      return ruler(scale);
  }
}

type Tick = { at: number; isLabelled: boolean; isHalf: boolean };

const isMultiple = (value: number, step: number): boolean => Math.abs(value / step - Math.round(value / step)) < 1e-6;

/** The marks of a scale. The middle one between two numbers is longer if there is an even number of spaces. */
function ticksOf({ from, to, mark, label }: Scale): Tick[] {
  const hasHalf = label / mark > 2 && isMultiple(label, 2 * mark);
  return Array.from({ length: Math.round((to - from) / mark) + 1 }, (_, step) => {
    const at = round(from + step * mark);
    return { at, isLabelled: isMultiple(at, label), isHalf: hasHalf && isMultiple(at, label / 2) };
  });
}

/** The words say which mark is meant by counting marks, and never its value. */
function scaleWords(scale: Scale, what: string): string {
  const { from, to, mark, label, unit } = scale;
  const between = Math.round(label / mark) - 1;
  return `A scale in ${unit} from ${short(from)} to ${short(to)}, with a number at each ${short(label)} and ${many(between, 'smaller mark')} between numbers. ${what} ${placeWords(scale, scale.value)}.`;
}

function placeWords({ mark, label, from }: Scale, value: number): string {
  const number = Math.max(from, Math.floor(value / label + 1e-6) * label);
  const past = Math.round((value - number) / mark);
  return past === 0 ? `at ${short(number)}` : `${many(past, 'mark')} after ${short(number)}`;
}

function dial(scale: Scale): Drawn {
  const { from, to, unit, value } = scale;
  // The scale leaves a gap at the bottom, so that its ends do not meet.
  const turn = (at: number) => -0.4 + (0.8 * (at - from)) / (to - from);
  const at = (radius: number, place: number) => onCircle(110, 110, radius, turn(place));
  const ticks = ticksOf(scale).map(({ at: place, isLabelled, isHalf }) => {
    const [inner, outer] = [at(isLabelled ? 84 : isHalf ? 89 : 93, place), at(100, place)];
    return line(inner.x, inner.y, outer.x, outer.y, isLabelled ? 'base' : 'fine');
  });
  const numbers = ticksOf(scale)
    .filter(({ isLabelled }) => isLabelled)
    .map(({ at: place }) => {
      const { x, y } = at(68, place);
      return text(x, y + 5, short(place), 14);
    });
  const tip = at(96, value);
  const [left, right] = [at(7, value + (to - from) * 0.3), at(7, value - (to - from) * 0.3)];
  return {
    width: 220,
    height: 220,
    words: scaleWords(scale, 'The pointer of the dial is'),
    body: html`<circle cx="110" cy="110" r="106" class="outline"/>${ticks}${numbers}${text(110, 160, unit, 14)}${polygon([tip, left, right], 'pointer')}<circle cx="110" cy="110" r="8" class="solid"/>`,
  };
}

/** A weighing scale with its numbers in a line and a pointer above it. */
function balance(scale: Scale): Drawn {
  const x = (at: number) => 20 + (268 * (at - scale.from)) / (scale.to - scale.from);
  const { value, unit } = scale;
  return {
    width: 308,
    height: 106,
    words: scaleWords(scale, 'The pointer is'),
    body: html`<rect x="2" y="24" width="304" height="78" rx="6" class="outline"/>${across(scale, x, 36, 1)}${polygon(
      [
        { x: x(value), y: 34 },
        { x: x(value) - 8, y: 6 },
        { x: x(value) + 8, y: 6 },
      ],
      'pointer',
    )}${text(154, 95, unit, 13)}`,
  };
}

/** The marks and numbers of a scale from left to right, below `top` (1) or above it (−1). */
function across(scale: Scale, x: (at: number) => number, top: number, down: 1 | -1): Markup {
  return html`${ticksOf(scale).map(({ at, isLabelled, isHalf }) => {
    const length = isLabelled ? 20 : isHalf ? 15 : 10;
    return html`${line(x(at), top, x(at), top + down * length, isLabelled ? 'base' : 'fine')}${isLabelled ? text(x(at), top + down * 34 + (down === 1 ? 0 : 8), short(at), 13) : null}`;
  })}`;
}

/** The marks and numbers of an upright scale to the right of `left`. */
function upright(scale: Scale, y: (at: number) => number, left: number): Markup {
  return html`${ticksOf(scale).map(({ at, isLabelled, isHalf }) => {
    const length = isLabelled ? 18 : isHalf ? 13 : 9;
    return html`${line(left, y(at), left + length, y(at), isLabelled ? 'base' : 'fine')}${isLabelled ? text(left + 23, y(at) + 5, short(at), 13, 'start') : null}`;
  })}`;
}

const uprightScale =
  (scale: Scale, bottom: number, top: number) =>
  (at: number): number =>
    bottom - ((bottom - top) * (at - scale.from)) / (scale.to - scale.from);

function thermometer(scale: Scale): Drawn {
  const y = uprightScale(scale, 226, 34);
  const level = round(y(scale.value));
  return {
    width: 100,
    height: 272,
    words: scaleWords(scale, 'The top of the liquid is'),
    body: html`${text(36, 14, scale.unit, 14, 'start')}<path d="M14 28 a11 11 0 0 1 22 0 V232 a17 17 0 1 1 -22 0 Z" class="outline"/><path d="M19 ${level} H31 V236 a12 12 0 1 1 -12 0 Z" class="liquid"/>${upright(scale, y, 36)}`,
  };
}

function jug(scale: Scale): Drawn {
  const y = uprightScale(scale, 216, 34);
  const level = round(y(scale.value));
  return {
    width: 178,
    height: 228,
    words: scaleWords(scale, 'The level of the liquid is'),
    body: html`<rect x="22" y="${level}" width="114" height="${round(220 - level)}" class="water"/><path d="M8 12 L20 26 V216 a6 6 0 0 0 6 6 H132 a6 6 0 0 0 6 -6 V12" class="contour"/><path d="M138 50 h18 a16 16 0 0 1 16 16 v60 a16 16 0 0 1 -16 16 h-18" class="contour"/>${line(20, level, 138, level, 'level')}${upright(scale, y, 52)}${text(100, 22, scale.unit, 13)}`,
  };
}

/** A thing lies above the ruler, from `start` to `value`. */
function ruler(scale: Scale): Drawn {
  const { from, to, start = 0, value, unit } = scale;
  const x = (at: number) => round(14 + (280 * (at - from)) / (to - from));
  return {
    width: 308,
    height: 98,
    words: scaleWords(scale, `One end of the thing is ${placeWords(scale, start)}. The other end is`),
    body: html`<rect x="${x(start)}" y="8" width="${round(x(value) - x(start))}" height="20" rx="2" class="thing"/>${line(x(start), 28, x(start), 40, 'guide')}${line(x(value), 28, x(value), 40, 'guide')}<rect x="2" y="40" width="304" height="54" rx="3" class="outline"/>${across(scale, x, 40, 1)}${text(298, 90, unit, 12, 'end')}`,
  };
}
