/** Line plots as SVG text. The same data give the same bytes. The plots are readable in black and white. */
export type Series = { name: string; points: readonly (readonly [x: number, y: number])[]; dashed?: boolean };

export type Plot = {
  title: string;
  /** A sentence that describes the plot for people who cannot see it. */
  description: string;
  xLabel: string;
  yLabel: string;
  x: readonly [min: number, max: number];
  /** The y axis begins at 0. */
  maxY: number;
  series: readonly Series[];
  /** Vertical lines with labels, such as the cuts. */
  marks?: readonly { x: number; label: string }[];
};

const width = 720;
const height = 400;
const frame = { left: 64, right: 16, top: 40, bottom: 52 };
const colours = ['#1d70b8', '#d4351c', '#00703c', '#4c2c92'];

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const at = (value: number): string => String(Math.round(value * 10) / 10);

/** A round step that gives about five ticks. */
function step(span: number): number {
  const rough = span / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const nice = [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.99)!;
  return nice * power;
}

function ticks(min: number, max: number): number[] {
  const by = step(max - min);
  const out: number[] = [];
  for (let n = Math.ceil(min / by - 1e-9); n * by <= max + by * 1e-9; n += 1) out.push(Math.round(n * by * 1e6) / 1e6);
  return out;
}

const label = (value: number): string => String(value).replace('-', '−');

function frameOf(plot: Plot, scaleX: (x: number) => number, scaleY: (y: number) => number): string[] {
  const bottom = height - frame.bottom;
  return [
    ...ticks(0, plot.maxY).map(
      (y) =>
        `<line x1="${frame.left}" y1="${at(scaleY(y))}" x2="${width - frame.right}" y2="${at(scaleY(y))}" stroke="#b1b4b6"/><text x="${frame.left - 8}" y="${at(scaleY(y) + 5)}" text-anchor="end">${label(y)}</text>`,
    ),
    ...ticks(...plot.x).map(
      (x) =>
        `<line x1="${at(scaleX(x))}" y1="${bottom}" x2="${at(scaleX(x))}" y2="${bottom + 5}" stroke="#0b0c0c"/><text x="${at(scaleX(x))}" y="${bottom + 20}" text-anchor="middle">${label(x)}</text>`,
    ),
    `<line x1="${frame.left}" y1="${bottom}" x2="${width - frame.right}" y2="${bottom}" stroke="#0b0c0c"/>`,
    `<text x="${(frame.left + width - frame.right) / 2}" y="${height - 10}" text-anchor="middle">${escape(plot.xLabel)}</text>`,
    `<text x="16" y="${(frame.top + bottom) / 2}" text-anchor="middle" transform="rotate(-90 16 ${(frame.top + bottom) / 2})">${escape(plot.yLabel)}</text>`,
    ...(plot.marks ?? []).map(
      ({ x, label: word }, n) =>
        `<line x1="${at(scaleX(x))}" y1="${frame.top}" x2="${at(scaleX(x))}" y2="${bottom}" stroke="#505a5f" stroke-dasharray="2 4"/><text x="${at(scaleX(x) + 3)}" y="${frame.top + 12 + (n % 3) * 14}" font-size="12">${escape(word)}</text>`,
    ),
  ];
}

export function plotSvg(plot: Plot): string {
  const scaleX = (x: number) =>
    frame.left + ((x - plot.x[0]) / (plot.x[1] - plot.x[0])) * (width - frame.left - frame.right);
  const scaleY = (y: number) =>
    height - frame.bottom - (Math.min(y, plot.maxY) / plot.maxY) * (height - frame.top - frame.bottom);
  const lines = plot.series.flatMap((series, n) => {
    const colour = colours[n % colours.length]!;
    const path = series.points.map(([x, y]) => `${at(scaleX(x))},${at(scaleY(y))}`).join(' ');
    const legendX = frame.left + 8 + n * 220;
    return [
      `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2.5"${series.dashed ? ' stroke-dasharray="8 5"' : ''}/>`,
      `<line x1="${legendX}" y1="20" x2="${legendX + 28}" y2="20" stroke="${colour}" stroke-width="2.5"${series.dashed ? ' stroke-dasharray="8 5"' : ''}/><text x="${legendX + 34}" y="25">${escape(series.name)}</text>`,
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="t d" font-family="sans-serif" font-size="14" fill="#0b0c0c">`,
    `<title id="t">${escape(plot.title)}</title>`,
    `<desc id="d">${escape(plot.description)}</desc>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...frameOf(plot, scaleX, scaleY),
    ...lines,
    '</svg>',
    '',
  ].join('\n');
}
