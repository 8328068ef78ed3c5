import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { recordResults, scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/** What a consumer's program does first, in a dialect of modules. */
const program = (load: string) => `${load}
const main = async () => {
  const secret = 'whsec_of a test';
  const { headers, body } = await testWebhook({ secret, event: { event: 'a.newer.one' } });
  const verdict = await verifyWebhook({ secret, header: headers['x-svc-signature-256'], body });
  const client = new Client(JSON.parse(process.env.CLIENT_OPTIONS));
  const { organisation_id } = await client.health();
  const seen = [];
  for await (const entry of client.groups.list({ limit: 1 })) seen.push(entry.id);
  let code = '';
  try {
    await client.assessments.get('8f14e45f-ceea-467f-a1d6-3f2d5c0b9a11');
  } catch (error) {
    code = error instanceof ApiError ? error.code : String(error);
  }
  console.log(JSON.stringify({ verdict, organisation_id, seen, code }));
};
main();
`;
const stores = `
const mirrored = async () => {
  const client = new Client(JSON.parse(process.env.CLIENT_OPTIONS));
  const store = jsonFileStore('mirror-' + process.pid + '.json');
  const { results, isProven } = await openMirror({ client, store }).poll();
  console.log(JSON.stringify({ results, isProven, others: [typeof postgresStore, typeof sqliteStore, storeConformance({}).length > 5] }));
};
mirrored();
`;
const names = '{ ApiError, Client, testWebhook, verifyWebhook }';
/** Results in the service, more than one page of them. */
const count = 120;

const typed = `import { Client, ApiError, sync, type Assessment, type Change, type Store } from '@ars/client';
import { sqliteStore } from '@ars/client/sqlite';
import { postgresStore } from '@ars/client/postgres';
const client = new Client({ baseUrl: 'https://a.test', accessKeyId: 'a', secretAccessKey: 'b' });
export const level = async (): Promise<Assessment['rqf_level']> => (await client.assessments.get('x')).rqf_level;
export const full = (error: unknown) => error instanceof ApiError && error.code === 'group_limit_exceeded';
declare const pool: Parameters<typeof postgresStore>[0];
declare const database: { exec(sql: string): void; prepare(sql: string): any; mine: 1 };
export const mine: Store<{ mine: 1 }> = sqliteStore(database);
export const running = () =>
  sync({ client, store: postgresStore(pool), onChange: (changes: Change[], native) => void native.query('select 1') });
// @ts-expect-error a type that the contract doesn't have
export const wrong = () => client.assessments.list({ subject: ['physics'] });
// @ts-expect-error an operation that there isn't
export const lost = () => client.call('noOperation');
`;

/** Runtimes by the name of their package in the folder that .ci/run fills, with the program in it. */
const runtimes: Record<string, { name: string; program: string; options?: string[] }> = {
  node20: { name: 'Node 20', program: 'bin/node' },
  node22: { name: 'Node 22', program: 'bin/node' },
  node24: { name: 'Node 24', program: 'bin/node' },
  bun: { name: 'Bun', program: '../.bin/bun' },
  deno: { name: 'Deno', program: '../.bin/deno', options: ['run', '--allow-all', '--node-modules-dir=manual'] },
};
const packages = process.env.CLIENT_RUNTIMES;
const notHere = '.ci/run installs it, in a folder that CLIENT_RUNTIMES names';

suite('the packed client, installed in a project of its own', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ars-client-'));
  after(() => rm(folder, { recursive: true, force: true }));
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: join(root, 'client') });
  const packed = Object.values(JSON.parse(stdout) as object)[0] as { filename: string; files: { path: string }[] };
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, packed.filename)], { cwd: folder });
  await writeFile(join(folder, 'esm.mjs'), program(`import ${names} from '@ars/client';`));
  const parts = [
    ['{ Client, openMirror }', ''],
    ['{ jsonFileStore }', '/json-file'],
    ['{ postgresStore }', '/postgres'],
    ['{ sqliteStore }', '/sqlite'],
    ['{ storeConformance }', '/conformance'],
  ];
  const imports = parts.map(([what, from]) => `import ${what} from '@ars/client${from}';\n`);
  const requires = parts.map(([what, from]) => `const ${what} = require('@ars/client${from}');\n`);
  await writeFile(join(folder, 'mirror.mjs'), imports.join('') + stores);
  await writeFile(join(folder, 'mirror.cjs'), requires.join('') + stores);
  await writeFile(join(folder, 'cjs.cjs'), program(`const ${names} = require('@ars/client');`));

  const service = await withService();
  const scene = await scenario(service);
  const groups = [await scene.group('a'), await scene.group('b')];
  const learner = await scene.learner('LRN-1');
  await service.withUnitOfWork((work) =>
    recordResults(
      work,
      scene.org.id,
      Array.from({ length: count }, () => ({ ref: learner.ref })),
    ),
  );
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = scene.org.key;
  const CLIENT_OPTIONS = JSON.stringify({ baseUrl: service.url, accessKeyId, secretAccessKey });
  const seen = groups.map(({ id }) => id);
  const expected = { verdict: 'valid', organisation_id: scene.org.publicId, seen, code: 'not_found' };
  const mirrorSays = { results: count, isProven: true, others: ['function', 'function', true] };

  test('holds nothing but the built files and the words that go with them', () => {
    const paths = packed.files.map(({ path }) => path).filter((path) => !/^dist\/(esm|cjs)\//.test(path));
    assert.deepEqual(paths.sort(), ['LICENSE', 'README.md', 'package.json']);
    assert.ok(packed.files.every(({ path }) => !path.endsWith('.ts') || path.endsWith('.d.ts')));
  });

  const runsIn = (name: string, [path, ...options]: string[], files: string[], skip: string | false = false) => {
    for (const file of files)
      test(`runs in ${name} (${file})`, { skip }, async () => {
        const env = { ...process.env, CLIENT_OPTIONS };
        const { stdout: said } = await run(path!, [...options, file], { cwd: folder, env });
        assert.deepEqual(JSON.parse(said), file.startsWith('mirror') ? mirrorSays : expected);
      });
  };
  const modules = ['esm.mjs', 'mirror.mjs'];
  const everyDialect = [...modules, 'cjs.cjs', 'mirror.cjs'];
  runsIn('Node 26', [process.execPath], everyDialect);
  for (const [name, { name: title, program: path, options = [] }] of Object.entries(runtimes)) {
    const isHere = packages !== undefined && existsSync(join(packages, name));
    const command = [join(packages ?? '', name, path), ...options];
    runsIn(title, command, name === 'deno' ? modules : everyDialect, isHere ? false : notHere);
  }

  const compilers = { 7: join(root, 'node_modules/typescript'), 5: join(packages ?? '', 'typescript5') };
  for (const [version, compiler] of Object.entries(compilers)) {
    const skip = existsSync(join(compiler, 'bin/tsc')) ? false : notHere;
    test(`has types for both kinds of modules in TypeScript ${version}`, { skip }, async () => {
      const { version: actual } = JSON.parse(await readFile(join(compiler, 'package.json'), 'utf8')) as {
        version: string;
      };
      assert.ok(actual.startsWith(`${version}.`), actual);
      for (const file of ['typed.mts', 'typed.cts']) await writeFile(join(folder, file), typed);
      const options = ['--noEmit', '--strict', '--module', 'nodenext', 'typed.mts', 'typed.cts'];
      await run(process.execPath, [join(compiler, 'bin/tsc'), ...options], { cwd: folder }).catch(
        ({ stdout: faults }) => assert.fail(String(faults)),
      );
    });
  }
});
