import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { countRestores } from '../../governance/restore/count-restores.ts';
import { ars } from '../../support/ars.ts';
import { withService } from '../../support/service.ts';

suite('commands and the database that they are told of', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ars-declare-'));
  await chmod(folder, 0o755);
  after(() => rm(folder, { recursive: true, force: true }));

  const run = (env: Record<string, string>, ...words: string[]) =>
    ars(words, { DATABASE_URL: undefined, ARS_SECRET: undefined, ...env });

  test('make no new one, where one of theirs is meant', async () => {
    const data = join(folder, 'data');
    for (const words of [
      ['restore', '--declare'],
      ['backup', '--out', join(folder, 'out')],
      ['check', 'personal-data'],
      ['digest', 'verify'],
      ['secret', 'accept'],
      ['organisation', 'list'],
      ['migrate'],
    ]) {
      const { code, said } = await run({ ARS_DATA_DIR: data }, ...words);
      assert.equal(code, 1, words.join(' '));
      assert.match(said, /^ars: There is no database in the data folder .*: set ARS_DATA_DIR or DATABASE_URL .*\.\n$/);
    }
    assert.deepEqual(await readdir(folder), []);
  });

  test('a restore that is declared without its list is refused until the list is back', async () => {
    const list = join(folder, 'erasures');
    const service = await withService({ own: 'Declares a restore of the whole database.' });
    await service.organisation();
    assert.equal(await countRestores(service.app.db), 0);
    const env = { ...service.environment, ARS_ERASURES_FILE: list };
    for (const words of [
      ['restore', '--declare'],
      ['organisation', 'list'],
    ]) {
      const { code, said } = await run(env, ...words);
      assert.equal(code, 1, words.join(' '));
      assert.match(said, /The file of ARS_ERASURES_FILE is missing, and the database was restored/);
      assert.equal(existsSync(list), false, 'none is begun anew from what an old backup knows');
    }
    assert.equal(await countRestores(service.app.db), 1);
    await writeFile(list, '');
    const declared = await run(env, 'restore', '--declare');
    assert.equal(declared.code, 0, declared.said);
    assert.match(declared.out, /^The restore is declared for 1 organisation:/);
    // What was shown by a clock that was ahead.
    const position = async () => (await service.app.db.query<{ at: number }>('select position as at from feed'))[0]!.at;
    const shown = systemClock.nowMs() + 3 * 3600_000;
    const time = new Date(shown).toISOString();
    assert.equal((await run(env, 'restore', '--declare', '--above', time)).code, 0);
    const above = await position();
    assert.ok(above > shown * 1000 && above < shown * 1000 + 120_000_000);
    const year = new Date(shown + 366 * 86_400_000).toISOString();
    assert.equal((await run(env, 'restore', '--declare', '--above', year)).code, 2);
    assert.equal(await position(), above);
  });

  test('a restore is declared of no empty database, and nothing is made in it', async () => {
    const service = await withService({ own: 'Declares a restore of the whole database.' });
    const declares = async () => {
      const { code, said } = await run(service.environment, 'restore', '--declare');
      assert.equal(code, 1);
      assert.match(said, /^ars: There is nothing to restore in this database: it holds no organisation\./);
    };
    await declares();
    assert.equal(await countRestores(service.app.db), 0);
    await service.app.db.query('drop schema public cascade');
    await service.app.db.query('create schema public');
    await declares();
    assert.deepEqual(
      await service.app.db.query(`select from pg_class where relnamespace = 'public'::regnamespace`),
      [],
    );
  });
});
