import { Agent, request } from 'undici';

/**
 * A consumer that polls an organisation's results by one connection, one poll every few milliseconds, in a process of its
 * own: whoever loads the service may be busy. Prints `{at, ms, status}` of each poll, one a line, until it is stopped.
 * Each poll names the ETag of the one before, unless the last argument is `always`.
 * Usage: node bench/paced-polls.ts ADDRESS KEY_ID SECRET MILLISECONDS_BETWEEN [always]
 */
const [address, id, secret, between, when] = process.argv.slice(2) as [string, string, string, string, string?];
const agent = new Agent({ connections: 1 });
let etag: string | undefined;

async function poll(): Promise<void> {
  const startMs = performance.now();
  const { statusCode, headers, body } = await request(address, {
    dispatcher: agent,
    headers: {
      'x-access-key-id': id,
      'x-secret-access-key': secret,
      ...(etag === undefined ? {} : { 'if-none-match': etag }),
    },
  });
  await body.dump();
  if (when !== 'always') etag = String(headers.etag);
  const at = performance.timeOrigin + startMs;
  process.stdout.write(`${JSON.stringify({ at, ms: performance.now() - startMs, status: statusCode })}\n`);
}

process.once('SIGTERM', () => process.exit(0));
for (;;) {
  await poll();
  await new Promise((resolve) => setTimeout(resolve, Number(between)));
}
