// Vulnerable regular expressions in the sources: npm run check runs this.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { read, root } from '../support/structure/source-tree.ts';
import { expressionsIn } from './find.ts';
import { faults, type Reviewed } from './judge.ts';

const files = globSync('{src,cli,client,tools}/**/*.{ts,js,mjs,cjs}', {
  cwd: root,
  exclude: ['**/node_modules/**', '**/dist/**'],
}).map((file) => file.replaceAll('\\', '/'));
const readIfThere = (file: string) => (existsSync(join(root, file)) ? read(file) : undefined);
const reviewed = JSON.parse(readFileSync(join(import.meta.dirname, 'reviewed.json'), 'utf8')) as Reviewed[];
const expressions = files.sort().flatMap((file) => expressionsIn(file, read(file), readIfThere));
const wrong = faults(expressions, reviewed);
for (const line of wrong) console.error(line);
process.exitCode = wrong.length === 0 ? 0 : 1;
