import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import type { TestService } from '../support/service.ts';
import { worstTexts } from '../support/worst-texts.ts';

/** No text may keep the event loop busy for longer. */
export const maxTurnMs = 50;

const kinds = [
  'numbers',
  'spaces',
  'two marks in turn',
  'ligatures',
  'emoji',
  'one letter',
  'line feeds',
  'commas',
  'quotes and commas',
  'groups, listed',
];

/** The worst texts of so many bytes, one of each kind. */
export const textsOf = (bytes: number) => Object.entries(worstTexts(bytes)).filter(([kind]) => kinds.includes(kind));
export const texts = textsOf(64 * 1024);

/** The longest turn of this thread's event loop while something happens, in milliseconds of its processor. */
async function longestTurnMs(act: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = process.threadCpuUsage();
  let isOver = false;
  const turn = () => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1000);
    before = process.threadCpuUsage();
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await act();
  isOver = true;
  await new Promise(setImmediate);
  return longest;
}

export type Sent = { method: string; path: string; headers?: Record<string, string>; body?: string | Buffer };
export type Got = { status: number; headers: NodeJS.Dict<string | string[]>; text: string };

const agent = new Agent({ keepAlive: true });
let callers = 0;

/** Sends one request, each from an address of its own, so that no limit by address is in the way. */
export function send(service: TestService, { method, path, headers = {}, body }: Sent): Promise<Got> {
  callers++;
  const address = `10.${(callers >> 16) & 255}.${(callers >> 8) & 255}.${callers & 255}`;
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service.url);
    const asked = request(
      {
        agent,
        hostname,
        port,
        method,
        path,
        headers: { 'x-forwarded-for': address, ...headers },
        maxHeaderSize: 65_536,
      },
      (reply) => {
        const chunks: Buffer[] = [];
        reply.on('data', (chunk: Buffer) => chunks.push(chunk));
        reply.on('error', reject);
        reply.on('end', () => {
          const text = Buffer.concat(chunks).toString('latin1');
          resolve({ status: reply.statusCode!, headers: reply.headers, text });
        });
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

export const hangUpAll = (): void => agent.destroy();

/**
 * Sends a request, and fails where no try of three leaves the event loop free. A request that takes less of the
 * processor in all of its turns needs no closer look.
 */
export async function mustBeQuick(service: TestService, what: string, sent: Sent): Promise<Got> {
  const before = process.threadCpuUsage();
  let got = await send(service, sent);
  const { user, system } = process.threadCpuUsage(before);
  let quickest = (user + system) / 1000;
  for (let tries = 0; tries < 3 && quickest > maxTurnMs; tries++)
    quickest = Math.min(
      quickest,
      await longestTurnMs(async () => {
        got = await send(service, sent);
      }),
    );
  assert.ok(quickest <= maxTurnMs, `${what}: the event loop was busy for ${quickest} ms`);
  assert.ok(got.status < 500, `${what}: ${got.status}`);
  return got;
}

/** What `write` makes of as much of a text as fits into so many bytes of body, or else of the address. */
export function cut(text: string, bytes: number, write: (text: string) => Sent): Sent {
  const sizeOf = ({ path, body }: Sent) => Buffer.byteLength(body ?? path);
  const whole = write(text);
  if (sizeOf(whole) <= bytes) return whole;
  const rest = sizeOf(write(''));
  const share = (bytes - rest) / (sizeOf(whole) - rest);
  return write(text.slice(0, Math.floor(text.length * share * 0.95)).toWellFormed());
}

export const urlencoded = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' };
export const multipart = { 'content-type': 'multipart/form-data; boundary=----x', 'sec-fetch-site': 'same-origin' };

/** A form with one file. */
export const fileForm = (name: string, text: string): string =>
  `------x\r\nContent-Disposition: form-data; name="${name}"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n${text}\r\n------x--\r\n`;
