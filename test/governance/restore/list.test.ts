import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { advisoryLocks } from '../../../src/platform/db/locks.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { waitForLocks } from '../../support/postgres.ts';
import { withService } from '../../support/service.ts';

/** What adds to the list of erasures at once, on machines that share it over NFS, would overwrite each other's lines there. */

const folder = await mkdtemp(join(tmpdir(), 'ars-list-'));
after(() => rm(folder, { recursive: true, force: true }));
const list = join(folder, 'erasures');

test('one transaction of the database at a time adds to the list', async () => {
  const service = await withService({ own: 'Keeps a list of erasures.', settings: { ARS_ERASURES_FILE: list } });
  const { db } = service.app;
  const org = await service.organisation();
  await org.post('/learners', { ref: 'kit', full_name: 'Kit Lee' });
  const kit = (await org.get('/learners/kit')).body.data.learner_id as string;
  const isListed = async () => (await readFile(list, 'utf8')).includes(kit);
  const other = db.dedicated();
  await other.query('select pg_advisory_lock($1)', [advisoryLocks.erasures]);
  const erasing = service.withUnitOfWork((work) => eraseLearner(work, org.id, kit, { actor: 'operator' }));
  const isWaiting = async () => (await db.query(waitForLocks)).length > 0;
  let isDone = false;
  void erasing.then(() => (isDone = true));
  while (!isDone && !(await isWaiting())) await delay(5);
  assert.equal(await isListed(), false);
  await other.close();
  await erasing;
  assert.equal(await isListed(), true);
});
