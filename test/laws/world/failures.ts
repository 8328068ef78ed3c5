import type { TestEvent } from 'node:test/reporters';

/** A test that ended, as a line of JSON. `assertion`: the message of the assertion that failed it, null if something else did. */
export type Ended = { test: string; passed: boolean; assertion: string | null; error: string | null };

/** Reports each test by itself, so that what it failed for can be told from what it is called. */
export default async function* failures(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if ((type !== 'test:pass' && type !== 'test:fail') || data.details.type === 'suite' || data.skip) continue;
    const thrown = type === 'test:fail' ? ((data.details.error as Error).cause as Error & { code?: string }) : null;
    const ended: Ended = {
      test: data.name,
      passed: type === 'test:pass',
      assertion: thrown?.code === 'ERR_ASSERTION' ? thrown.message : null,
      error: thrown === null ? null : String(thrown.stack ?? thrown),
    };
    yield `${JSON.stringify(ended)}\n`;
  }
}
