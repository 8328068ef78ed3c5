import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, suite, test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/** What a consumer's program does first, in a dialect of modules. */
const program = (load: string) => `${load}
const main = async () => {
  const secret = 'whsec_of a test';
  const { headers, body } = await testWebhook({ secret, event: { event: 'a.newer.one' } });
  const verdict = await verifyWebhook({ secret, header: headers['x-svc-signature-256'], body });
  const client = new Client({ baseUrl: process.env.API, accessKeyId: 'id', secretAccessKey: 'secret' });
  const { organisation_id } = await client.health();
  const seen = [];
  for await (const entry of client.groups.list()) seen.push(entry.id);
  let code = '';
  try {
    await client.assessments.get('nothing');
  } catch (error) {
    code = error instanceof ApiError ? error.code : String(error);
  }
  console.log(JSON.stringify({ verdict, organisation_id, seen, code }));
};
main();
`;
const stores = `
const mirrored = async () => {
  const client = new Client({ baseUrl: process.env.API, accessKeyId: 'id', secretAccessKey: 'secret' });
  const store = jsonFileStore('mirror-' + process.pid + '.json');
  const { results, since } = await openMirror({ client, store }).poll();
  console.log(JSON.stringify({ results, since, others: [typeof postgresStore, typeof sqliteStore, storeConformance({}).length > 5] }));
};
mirrored();
`;
const names = '{ ApiError, Client, testWebhook, verifyWebhook }';
const entry = {
  assessment_id: '8f14e45f-ceea-467f-a1d6-3f2d5c0b9a11',
  status: 'completed',
  updated_at: '2026-01-31T09:41:00.000Z',
};
const mirrorSays = { results: 1, since: entry.updated_at, others: ['function', 'function', true] };
const expected = { verdict: 'valid', organisation_id: 'o', seen: ['g1', 'g2'], code: 'not_found' };

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

/** The first program of a name in the folder of runtimes that .ci/run fills, or on the path, outside this project's packages. */
async function found(name: string, ...parameters: string[]): Promise<string[] | null> {
  const { PATH = '', CLIENT_RUNTIMES } = process.env;
  const folders = PATH.split(delimiter).filter((one) => !one.includes('node_modules'));
  for (const folder of CLIENT_RUNTIMES === undefined ? folders : [CLIENT_RUNTIMES, ...folders]) {
    const path = join(folder, name);
    if (
      await run(path, ['--version']).then(
        () => true,
        () => false,
      )
    )
      return [path, ...parameters];
  }
  return null;
}

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

  const server = createServer((request, response) => {
    const replies: Record<string, object> = {
      '/api/v1/health': { status: 'ok', organisation_id: 'o', api_version: 'v1' },
      '/api/v1/groups': { data: [{ id: 'g1' }], pagination: { next: 'http://a.test/api/v1/groups?cursor=c' } },
      '/api/v1/groups?cursor=c': { data: [{ id: 'g2' }], pagination: { next: null } },
    };
    const reply = replies[request.url!];
    if (request.url!.startsWith('/api/v1/assessments?')) {
      response.writeHead(200, {
        'content-type': 'application/json',
        etag: 'W/"e"',
        'x-sync-through': entry.updated_at,
      });
      response.end(JSON.stringify({ data: [entry], pagination: { next: null } }));
      return;
    }
    response.writeHead(reply === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(reply ?? { error: { code: 'not_found', message: 'There is none.' } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const API = `http://127.0.0.1:${(server.address() as { port: number }).port}`;

  test('holds nothing but the built files and the words that go with them', () => {
    const paths = packed.files.map(({ path }) => path).filter((path) => !/^dist\/(esm|cjs)\//.test(path));
    assert.deepEqual(paths.sort(), ['LICENSE', 'README.md', 'package.json']);
    assert.ok(packed.files.every(({ path }) => !path.endsWith('.ts') || path.endsWith('.d.ts')));
  });

  const runtimes: [string, string[] | null, string[]][] = [
    ['this Node', [process.execPath], ['esm.mjs', 'cjs.cjs', 'mirror.mjs', 'mirror.cjs']],
    ["the machine's own Node", await found('node'), ['esm.mjs', 'cjs.cjs', 'mirror.mjs', 'mirror.cjs']],
    ['Bun', await found('bun'), ['esm.mjs', 'cjs.cjs', 'mirror.mjs', 'mirror.cjs']],
    ['Deno', await found('deno', 'run', '--allow-all', '--node-modules-dir=manual'), ['esm.mjs', 'mirror.mjs']],
  ];
  for (const [name, command, files] of runtimes) {
    for (const file of files) {
      test(`runs in ${name} (${file})`, { skip: command === null ? 'not on this machine' : false }, async () => {
        const [path, ...parameters] = command!;
        const { stdout: said } = await run(path!, [...parameters, file], { cwd: folder, env: { ...process.env, API } });
        assert.deepEqual(JSON.parse(said), file.startsWith('mirror') ? mirrorSays : expected);
      });
    }
  }

  test('has types for both kinds of modules', async () => {
    await symlink(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'));
    await symlink(join(root, 'node_modules/undici-types'), join(folder, 'node_modules/undici-types'));
    for (const file of ['typed.mts', 'typed.cts']) await writeFile(join(folder, file), typed);
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--types', 'node', 'typed.mts', 'typed.cts'];
    await run(process.execPath, [compiler, ...options], { cwd: folder }).catch(({ stdout: faults }) =>
      assert.fail(String(faults)),
    );
  });
});
