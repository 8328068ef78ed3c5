import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { sessionSettings } from '../../src/db/session-settings.ts';
import { ars } from '../ars.ts';
import { scenario } from '../scenario.ts';
import { withService } from '../service.ts';

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const { db } = service.app;

const run = (...words: string[]) => ars(['retention', ...words, '--organisation', org.publicId], service.environment);

suite('ars retention', () => {
  test('a run that was stopped is told as one, and the next is done', async () => {
    const ahead = async () => {
      await db.query(
        `insert into background_job (organisation_id, job_id, kind, status, created_at, created_by, input, progress)
         values ($1, gen_random_uuid(), 'retention', 'running', clock_timestamp() + interval '1 year', 'retention',
                 '{"rehearsal": false, "months": {"learners": 84}}', '{"kind": null, "reached": null, "tally": {}, "stopped_by": null}')`,
        [org.id],
      );
    };
    await ahead();
    const stopped = await run('run', '--confirm', '--json');
    assert.deepEqual([stopped.code, stopped.json.stopped_by], [1, 'retention'], stopped.said);
    const done = await run('run', '--confirm', '--json');
    assert.deepEqual([done.code, done.json.stopped_by], [0, null], done.said);
    await ahead();
    const told = await run('run', '--confirm');
    assert.equal(told.code, 1);
    assert.match(
      told.out,
      /stopped by the service, because a clock that was ahead .* again with ars retention run\.$/m,
    );
  });

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
