// Generated files that are committed: npm run check compares them, npm run check -- --write writes them anew.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { schemaText } from './platform/db/schema-text.ts';
import { documents } from './support/documents/documents.ts';
import { recordExamples } from './support/documents/examples.ts';
import { goldenFiles } from './records/evidence/golden.ts';
import { type TestServer, freshDatabase, testServer, withDatabase } from './support/postgres.ts';

/** A committed file and what its text, or its bytes, have to be. */
type Generated = { path: string; make(): Promise<string | Buffer> };

let server: TestServer | null = null;

const withFresh = (path: string, textOf: (url: string) => Promise<string>): Generated => ({
  path,
  async make() {
    const database = await freshDatabase((server ??= await testServer()));
    const text = await textOf(database.url);
    await database.drop();
    return text;
  },
});

/** The documents are made from the examples, so the examples come first. */
const generated: Generated[] = [
  withFresh('src/platform/db/schema.sql', (url) => withDatabase(url, schemaText)),
  withFresh('src/api/reference/examples.json', recordExamples),
  ...documents,
  ...goldenFiles,
];

const write = process.argv.includes('--write');
let stale = 0;
try {
  for (const { path, make } of generated) {
    const file = join(import.meta.dirname, '..', path);
    const wanted = Buffer.from(await make());
    if (
      await readFile(file).then(
        (there) => there.equals(wanted),
        () => false,
      )
    )
      continue;
    if (write) {
      await writeFile(file, wanted);
      console.log(`${path} is written.`);
    } else {
      stale++;
      console.error(`${path} is not what the sources make: run npm run check -- --write and commit it.`);
    }
  }
} finally {
  await (server as TestServer | null)?.stop();
}
process.exitCode = stale === 0 ? 0 : 1;
