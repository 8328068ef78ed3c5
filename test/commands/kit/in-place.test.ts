import assert from 'node:assert/strict';
import { chmod, lstat, mkdtemp, readFile, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { Failure } from '../../../cli/kit/command.ts';
import { keepFresh, writeWhole } from '../../../cli/kit/in-place.ts';

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

  test('is one of two that were written at once, as a whole', async () => {
    const begun: (() => void)[] = [];
    async function* slow(text: string) {
      yield text;
      await new Promise<void>((resolve) => begun.push(resolve));
      yield text;
    }
    const both = [writeWhole(out, slow('one ')), writeWhole(out, slow('other '))];
    while (begun.length < 2) await setImmediate();
    begun[0]!();
    await Promise.race(both);
    assert.match(await readFile(out, 'utf8'), /^(one one |other other )$/);
    begun[1]!();
    await Promise.all(both);
    assert.match(await readFile(out, 'utf8'), /^(one one |other other )$/);
    assert.deepEqual(await readdir(folder), ['out.zip']);
  });

  test('takes away what a killed command left of it, and nothing that may still be written, or is of another file', async () => {
    const left = `${out}.0123456789ab.part`;
    const others = [`${out}.ba9876543210.part`, `${out}.part`, join(folder, 'another.zip.0123456789ab.part')];
    for (const file of [left, ...others]) await writeFile(file, 'half');
    const longAgo = new Date(systemClock.nowMs() - limits.leftPartMs - 1000);
    for (const file of [left, ...others.slice(1)]) await utimes(file, longAgo, longAgo);
    await writeWhole(out, 'whole');
    assert.deepEqual(new Set((await readdir(folder)).map((name) => join(folder, name))), new Set([out, ...others]));
    for (const file of others) await rm(file);
  });

  test('is left alone for as long as somebody says that it is being written, however seldom', async () => {
    const beside = `${out}.0123456789ab.part`;
    await writeFile(beside, 'a first line, long ago');
    const longAgo = new Date(systemClock.nowMs() - limits.leftPartMs - 1000);
    await utimes(beside, longAgo, longAgo);
    const settle = keepFresh(beside, 5);
    while ((await stat(beside)).mtimeMs <= longAgo.getTime() + 1000) await setImmediate();
    settle();
    await writeWhole(out, 'whole');
    assert.equal(await readFile(beside, 'utf8'), 'a first line, long ago');
    await rm(beside);
  });

  test('is written where a link leads', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'ars-in-place-link-'));
    const link = join(elsewhere, 'stdout');
    await symlink(out, link);
    await chmod(elsewhere, 0o500);
    await writeWhole(link, 'by a link');
    assert.equal(await readFile(out, 'utf8'), 'by a link');
    assert.ok((await lstat(link)).isSymbolicLink());
    await chmod(elsewhere, 0o700);
    await rm(elsewhere, { recursive: true });
  });

  test('is written at once where it is no file; where it can’t be written, it is said', async () => {
    await writeWhole('/dev/null', 'gone');
    assert.ok((await stat('/dev/null')).isCharacterDevice());
    await assert.rejects(writeWhole(join(folder, 'none', 'out.zip'), 'x'), Failure);
    await assert.rejects(writeWhole(folder, 'x'), Failure);
  });
});
