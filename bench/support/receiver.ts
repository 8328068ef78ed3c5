import { startReceiver } from '../../test/integrations/webhooks/receiver.ts';

/**
 * Receives webhooks for `bench/scenarios/delivery.ts` in a process of its own: answers 204, hangs on paths that begin with
 * /hang, and reports the arrivals once as many have come as were expected.
 */
const arrivals: { path: string; atMs: number }[] = [];
let expected = Infinity;
const receiver = await startReceiver({
  keep: false,
  behaviour: ({ path }, response) => {
    if (path.startsWith('/hang')) return;
    arrivals.push({ path, atMs: performance.timeOrigin + performance.now() });
    response.writeHead(204).end();
    if (arrivals.length < expected) return;
    expected = Infinity;
    process.send!({ arrivals });
  },
});
process.on('message', ({ expect }: { expect: number }) => {
  expected = expect;
  arrivals.length = 0;
  process.send!({ ready: true });
});
process.send!({ port: receiver.port });
process.once('disconnect', () => void receiver.close());
