import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { inWork } from '../../src/db/work.ts';
import { openApp } from '../../src/main.ts';
import { createOrganisation, listOrganisations } from '../../src/organisations/organisations.ts';
import { countRestores } from '../../src/restore/lineage.ts';
import { readSettings } from '../../src/settings.ts';

const ars = new URL('../../cli/ars.ts', import.meta.url).pathname;

suite('ars backup and ars restore', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ars-backup-'));
  await chmod(folder, 0o755);
  after(() => rm(folder, { recursive: true, force: true }));
  const [data, out, other] = [join(folder, 'data'), join(folder, 'out'), join(folder, 'other')];

  const run = (dataDir: string, ...words: string[]) =>
    new Promise<{ code: number; said: string; json: any }>((resolve) => {
      const env = { ...process.env, DATABASE_URL: '', ARS_DATA_DIR: dataDir };
      execFile(process.execPath, [ars, ...words, '--json'], { env }, (error, stdout, said) =>
        resolve({ code: Number(error?.code ?? 0), said, json: stdout === '' ? undefined : JSON.parse(stdout) }),
      );
    });
  const open = (dataDir: string) =>
    openApp({ ...readSettings({ ARS_DATA_DIR: dataDir }), log: 'none', baseUrl: 'http://127.0.0.1' });

  test('a database is copied while it is written to, and opens elsewhere with all that was committed before', async () => {
    const { app, close } = await open(data);
    const make = (name: string) =>
      inWork(app, null, (work) =>
        createOrganisation(work, { name, plan: 'unlimited', credits: 0, groupAutocreate: true }),
      );
    let names: string[] = [];
    try {
      for (let i = 0; i < 3; i++) names.push((await make(`Before ${i}`)).name);
      let writing = true;
      const writer = (async () => {
        for (let i = 0; writing; i++) await make(`During ${i}`);
      })();
      const backup = await run(data, 'backup', '--out', out);
      writing = false;
      await writer;
      assert.equal(backup.code, 0, backup.said);
      assert.ok(backup.json.files > 500 && backup.json.bytes > 10_000_000);
      assert.deepEqual((await readdir(out)).sort(), ['cluster', 'manifest.json', 'own']);
      const twice = await run(data, 'backup', '--out', out);
      assert.match(twice.said, /--out must name a folder that is empty/);
      const onto = await run(data, 'restore', '--from', out);
      assert.match(onto.said, /ARS_DATA_DIR must be empty/);
    } finally {
      await close();
    }
    const restored = await run(other, 'restore', '--from', out);
    assert.equal(restored.code, 0, restored.said);
    const there = await open(other);
    try {
      const found = (await listOrganisations(there.app.db)).map((one) => one.name);
      names = names.filter((name) => !found.includes(name));
      assert.deepEqual(names, [], 'what was committed before is there');
      assert.equal(await countRestores(there.app.db), 1, 'the feeds began again, once');
      assert.equal(await readFile(join(other, 'secret'), 'utf8'), await readFile(join(data, 'secret'), 'utf8'));
    } finally {
      await there.close();
    }
  });

  test('a backup that is damaged or not whole is refused, and leaves nothing behind', async () => {
    const empty = join(folder, 'empty');
    const path = join(out, 'cluster', 'PG_VERSION');
    await writeFile(path, '17\n');
    const damaged = await run(empty, 'restore', '--from', out);
    assert.equal(damaged.code, 1);
    assert.match(damaged.said, /^ars: cluster\/PG_VERSION of the backup is missing or damaged\n$/);
    assert.deepEqual(await readdir(empty), []);
    await rm(join(out, 'manifest.json'));
    assert.match((await run(empty, 'restore', '--from', out)).said, /there is no manifest\.json/);
    assert.match((await run(empty, 'restore')).said, /give --from DIR, or --declare/);
    assert.match((await run(empty, 'backup')).said, /--out is required/);
  });
});
