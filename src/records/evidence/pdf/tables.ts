import type { Block, Column } from '../content.ts';
import type { Flow, TextBox } from './flow.ts';
import {
  accent,
  bodySize,
  contentWidth,
  drawText,
  firstLine,
  ink,
  lines,
  margin,
  muted,
  rule,
  smallSize,
  textBox,
  tint,
} from './flow.ts';
import type { Element } from './structure.ts';

const pad = 7;

type Laid = { x: number; width: number; align: 'left' | 'right' };

function columnsOf(columns: readonly Column[]): Laid[] {
  const total = columns.reduce((sum, column) => sum + column.width, 0);
  let x = margin;
  return columns.map((column) => {
    const width = (contentWidth * column.width) / total;
    const laid = { x, width, align: column.align };
    x += width;
    return laid;
  });
}

/** Draws a cell. The cell's first line is centred vertically within `first` points. */
function drawCell(flow: Flow, element: Element, box: TextBox, cell: Laid, first: number): void {
  const x = cell.align === 'left' ? cell.x + pad : cell.x + cell.width - pad;
  flow.canvas.tagged(element, () =>
    drawText(flow.canvas, box, x, flow.y + 2.5 + (first - firstLine(box)) / 2, ink, cell.align),
  );
}

function measure(boxes: readonly TextBox[]): { first: number; height: number } {
  const first = Math.max(...boxes.map(firstLine));
  return { first, height: Math.max(...boxes.map((box) => (first - firstLine(box)) / 2 + box.height)) + 5 };
}

/** Draws the heading row. Screen readers know the first heading row, so repeated rows on later pages are artifacts. */
function headingRow(flow: Flow, columns: readonly Column[], laid: readonly Laid[], row: Element | null): void {
  const boxes = columns.map(({ label }, i) => textBox(label, laid[i]!.width - 2 * pad, smallSize, 'bold'));
  const { first, height } = measure(boxes);
  flow.canvas.artifact(() => {
    flow.canvas.rectangle(margin, flow.y, contentWidth, height, tint);
    flow.canvas.line(margin, flow.y + height, margin + contentWidth, flow.y + height, accent, 0.8);
    if (row === null) {
      boxes.forEach((box, i) => {
        const cell = laid[i]!;
        drawText(
          flow.canvas,
          box,
          cell.align === 'left' ? cell.x + pad : cell.x + cell.width - pad,
          flow.y + 2.5,
          ink,
          cell.align,
        );
      });
    }
  });
  if (row !== null) boxes.forEach((box, i) => drawCell(flow, row.add('TH', { scope: 'Column' }), box, laid[i]!, first));
  flow.y += height;
}

function rowLine(flow: Flow): void {
  flow.canvas.artifact(() => flow.canvas.line(margin, flow.y, margin + contentWidth, flow.y, rule, 0.5));
}

export function drawTable(flow: Flow, block: Block & { kind: 'table' }, section: Element): void {
  const laid = columnsOf(block.columns);
  const table = section.add('Table');
  const caption = textBox(block.caption, contentWidth, smallSize);
  flow.need(caption.height + 46);
  flow.canvas.tagged(table.add('Caption'), () => drawText(flow.canvas, caption, margin, flow.y, muted));
  flow.y += caption.height + 2;
  headingRow(flow, block.columns, laid, table.add('TR'));
  const size = block.small === true ? smallSize : bodySize;
  for (const cells of block.rows) {
    const boxes = cells.map((cell, i) => textBox(cell, laid[i]!.width - 2 * pad, size));
    const { first, height } = measure(boxes);
    if (flow.need(height)) headingRow(flow, block.columns, laid, null);
    const row = table.add('TR');
    boxes.forEach((box, i) =>
      drawCell(flow, i === 0 ? row.add('TH', { scope: 'Row' }) : row.add('TD'), box, laid[i]!, first),
    );
    flow.y += height;
    rowLine(flow);
  }
  flow.y += 8;
}

/** The table of domains, with a bar in the second column. */
export function drawBars(flow: Flow, block: Block & { kind: 'bars' }, section: Element): void {
  const counted = block.rows.some((row) => row.answered !== null);
  const [name, figure, status] = block.head ?? ['Domain', 'Score', 'Status'];
  const columns: Column[] = [
    { label: name, width: 37, align: 'left' },
    { label: figure, width: 38, align: 'left' },
    { label: status, width: 17, align: 'left' },
    ...(counted ? [{ label: 'Answered', width: 12, align: 'right' } as const] : []),
  ];
  const laid = columnsOf(columns);
  const table = section.add('Table');
  headingRow(flow, columns, laid, table.add('TR'));
  const figureWidth = 44;
  for (const domain of block.rows) {
    const boxes = [
      domain.name,
      domain.figure,
      domain.status,
      ...(domain.answered === null ? [] : [domain.answered]),
    ].map((text, i) =>
      textBox(
        text,
        i === 1 ? figureWidth : laid[i]!.width - 2 * pad,
        bodySize,
        i === 1 && domain.percent !== null ? 'bold' : 'regular',
      ),
    );
    const { first, height } = measure(boxes);
    if (flow.need(height)) headingRow(flow, columns, laid, null);
    const row = table.add('TR');
    boxes.forEach((box, i) =>
      drawCell(flow, i === 0 ? row.add('TH', { scope: 'Row' }) : row.add('TD'), box, laid[i]!, first),
    );
    const cell = laid[1]!;
    if (domain.percent !== null)
      bar(
        flow,
        cell.x + pad + figureWidth,
        cell.width - 2 * pad - figureWidth,
        flow.y + 2.5 + first / 2,
        domain.percent,
        block.marks,
      );
    flow.y += height;
    rowLine(flow);
  }
  flow.y += 3;
  lines(flow, textBox(block.caption, contentWidth, smallSize), margin, section.add('P'), muted);
  flow.y += 4;
}

function bar(flow: Flow, x: number, width: number, middle: number, percent: number, marks: readonly number[]): void {
  const { canvas } = flow;
  const height = 7;
  const y = middle - height / 2;
  canvas.artifact(() => {
    canvas.frame(x, y, width, height, muted, 0.5);
    if (percent > 0) canvas.rectangle(x, y, (width * percent) / 100, height, accent);
    for (const mark of marks) {
      const at = x + (width * mark) / 100;
      canvas.line(at, y - 2.2, at, y, ink, 0.8);
      canvas.line(at, y + height, at, y + height + 2.2, ink, 0.8);
    }
  });
}
