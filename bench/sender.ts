import { fork } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { systemClock } from '../src/clock.ts';
import { parseNetworks } from '../src/networks.ts';
import { createSender } from '../src/webhooks/send.ts';
import { deliveryHeaders } from '../src/webhooks/signing.ts';
import { startReceiver, trustTestAuthority } from '../test/webhooks/receiver.ts';

/**
 * Deliveries per second to loopback HTTPS: the service's sender beside a bare undici loop that signs and posts the same
 * bodies with keep-alive. Both run in turn, several rounds each, against one receiver in a process of its own.
 *
 *   node bench/sender.ts [--seconds N] [--rounds N] [--concurrency 1,8,32] [--json]
 */

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '3' },
    concurrency: { type: 'string', default: '1,8,32' },
    json: { type: 'boolean', default: false },
    receiver: { type: 'boolean', default: false },
  },
});

const secret = 'whsec_benchmark';
/** As long as an `assessment.completed` with six domains and three groups: about 1.6 kB. */
const body = JSON.stringify({ event: 'assessment.completed', data: { text: 'a'.repeat(1_560) } });

async function perSecond(deliver: () => Promise<number>, concurrency: number, seconds: number): Promise<number> {
  const startMs = systemClock.monotonicMs();
  const endMs = startMs + seconds * 1_000;
  let delivered = 0;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (systemClock.monotonicMs() < endMs) {
        const status = await deliver();
        if (status !== 204) throw new Error(`A delivery was answered ${status}.`);
        delivered += 1;
      }
    }),
  );
  return delivered / ((systemClock.monotonicMs() - startMs) / 1_000);
}

async function main(): Promise<void> {
  trustTestAuthority();
  const child = fork(fileURLToPath(import.meta.url), ['--receiver']);
  const url = await new Promise<string>((resolve, reject) => {
    child.once('message', (message) => resolve(String(message)));
    child.once('exit', () => reject(new Error('The receiver did not start.')));
  });

  const sender = createSender({ clock: systemClock, allowNetworks: parseNetworks('127.0.0.1') });
  const agent = new Agent({ allowH2: false });
  let count = 0;
  const ours = async (): Promise<number> => {
    const headers = deliveryHeaders({
      deliveryId: `delivery-${count++}`,
      secrets: [secret],
      body,
      nowMs: systemClock.nowMs(),
    });
    return (await sender.send({ url, headers, body })).status_code ?? 0;
  };
  const bare = async (): Promise<number> => {
    const t = Math.floor(systemClock.nowMs() / 1_000);
    const legacy = createHmac('sha256', secret).update(body).digest('hex');
    const current = createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex');
    const response = await request(url, {
      dispatcher: agent,
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'x-svc-delivery-id': `delivery-${count++}`,
        'x-svc-signature': legacy,
        'x-svc-signature-256': `t=${t},v1=${current}`,
      },
    });
    await response.body.dump();
    return response.statusCode;
  };

  const median = (figures: number[]): number => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)]!;
  const rows = [];
  for (const concurrency of options.concurrency.split(',').map(Number)) {
    await perSecond(bare, concurrency, 0.3);
    await perSecond(ours, concurrency, 0.3);
    const figures = { bare: [] as number[], ours: [] as number[] };
    for (let round = 0; round < Number(options.rounds); round++) {
      figures.bare.push(await perSecond(bare, concurrency, Number(options.seconds)));
      figures.ours.push(await perSecond(ours, concurrency, Number(options.seconds)));
    }
    const row = {
      concurrency,
      bare_per_second: Math.round(median(figures.bare)),
      sender_per_second: Math.round(median(figures.ours)),
    };
    rows.push({ ...row, ratio: Number((row.sender_per_second / row.bare_per_second).toFixed(2)) });
  }
  if (options.json)
    console.log(
      JSON.stringify({
        seconds: Number(options.seconds),
        rounds: Number(options.rounds),
        body_bytes: body.length,
        rows,
      }),
    );
  else console.table(rows);
  child.removeAllListeners('exit');
  child.disconnect();
  await Promise.all([sender.close(), agent.close()]);
}

if (options.receiver) {
  const receiver = await startReceiver({ keep: false });
  process.send!(receiver.url);
  process.once('disconnect', () => {
    void receiver.close();
  });
} else {
  await main();
}
