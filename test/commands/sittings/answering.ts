import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

/** The address at which a service answers, once its log says it; what it logs afterwards is let go by. */
export async function answering(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stderr! })) {
    const url = /"event":"service.started".*"url":"([^"]+)"/.exec(line)?.[1];
    if (url === undefined) continue;
    child.stderr!.resume();
    return url;
  }
  throw new Error('the service ended before it answered');
}
