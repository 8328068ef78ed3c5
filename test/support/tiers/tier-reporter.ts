import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { root } from '../structure/source-tree.ts';

/** What one runner of a tier writes for the summary at the end. */
export type Report = {
  passed: number;
  failed: number;
  /** Names of failed tests with the first line of the error. */
  failures: string[];
  /** Names of skipped tests with their reasons. */
  skipped: string[];
  /** Milliseconds of each file: in a worker with its loading, otherwise of its outermost tests. */
  files: Record<string, number>;
};

/** Whether nothing but a test inside has failed. */
const isOfTests = (error: Error): boolean => (error as { failureType?: string }).failureType === 'subtestsFailed';

/** A reporter of Node's test runner (nodejs.org/api/test.html#custom-reporters) that writes one Report as JSON. */
export default async function* tierReporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const report: Report = { passed: 0, failed: 0, failures: [], skipped: [], files: {} };
  for await (const event of events) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { data } = event;
    const file = relative(root, data.file ?? '').replaceAll('\\', '/');
    const isFile = data.name === data.file || data.name === file;
    const isFileOfWorker = data.nesting === 0 && /^test\/.*\.test\.ts$/.test(data.name);
    if (isFileOfWorker) report.files[data.name] = data.details.duration_ms;
    else if (data.nesting === 0 && !isFile) report.files[file] = (report.files[file] ?? 0) + data.details.duration_ms;
    // The tests inside are counted. A suite counts only if it is skipped or failed without them.
    const isCountedInside = event.type === 'test:pass' ? data.skip === undefined : isOfTests(event.data.details.error);
    if ((isFileOfWorker || data.details.type === 'suite') && isCountedInside) continue;
    if (data.skip !== undefined && data.skip !== false)
      report.skipped.push(`${file}: ${data.name}${typeof data.skip === 'string' ? ` (${data.skip})` : ''}`);
    else if (event.type === 'test:pass') report.passed++;
    else {
      report.failed++;
      const { error } = event.data.details;
      const cause = error.cause instanceof Error ? error.cause : error;
      report.failures.push(`${file}: ${data.name}: ${cause.message.split('\n', 1)[0]}`);
    }
  }
  yield JSON.stringify(report);
}
