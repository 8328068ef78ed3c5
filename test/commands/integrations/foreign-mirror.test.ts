import assert from 'node:assert/strict';
import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openForeignMirror } from '../../../cli/commands/integrations/foreign-mirror.ts';

const id = '00000000-0000-4000-8000-000000000001';
const line = `${JSON.stringify({ id, updated_at: '2026-01-31T09:00:00.000Z' })}\n`;
const [consumer, shared, operator] = [61_001, 61_002, 61_003];

test('a repair by another member of the group keeps the group, and locks nobody out', async (t) => {
  if (process.geteuid!() !== 0) return t.skip('only root can be somebody else');
  const folder = await mkdtemp(join(tmpdir(), 'ars-foreign-'));
  after(() => rm(folder, { recursive: true, force: true }));
  await chown(folder, consumer, shared);
  await chmod(folder, 0o770);
  const file = join(folder, 'mirror.ndjson');
  /** Takes the result away, as one of those groups. @returns what the file is by then, and what was said */
  const repaired = async (mode: number, groups: number[]) => {
    await writeFile(file, line);
    await chown(file, consumer, shared);
    await chmod(file, mode);
    const kept = process.getgroups!();
    process.setgroups!(groups);
    process.setegid!(groups[0]!);
    process.seteuid!(operator);
    let said = '';
    try {
      const columns = { id: 'id', updatedAt: 'updated_at', record: null, willWrite: true };
      const mirror = await openForeignMirror(file, columns);
      await mirror.write(new Map([[id, null]]));
      await mirror.save().catch((error: Error) => (said = error.message));
    } finally {
      process.seteuid!(0);
      process.setegid!(0);
      process.setgroups!(kept);
    }
    assert.deepEqual(await readdir(folder), ['mirror.ndjson']);
    const { uid, gid, mode: now } = await stat(file);
    return { uid, gid, mode: now & 0o777, text: await readFile(file, 'utf8'), said };
  };
  const done = { uid: operator, gid: shared, mode: 0o660, text: '', said: '' };
  assert.deepEqual(await repaired(0o660, [operator, shared]), done);
  // Its owner could not write any more.
  const { said, ...left } = await repaired(0o640, [operator, shared]);
  assert.deepEqual(left, { uid: consumer, gid: shared, mode: 0o640, text: line });
  assert.match(said, /Nothing was changed.*as the file's owner/);
  // Whoever is in none of its groups and may write into its folder.
  await chmod(folder, 0o777);
  const stranger = await repaired(0o664, [operator]);
  assert.deepEqual([stranger.uid, stranger.gid, stranger.text], [consumer, shared, line]);
  assert.equal((await repaired(0o666, [operator])).text, '');
});
