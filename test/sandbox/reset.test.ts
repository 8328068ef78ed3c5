import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openSandbox, recentSince, resetSandbox } from '../../src/sandbox/sandbox.ts';
import { withService } from '../support/service.ts';
import { invited } from '../sittings/learner.ts';

test('a reset leaves nothing of the sandbox, whatever was done in it, and the rest as it is', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ars-sandbox-'));
  after(() => rm(folder, { recursive: true }));
  const service = await withService({ own: 'Has a data folder.', settings: { ARS_DATA_DIR: folder } });
  const { app } = service;
  const other = await service.organisation();
  const sandbox = await openSandbox(app, 5);
  const id = sandbox.organisation.organisation_id;
  const key = { access_key_id: sandbox.keyId, secret_access_key: sandbox.secret };
  const shown = await service.client(key).get(`/assessments?since=${await recentSince(app, id)}`);
  assert.ok(shown.body.data.length > 0, 'the line that is printed to try shows something');
  const ana = await invited(
    service,
    { ...other, ...service.client(key), key, id, publicId: sandbox.organisation.public_id },
    { ref: 'ana', name: 'Ana Silva' },
  );
  await ana.starts();

  const tables = await app.db.query<{ table_name: string }>(`
    select table_name from information_schema.columns where table_schema = current_schema() and column_name = 'organisation_id' order by 1`);
  const held = async (organisationId: number) => {
    const counts = await Promise.all(
      tables.map(async ({ table_name }) => {
        const [row] = await app.db.query<{ count: number }>(
          `select count(*) as count from ${table_name} where organisation_id = $1`,
          [organisationId],
        );
        return [table_name, row!.count] as const;
      }),
    );
    return Object.fromEntries(counts.filter(([, count]) => count > 0));
  };
  const others = await held(other.id);
  assert.ok((await held(id)).sitting! > 0);
  await resetSandbox(app);
  assert.deepEqual(await held(id), {});
  assert.deepEqual(await held(other.id), others);
  assert.notEqual((await openSandbox(app, 5)).secret, sandbox.secret);
});
