import type { Client } from '../../sittings/store.ts';

const tablet = /iPad|Tablet|PlayBook|Kindle|Android(?!.*\bMobile\b)/i;
const phone = /Mobi|iPhone|iPod|Android|Opera Mini|BlackBerry/i;
const desktop = /Windows|Macintosh|X11|CrOS|Linux/;

/**
 * Returns coarse classes of a browser, from two headers that are not stored. They show whether questions are harder on
 * a phone, or in another language. A new iPad says that it is a Mac.
 */
export function clientOf(headers: { 'user-agent'?: string; 'accept-language'?: string }): Client {
  const agent = headers['user-agent'] ?? '';
  const first = /^\s*([a-z]{2,3})\b/i.exec(headers['accept-language'] ?? '')?.[1]?.toLowerCase();
  return {
    device: tablet.test(agent) ? 'tablet' : phone.test(agent) ? 'phone' : desktop.test(agent) ? 'desktop' : null,
    language: first === undefined ? null : first === 'en' || first === 'cy' ? first : 'other',
  };
}
