// Generated files that are committed: npm run check compares them, npm run check -- --write writes them anew.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { schemaText } from './platform/db/schema-text.ts';
import { documents } from './support/documents/documents.ts';
import { goldenFiles } from './records/evidence/golden.ts';
import { freshDatabase, testServer, withDatabase } from './support/postgres.ts';

/** A committed file and what its text, or its bytes, have to be. */
type Generated = { path: string; make(): Promise<string | Buffer> };

const generated: Generated[] = [
  {
    path: 'src/platform/db/schema.sql',
    async make() {
      const server = await testServer();
      try {
        const database = await freshDatabase(server);
        const text = await withDatabase(database.url, schemaText);
        await database.drop();
        return text;
      } finally {
        await server.stop();
      }
    },
  },
  ...documents,
  ...goldenFiles,
];

const write = process.argv.includes('--write');
let stale = 0;
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
process.exitCode = stale === 0 ? 0 : 1;
