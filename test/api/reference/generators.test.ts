// Tier: full. Installs code generators, and compiles programs that use what they make.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { makeOpenApi, referenceFiles } from '../../../src/api/reference/openapi.ts';
import { exampleOrigin } from '../../../src/platform/config/settings.ts';
import { type Tools, installTools } from '../../support/npm-tools.ts';
import { root } from '../../support/structure/source-tree.ts';

const headers = `const headers = { 'X-Access-Key-Id': '', 'X-Secret-Access-Key': '' };`;

/** By generator: its packages, the words of its command, and a program that uses what it makes. */
const generators = [
  {
    packages: ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0'],
    command: ['openapi-typescript', 'document.json', '-o', 'made/schema.ts'],
    program: `import createClient from 'openapi-fetch';
import type { components, paths } from './made/schema';
${headers}
export function shown(entry: components['schemas']['FeedEntry']): string | null {
  if ('removed' in entry) return null;
  return entry.status === 'completed' ? entry.learner!.ref : entry.updated_at;
}
export async function read(): Promise<(string | null)[]> {
  const client = createClient<paths>({ baseUrl: '', headers });
  const list = await client.GET('/assessments', { params: { query: { subject: ['maths'], limit: 10 } } });
  const made = await client.POST('/learners', { body: { full_name: 'Ana Silva' } });
  return [...list.data!.data.map(shown), made.data!.data.assessment_url, list.error!.error.code];
}`,
    fault: `export const fault: import('./made/schema').components['schemas']['GroupInput'] = { type: 'herd' };`,
  },
  {
    packages: ['@hey-api/openapi-ts@0.99.0', 'typescript@5.9.3'],
    command: ['openapi-ts', '-i', 'document.json', '-o', 'made'],
    program: `import { type FeedEntry, getLearner, listAssessments } from './made';
${headers}
const shown = (entry: FeedEntry) => ('removed' in entry ? null : entry.updated_at);
export async function read(): Promise<(string | null)[]> {
  const list = await listAssessments({ headers, query: { subject: ['maths'] } });
  const learner = await getLearner({ headers, path: { ref: 'LRN-000017' } });
  return [...list.data!.data.map(shown), learner.data!.data.ref];
}`,
    fault: `export const fault: import('./made').GroupInput = { type: 'herd' };`,
  },
  {
    packages: ['orval@8.38.0'],
    command: ['orval', '--input', 'document.json', '--output', 'made/calls.ts', '--client', 'fetch'],
    program: `import { type FeedEntry, createGroup, listAssessments } from './made/calls';
${headers}
const shown = (entry: FeedEntry) => ('removed' in entry ? null : entry.updated_at);
export async function read(): Promise<(string | null)[]> {
  const list = await listAssessments({ subject: ['maths'] }, { headers });
  const group = await createGroup({ type: 'cohort', ref: 'C-1', name: 'Cohort' }, { headers });
  return [...(list.status === 200 ? list.data.data.map(shown) : []), group.status === 201 ? group.data.data.ref : null];
}`,
    fault: `export const fault: import('./made/calls').GroupInput = { type: 'herd' };`,
  },
];

const compilerOptions = {
  strict: true,
  noEmit: true,
  module: 'preserve',
  moduleResolution: 'bundler',
  target: 'es2022',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: [],
};

async function compile(tools: Tools, program: string): Promise<string> {
  await writeFile(join(tools.folder, 'use.ts'), program);
  await writeFile(
    join(tools.folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['use.ts', 'made'] }),
  );
  return promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['-p', tools.folder]).then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  );
}

suite('code generators make usable types of both OpenAPI documents', async () => {
  const document = await makeOpenApi(exampleOrigin);
  for (const { packages, command, program, fault } of generators)
    test(packages.join(' with '), async (context) => {
      const tools = await installTools(...packages);
      if (tools.missing !== null) return context.skip(tools.missing);
      await mkdir(join(tools.folder, 'made'));
      for (const name of ['openapi.json', 'openapi-3.0.json']) {
        await writeFile(join(tools.folder, 'document.json'), referenceFiles[name]!(document));
        const [bin, ...words] = command as [string, ...string[]];
        const { code, output } = await tools.call(bin, ...words);
        assert.equal(code, 0, `${name}\n${output}`);
        assert.equal(await compile(tools, program), '', name);
        assert.match(await compile(tools, `${program}\n${fault}`), /use\.ts.*error TS/, name);
      }
    });
});
