import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

/**
 * Every statement of the code that the run's processes carry out: also those that verbs put together as they run, which
 * nobody sees who only reads what is made on loading (statements.ts).
 */

const variable = 'ARS_TEST_STATEMENTS';
const root = join(import.meta.dirname, '../..');
const passedOn = join(root, 'src/platform/db/database.ts');

/** Temporary tables hold what was bound when they were filled. */
const isPlanned = /^\s*(select|with|insert|update|delete)\b(?!.*pg_temp)/s;

/** Whose words a statement is: the nearest caller's that doesn't only pass it on; null where the stack doesn't say. */
function spokenBy(): 'code' | 'test' | null {
  const frames = new Error().stack!.split('\n').slice(1);
  const caller = frames.find(
    (frame) =>
      frame.includes(root) &&
      !frame.includes('node_modules') &&
      !frame.includes(import.meta.filename) &&
      !frame.includes(passedOn),
  );
  if (caller === undefined) return null;
  return caller.includes(join(root, 'src/')) && !caller.includes(join(root, 'src/platform/db/')) ? 'code' : 'test';
}

/** Where the run asks for it, this process leaves what it has carried out in the run's folder when it ends. */
export function keepPassed(): void {
  const folder = process.env[variable] ?? '';
  if (folder === '') return;
  // By name, or by itself where it has none; null is a test's own.
  const passed = new Map<string, string | null>();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const asked = given[0] as { name?: string; statement?: string; text: string } | string;
    const { name, text } =
      typeof asked === 'string' ? { text: asked } : { name: asked.name ?? asked.statement, text: asked.text };
    const key = name ?? text;
    if (!passed.has(key)) {
      const speaker = spokenBy();
      const isOwn = name === undefined ? speaker === 'code' && isPlanned.test(text) : speaker !== 'test';
      passed.set(key, isOwn ? text : null);
    }
    return query.apply(this, given as never);
  } as typeof query;
  process.once('exit', () =>
    writeFileSync(join(folder, `${process.pid}.json`), JSON.stringify([...passed].filter(([, text]) => text !== null))),
  );
}

/** A folder for the run's processes, with what they need to know of it. */
export function passedFolder(): { environment: Record<string, string>; take(): Map<string, string> } {
  const folder = mkdtempSync(join(tmpdir(), 'ars-statements-'));
  return {
    environment: { [variable]: folder },
    /** By name, or by itself where it has none; the folder goes. */
    take() {
      const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
      rmSync(folder, { recursive: true });
      return new Map(texts.flatMap((text) => JSON.parse(text) as [string, string][]));
    },
  };
}
