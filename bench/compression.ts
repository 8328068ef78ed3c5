import { setTimeout as pause } from 'node:timers/promises';
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { median } from './process.ts';

/**
 * What it would cost to compress pages of 500, beside making them: bytes and processor time for each coding at its
 * cheapest levels, on the real pages of a service that is running, such as the sandbox.
 * Usage: ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… node bench/compression.ts [origin] [rounds]
 */
const origin = process.argv[2] ?? 'http://127.0.0.1:8080';
const rounds = Number(process.argv[3] ?? 20);
const headers = {
  'x-access-key-id': process.env.ACCESS_KEY_ID ?? '',
  'x-secret-access-key': process.env.SECRET_ACCESS_KEY ?? '',
  'accept-encoding': 'identity',
};

const pages: Buffer[] = [];
let next: string | null = `${origin}/api/v1/assessments?limit=500`;
while (next !== null && pages.length < 10) {
  const reply: Response = await fetch(next, { headers });
  if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
  const bytes = Buffer.from(await reply.arrayBuffer());
  const page = JSON.parse(bytes.toString()) as { data: unknown[]; pagination: { next: string | null } };
  if (page.data.length === 500) pages.push(bytes);
  next = page.pagination.next;
}
if (pages.length === 0) throw new Error('there is no page of 500');
// The service that shares this machine comes to rest first.
await pause(1000);

const brotli = (quality: number) => (bytes: Buffer) =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } });
const zstd = (level: number) => (bytes: Buffer) =>
  zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: level } });
const codings: Record<string, (bytes: Buffer) => Buffer> = {
  identity: (bytes) => Buffer.from(bytes),
  'gzip 1': (bytes) => gzipSync(bytes, { level: 1 }),
  'gzip 6': (bytes) => gzipSync(bytes, { level: 6 }),
  'br 0': brotli(0),
  'br 1': brotli(1),
  'br 4': brotli(4),
  'zstd -5': zstd(-5),
  'zstd 1': zstd(1),
  'zstd 3': zstd(3),
};

const plain = pages.reduce((sum, page) => sum + page.length, 0) / pages.length;
console.log(`${pages.length} pages of 500, ${Math.round(plain / 1000)} kB each`);
for (const [name, compress] of Object.entries(codings)) {
  const ms: number[] = [];
  let bytes = 0;
  for (let round = -2; round < rounds; round++) {
    bytes = 0;
    const before = process.cpuUsage();
    for (const page of pages) bytes += compress(page).length;
    const { user, system } = process.cpuUsage(before);
    if (round >= 0) ms.push((user + system) / 1000 / pages.length);
  }
  const each = bytes / pages.length;
  console.log(
    `${name.padEnd(9)} ${(each / 1000).toFixed(1).padStart(7)} kB  1:${(plain / each).toFixed(1).padEnd(5)} ${median(ms).toFixed(2)} ms of processor a page`,
  );
}
