import { connect } from 'node:net';

/**
 * Sends one request again and again over keep-alive connections, and prints one JSON line. It uses raw sockets because they
 * cost little. Arguments: port, connections, seconds, the request in base64, and a count: every `############` of the
 * request becomes a number of 12 digits, from 0 to the count less one in turn (0: the request has none).
 */
const [port, connections, seconds, request64, count] = [
  Number(process.argv[2]),
  Number(process.argv[3]),
  Number(process.argv[4]),
  process.argv[5]!,
  Number(process.argv[6] ?? 0),
];
const text = Buffer.from(request64, 'base64').toString('latin1');
const requests =
  count === 0
    ? [Buffer.from(text, 'latin1')]
    : Array.from({ length: count }, (_, i) =>
        Buffer.from(text.replaceAll('############', String(i).padStart(12, '0')), 'latin1'),
      );
let turn = 0;
const warmUpMs = 1000;
const latencies: number[] = [];
const statuses = new Map<string, number>();
const startMs = performance.now();
const stopMs = startMs + warmUpMs + seconds * 1000;

function open(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let sentMs = 0;
    let head = '';
    let need = -1;
    let have = 0;
    const send = () => {
      sentMs = performance.now();
      head = '';
      need = -1;
      have = 0;
      socket.write(requests[turn++ % requests.length]!);
    };
    socket.setNoDelay(true);
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('close', () => resolve());
    socket.on('data', (chunk) => {
      have += chunk.length;
      if (need < 0) {
        head += chunk.toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        const length = /content-length: (\d+)/i.exec(head.slice(0, end));
        need = end + 4 + Number(length?.[1] ?? 0);
      }
      if (have < need) return;
      const now = performance.now();
      if (now - startMs > warmUpMs) {
        latencies.push(now - sentMs);
        const status = head.slice(9, 12);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
      if (now < stopMs) send();
      else socket.destroy();
    });
  });
}

await Promise.all(Array.from({ length: connections }, open));
latencies.sort((a, b) => a - b);
const at = (share: number) =>
  Math.round(latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))]! * 1000) / 1000;
process.stdout.write(
  `${JSON.stringify({ per_second: Math.round(latencies.length / seconds), p50_ms: at(0.5), p99_ms: at(0.99), statuses: Object.fromEntries(statuses) })}\n`,
);
