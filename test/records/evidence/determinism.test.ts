import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { differing, golden, hashes } from './golden.ts';

const run = promisify(execFile);
const script = new URL('./golden.ts', import.meta.url).pathname;

async function hashesIn(
  node: string,
  order: string,
  environment: Record<string, string>,
): Promise<Record<string, string>> {
  const { stdout } = await run(node, ['--no-warnings', script, '--hashes', '--order', order], {
    env: { PATH: process.env.PATH ?? '', ...environment },
    maxBuffer: 1 << 22,
  });
  return JSON.parse(stdout) as Record<string, string>;
}

suite('law 7: the same result gives the same bytes', () => {
  test('as the golden files have them', () => {
    assert.deepEqual(differing(), []);
  });

  test('when rendered a second time in the same process', () => {
    assert.deepEqual(hashes(), golden().sha256);
  });

  const matrix = [
    { order: 'forwards', TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8' },
    { order: 'backwards', TZ: 'America/St_Johns', LANG: 'C' },
    { order: 'interleaved', TZ: 'Europe/London', LANG: 'ar_EG.UTF-8' },
  ];
  for (const { order, TZ, LANG } of matrix) {
    test(`in another process, ${order}, in the zone ${TZ} and the locale ${LANG}`, async () => {
      assert.deepEqual(await hashesIn(process.execPath, order, { TZ, LANG, LC_ALL: LANG }), golden().sha256);
    });
  }

  const other = process.env.ARS_TEST_OTHER_NODE;
  test(
    'on another major version of Node',
    { skip: other === undefined || !existsSync(other) ? 'set ARS_TEST_OTHER_NODE to its path' : false },
    async () => {
      const { stdout } = await run(other!, ['-p', 'process.versions.node']);
      assert.notEqual(
        stdout.split('.')[0],
        process.versions.node.split('.')[0],
        'ARS_TEST_OTHER_NODE is the same major version',
      );
      assert.deepEqual(
        await hashesIn(other!, 'backwards', { TZ: 'Asia/Kathmandu', LANG: 'de_DE.UTF-8' }),
        golden().sha256,
      );
    },
  );

  test('in threads that render at the same time', async () => {
    const source = `import { parentPort, workerData } from 'node:worker_threads';
      const { hashes } = await import(workerData);
      parentPort.postMessage(hashes());`;
    const results = await Promise.all(
      [0, 1].map(
        () =>
          new Promise<Record<string, string>>((resolve, reject) => {
            const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), {
              workerData: new URL('./golden.ts', import.meta.url).href,
            });
            worker.once('message', resolve);
            worker.once('error', reject);
          }),
      ),
    );
    for (const result of results) assert.deepEqual(result, golden().sha256);
  });

  test('because nothing that could differ is used', () => {
    const banned =
      /node:zlib|from 'zlib'|new Date\b|Date\.|\bIntl\b|toLocale|localeCompare|\.normalize\(|Math\.(sin|cos|tan|exp|log|pow|cbrt|random)|\*\*/;
    const rendering = globSync(
      ['content', 'document*', 'input', 'pdf/*', 'wording'].map((name) => `src/records/evidence/${name}.ts`),
      { cwd: new URL('../../../', import.meta.url).pathname },
    );
    assert.ok(rendering.length > 10);
    for (const file of rendering) {
      const code = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8').replace(
        /\/\*[^]*?\*\/|\/\/.*/g,
        '',
      );
      assert.equal(banned.exec(code)?.[0], undefined, file);
    }
  });
});
