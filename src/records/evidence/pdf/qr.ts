import { createRequire } from 'node:module';
import type { Canvas, Colour } from './canvas.ts';

// Most processes draw no QR code, so `qrcode` is loaded with the first code.
const require = createRequire(import.meta.url);
const qrcode = () => require('qrcode') as (typeof import('qrcode'))['default'];

/** Draws a QR code that is `side` points wide. The caller leaves white space around the code, as QR readers require. */
export function drawQr(canvas: Canvas, text: string, x: number, y: number, side: number, colour: Colour): void {
  const { size, data } = qrcode().create(text, { errorCorrectionLevel: 'M' }).modules;
  const cell = side / size;
  const runs: [number, number, number][] = [];
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      if (data[row * size + column] !== 1) continue;
      const start = column;
      while (column + 1 < size && data[row * size + column + 1] === 1) column++;
      runs.push([x + start * cell, y + row * cell, column - start + 1]);
    }
  }
  canvas.squares(runs, cell, colour);
}
