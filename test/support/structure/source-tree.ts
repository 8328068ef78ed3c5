import { readFileSync, readdirSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';

/** The sources as the tests of their order read them. */

export const root = join(import.meta.dirname, '../../..');

export type Import = { from: string; to: string; typeOnly: boolean };

/** TypeScript files under the folders, with forward slashes, sorted. */
export async function sources(...folders: string[]): Promise<string[]> {
  const files: string[] = [];
  for (const folder of folders) {
    for await (const file of glob(`${folder}/**/*.ts`, { cwd: root, exclude: ['**/node_modules/**'] }))
      files.push(file.replaceAll('\\', '/'));
  }
  return files.sort();
}

export function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

/** Every file that belongs to the project: what .gitignore names is left out (plain names and `*` only). The tests need no git. */
export function projectFiles(): string[] {
  const ignored = read('.gitignore')
    .split('\n')
    .map((line) => line.trim().replace(/^\/|\/$/g, ''))
    .filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('!'));
  const patterns = ['.git', ...ignored].map(
    (one) => new RegExp(`^${one.replace(/[.+^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^/]*')}$`),
  );
  const found: string[] = [];
  const visit = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = posix.join(folder, entry.name);
      if (patterns.some((pattern) => pattern.test(path) || pattern.test(entry.name))) continue;
      if (entry.isDirectory()) visit(path);
      else if (entry.isFile()) found.push(path);
    }
  };
  visit('');
  return found.sort();
}

/** Source without comments. */
export function code(file: string): string {
  // Strings and templates are matched first, so that a // inside one stays.
  return read(file).replace(
    /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|\/\/[^\n]*|\/\*[^]*?\*\//g,
    (match) => (match.startsWith('/') ? ' ' : match),
  );
}

const statement = /^\s*(import|export)\s+(type\s+)?(?:([^'"`;]*?)\s+from\s+)?['"]([^'"]+)['"]/gm;
const dynamic = /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;

/** What a file imports: relative imports as paths from the root, packages by their names. */
export function importsOf(file: string): Import[] {
  const text = read(file);
  const found: Import[] = [];
  const resolve = (name: string) => (name.startsWith('.') ? posix.join(dirname(file), name) : name);
  for (const [, , type, names = '', name] of text.matchAll(statement)) {
    const onlyTypes = type !== undefined || /^\{(\s*type\s+\w+(\s+as\s+\w+)?\s*,?)+\}$/.test(names.trim());
    found.push({ from: file, to: resolve(name!), typeOnly: onlyTypes });
  }
  for (const [, name] of text.matchAll(dynamic)) found.push({ from: file, to: resolve(name!), typeOnly: false });
  return found;
}

/** Cycles of the graph: groups of files that reach each other (Tarjan, 1972). */
export function cycles(files: string[], edges: Import[]): string[][] {
  const next = new Map(files.map((file) => [file, edges.filter((edge) => edge.from === file).map((edge) => edge.to)]));
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const out: string[][] = [];
  const visit = (file: string): void => {
    index.set(file, index.size);
    low.set(file, index.get(file)!);
    stack.push(file);
    for (const to of next.get(file) ?? []) {
      if (!next.has(to)) continue;
      if (!index.has(to)) {
        visit(to);
        low.set(file, Math.min(low.get(file)!, low.get(to)!));
      } else if (stack.includes(to)) low.set(file, Math.min(low.get(file)!, index.get(to)!));
    }
    if (low.get(file) !== index.get(file)) return;
    const group = stack.splice(stack.indexOf(file));
    if (group.length > 1) out.push(group.sort());
  };
  for (const file of files) if (!index.has(file)) visit(file);
  return out;
}
