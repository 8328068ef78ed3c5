// The prose of documents, pages, help and messages: npm run check runs this.
import { globSync } from 'node:fs';
import { read, root } from '../support/structure/source-tree.ts';
import exceptions from './exceptions.json' with { type: 'json' };
import { faultsOf } from './lint.ts';

const documents = [
  'docs/**/*.md',
  '{README,CONTRIBUTING,SECURITY,CHANGELOG}.md',
  'client/README.md',
  'examples/**/README.md',
  'deploy/**/*.md',
];
const sources = ['{src,cli,client/src}/**/*.{ts,js}', 'deploy/**/*.yml'];
const files = globSync([...documents, ...sources], {
  cwd: root,
  // The service can render an issued evidence pack again, so its words stay.
  exclude: ['**/node_modules/**', 'docs/decisions/**', 'docs/engineering/**', 'src/records/evidence/**'],
}).map((file) => file.replaceAll('\\', '/'));
const texts = new Map(files.sort().map((file) => [file, read(file)]));
const faults = await faultsOf(texts, exceptions);
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
