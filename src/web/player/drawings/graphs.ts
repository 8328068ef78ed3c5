import { type Markup, html } from '../../../platform/html/html.ts';
import type { DrawingOf } from '../../../engine/item-bank/drawings.ts';
import { type Drawn, type Panel, arranged, fullWidth, line, round, short, text } from './parts.ts';

type Graph = DrawingOf<'graphs'>['graphs'][number];
type Axis = Graph['x'];

export function graphs({ graphs: list }: DrawingOf<'graphs'>): Drawn {
  const isSmall = list.length > 1;
  const panels = list.map((graph): Panel => ({ ...grid(graph, isSmall), name: graph.name }));
  return arranged(panels, isSmall ? 2 : 1);
}

const steps = (to: number, step: number): number[] =>
  Array.from({ length: Math.floor(to / step + 1e-6) + 1 }, (_, at) => round(at * step));
const isLabelled = (axis: Axis, at: number): boolean => Math.abs(at / axis.label - Math.round(at / axis.label)) < 1e-6;

function grid({ x, y, line: straight, dots }: Graph, isSmall: boolean): Drawn {
  const width = isSmall ? 152 : fullWidth - 8;
  const height = isSmall ? 150 : 290;
  const [left, bottom, right, top] = [isSmall ? 32 : 42, height - 40, width - 10, 24];
  const across = (at: number) => left + (at / x.to) * (right - left);
  const up = (at: number) => bottom - (at / y.to) * (bottom - top);
  const lines: Markup[] = [
    ...steps(x.to, x.mark).map((at) =>
      line(across(at), top, across(at), bottom, at === 0 ? 'base' : isLabelled(x, at) ? 'grid main' : 'grid'),
    ),
    ...steps(y.to, y.mark).map((at) =>
      line(left, up(at), right, up(at), at === 0 ? 'base' : isLabelled(y, at) ? 'grid main' : 'grid'),
    ),
  ];
  const numbers = [
    ...steps(x.to, x.label).map((at) => text(across(at), bottom + 14, short(at))),
    ...steps(y.to, y.label).map((at) => text(left - 5, up(at) + 4, short(at), 12, 'end')),
  ];
  const titles = html`<g class="axis">${text(2, 12, y.title, 12, 'start')}${text((left + right) / 2, bottom + 31, x.title)}</g>`;
  const cross = (at: readonly number[]) => {
    const [cx, cy] = [across(at[0]!), up(at[1]!)];
    return html`${line(cx - 4, cy - 4, cx + 4, cy + 4, 'cross')}${line(cx - 4, cy + 4, cx + 4, cy - 4, 'cross')}`;
  };
  return {
    width,
    height,
    words: graphWords(x, y, straight, dots),
    body: html`${lines}${numbers}${titles}${
      straight === undefined
        ? null
        : line(across(straight[0]![0]!), up(straight[0]![1]!), across(straight[1]![0]!), up(straight[1]![1]!), 'line')
    }${dots?.map(cross)}`,
  };
}

const axisWords = (name: string, { title, to, mark }: Axis): string =>
  `${name}: ${title}, from 0 to ${short(to)}, a line for each ${short(mark)}.`;
const pair = (at: readonly number[]): string => `(${short(at[0]!)}, ${short(at[1]!)})`;

function graphWords(x: Axis, y: Axis, straight: Graph['line'], dots: Graph['dots']): string {
  return [
    axisWords('Axis along the bottom', x),
    axisWords('Axis up the side', y),
    ...(straight === undefined
      ? []
      : [`A straight line goes from ${pair(straight[0]!)} to ${pair(straight[1]!)}, across first.`]),
    ...(dots === undefined ? [] : [`Crosses at, across first: ${dots.map(pair).join(', ')}.`]),
  ].join(' ');
}
