// Tier: full. Kills processes at statements of a sitting.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { App } from '../../src/platform/app.ts';
import { DatabaseUnavailable } from '../../src/platform/db/connection/unavailable.ts';
import { finishSitting } from '../../src/sittings/finish.ts';
import type { SittingRow } from '../../src/sittings/store.ts';
import { findItems, findSitting } from '../../src/sittings/store.ts';
import { withService } from '../support/service.ts';
import { invited } from './learner.ts';

const program = fileURLToPath(new URL('die.ts', import.meta.url));

/** Law 4 for sittings: a cause and what follows from it are one transaction, wherever a process or a connection dies. */
suite('a process that dies', async () => {
  const service = await withService();
  const org = await service.organisation();

  /** Everything that finishing writes, counted. */
  async function written(sitting: SittingRow) {
    const count = async (sql: string) =>
      (await service.app.db.query<{ count: number }>(`select count(*) as count from ${sql}`, [org.id]))[0]!.count;
    const row = (await findSitting(service.app.db, sitting))!;
    return {
      status: row.status,
      result: row.result !== null,
      assessments: await count('assessment where organisation_id = $1'),
      feed: await count('assessment_feed where organisation_id = $1'),
      evidence: await count('evidence where organisation_id = $1'),
      events: await count('event where organisation_id = $1'),
    };
  }
  const nothing = { status: 'open', result: false, assessments: 0, feed: 0, evidence: 0, events: 0 };
  const whole = { status: 'completed', result: true, assessments: 1, feed: 1, evidence: 1, events: 1 };

  async function dies(verb: string, sitting: SittingRow, at: string): Promise<void> {
    const child = spawn(process.execPath, [program, verb, String(sitting.organisation_id), sitting.sitting_id, at], {
      env: { ...process.env, ...service.environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
    assert.equal(signal, 'SIGKILL', `after statement ${at}`);
  }

  test('while it takes an answer: the question is open, or answered with the next one on the screen', async () => {
    const ana = await invited(service, org, { ref: 'ana' });
    const sitting = await ana.starts();
    const state = async () => (await findItems(service.app.db, sitting)).map((row) => row.outcome);
    for (const at of ['2', 'commit']) {
      await dies('answer', sitting, at);
      assert.deepEqual(await state(), [null]);
    }
    await dies('answer', sitting, 'reply');
    assert.deepEqual(await state(), ['skipped', null]);
  });

  test('while it makes a result: an open sitting, or a whole result', async () => {
    const ben = await invited(service, org, { ref: 'ben' });
    const sitting = await ben.starts();
    while ((await ben.answers()) !== null);

    // At every statement by a lost connection, at some also by the death of the process.
    let cut = -1;
    let statements = 0;
    const { transaction } = service.app.db;
    const app: App = {
      ...service.app,
      db: {
        ...service.app.db,
        transaction: (inside) =>
          transaction((tx) =>
            inside({
              query: async (sql, values) => {
                if (statements++ === cut) await tx.query('select pg_terminate_backend(pg_backend_pid())');
                return tx.query(sql, values);
              },
            }),
          ),
      },
    };
    for (cut = 0; ; cut++) {
      statements = 0;
      const finished = await finishSitting(app, sitting, null).catch((error: unknown) => error);
      if (finished === 'completed') break;
      assert.ok(finished instanceof DatabaseUnavailable);
      assert.deepEqual(await written(sitting), nothing, `cut at statement ${cut}`);
      if (cut === 8)
        for (const at of ['0', '9', 'commit']) {
          await dies('finish', sitting, at);
          assert.deepEqual(await written(sitting), nothing, `died at statement ${at}`);
        }
    }
    assert.ok(cut > 12, `${cut} statements`);
    assert.deepEqual(await written(sitting), whole);
  });

  test('after the commit: the result stands, and declaring again changes nothing', async () => {
    const cem = await invited(service, org, { ref: 'cem' });
    const sitting = await cem.starts();
    while ((await cem.answers()) !== null);
    await dies('finish', sitting, 'reply');
    const after = await written(sitting);
    assert.deepEqual({ ...after, assessments: 1, feed: 1, evidence: 1, events: 1 }, whole);
    assert.equal(await cem.finishes(sitting), 'completed');
    assert.deepEqual(await written(sitting), after);
  });
});
