import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { dropAuditMonths } from '../../../src/platform/audit/months.ts';
import { sealNow } from '../../platform/audit/sealed.ts';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { createKey, revokeKey } from '../../../src/integrations/access-keys/keys.ts';
import type { Trace } from '../../../src/api/tracer/trace.ts';
import { traceResult } from '../../../src/api/tracer/trace.ts';
import type { Client } from '../../contract/support/client.ts';
import type { Result } from '../../support/scenario.ts';
import { Scenario, recordResults } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

/** "Where is this result?": right in every situation that was made on purpose, and "not known" where it can't know. */

const clock = manualClock(0);
const service = await withService({
  own: 'Moves the clock.',
  clock,
  settings: { ARS_AUDIT_MONTHS: '3', ARS_RATE_LIMIT: '1000' },
});
const { app } = service;
const [begun] = await app.db.query<{ at: Date }>('select at from audit_begun');
clock.set(begun!.at.getTime() + 3600_000);
const second = 1000;
const past = '2020-01-01T00:00:00Z';

async function scene() {
  clock.advance(60 * second);
  return new Scenario(service, await service.organisation());
}

const traced: { organisationId: number; id: string; trace: Trace }[] = [];

async function trace(scene: Scenario, result: Result | { id: string }): Promise<Trace> {
  const found = await traceResult(app, scene.org.id, result.id);
  traced.push({ organisationId: scene.org.id, id: result.id, trace: found });
  return found;
}

/** The reason for each key, in the order in which they were made. */
const ofKeys = (found: Trace) => found.keys.map(({ reason }) => reason);

const later = () => clock.advance(10 * second);

async function lists(client: Client, query = '', headers: Record<string, string> = {}) {
  later();
  const answer = await client.get(`/assessments${query === '' ? '' : `?${query}`}`, headers);
  assert.ok([200, 304].includes(answer.status), answer.text);
  return answer;
}

suite('a result that arrived', () => {
  test('1 fetched by a poll: by which key, when, and the row of the log that proves it', async () => {
    const it = await scene();
    const { org } = it;
    const result = await (await it.learner('ana')).completes();
    const page = await lists(org);
    await lists(org);
    const found = await trace(it, result);
    assert.deepEqual([found.reason, ofKeys(found)], ['fetched', ['fetched']]);
    const [row] = await app.db.query<{ request_id: string }>(
      'select request_id from audit where organisation_id = $1 and audit_id = $2',
      [org.id, found.keys[0]!.proof],
    );
    assert.equal(row!.request_id, page.headers['x-request-id'], 'the first reply that carried it');
    assert.match(found.sentence, /^Fetched at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC by test;/);
  });

  test('2 fetched by one key and not by the other, which never polled', async () => {
    const it = await scene();
    later();
    await it.org.another({ label: 'idle' });
    const result = await (await it.learner('ana')).completes();
    await lists(it.org);
    const found = await trace(it, result);
    assert.deepEqual([found.reason, ofKeys(found)], ['fetched', ['fetched', 'never_polled']]);
    assert.match(found.keys[1]!.sentence, /^idle has never asked for results\.$/);
  });

  test('3 on a second page of a walk', async () => {
    const it = await scene();
    const ana = await it.learner('ana');
    for (const subject of ['maths', 'english'] as const) await ana.completes({ subject });
    const result = await ana.completes({ subject: 'digital' });
    const { next } = (await lists(it.org, 'limit=2')).body.pagination;
    assert.deepEqual(ofKeys(await trace(it, result)), ['walk_under_way']);
    await lists(it.org, new URL(next).search.slice(1));
    assert.equal((await trace(it, result)).reason, 'fetched');
  });

  test('4 of a learner without a reference: look at the matching', async () => {
    const it = await scene();
    await it.org.post('/learners', { full_name: 'No Ref' });
    const ana = await it.learner('ana');
    const result = await ana.completes();
    await app.db.query('update learner set ref = null where organisation_id = $1', [it.org.id]);
    await lists(it.org);
    const found = await trace(it, result);
    assert.equal(found.reason, 'fetched_without_ref');
    assert.match(found.sentence, /look at their matching: learner_ref is empty/);
  });

  test('5 read by its id, its report, or with its learner', async () => {
    for (const path of ['/assessments/ID', '/assessments/ID/report.pdf', '/learners/ana']) {
      const it = await scene();
      const result = await (await it.learner('ana')).completes();
      later();
      assert.equal((await it.org.get(path.replace('ID', result.id))).status, 200);
      assert.deepEqual(ofKeys(await trace(it, result)), ['read_by_id'], path);
    }
  });

  test('6 before its last change, which nobody has fetched', async () => {
    const it = await scene();
    const ana = await it.learner('ana');
    const result = await ana.completes();
    await lists(it.org);
    later();
    await result.isAmended();
    const found = await trace(it, result);
    assert.deepEqual([found.reason, ofKeys(found)], ['fetched_before_change', ['fetched_before_change']]);
    await lists(it.org);
    assert.equal((await trace(it, result)).reason, 'fetched');
  });

  test('7 withdrawn: whether the withdrawal was fetched', async () => {
    const it = await scene();
    const result = await (await it.learner('ana')).completes();
    await lists(it.org);
    later();
    await result.isWithdrawn();
    const before = await trace(it, result);
    assert.equal(before.reason, 'withdrawn');
    assert.match(before.sentence, /no key has fetched the withdrawal yet/);
    await lists(it.org, `since=${past}`);
    const found = await trace(it, result);
    assert.deepEqual(ofKeys(found), ['fetched']);
    assert.match(found.sentence, /its withdrawal was fetched by test\.$/);
  });
});

suite("a key's fault", () => {
  const cases: [name: string, reason: string, ask: (it: Scenario, result: Result) => Promise<void>, says?: RegExp][] = [
    ['8 never polled', 'never_polled', async () => {}],
    ['9 polled before, and not since', 'not_polled_since', async () => {}, /has not polled since \d{4}-/],
    [
      '10 filters another subject',
      'filter_excludes',
      async ({ org }) => void (await lists(org, 'subject=english')),
      /another subject/,
    ],
    [
      '11 filters another level',
      'filter_excludes',
      async ({ org }) => void (await lists(org, 'rqf_level_code=1')),
      /another level/,
    ],
    [
      '12 filters results of another time',
      'filter_excludes',
      async ({ org }) => void (await lists(org, 'assessed_from=2026-02-01T00:00:00Z')),
      /assessed later/,
    ],
    [
      "13 filters a group that the learner isn't in",
      'filter_excludes',
      async (it) => {
        const group = await it.group('C1');
        await lists(it.org, `group_id=${group.id}`);
      },
      /filters group [0-9a-f-]{36}, and the learner isn't in it/,
    ],
    [
      '14 asks for another learner',
      'filter_excludes',
      async (it) => {
        await it.learner('bo');
        await lists(it.org, 'learner_ref=bo');
      },
      /another learner/,
    ],
    [
      '15 asks for a reference that nobody has',
      'filter_excludes',
      async ({ org }) => void (await lists(org, 'learner_ref=nobody')),
      /no learner had/,
    ],
    [
      '16 asks for withdrawals only',
      'filter_excludes',
      async ({ org }) => void (await lists(org, 'status=deleted')),
      /withdrawals only/,
    ],
    [
      '17 walks with its own clock',
      'own_clock',
      async ({ org }) => {
        clock.advance(3600 * second);
        await lists(org, `since=${new Date(clock.nowMs() - second).toISOString()}`);
      },
      /walks with its own clock: the result stood below its since/,
    ],
    ['18 went on with the next walk before it had read the first to its end', 'walk_unfinished', async () => {}],
    ['19 is stuck on an old cursor', 'cursor_stuck', async () => {}, /the same page again and again/],
    [
      '20 is refused each time',
      'polls_refused',
      async ({ org }) => {
        later();
        await org.get('/assessments?foo=1');
      },
      /refused each time: unknown_parameter/,
    ],
  ];
  for (const [name, reason, ask, says] of cases)
    test(name, async () => {
      const it = await scene();
      if (name.startsWith('9')) await lists(it.org);
      later();
      const ana = await it.learner('ana');
      let result: Result;
      if (reason === 'walk_unfinished' || reason === 'cursor_stuck') {
        // It stands behind the others, on a later page.
        later();
        const others = reason === 'cursor_stuck' ? 'yan' : 'zed';
        const before = await it.learner(others);
        for (const subject of ['maths', 'english', 'digital'] as const) await before.completes({ subject });
        result = await ana.completes();
        if (reason === 'walk_unfinished') {
          later();
          await before.completes();
          const { headers } = await lists(it.org, `limit=1&since=${past}`);
          await lists(it.org, `limit=1&since=${headers['x-sync-through']}`);
        } else {
          const { next } = (await lists(it.org, 'limit=1')).body.pagination;
          for (let i = 0; i < 3; i++) await lists(it.org, new URL(next).search.slice(1));
        }
      } else {
        result = await ana.completes();
        await ask(it, result);
      }
      const found = await trace(it, result);
      assert.deepEqual([found.reason, ofKeys(found)], [reason, [reason]]);
      if (says !== undefined) assert.match(found.sentence, says);
    });

  test('9 polled before and not since, by a key that ends in a while: it works until then', async () => {
    const it = await scene();
    later();
    const rolled = await it.org.another({ label: 'rolled', expiresAt: new Date(clock.nowMs() + 3600 * second) });
    await lists(rolled);
    later();
    const result = await (await it.learner('ana')).completes();
    const found = await trace(it, result);
    assert.deepEqual(ofKeys(found), ['never_polled', 'not_polled_since']);
    assert.doesNotMatch(found.keys[1]!.sentence, /at its end/);
  });

  test('21 revoked, or at its end, before it came', async () => {
    const it = await scene();
    later();
    const short = await it.org.another({ label: 'short', expiresAt: new Date(clock.nowMs() + 30 * second) });
    await lists(it.org);
    await lists(short);
    later();
    await service.withUnitOfWork((work) => revokeKey(work, it.org.id, it.org.key.access_key_id));
    clock.advance(60 * second);
    const other = await it.org.another({ label: 'other' });
    const scribe = new Scenario(service, { ...it.org, ...other });
    const result = await (await scribe.learner('ana')).completes();
    assert.deepEqual(ofKeys(await trace(it, result)), ['key_revoked', 'key_expired', 'never_polled']);
  });

  test('22 bounded to groups or subjects that exclude it', async () => {
    const it = await scene();
    const group = await it.group('C1');
    const result = await (await it.learner('ana')).completes();
    for (const keyScope of [{ groupIds: [group.id] }, { subjects: ['english'] }]) {
      later();
      await service.withUnitOfWork((work) =>
        createKey(work, it.org.id, { label: 'bounded', kind: 'test', ...keyScope } as Parameters<typeof createKey>[2]),
      );
    }
    await lists(it.org);
    assert.deepEqual(ofKeys(await trace(it, result)), ['fetched', 'key_bounded', 'key_bounded']);
  });

  test('23 not known: its walk was by assessed_at, or its calls were recorded by a version that kept nothing of them', async () => {
    const it = await scene();
    const result = await (await it.learner('ana')).completes();
    await lists(it.org, 'sort=-assessed_at');
    assert.equal((await trace(it, result)).reason, 'not_known');
    const other = await scene();
    const lost = await (await other.learner('bo')).completes();
    await lists(other.org);
    await app.db.query('update audit set detail = null where organisation_id = $1', [other.org.id]);
    const found = await traceResult(app, other.org.id, lost.id);
    assert.equal(found.reason, 'not_known');
    assert.match(found.sentence, /was not recorded/);
  });
});

suite('a webhook', () => {
  async function told(setUp: (it: Scenario, id: string) => Promise<void>, body: Record<string, unknown> = {}) {
    const it = await scene();
    const ana = await it.learner('ana');
    const made = await it.org.post('/webhooks', { url: 'https://consumer.example/hook', ...body });
    assert.equal(made.status, 201, made.text);
    later();
    const result = await ana.completes();
    await setUp(it, result.id);
    const found = await trace(it, result);
    return [found.reason, found.endpoints[0]!.reason, found.endpoints[0]!.sentence];
  }
  const delivery = (set: string) => async (it: Scenario) => {
    await app.db.query(`update delivery set ${set} where organisation_id = $1`, [it.org.id]);
  };

  test('24 delivered', async () => {
    const found = await told(
      delivery(
        `status = 'succeeded', attempts = 1, next_attempt_at = null, finished_at = created_at + interval '1 second'`,
      ),
    );
    assert.deepEqual(found.slice(0, 2), ['delivered', 'delivered']);
  });

  test('25 dead, paused, disabled or under way', async () => {
    const dead = await told(
      delivery(`status = 'dead', attempts = 10, next_attempt_at = null, finished_at = created_at`),
    );
    assert.deepEqual(dead.slice(0, 2), ['delivery_dead', 'delivery_dead']);
    assert.match(dead[2]!, /consumer\.example failed for good after 10 attempts .*: send it again\.$/);
    for (const status of ['paused', 'disabled'])
      assert.deepEqual(
        (
          await told(async (it) => {
            await app.db.query('update webhook_endpoint set status = $2 where organisation_id = $1', [
              it.org.id,
              status,
            ]);
          })
        ).slice(0, 2),
        [`delivery_${status}`, `delivery_${status}`],
      );
    assert.deepEqual((await told(async () => {})).slice(0, 2), ['delivery_pending', 'delivery_pending']);
  });

  test('26 scoped to other groups, subscribed to something else, or made later', async () => {
    const it = await scene();
    const group = await it.group('C1');
    const ana = await it.learner('ana');
    for (const body of [{ group_ids: [group.id] }, { event_types: ['learner.groups.updated'] }]) {
      later();
      assert.equal((await it.org.post('/webhooks', { url: 'https://consumer.example/hook', ...body })).status, 201);
    }
    later();
    const result = await ana.completes();
    later();
    assert.equal((await it.org.post('/webhooks', { url: 'https://late.example/hook' })).status, 201);
    // The first endpoint keeps an event of its own, so that the completion is known.
    const found = await trace(it, result);
    assert.deepEqual(
      found.endpoints.map(({ reason }) => reason),
      ['other_groups', 'not_subscribed', 'made_later'],
    );
  });

  test('27 the import told nobody', async () => {
    const it = await scene();
    await it.learner('ana');
    assert.equal((await it.org.post('/webhooks', { url: 'https://consumer.example/hook' })).status, 201);
    const [id] = await service.withUnitOfWork((work) => recordResults(work, it.org.id, [{ ref: 'ana' }]));
    const found = await trace(it, { id: id! });
    assert.equal(found.endpoints[0]!.reason, 'import_silent');
  });
});

suite('nothing is made up', () => {
  test("28 another organisation's result is unknown, and so is what is no id", async () => {
    const [one, other] = [await scene(), await scene()];
    const result = await (await one.learner('ana')).completes();
    for (const id of [result.id, 'x', '00000000-0000-4000-8000-000000000000'])
      assert.deepEqual(await traceResult(app, other.org.id, id), {
        reason: 'unknown_result',
        sentence: 'The organisation has no result with this ID.',
        result: null,
        keys: [],
        endpoints: [],
      });
  });

  test('29 once its rows are sealed the verdict is the same', async () => {
    const last = new Map(traced.map((one) => [one.id, one]));
    await sealNow(app);
    for (const { organisationId, id, trace: before } of last.values())
      assert.deepEqual(await traceResult(app, organisationId, id), before);
    assert.ok(last.size > 20);
  });

  // Last, because it takes the log of all the others away.
  test('30 not known once the log of that time is gone', async () => {
    const it = await scene();
    const result = await (await it.learner('ana')).completes();
    await lists(it.org);
    clock.advance(200 * 86_400 * second);
    await sealNow(app);
    await dropAuditMonths(app);
    const found = await traceResult(app, it.org.id, result.id);
    assert.equal(found.reason, 'not_known');
    assert.match(found.sentence, /the log goes back to/);
  });
});
