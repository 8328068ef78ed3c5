import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { Failure } from '../../cli/command.ts';
import { writeWhole } from '../../cli/in-place.ts';

const folder = await mkdtemp(join(tmpdir(), 'ars-in-place-'));
after(() => rm(folder, { recursive: true, force: true }));

suite('a file that a command writes', () => {
  const out = join(folder, 'out.zip');
  const modeOf = async () => (await stat(out)).mode & 0o777;

  test('is its owner’s alone when it is new, and keeps its readers when it is there', async () => {
    assert.equal(await writeWhole(out, 'first'), 5);
    assert.equal(await modeOf(), 0o600);
    await chmod(out, 0o640);
    assert.equal(await writeWhole(out, Buffer.from('second')), 6);
    assert.deepEqual([await readFile(out, 'utf8'), await modeOf()], ['second', 0o640]);
  });

  test('stays as it was when what is written ends halfway', async () => {
    async function* halfway() {
      yield Buffer.from('half');
      throw new Error('the database is away');
    }
    await assert.rejects(writeWhole(out, halfway()), /the database is away/);
    assert.deepEqual([await readFile(out, 'utf8'), await readdir(folder)], ['second', ['out.zip']]);
  });

  test('is written at once where it is no file; where it can’t be written, it is said', async () => {
    await writeWhole('/dev/null', 'gone');
    assert.ok((await stat('/dev/null')).isCharacterDevice());
    await assert.rejects(writeWhole(join(folder, 'none', 'out.zip'), 'x'), Failure);
    await assert.rejects(writeWhole(folder, 'x'), Failure);
  });
});
