import { createRequire } from 'node:module';
import { type Markup, attributes, html } from './html.ts';

// The library is loaded when the first QR code is drawn, because few processes need it.
const require = createRequire(import.meta.url);
const qrcode = () => require('qrcode') as (typeof import('qrcode'))['default'];

/** A QR code as SVG, with a margin of 4 cells. */
export function qrCode(text: string, label: string): Markup {
  const { size, data } = qrcode().create(text, { errorCorrectionLevel: 'M' }).modules;
  let path = '';
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) if (data[y * size + x]) path += `M${x + 4} ${y + 4}h1v1h-1z`;
  const view = `0 0 ${size + 8} ${size + 8}`;
  return html`<svg${attributes({ class: 'qr', role: 'img', 'aria-label': label })} viewBox="${view}"><path class="qr-paper" d="M0 0h${size + 8}v${size + 8}h-${size + 8}z"/><path class="qr-ink" d="${path}"/></svg>`;
}
