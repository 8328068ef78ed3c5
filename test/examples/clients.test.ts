// Tier: full. Runs the examples in other languages.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, suite, test } from 'node:test';
import { promisify } from 'node:util';
import type { Assessment } from '../../client/src/index.ts';
import { testWebhook } from '../../client/src/index.ts';
import { digestService } from '../client/support/digest-service.ts';
import { clientOf, truth } from '../client/support/mirrors.ts';
import { freshDatabase } from '../support/postgres.ts';
import { scenario } from '../support/scenario.ts';
import { thisServer, withService } from '../support/service.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

suite('the examples with the client', async () => {
  const service = await withService({
    own: 'Has a public address.',
    settings: { ARS_BASE_URL: 'http://results.test' },
  });
  const front = await digestService(service.url, true);
  const folder = await mkdtemp(join(tmpdir(), 'ars-examples-'));
  after(() => rm(folder, { recursive: true, force: true }));

  // A project of a consumer's: the built client and what else the examples ask for.
  const installed = join(folder, 'node_modules/@ars/client');
  await mkdir(installed, { recursive: true });
  await copyFile(join(root, 'client/package.json'), join(installed, 'package.json'));
  await run(process.execPath, [join(root, 'client/build.ts'), join(installed, 'dist')]);
  for (const name of ['fastify', 'pg'])
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  const example = async (path: string): Promise<string> => {
    const copy = join(folder, path.replace('/', '-'));
    await copyFile(join(root, 'examples', path), copy);
    return copy;
  };

  const begun = async () => {
    const scene = await scenario(service);
    const ana = await scene.learner('ana-1', '=HYPERLINK("http://evil.example","Ana")');
    const first = await ana.completes();
    await ana.completes({ subject: 'english' });
    const environment = {
      ...process.env,
      NODE_TEST_CONTEXT: undefined,
      API: front.url,
      ACCESS_KEY_ID: scene.org.key.access_key_id,
      SECRET_ACCESS_KEY: scene.org.key.secret_access_key,
    };
    return { scene, ana, first, environment, truth: () => truth(clientOf(service.url, scene.org.key)) };
  };

  /** Runs until it says something; the promise gives everything that it has said by then. */
  const started = (file: string, words: string[], env: NodeJS.ProcessEnv) => {
    const child: ChildProcess = spawn(process.execPath, [file, ...words], { cwd: folder, env });
    let text = '';
    let look = () => {};
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (part: Buffer) => {
        text += part.toString('utf8');
        look();
      });
    const gone = once(child, 'exit');
    after(() => child.kill('SIGKILL'));
    const says = (pattern: RegExp) =>
      new Promise<RegExpExecArray>((resolve, reject) => {
        look = () => {
          const found = pattern.exec(text);
          if (found !== null) resolve(found);
        };
        void gone.then(() => reject(new Error(`it ended, and has said: ${text}`)));
        look();
      });
    const stop = async () => {
      child.kill('SIGTERM');
      const [code] = await gone;
      assert.equal(code, 0, text);
    };
    return { says, stop };
  };

  test('client/mirror.ts keeps a mirror in SQLite until it is stopped', async () => {
    const { environment, truth: wanted } = await begun();
    const file = join(folder, 'mirror.sqlite');
    const mirror = started(await example('client/mirror.ts'), [file], environment);
    await mirror.says(/2 results, through/);
    await mirror.stop();
    const database = new DatabaseSync(file);
    const rows = database.prepare('select record from ars_assessment').all();
    database.close();
    const held = rows.map(({ record }) => JSON.parse(record as string) as Assessment);
    assert.deepEqual(new Map(held.map((one) => [one.assessment_id, one])), await wanted());
  });

  test('fastify/consumer.ts follows by webhook, and takes no webhook that does not verify', async () => {
    const { ana, first, environment } = await begun();
    const database = await freshDatabase(await thisServer(), { migrated: false });
    const secret = 'whsec_of a test';
    const consumer = started(await example('fastify/consumer.ts'), [], {
      ...environment,
      DATABASE_URL: database.url,
      WEBHOOK_SECRET: secret,
      PORT: '0',
    });
    const [, address] = await consumer.says(/listening at (\S+)/);
    const read = async (path: string) => (await fetch(`${address}${path}`)).json() as Promise<any>;
    const news = async (count: number): Promise<any[]> => {
      for (;;) {
        const told = await read('/news');
        if (told.length >= count) return told;
        // The mirror works beside the web server; asking is how one waits for it.
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    assert.equal((await news(2)).length, 2);
    const third = await ana.completes();
    const event = { event: 'learner.groups.updated', learner_ref: 'ana-1', added: [], removed: [], occurred_at: 'now' };
    const forged = await testWebhook({ secret: 'whsec_other', event });
    const refused = await fetch(`${address}/webhooks`, { method: 'POST', ...forged });
    assert.equal(refused.status, 400);
    const signed = await testWebhook({ secret, event });
    assert.equal((await fetch(`${address}/webhooks`, { method: 'POST', ...signed })).status, 204);
    const told = await news(3);
    assert.deepEqual(told.at(-1), { kind: 'added', assessment_id: third.id });
    assert.equal((await read('/results')).length, 3);
    assert.equal((await read(`/why/${first.id}`)).reason, 'in_step');
    await consumer.stop();
    await database.drop();
  });

  test('nightly-csv/nightly.ts writes every result, and no formula', async () => {
    const { first, environment } = await begun();
    const file = await example('nightly-csv/nightly.ts');
    const nightly = () =>
      run(process.execPath, [file, 'results.json', 'results.csv'], { cwd: folder, env: environment });
    assert.match((await nightly()).stdout, /^2 results: 2 added/);
    const csv = await readFile(join(folder, 'results.csv'), 'utf8');
    const lines = csv.trim().split('\r\n');
    assert.equal(lines.length, 3);
    assert.ok(csv.startsWith('\uFEFFassessment_id,learner_ref,full_name,'));
    assert.match(csv, /,"'=HYPERLINK\(""http:\/\/evil\.example"",""Ana""\)",/);
    await first.isWithdrawn();
    assert.match((await nightly()).stdout, /^1 results: 0 added, 0 changed, 1 removed/);
  });
});
