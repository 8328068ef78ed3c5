import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Change, Filters, Report } from '../../client/src/index.ts';
import { openMirror, sync, SyncStopped } from '../../client/src/index.ts';
import { Backup } from '../../src/sandbox/chaos/backup.ts';
import { client as apiClient } from '../contract/support/client.ts';
import { recordResults, Result, Scenario, scenario } from '../support/scenario.ts';
import { withDatabase } from '../support/postgres.ts';
import { thisServer, withService } from '../support/service.ts';
import { assertSame, clientOf, heldBy, mirrorScene, truth } from './support/mirrors.ts';

const settings = { ARS_RATE_LIMIT: '1000000', ARS_BASE_URL: 'http://results.test' };

suite('a mirror', async () => {
  const service = await withService({ own: 'Has a public address.', settings });

  const begun = (results = 8, hasDigest = true, of = service) => mirrorScene(of, results, hasDigest);

  test('holds what a walk shows, and tells every change once', async () => {
    const { ana, ben, polled, inStep, changes } = await begun();
    const first = await polled();
    assert.deepEqual([first.added, first.results, first.wholeWalks, first.isProven], [8, 8, 1, true]);
    await inStep('the first walk');

    const one = await ana.completes();
    const two = await ben.completes();
    const second = await polled();
    assert.deepEqual([second.added, second.changed, second.removed, second.isProven], [2, 0, 0, true]);
    await one.isAmended();
    await two.isWithdrawn();
    const third = await polled();
    assert.deepEqual([third.added, third.changed, third.removed, third.isProven], [0, 1, 1, true]);
    assert.deepEqual(
      changes.map((change) => [change.kind, change.id, change.kind === 'removed' ? change.reason : '']).sort(),
      [
        ['changed', one.id, ''],
        ['removed', two.id, 'withdrawn'],
      ],
    );
    await inStep('after changes');

    await polled();
    const idle = await polled();
    assert.deepEqual([idle.isUnchanged, idle.isProven, idle.requests.length], [true, true, 1]);
    assert.equal(changes.length, 0);
  });

  test('with filters, follows the learners who come and go', async () => {
    const { scene, ana, polled, inStep, changes } = await begun();
    const cohort = await scene.group('C-1');
    const filters = { group_id: [cohort.id] };
    assert.equal((await polled({ filters })).results, 0);
    await ana.joins(cohort);
    assert.equal((await polled({ filters })).added, 4);
    await ana.leaves(cohort);
    assert.equal((await polled({ filters })).removed, 4);
    assert.ok(changes.every((change) => change.kind === 'removed' && change.reason === 'left_scope'));
    await inStep('after leaving', filters);
  });

  test('with other filters than before, is walked anew, and loses nothing before that walk is in', async () => {
    const { scene, polled, inStep, changes, store } = await begun();
    await service.withUnitOfWork((work) =>
      recordResults(
        work,
        scene.org.id,
        Array.from({ length: 6 }, () => ({ ref: 'ana-1', subject: 'english' as const })),
      ),
    );
    assert.equal((await polled()).results, 14);
    const filters = { subject: ['english' as const] };
    store.left = 12;
    await assert.rejects(polled({ filters }), /killed/);
    assert.equal(heldBy(store).size, 14);
    store.left = Infinity;
    const report = await polled({ filters });
    assert.deepEqual([report.results, report.removed, report.isProven], [6, 8, true]);
    assert.ok(changes.every((change) => change.kind === 'removed' && change.reason === 'not_in_walk'));
    await inStep('after the change', filters);
    await assert.rejects(polled({ filters: { status: ['completed'] } }), TypeError);
  });

  for (const [what, of, other] of [
    ['with a digest', { subject: ['english'] }, { subject: ['maths'] }],
    ['without one', { assessed_from: '2100-01-01T00:00:00.000Z' }, { assessed_from: '2020-01-01T00:00:00.000Z' }],
  ] as [string, Filters, Filters][])
    test(`that another process has opened with other filters, ${what}, is left to it`, async (context) => {
      const { ana, polled, inStep, options, store } = await begun();
      const [before, after] = [of, other].map((filters) => openMirror({ ...options, filters }));
      const says = (error: unknown) => error instanceof SyncStopped && /filters/.test(error.message);
      await before!.poll();
      const ending = new AbortController();
      context.after(() => ending.abort());
      let stopped = Promise.resolve();
      await new Promise<void>((onReport) => {
        const given = { ...options, filters: of, everyMs: 10, signal: ending.signal, onReport: () => onReport() };
        stopped = assert.rejects(sync(given).done, says);
        stopped.catch(() => {});
      });
      // It has only been opened: the whole walk by its filters hasn't begun.
      const [id] = heldBy(store).keys();
      await after!.explain(id ?? 'nothing');
      await assert.rejects(before!.poll(), says);
      await stopped;
      await after!.poll();
      await inStep('by the later filters', other);
      const { id: made } = await ana.completes();
      await assert.rejects(before!.poll(), says);
      await assert.rejects(before!.verify(), says);
      await assert.rejects(before!.explain(made), says);
      assert.equal((await after!.poll()).added, 1);
      await inStep('with what was made between both', other);
      // A restart is a decision: it takes the mirror over.
      await polled({ filters: of });
      await assert.rejects(after!.poll(), says);
    });

  test('is refused to the key pair of another organisation', async () => {
    const { polled, front } = await begun();
    await polled();
    const other = await scenario(service);
    await assert.rejects(polled({ client: clientOf(front.url, other.org.key) }), SyncStopped);
  });

  suite('whose service has lost its last changes with a backup', () => {
    for (const hasDigest of [true, false]) {
      test(`goes back with it (${hasDigest ? 'by its digest' : 'by its times'})`, async () => {
        const before = await withService({ own: 'Has a public address.', settings });
        const { scene, front, polled, inStep, store, options, ben } = await begun(8, hasDigest, before);
        await polled();
        await before.stop();
        const { databaseUrl } = before;
        const copy = `${new URL(databaseUrl).pathname.slice(1)}_backup`;
        const server = await thisServer();
        await withDatabase(server.url, (db) => db.query(`create database ${copy} template ${copy.slice(0, -7)}`));
        const keep = async () => {};

        const now = await withService({
          own: 'Opens a database that is there already.',
          settings,
          database: { url: databaseUrl, drop: keep },
        });
        front.behind = now.url;
        const later = new Scenario(now, { ...scene.org, ...apiClient(now.url, scene.org.key), key: scene.org.key });
        const ana = await later.learner('ana-1', 'Another Name');
        const lost = await ana.completes();
        await (await ana.completes()).isWithdrawn();
        const [back] = [...heldBy(store).values()].filter(({ learner }) => learner.ref === 'ben-1');
        await new Result(later, back!.assessment_id, ben, 'maths').isWithdrawn();
        assert.equal((await polled()).added, 1);
        const url = databaseUrl.replace(copy.slice(0, -7), copy);
        // A restore that the service can't know of: one that it knows of goes on above what was shown.
        await withDatabase(url, (db) => db.query(`update lineage set identity = ''`));
        front.behind = (
          await withService({ own: 'Opens a database that is there already.', settings, database: { url, drop: keep } })
        ).url;
        const hers = [...heldBy(store).values()].filter(({ learner }) => learner.full_name === 'Another Name');
        const renamed = hers.find(({ assessment_id }) => assessment_id !== lost.id);
        const explained = async (id: string) => (await openMirror(options).explain(id)).reason;
        const ids = [lost.id, renamed!.assessment_id, back!.assessment_id];
        const reasons = async () => [await explained(ids[0]!), await explained(ids[1]!), await explained(ids[2]!)];
        assert.deepEqual(await reasons(), ['not_of_the_service', 'ahead', 'missing']);
        const report = await polled();
        assert.deepEqual(await reasons(), ['unknown', 'in_step', 'in_step']);
        assert.equal(report.isProven, hasDigest ? true : null);
        assert.equal(report.results, 8);
        assert.equal(report.wholeWalks, hasDigest ? 0 : 1);
        // Four results of the learner who had another name by then, the one that is lost, and the one that is back.
        if (hasDigest) assert.ok(report.requests.length <= 2 + 1 + 6, report.requests.join('\n'));
        await inStep('after the restoration');
      });
    }
  });

  test('whose service was restored is walked anew without a digest, and once', async () => {
    const { scene, ana, polled, inStep, changes } = await begun(8, false);
    const backup = new Backup(service.app, scene.org.id);
    await polled();
    await backup.keep();
    const lost = await ana.completes();
    await polled();
    await backup.restore();
    await backup.close();
    const report = await polled();
    assert.deepEqual([report.wholeWalks, report.results, report.isProven], [1, 8, null]);
    const removed = changes.map(({ kind, id }) => [kind, id]);
    assert.deepEqual(removed, [['removed', lost.id]]);
    await inStep('after the restore');
    await ana.completes();
    assert.deepEqual(
      [(await polled()).wholeWalks, (await polled()).wholeWalks],
      [0, 0],
      'it is told for good, and heeded once',
    );
    await inStep('afterwards');
  });

  suite('that cannot go on', () => {
    const refused = (status: number, code: string) => (request: { url?: string }, response: any) => {
      if (!request.url!.includes('/assessments')) return false;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { code, message: 'What was expected.' } }));
      return true;
    };

    for (const [status, code, says] of [
      [401, 'invalid_credentials', /access key/],
      [400, 'invalid_group_id', /filters/],
      [404, 'not_found', /refuses/],
      [418, 'a_code_of_tomorrow', /refuses/],
    ] as const) {
      test(`says so in a sentence: ${status} ${code}`, async () => {
        const { polled, front, options } = await begun();
        front.interfere = refused(status, code);
        const thrown = await polled().catch((error: unknown) => error);
        assert.ok(thrown instanceof SyncStopped && says.test(thrown.message), String(thrown));
        await assert.rejects(sync(options).done, SyncStopped);
      });
    }

    test('walks anew when a cursor is refused, and stops when that does not end', async () => {
      const { polled, front, inStep, ana } = await begun();
      await polled();
      for (let i = 0; i < 7; i++) await ana.completes();
      let refusals = 1;
      front.interfere = (request, response) =>
        request.url!.includes('cursor=') && refusals-- > 0 && refused(400, 'invalid_cursor')(request, response);
      assert.equal((await polled()).wholeWalks, 1);
      await inStep('after the walk');
      await ana.completes();
      for (let i = 0; i < 7; i++) await ana.completes();
      refusals = Infinity;
      await assert.rejects(polled(), SyncStopped);
      assert.ok(front.passed.length < 12, String(front.passed.length));
    });

    test('tries again, with growing waits, while the fault may pass', async () => {
      const { options, front, scene, clock } = await begun();
      const waits: number[] = [];
      const reports: unknown[] = [];
      const stopping = new AbortController();
      const client = clientOf(front.url, scene.org.key, {
        nowMs: () => clock.ms,
        wait: async (ms) => {
          clock.ms += ms;
          if (waits.push(ms) === 6) front.interfere = null;
        },
      });
      front.interfere = refused(503, 'service_unavailable');
      const running = sync({
        ...options,
        client,
        signal: stopping.signal,
        onReport: (report) => {
          reports.push(report);
          if ('results' in report) stopping.abort();
        },
      });
      await running.done;
      assert.equal(reports.length, 7);
      assert.deepEqual(waits, [1500, 3000, 6000, 12_000, 24_000, 48_000]);
    });

    test('gives up after a day, or after ten failures of the store in a row', async () => {
      const { options, front, scene, clock } = await begun();
      const client = clientOf(front.url, scene.org.key, {
        nowMs: () => clock.ms,
        wait: async (ms) => void (clock.ms += ms),
      });
      let told = 0;
      const failing = {
        ...options,
        client,
        onChange: () => Promise.reject(new Error('no room')),
        onReport: () => void told++,
      };
      await assert.rejects(sync(failing).done, /has failed 10 times in a row: no room/);
      assert.equal(told, 9);
      front.interfere = refused(503, 'service_unavailable');
      await assert.rejects(sync({ ...options, client }).done, /for a day/);
    });

    test('ends with what onReport throws, and calls it no failure of the store', async () => {
      const { options } = await begun();
      let told = 0;
      const onReport = () => {
        told++;
        throw new Error('no log');
      };
      await assert.rejects(sync({ ...options, onReport }).done, { message: 'no log' });
      assert.equal(told, 1);
    });

    test('counts failures of the store apart from those of the service', async () => {
      const { options, front, scene } = await begun();
      const client = clientOf(front.url, scene.org.key, { wait: async () => {} });
      const stopping = new AbortController();
      // Longer than the store may fail, then the store as often as it may, twice.
      const faults = [...'s'.repeat(15), ...'o'.repeat(9), 's', ...'o'.repeat(9)];
      const failed: string[] = [];
      front.interfere = (request, response) =>
        request.url!.includes('/assessments') &&
        faults[0] === 's' &&
        faults.shift() !== '' &&
        refused(503, 'service_unavailable')(request, response);
      const running = sync({
        ...options,
        client,
        // One page: no request is ahead of what is stored.
        pageSize: 500,
        signal: stopping.signal,
        onChange: () => {
          if (faults[0] === 'o' && faults.shift() !== '') throw new Error('no room');
        },
        onReport: (report) => {
          if ('failed' in report) return void failed.push((report.failed as Error).name);
          stopping.abort();
        },
      });
      await running.done;
      assert.equal(failed.length, 34);
    });
  });

  test('is walked anew once the digest has been away for a week, and not as soon as it is', async () => {
    let hasDigest = true;
    const { ana, polled, inStep, clock } = await mirrorScene(service, 8, () => hasDigest);
    const dayMs = 86_400_000;
    const after = async (days: number) => {
      clock.ms += days * dayMs;
      // More than a page.
      for (let i = 0; i < 4; i++) await ana.completes();
      const { wholeWalks, isProven } = await polled();
      await inStep(`after ${days} more days`);
      return [wholeWalks, isProven];
    };
    assert.deepEqual(await after(0), [1, true]);
    assert.deepEqual(await after(30), [0, true]);
    hasDigest = false;
    assert.deepEqual(await after(6), [0, null]);
    assert.deepEqual(await after(6), [0, null]);
    hasDigest = true;
    assert.deepEqual(await after(0), [0, true]);
    assert.deepEqual(await after(30), [0, true]);
    hasDigest = false;
    assert.deepEqual(await after(6), [0, null]);
    assert.deepEqual(await after(6), [0, null]);
    assert.deepEqual(await after(6), [1, null]);
    assert.deepEqual(await after(6), [0, null]);
  });

  test('is kept by two engines at once as by one', async () => {
    const { options, inStep, store } = await begun(30);
    await Promise.all([openMirror(options).poll(), openMirror(options).poll()]);
    await inStep('after both');
    assert.equal(heldBy(store).size, 30);
    for (const filters of [{ subject: ['english' as const] }, {}]) {
      const given = { ...options, filters };
      await Promise.all([openMirror(given).poll(), openMirror(given).poll()]);
      await inStep('with other filters', filters);
      await Promise.all([openMirror(given).verify(), openMirror(given).verify()]);
    }
  });

  test('keeps what onChange writes with the rows, or neither', async () => {
    const { options, store, client } = await begun(9);
    store.database.exec('create table told (id text primary key)');
    const onChange = (changes: Change[]) => {
      for (const { id } of changes) store.database.prepare('insert into told values (?)').run(id);
    };
    for (let left = 0; heldBy(store).size < 9; left = left + 3) {
      store.left = left;
      await openMirror({ ...options, onChange })
        .poll()
        .catch(() => {});
      const told = store.database.prepare('select count(*) as n from told').get()!.n;
      assert.equal(told, heldBy(store).size);
    }
    assertSame(heldBy(store), await truth(client), 'in the end');
  });

  test('polls when it is woken, and not before, and tells the polls that it made', async () => {
    const { options, ana, inStep } = await begun();
    const stopping = new AbortController();
    const reports: Report[] = [];
    let arrived = () => {};
    const next = () => new Promise<void>((resolve) => (arrived = resolve));
    const onReport = (report: unknown) => {
      reports.push(report as Report);
      arrived();
    };
    let first = next();
    const running = sync({ ...options, everyMs: null, signal: stopping.signal, onReport });
    await first;
    await ana.completes();
    first = next();
    running.wake();
    await first;
    assert.equal(reports.at(-1)!.added, 1);
    await inStep('after waking');
    stopping.abort();
    await running.done;
  });

  test('passes over fields and values that this version does not know', async () => {
    const { polled, front, store } = await begun(2);
    await polled();
    front.interfere = (_request, response) => {
      if (!_request.url!.includes('/assessments')) return false;
      const [id, other] = heldBy(store).keys();
      const body = {
        data: [
          {
            ...heldBy(store).get(id!),
            updated_at: '2036-01-01T00:00:00.000Z',
            groups: [{ id, type: 'of tomorrow' }],
            news: 1,
          },
          { assessment_id: other, updated_at: '2036-01-01T00:00:00.000Z', status: 'on hold' },
        ],
        pagination: { limit: 500, has_more: false, next: null, news: true },
        news: {},
      };
      response.writeHead(200, {
        'content-type': 'application/json',
        etag: 'W/"x"',
        'x-sync-through': '2036-01-01T00:00:00.000Z',
      });
      response.end(JSON.stringify(body));
      return true;
    };
    const report = await polled();
    assert.deepEqual([report.changed, report.removed], [1, 1]);
    assert.equal((heldBy(store).values().next().value as any).news, 1);
  });
});
