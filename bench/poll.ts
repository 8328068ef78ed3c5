import { load, firstJson, median, startNode, stop } from './process.ts';

/**
 * A conditional poll that ends in 304, with authentication, rate limit and blocking audit, beside a bare node:http
 * server that answers 304 to everything. Both in turn, in one run, on the same cores.
 * Needs DATABASE_URL (a database of its own) and ARS_SECRET. Usage: node bench/poll.ts [rounds] [seconds]
 */
const rounds = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 4);
const here = (name: string) => new URL(name, import.meta.url).pathname;

const bare = startNode(0, [here('bare-http.ts')]);
const { port: barePort } = await firstJson<{ port: number }>(bare);
const service = startNode(0, [here('service.ts')], { ARS_LOG: process.env.ARS_LOG ?? 'errors' });
const { port, access_key_id, secret_access_key } = await firstJson<{
  port: number;
  access_key_id: string;
  secret_access_key: string;
}>(service);
const credentials = `X-Access-Key-Id: ${access_key_id}\r\nX-Secret-Access-Key: ${secret_access_key}\r\n`;
const path = '/api/v1/assessments?since=2026-01-01T00:00:00Z&limit=500';
const first = await fetch(`http://127.0.0.1:${port}${path}`, {
  headers: { 'x-access-key-id': access_key_id, 'x-secret-access-key': secret_access_key },
});
const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${credentials}If-None-Match: ${first.headers.get('etag')}\r\n\r\n`;

try {
  for (const connections of [64, 1]) {
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const ceiling = await load(barePort, connections, seconds, request);
      const ours = await load(port, connections, seconds, request);
      if (Object.keys(ours.statuses).join() !== '304')
        throw new Error(`expected only 304, saw ${JSON.stringify(ours.statuses)}`);
      ratios.push(ours.per_second / ceiling.per_second);
      console.log(
        `${String(connections).padStart(2)} connections  bare ${ceiling.per_second}/s  service ${ours.per_second}/s (p50 ${ours.p50_ms} ms, p99 ${ours.p99_ms} ms)  ratio ${(100 * ratios.at(-1)!).toFixed(1)} %`,
      );
    }
    console.log(`${String(connections).padStart(2)} connections  median ratio ${(100 * median(ratios)).toFixed(1)} %`);
  }
} finally {
  await Promise.all([stop(bare), stop(service)]);
}
