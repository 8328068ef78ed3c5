import { execFile } from 'node:child_process';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { read, root, sources } from './structure/source-tree.ts';

/** Every prepared statement that the code makes when it is loaded, as the code itself puts it together. */

const here = '  if (text !== undefined) return { name, text };';

/** By their names; in a process of its own, because whoever listens must be there before the code is. */
export async function readStatements(): Promise<Map<string, string>> {
  const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename], { maxBuffer: 2 ** 26 });
  return new Map(JSON.parse(stdout) as [string, string][]);
}

if (process.argv[1] === import.meta.filename) {
  const made = new Map<string, string>();
  Object.assign(globalThis, { keepStatement: (name: string, text: string) => made.set(name, text) });
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.endsWith('/src/platform/db/database.ts')) return loaded;
      const source = Buffer.from(loaded.source as Uint8Array).toString('utf8');
      if (!source.includes(here)) throw new Error('src/platform/db/database.ts makes statements in another way');
      return {
        ...loaded,
        source: source.replace(
          here,
          `  if (text !== undefined) (globalThis as any).keepStatement(name, text);\n${here}`,
        ),
      };
    },
  });
  for (const file of await sources('src'))
    if (/\bstatement\(/.test(read(file))) await import(pathToFileURL(join(root, file)).href);
  process.stdout.write(JSON.stringify([...made]), () => process.exit());
}
