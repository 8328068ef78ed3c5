import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { sealNow } from './sealed.ts';
import { ars } from '../../support/ars.ts';
import { withService } from '../../support/service.ts';

suite('ars audit', async () => {
  const service = await withService();
  const folder = await mkdtemp(join(tmpdir(), 'ars-audit-'));
  after(() => rm(folder, { recursive: true, force: true }));
  const org = await service.organisation();
  for (let i = 0; i < 3; i++) await org.get('/groups');
  await sealNow(service.app);
  await org.get('/learners');
  const run = (...words: string[]) => ars(['audit', ...words, '--organisation', org.publicId], service.environment);

  test('verify says that all is as it was sealed, and shows what is not sealed yet', async () => {
    const { code, out } = await run('verify');
    assert.equal(code, 0);
    assert.match(out, /^3 rows in 1 blocks are what was sealed\.$/m);
    assert.match(out, /^Not sealed yet: 1 row\.$/m);
    assert.match(out, /^\d+ .* GET \/learners +200$/m);
  });

  test('log shows calls by filter, and refused ones with what to do', async () => {
    await org.get('/assessments?foo=1');
    const { json } = await run('log', '--status', '4xx', '--json');
    assert.deepEqual(
      json.data.map((one: any) => [one.action, one.status, one.detail.code]),
      [['GET /assessments', 400, 'unknown_parameter']],
    );
    assert.match(
      (await run('log', '--errors')).out,
      /^1 +400 +unknown_parameter +GET \/assessments .* does not know\. Correct its name or leave it out\.$/m,
    );
    assert.equal((await run('log', '--status', '7xx')).code, 2);
  });

  test('an export with its proof is compared as a file, and so is a plain one; a changed one fails', async () => {
    const [proof, anchors] = [join(folder, 'log.jsonl'), join(folder, 'anchors.jsonl')];
    await writeFile(proof, (await run('export', '--proof')).out);
    await writeFile(anchors, (await run('anchors')).out);
    const kept = JSON.parse((await readFile(anchors, 'utf8')).trim());
    assert.deepEqual([kept.block, kept.rows, kept.hash.length], [1, 3, 64]);
    const good = await run('verify', proof, '--json');
    const { covered, ...rest } = good.json;
    assert.deepEqual([good.code, rest], [0, { valid: true, faults: [], rows: 5, blocks: 1, no_longer_kept: 0 }]);
    assert.deepEqual(covered, { first: 1, last: 1, from: kept.first_at, to: kept.last_at });
    assert.match((await run('verify', proof)).out, /^They are blocks 1 to 1, with rows of .*Z to .*Z\.$/m);
    // As some editors and shells save it.
    await writeFile(anchors, `\uFEFF${await readFile(anchors, 'utf8')}`);
    assert.equal((await run('verify', '--anchors', anchors)).code, 0);
    const foreign = ['audit', 'verify', '--organisation', 'none', '--anchors', anchors];
    assert.match((await ars(foreign, service.environment)).said, /has anchors of another organisation/);
    await writeFile(proof, (await readFile(proof, 'utf8')).replace('"status":200', '"status":404'));
    const bad = await run('verify', proof);
    assert.equal(bad.code, 1);
    assert.match(bad.out, /^Block 1 of the file was changed\.$/m);
    await service.app.db.query("update audit set actor = 'x' where organisation_id = $1", [org.id]);
    await writeFile(anchors, JSON.stringify({ ...kept, hash: '0'.repeat(64) }));
    const forged = await run('verify', '--anchors', anchors);
    assert.equal(forged.code, 1);
    assert.match(forged.out, /is not what was sealed/);
    assert.match(forged.out, /another hash than the anchor/);
  });
});
