import { isMainThread } from 'node:worker_threads';
import { signalGroup } from './group.ts';

/** Preloaded by bench/group.ts: once whoever started this program has gone, it ends with all that it has started. */
if (isMainThread) {
  process.stdin.once('end', () => signalGroup(process, 'SIGTERM'));
  process.stdin.resume();
  // Nobody waits for it.
  process.stdin.unref();
}
