import { setTimeout as wait } from 'node:timers/promises';
import { Agent, request } from 'undici';

/**
 * Reads one URL by one connection, with a pause between, in a process of its own. Prints the ms of each read, one a line,
 * until it is stopped. Usage: node bench/support/paced-reads.ts URL KEY_ID SECRET PAUSE_MS
 */
const [url, keyId, secret, pauseMs] = process.argv.slice(2) as [string, string, string, string];
const agent = new Agent({ connections: 1 });
process.once('SIGTERM', () => process.exit(0));
for (;;) {
  const beganMs = performance.now();
  const { statusCode, body } = await request(url, {
    dispatcher: agent,
    headers: { 'x-access-key-id': keyId, 'x-secret-access-key': secret },
  });
  await body.dump();
  if (statusCode !== 200) throw new Error(`A read was answered by ${statusCode}.`);
  process.stdout.write(`${performance.now() - beganMs}\n`);
  await wait(Number(pauseMs));
}
