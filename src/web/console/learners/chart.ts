import { shortLevel } from '../../../records/evidence/content.ts';
import type { Content } from '../../../platform/html/html.ts';
import { attributes, html } from '../../../platform/html/html.ts';
import type { LearnerState } from '../../../records/directory/learner-state.ts';
import { rungsOf } from '../../../records/directory/learner-state.ts';
import type { Subject } from '../../../engine/scoring/levels.ts';
import { dayWords } from '../kit/blocks.ts';

/**
 * A learner's results in a subject over time: a dot for each, its 95 % interval as a line, and a band between
 * neighbours. A table shows the same facts.
 */

const width = 360;
const rungHeight = 26;
const left = 78;
const right = 14;
const top = 8;
const foot = 24;

type Drawn = LearnerState & { at: number };

const isDrawn = (one: LearnerState): one is Drawn => one.at !== null;

/** @param standings oldest first @returns null if no result has a level */
export function learnerChart(subject: Subject, label: string, standings: LearnerState[], zone: string): Content {
  const drawn = standings.filter(isDrawn);
  if (drawn.length === 0) return null;
  const rungs = rungsOf(subject);
  const height = top + rungs.length * rungHeight + foot;
  const [first, last] = [drawn[0]!.assessed_at, drawn.at(-1)!.assessed_at];
  const span = last - first;
  const inner = width - left - right - 24;
  const x = ({ assessed_at }: Drawn) =>
    Math.round(left + 12 + inner * (span === 0 ? 0.5 : (assessed_at - first) / span));
  const y = (at: number) => Math.round((top + (rungs.length - at) * rungHeight) * 10) / 10;
  const bands = drawn.slice(1).flatMap((one, i) => {
    const before = drawn[i]!;
    if (one.interval === null || before.interval === null) return [];
    const [a, b] = [x(before), x(one)];
    return [
      `${a},${y(before.interval.high)} ${b},${y(one.interval.high)} ${b},${y(one.interval.low)} ${a},${y(before.interval.low)}`,
    ];
  });
  const id = `chart-${subject}`;
  const dayText = (us: number) => dayWords(us, zone);
  return html`<svg class="chart" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${id}"><title id="${id}">${label}: ${drawn.length === 1 ? 'one result' : `${drawn.length} results`} on the ladder of levels, with 95 % intervals. The table below says the same.</title>${rungs.map(
    (rung, i) =>
      html`<line${attributes({ class: 'rung', x1: left, x2: width - right, y1: y(i), y2: y(i) })}/><text${attributes({ x: left - 6, y: y(i) - rungHeight / 2 + 4, 'text-anchor': 'end' })}>${shortLevel(rung)}</text>`,
  )}<line${attributes({ class: 'rung', x1: left, x2: width - right, y1: top, y2: top })}/>${bands.map(
    (points) => html`<polygon class="band" points="${points}"/>`,
  )}<polyline class="course" points="${drawn.map((one) => `${x(one)},${y(one.at)}`).join(' ')}"/>${drawn.map(
    (one) =>
      html`${one.interval !== null && html`<line${attributes({ class: 'interval', x1: x(one), x2: x(one), y1: y(one.interval.high), y2: y(one.interval.low) })}/>`}<circle${attributes({ class: 'dot', cx: x(one), cy: y(one.at), r: 5 })}/>`,
  )}<text${attributes({ x: left, y: height - 6 })}>${dayText(first)}</text>${
    span > 0 &&
    dayText(first) !== dayText(last) &&
    html`<text${attributes({ x: width - right, y: height - 6, 'text-anchor': 'end' })}>${dayText(last)}</text>`
  }</svg>`;
}
