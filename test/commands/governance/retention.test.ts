import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { sessionSettings } from '../../../src/platform/db/connection/connection.ts';
import { ars } from '../../support/ars.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const { db } = service.app;

const run = (...words: string[]) => ars(['retention', ...words, '--organisation', org.publicId], service.environment);

suite('ars retention', () => {
  test('a command that waits too long for a lock in the database says so', async () => {
    const { lock_timeout } = sessionSettings;
    sessionSettings.lock_timeout = '300ms';
    const { code, out, said } = await db.transaction(async (tx) => {
      await tx.query('set local idle_in_transaction_session_timeout = 0');
      await tx.query('lock table retention_policy in access exclusive mode');
      return run('show').finally(() => Object.assign(sessionSettings, { lock_timeout }));
    });
    assert.deepEqual([code, out], [1, '']);
    assert.match(
      said,
      /^ars: Another process held a lock in the database for too long\. .* Run the command again\.\n$/,
    );
    assert.equal((await run('show')).code, 0);
  });
});
