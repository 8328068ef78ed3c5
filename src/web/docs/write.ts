// `npm run docs` writes the documentation into a folder for any web server.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { defaultRateLimit, exampleOrigin } from '../../platform/config/settings.ts';
import { makeSite } from './site.ts';

const folder = join(import.meta.dirname, '../../../dist/docs');
const { files, faults } = await makeSite(exampleOrigin, defaultRateLimit);
await rm(folder, { recursive: true, force: true });
for (const [path, { body }] of files) {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), body);
}
for (const fault of faults) console.error(`${fault}, which is not there.`);
console.log(`${files.size} files in ${folder}: open ${join(folder, 'index.html')}`);
process.exitCode = faults.length === 0 ? 0 : 1;
