import type { Block, EvidenceDocument } from '../content.ts';
import { type Canvas, type Colour, pageHeight } from './canvas.ts';
import type { TextBox } from './flow.ts';
import {
  Flow,
  accent,
  bodySize,
  bottom,
  contentWidth,
  drawText,
  followed,
  ink,
  leading,
  lines,
  margin,
  muted,
  rule,
  smallSize,
  textBox,
} from './flow.ts';
import { drawLadder } from './ladder.ts';
import { drawQr } from './qr.ts';
import type { Element } from './structure.ts';
import { drawBars, drawTable } from './tables.ts';
import { type Weight, followedBySpace, shapeLine } from './shaping.ts';

/** Draws the document. Its structure elements become children of `root`. */
export function layOut(document: EvidenceDocument, canvas: Canvas, root: Element): void {
  const flow = new Flow(canvas);
  masthead(flow, document, root);
  let section = root;
  document.blocks.forEach((block, index) => {
    if (block.kind === 'heading') {
      section = root.add('Sect');
      // A short section stays on one page, and a long section begins on the page of its heading. The last section
      // begins on the page where the section before it begins.
      const next = document.blocks.findIndex((later, i) => i > index && later.kind === 'heading');
      const isSecondLast = next > 0 && !document.blocks.slice(next + 1).some((later) => later.kind === 'heading');
      const room = 26 + Math.min(200, sectionHeight(document.blocks, index + 1));
      flow.need(room + (isSecondLast ? 26 + Math.min(200, sectionHeight(document.blocks, next + 1)) : 0));
    }
    drawBlock(flow, block, section);
  });
  runningFeet(canvas, document);
}

/** The approximate height of the blocks from `start` to the next heading, in points. */
function sectionHeight(blocks: readonly Block[], start: number): number {
  let height = 0;
  for (let i = start; i < blocks.length && blocks[i]!.kind !== 'heading'; i++) height += heightOf(blocks[i]!);
  return height;
}

function heightOf(block: Block): number {
  switch (block.kind) {
    case 'heading':
      return 0;
    case 'paragraph':
      return textBox(block.text, contentWidth, bodySize).height;
    case 'list':
      return block.items.reduce((sum, item) => sum + textBox(item, contentWidth - 12, bodySize).height + 2, 4);
    case 'facts':
      return Math.ceil(block.facts.length / 2) * 26;
    case 'placement':
      return 120;
    case 'ladder':
      return block.caption === '' ? 36 : 96;
    case 'bars':
      return 30 + block.rows.length * 18;
    case 'table':
      return 30 + block.rows.length * 17;
    case 'answers':
      return Math.ceil(block.answers.length / 4) * smallSize * 1.5;
    case 'countersign':
      return 44;
  }
}

function masthead(flow: Flow, document: EvidenceDocument, root: Element): void {
  const section = root.add('Sect');
  const codeWidth = 124;
  const namesEnd = names(flow, document, section, contentWidth - codeWidth - 16);
  const codeEnd = document.verify === null ? 0 : codeAndAddress(flow, document.verify, section, codeWidth);
  flow.y = Math.max(namesEnd, codeEnd) + 4;
}

/** Draws the names on the left. @returns the position below the last name */
function names(flow: Flow, document: EvidenceDocument, section: Element, width: number): number {
  const { canvas } = flow;
  let y = flow.y;
  const write = (element: Element, text: string, size: number, weight: Weight, colour: Colour, gap: number): void => {
    const box = textBox(text, width, size, weight);
    canvas.tagged(element, () => drawText(canvas, box, margin, y, colour));
    y += box.height + gap;
  };
  write(section.add('P'), document.organisation, 9.5, 'bold', muted, 1);
  write(section.add('H1'), document.heading, 21, 'bold', accent, 1);
  write(section.add('P'), document.subheading, 10.5, 'regular', ink, 8);
  canvas.artifact(() => canvas.line(margin, y, margin + width, y, rule, 0.75));
  y += 7;
  write(section.add('P'), document.learner.label, smallSize, 'regular', muted, -1);
  const name = fitted(document.learner.value, width, [17, 13, 10.5], 9, 'regular');
  canvas.tagged(section.add('P'), () => drawText(canvas, name, margin, y, ink));
  return y + name.height + 4;
}

/** Draws the QR code and the link on the right. @returns the position below the QR code and the link */
function codeAndAddress(
  flow: Flow,
  verify: NonNullable<EvidenceDocument['verify']>,
  section: Element,
  width: number,
): number {
  const { canvas } = flow;
  const side = 62;
  const right = margin + contentWidth;
  const figure = section.add('Figure', {
    alt: `QR code leading to ${verify.url}`,
    bbox: [right - side, pageHeight - flow.y - side, right, pageHeight - flow.y],
  });
  canvas.tagged(figure, () => drawQr(canvas, verify.url, right - side, flow.y, side, ink));
  const top = flow.y + side + 4;
  let y = top;
  const link = section.add('P').add('Link');
  const boxes = [
    followed(textBox(verify.label, width, smallSize, 'bold'), 'bold'),
    textBox(verify.url.replace(/^https?:\/\//, ''), width, 7),
  ];
  canvas.tagged(link, () =>
    boxes.forEach((box, i) => {
      drawText(canvas, box, right, y, i === 0 ? ink : accent, 'right');
      y += box.height;
    }),
  );
  canvas.link(link, right - width, top, width, y - top, verify.url, 'Open the page where this file can be checked');
  return y;
}

/**
 * Breaks text in the first of `sizes` in which it needs at most two lines. Otherwise the text has the size `last` and
 * as many lines as necessary.
 */
function fitted(text: string, width: number, sizes: readonly number[], last: number, weight: Weight): TextBox {
  return (
    sizes.map((size) => textBox(text, width, size, weight)).find((box) => box.lines.length <= 2) ??
    textBox(text, width, last, weight)
  );
}

function drawBlock(flow: Flow, block: Block, section: Element): void {
  switch (block.kind) {
    case 'heading':
      return heading(flow, block.text, section);
    case 'paragraph':
      return paragraph(flow, block.text, section);
    case 'list':
      return list(flow, block.items, section);
    case 'facts':
      return facts(flow, block, section);
    case 'placement':
      return placement(flow, block, section);
    case 'ladder':
      return drawLadder(flow, block, section);
    case 'bars':
      return drawBars(flow, block, section);
    case 'table':
      return drawTable(flow, block, section);
    case 'answers':
      return answers(flow, block, section);
    case 'countersign':
      return countersign(flow, block, section);
  }
}

function heading(flow: Flow, text: string, section: Element): void {
  flow.y += 7;
  const box = textBox(text, contentWidth, 11.5, 'bold');
  flow.canvas.tagged(section.add('H2'), () => drawText(flow.canvas, box, margin, flow.y, accent));
  flow.y += box.height + 3;
}

function paragraph(flow: Flow, text: string, section: Element): void {
  lines(flow, textBox(text, contentWidth, bodySize), margin, section.add('P'), ink);
  flow.y += 5;
}

function list(flow: Flow, items: readonly string[], section: Element): void {
  const parent = section.add('L');
  for (const item of items) {
    const body = parent.add('LI').add('LBody');
    const box = textBox(item, contentWidth - 12, bodySize);
    flow.need(Math.min(box.height, 2 * box.size * leading));
    const dotY = flow.y + box.height / Math.max(1, box.lines.length) / 2;
    flow.canvas.artifact(() => flow.canvas.dot(margin + 4, dotY, 1.3, muted));
    lines(flow, box, margin + 12, body, ink);
    flow.y += 2;
  }
  flow.y += 4;
}

function facts(flow: Flow, block: Block & { kind: 'facts' }, section: Element): void {
  const gap = 20;
  const width = (contentWidth - gap) / 2;
  for (let i = 0; i < block.facts.length; i += 2) {
    const pair = block.facts.slice(i, i + 2).map(({ label, value }) => ({
      label: followed(textBox(label, width, smallSize)),
      value: textBox(value || 'None recorded', width, bodySize + 0.5),
    }));
    const height = Math.max(...pair.map(({ label, value }) => label.height + value.height)) + 4;
    flow.need(height);
    pair.forEach(({ label, value }, column) => {
      const x = margin + column * (width + gap);
      const element = section.add('P');
      flow.canvas.tagged(element, () => drawText(flow.canvas, label, x, flow.y, muted));
      flow.canvas.tagged(element, () => drawText(flow.canvas, value, x, flow.y + label.height - 1, ink));
    });
    flow.y += height;
  }
  flow.y += 2;
}

function placement(flow: Flow, block: Block & { kind: 'placement' }, section: Element): void {
  const inset = 16;
  const width = contentWidth - 2 * inset;
  const label = textBox('Placement', width, smallSize);
  const level = fitted(block.level, width, [27, 19, 14], 11, 'bold');
  const sentences = block.sentences.map((sentence) => textBox(sentence, width, bodySize));
  const flags = block.flags.map((flag) => ({
    label: followed(textBox(flag.label, 92, bodySize, 'bold'), 'bold'),
    text: textBox(flag.text, width - 96, bodySize),
  }));
  const height =
    10 +
    label.height +
    level.height +
    sentences.reduce((sum, box) => sum + box.height, 0) +
    flags.reduce((sum, { text }) => sum + text.height + 7, 0) +
    11;
  flow.y += 2;
  flow.need(height);
  const { canvas } = flow;
  const start = flow.y;
  canvas.artifact(() => {
    canvas.frame(margin, start, contentWidth, height, accent, 0.9);
    canvas.rectangle(margin, start, 5, height, accent);
  });
  let y = start + 9;
  const x = margin + inset;
  const put = (element: Element, box: TextBox, at: number, colour: Colour): void =>
    canvas.tagged(element, () => drawText(canvas, box, at, y, colour));
  put(section.add('P'), label, x, muted);
  y += label.height - 2;
  put(section.add('P'), level, x, accent);
  y += level.height + 2;
  for (const box of sentences) {
    put(section.add('P'), box, x, ink);
    y += box.height;
  }
  for (const flag of flags) {
    y += 3.5;
    canvas.artifact(() => canvas.line(x, y, x + width, y, rule, 0.6));
    y += 3.5;
    const element = section.add('P');
    put(element, flag.label, x, ink);
    put(element, flag.text, x + 96, ink);
    y += flag.text.height;
  }
  flow.y = start + height + 4;
}

/** The width of an answer's number and outcome together, in points. */
const answerRoom = 60;
const timeRoom = 30;

function answers(flow: Flow, block: Block & { kind: 'answers' }, section: Element): void {
  const names = block.answers.map(({ id }) => shapeLine(id, 'regular'));
  const widest = names.reduce((max, name) => Math.max(max, (name.width * smallSize) / 1000), 0);
  // Four columns have room for the IDs of the shipped banks. Longer IDs get fewer columns.
  const beside = answerRoom + (block.answers.some(({ time }) => time !== undefined) ? timeRoom : 0);
  const columns = Math.min(4, Math.max(1, Math.floor(contentWidth / (widest + beside))));
  const width = contentWidth / columns;
  const step = smallSize * 1.5;
  const parent = section.add('L');
  let done = 0;
  // Answers fill the columns of a page from top to bottom, and continue on the next page.
  while (done < block.answers.length) {
    const left = block.answers.length - done;
    const wanted = Math.ceil(left / columns);
    flow.need(Math.min(wanted, 3) * step);
    const depth = Math.max(1, Math.min(wanted, Math.floor((bottom - flow.y) / step)));
    const count = Math.min(left, depth * columns);
    for (let i = 0; i < count; i++) {
      const { outcome, time } = block.answers[done + i]!;
      const x = margin + Math.floor(i / depth) * width;
      const baseline = flow.y + (i % depth) * step + smallSize;
      const number = followedBySpace(shapeLine(`${done + i + 1}.`, 'regular'), 'regular');
      const word = shapeLine(outcome, outcome === 'right' ? 'regular' : 'bold');
      flow.canvas.tagged(parent.add('LI').add('LBody'), () => {
        flow.canvas.text(number, x, baseline, smallSize, muted);
        flow.canvas.text(followedBySpace(names[done + i]!, 'regular'), x + 18, baseline, smallSize, ink);
        if (time === undefined) {
          flow.canvas.text(word, x + width - 36, baseline, smallSize, ink);
          return;
        }
        flow.canvas.text(
          followedBySpace(word, outcome === 'right' ? 'regular' : 'bold'),
          x + width - 36 - timeRoom,
          baseline,
          smallSize,
          ink,
        );
        const shaped = shapeLine(time, 'regular');
        flow.canvas.text(shaped, x + width - 12 - (shaped.width * smallSize) / 1000, baseline, smallSize, muted);
      });
    }
    flow.y += depth * step;
    done += count;
  }
  flow.y += 4;
}

function countersign(flow: Flow, block: Block & { kind: 'countersign' }, section: Element): void {
  const gap = 12;
  const total = block.fields.reduce((sum, field) => sum + field.width, 0);
  const unit = (contentWidth - gap * (block.fields.length - 1)) / total;
  flow.need(44);
  flow.y += 26;
  let x = margin;
  for (const field of block.fields) {
    const width = field.width * unit;
    const start = x;
    flow.canvas.artifact(() => flow.canvas.line(start, flow.y, start + width, flow.y, ink, 0.7));
    const box = textBox(field.label, width, smallSize);
    flow.canvas.tagged(section.add('P'), () => drawText(flow.canvas, box, start, flow.y + 1, muted));
    x += width + gap;
  }
  flow.y += 16;
}

function runningFeet(canvas: Canvas, document: EvidenceDocument): void {
  const total = canvas.pages.length;
  const y = pageHeight - 34;
  for (let page = 0; page < total; page++) {
    canvas.artifactOn(page, () => {
      canvas.line(margin, y - 6, margin + contentWidth, y - 6, rule, 0.6);
      const left = shapeLine(`${document.reference} · Not a qualification`, 'regular');
      const right = shapeLine(`Page ${page + 1} of ${total}`, 'regular');
      canvas.text(left, margin, y + 5, smallSize, muted);
      canvas.text(right, margin + contentWidth - (right.width * smallSize) / 1000, y + 5, smallSize, muted);
    });
  }
}
