import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { suite, test } from 'node:test';

const ars = new URL('../../cli/ars.ts', import.meta.url).pathname;

/** The command line with these words: its exit code and what it says on standard error. */
function call(...words: string[]): Promise<{ code: number; said: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [ars, ...words], (error, _out, said) =>
      resolve({ code: Number(error?.code ?? 0), said }),
    );
  });
}

const id = '00000000-0000-4000-8000-000000000000';

suite('words of the command line', () => {
  test('a negative number is a value', async () => {
    assert.deepEqual(await call('organisation', 'credits', id, '--add', '-20'), {
      code: 2,
      said: 'ars: --reason is required\n',
    });
  });

  test('misuse is one sentence on one line, with exit code 2', async () => {
    const misuses = [
      ['organisation', 'credits', id, '--add', '--reason'],
      ['key', 'list', '--nope'],
      ['nothing'],
      ['organisation'],
      ['serve', '--role', 'king'],
    ];
    for (const { code, said } of await Promise.all(misuses.map((words) => call(...words)))) {
      assert.equal(code, 2, said);
      assert.match(said, /^ars: [^\n]+\n$/);
    }
  });
});
