import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { manualClock } from '../platform/time/manual-clock.ts';
import { openSandbox } from '../../src/sandbox/sandbox.ts';
import { withService } from '../support/service.ts';

const learners = 320;
const nothing = () => {};

suite('a sandbox answers while it is filled', async () => {
  const start = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ars-sandbox-'));
    after(() => rm(folder, { recursive: true }));
    const clock = manualClock(Date.UTC(2026, 2, 4, 13, 37, 11));
    const service = await withService({
      own: 'Moves the clock.',
      clock,
      settings: { ARS_DATA_DIR: folder, ARS_RATE_LIMIT: '100000' },
    });
    const open = () => openSandbox(service.app, learners);
    const clientOf = (sandbox: Awaited<ReturnType<typeof open>>) =>
      service.client({ access_key_id: sandbox.keyId, secret_access_key: sandbox.secret });
    return { folder, open, clientOf };
  };
  type Client = ReturnType<Awaited<ReturnType<typeof start>>['clientOf']>;

  /** Everything that the lists show but when it changed, by id. */
  const all = async (client: Client) => {
    const held = new Map<string, unknown>();
    for (const list of ['assessments', 'learners', 'groups']) {
      let page: string | null = `/${list}?limit=500`;
      while (page !== null) {
        const { data, pagination }: { data: any[]; pagination: { next: string | null } } = (await client.get(page))
          .body;
        for (const row of data) {
          const { updated_at: _, created_at: __, evidence_pack_url: ___, id: ____, ...shown } = row;
          const groups = (row.groups ?? []).map((group: { type: string; ref: string }) => `${group.type} ${group.ref}`);
          const id = row.assessment_id ?? row.learner_id ?? `${row.type} ${row.ref}`;
          held.set(`${list} ${id}`, { ...shown, groups: groups.sort() });
        }
        page = pagination.next === null ? null : pagination.next.slice(pagination.next.indexOf(`/${list}`));
      }
    }
    return held;
  };

  const straight = await start();
  const one = await straight.open();
  assert.equal(await one.fill(nothing, new AbortController().signal), learners);
  const whole = await all(straight.clientOf(one));

  test('its first page has data before the rest is made', async () => {
    const { open, clientOf } = await start();
    const sandbox = await open();
    const { status, body } = await clientOf(sandbox).get('/assessments?limit=50');
    assert.deepEqual([status, body.data.length, sandbox.plan.total], [200, 50, learners]);
  });

  test('cut off anywhere, the next start completes the same sandbox (law 7) and leaves what was done meanwhile', async () => {
    const { folder, open, clientOf } = await start();
    const first = await open();
    const state = join(folder, 'sandbox.json');
    const before = await readFile(state, 'utf8');
    const stopping = new AbortController();
    assert.equal(await first.fill(() => stopping.abort(), stopping.signal), 300);
    // As kill -9 leaves it after the commit of a step and before the note of it.
    await writeFile(state, before);
    const named = { full_name: 'Somebody Else', ref: 'OWN-1' };
    assert.equal((await clientOf(first).post('/learners', named)).status, 201);

    const second = await open();
    assert.deepEqual([second.keyId, second.secret], [first.keyId, first.secret]);
    const progress: number[] = [];
    assert.equal(await second.fill((done) => progress.push(done), new AbortController().signal), learners);
    assert.deepEqual(progress, [300, learners, learners]);
    const held = await all(clientOf(second));
    const own = [...held].filter(([, shown]) => (shown as { ref?: string }).ref === named.ref);
    assert.equal(own.length, 1);
    held.delete(own[0]![0]);
    assert.deepEqual(held, whole);

    const third = await open();
    assert.equal(
      await third.fill(() => assert.fail('nothing is left to make'), new AbortController().signal),
      learners,
    );
  });
});
