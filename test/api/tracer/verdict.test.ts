import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { revokeKey } from '../../../src/integrations/access-keys/keys.ts';
import { suspendOrganisation } from '../../../src/governance/offboarding/suspend.ts';
import { traceResult } from '../../../src/api/tracer/trace.ts';
import { editEndpoint } from '../../../src/integrations/webhooks/endpoints/endpoints.ts';
import type { Client, Key } from '../../contract/support/client.ts';
import { recordResults, Scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

/** The verdict is about those that could have the result, and what the reader can act on comes first. */

const clock = manualClock(0);
const service = await withService({ own: 'Moves the clock.', clock, settings: { ARS_RATE_LIMIT: '1000' } });
const { app } = service;
const [begun] = await app.db.query<{ at: Date }>('select at from audit_begun');
clock.set(begun!.at.getTime() + 3600_000);
const later = (seconds = 10) => clock.advance(seconds * 1000);

async function scene() {
  later();
  return new Scenario(service, await service.organisation());
}

async function lists(client: Client, query = '', headers: Record<string, string> = {}) {
  later();
  const answer = await client.get(`/assessments${query === '' ? '' : `?${query}`}`, headers);
  assert.ok([200, 304].includes(answer.status), answer.text);
  return answer;
}

async function trace({ org }: Scenario, id: string) {
  const found = await traceResult(app, org.id, id);
  return {
    ...found,
    reasons: found.keys.map(({ reason }) => reason),
    ofEndpoints: found.endpoints.map(({ reason }) => reason),
  };
}

const revoke = (it: Scenario, { key }: { key: Key }) =>
  service.withUnitOfWork((work) => revokeKey(work, it.org.id, key.access_key_id));

const hook = async (it: Scenario, body: Record<string, unknown> = {}) => {
  later();
  const made = await it.org.post('/webhooks', { url: 'https://consumer.example/hook', ...body });
  assert.equal(made.status, 201, made.text);
  return made.body.data.id as string;
};

async function imports(it: Scenario, events = false) {
  await it.learner('ana');
  later();
  const [id] = await service.withUnitOfWork((work) => recordResults(work, it.org.id, [{ ref: 'ana' }], { events }));
  later();
  return id!;
}

suite('keys', () => {
  test('a restricted key does not outrank one that has never polled', async () => {
    const it = await scene();
    later();
    await it.org.another({ label: 'restricted', subjects: ['english'] });
    const result = await (await it.learner('ana')).completes();
    const found = await trace(it, result.id);
    assert.deepEqual([found.reason, found.reasons], ['never_polled', ['never_polled', 'key_bounded']]);
    assert.equal(found.sentence, 'test has never asked for results.');
  });

  test('a key that was revoked since is no working one, whatever it did before', async () => {
    const it = await scene();
    later();
    const [idle, english, moved] = [
      await it.org.another({ label: 'idle' }),
      await it.org.another({ label: 'english' }),
      await it.org.another({ label: 'moved' }),
    ];
    await lists(moved);
    later();
    const result = await (await it.learner('ana')).completes();
    await lists(english, 'subject=english');
    later();
    for (const one of [idle, english, moved]) await revoke(it, one);
    const found = await trace(it, result.id);
    assert.equal(found.reason, 'never_polled');
    assert.match(found.sentence, /^test has never asked/);
    assert.deepEqual(found.reasons, ['never_polled', 'key_revoked', 'key_revoked', 'key_revoked']);
    const saidOf = (name: string) => found.keys.find(({ key }) => key.label === name)!.sentence;
    assert.match(saidOf('idle'), /^idle was revoked at .* UTC\. Before that: idle has never asked for results\.$/);
    assert.match(saidOf('english'), /^english was revoked at .* UTC\. Before that: .* another subject\.$/);
    assert.match(saidOf('moved'), /^moved was revoked at .* UTC\. Before that: moved has not polled since /);
  });

  test('a key that has expired since is no working one either', async () => {
    const it = await scene();
    later();
    const short = await it.org.another({ label: 'short', expiresAt: new Date(clock.nowMs() + 60_000) });
    const result = await (await it.learner('ana')).completes();
    await lists(short, 'subject=english');
    later(120);
    const found = await trace(it, result.id);
    assert.deepEqual([found.reason, found.reasons], ['never_polled', ['never_polled', 'key_expired']]);
  });

  test('where no key works, the verdict says so', async () => {
    const it = await scene();
    const result = await (await it.learner('ana')).completes();
    later();
    await revoke(it, it.org);
    const found = await trace(it, result.id);
    assert.equal(found.reason, 'key_revoked');
    assert.match(found.sentence, /^No key can receive it\. test was revoked at /);
  });

  test('what only a revoked key fetched is told together with what is wrong with the working one', async () => {
    const it = await scene();
    const result = await (await it.learner('ana')).completes();
    await lists(it.org);
    later();
    await it.org.another({ label: 'new' });
    await revoke(it, it.org);
    const found = await trace(it, result.id);
    assert.deepEqual([found.reason, found.reasons], ['never_polled', ['fetched', 'never_polled']]);
    assert.match(found.sentence, /^test fetched the result at .*, and was revoked at .* UTC\. new has never asked/);
  });

  test('a key that works from some networks only may be refused elsewhere', async () => {
    const it = await scene();
    await revoke(it, it.org);
    later();
    const bound = await it.org.another({ label: 'bound', networks: ['10.1.0.0/16'] });
    const again = new Scenario(service, { ...it.org, ...(await it.org.another({ label: 'scribe' })) });
    const result = await (await again.learner('ana')).completes();
    assert.equal((await bound.get('/assessments')).status, 401);
    const found = await trace(it, result.id);
    assert.match(
      found.keys.find(({ key }) => key.label === 'bound')!.sentence,
      /^bound has never asked for results\. It is accepted from 10\.1\.0\.0\/16 only; calls from elsewhere leave no trace\.$/,
    );
  });

  test('polls that are answered by 304 since the filter kept the result out', async () => {
    const it = await scene();
    const ana = await it.learner('ana');
    await ana.completes({ subject: 'english' });
    await lists(it.org, 'subject=english');
    later();
    const result = await ana.completes();
    const { headers } = await lists(it.org, 'subject=english');
    for (let i = 0; i < 3; i++)
      assert.equal((await lists(it.org, 'subject=english', { 'if-none-match': headers.etag! })).status, 304);
    const found = await trace(it, result.id);
    assert.equal(found.reason, 'filter_excludes');
    assert.match(found.sentence, /another subject/);
  });

  test('an ETag of another key is followed by 304 alone: what was asked for is not known', async () => {
    const it = await scene();
    later();
    const other = await it.org.another({ label: 'other' });
    const result = await (await it.learner('ana')).completes();
    const { headers } = await lists(other, 'subject=english');
    assert.equal((await lists(it.org, 'subject=english', { 'if-none-match': headers.etag! })).status, 304);
    const found = await trace(it, result.id);
    assert.match(found.keys[0]!.sentence, /it was only told that nothing has changed \(304\)/);
  });

  test('a filter that was given up without a full walk leaves out what it kept out', async () => {
    const it = await scene();
    const ana = await it.learner('ana');
    const result = await ana.completes();
    later();
    await ana.completes({ subject: 'english' });
    const { headers } = await lists(it.org, 'subject=english');
    await lists(it.org, `since=${headers['x-sync-through']}`);
    const found = await trace(it, result.id);
    assert.equal(found.reason, 'filter_excludes');
    assert.match(found.sentence, /changed its filters at .* left the result out: it filters another subject/);
  });

  test("a key that goes on with another's since has no clock of its own", async () => {
    const it = await scene();
    const ana = await it.learner('ana');
    const result = await ana.completes();
    later();
    await ana.completes({ subject: 'english' });
    const old = await it.org.another({ label: 'old', subjects: ['english'] });
    const { headers } = await lists(old);
    await lists(it.org, `since=${headers['x-sync-through']}`);
    const found = await trace(it, result.id);
    assert.equal(found.reason, 'walk_unfinished');
    assert.match(found.sentence, /^test went on at .* with the since of old, which had not had the result/);
  });

  test('a walk that stopped an hour ago is not under way', async () => {
    const it = await scene();
    const ana = await it.learner('ana');
    for (const subject of ['maths', 'english'] as const) await ana.completes({ subject });
    const result = await ana.completes({ subject: 'digital' });
    await lists(it.org, 'limit=2');
    assert.equal((await trace(it, result.id)).reason, 'walk_under_way');
    later(3600);
    const found = await trace(it, result.id);
    assert.equal(found.reason, 'walk_unfinished');
    assert.match(found.sentence, /^test has stopped in the middle of its walk, at /);
  });

  test('reading a result by its id before it was changed is not having the change', async () => {
    const it = await scene();
    const result = await (await it.learner('ana')).completes();
    later();
    await result.read();
    later();
    await result.isAmended();
    later();
    assert.equal((await trace(it, result.id)).reason, 'fetched_before_change');
    await result.read();
    assert.equal((await trace(it, result.id)).reason, 'fetched');
  });

  test('an imported result that was amended was fetched before its change', async () => {
    const it = await scene();
    const id = await imports(it);
    await lists(it.org);
    later();
    await it.org.post('/learners', { ref: 'ana', full_name: 'Another Name' });
    later();
    assert.equal((await trace(it, id)).reason, 'fetched_before_change');
  });

  test('a withdrawal that was not fetched says why', async () => {
    const it = await scene();
    const result = await (await it.learner('ana')).completes();
    await lists(it.org);
    later();
    await result.isWithdrawn();
    await lists(it.org, 'status=completed');
    const found = await trace(it, result.id);
    assert.deepEqual([found.reason, found.reasons], ['withdrawn', ['fetched_before_change']]);
    assert.match(found.sentence, /no key has fetched the withdrawal yet\. test fetched it at /);
  });

  test('a suspended organisation is the reason where nothing else was wrong before', async () => {
    const it = await scene();
    await lists(it.org);
    later();
    const result = await (await it.learner('ana')).completes();
    later();
    await service.withUnitOfWork((work) => suspendOrganisation(work, it.org.id, 'not paid'));
    const found = await trace(it, result.id);
    assert.equal(found.reason, 'suspended');
    assert.match(found.sentence, /^The organisation is suspended since /);
  });
});

suite('endpoints', () => {
  test('an imported result is after the endpoints that were there, and before the others', async () => {
    const it = await scene();
    const group = await it.group('C1');
    await hook(it);
    await hook(it, { event_types: ['learner.groups.updated'] });
    await hook(it, { group_ids: [group.id] });
    const id = await imports(it);
    await hook(it);
    const found = await trace(it, id);
    assert.deepEqual(found.ofEndpoints, ['import_silent', 'not_subscribed', 'other_groups', 'made_later']);
    assert.equal(found.reason, 'never_polled', 'the key is what the reader can act on');
    assert.match(found.endpoints[0]!.sentence, /was not notified: the result was imported without events\.$/);
    clock.advance(31 * 86_400_000);
    assert.equal((await trace(it, id)).ofEndpoints[0], 'not_known');
    assert.equal((await trace(it, id)).ofEndpoints[3], 'made_later');
  });

  test('an import with events is delivered as any other result', async () => {
    const it = await scene();
    await hook(it);
    const id = await imports(it, true);
    assert.deepEqual((await trace(it, id)).ofEndpoints, ['delivery_pending']);
  });

  test('what an endpoint is told of now says nothing of then', async () => {
    const it = await scene();
    const ana = await it.learner('ana');
    const group = await it.group('C1');
    const scoped = await hook(it, { group_ids: [group.id] });
    const other = await hook(it, { event_types: ['learner.groups.updated'] });
    later();
    const result = await ana.completes();
    later();
    await ana.joins(group);
    await service.withUnitOfWork((work) =>
      editEndpoint(work, it.org.id, other, {
        url: 'https://consumer.example/hook',
        eventTypes: ['assessment.completed'],
        groupIds: null,
      }),
    );
    const found = await trace(it, result.id);
    assert.deepEqual(
      found.endpoints.map(({ endpoint, reason }) => [endpoint.endpoint_id, reason]),
      [
        [scoped, 'other_groups'],
        [other, 'changed_later'],
      ],
    );
    assert.match(found.endpoints[0]!.sentence, /groups that the learner wasn't in/);
  });

  test('what was delivered before a change is no delivery of the change', async () => {
    const it = await scene();
    await hook(it);
    const result = await (await it.learner('ana')).completes();
    later();
    await app.db.query(
      `update delivery set status = 'succeeded', finished_at = $2, attempts = 1 where organisation_id = $1`,
      [it.org.id, new Date(clock.nowMs())],
    );
    assert.equal((await trace(it, result.id)).reason, 'delivered');
    later();
    await result.isAmended();
    later();
    const found = await trace(it, result.id);
    assert.equal(found.reason, 'never_polled');
    assert.match(found.sentence, /^Delivered to .*, before its change of .* UTC\. test has never asked for results\.$/);
    await lists(it.org);
    assert.equal((await trace(it, result.id)).reason, 'fetched');
  });

  test('an endpoint that could not be told does not outrank a key that has not polled', async () => {
    const it = await scene();
    await hook(it, { event_types: ['learner.groups.updated'] });
    const result = await (await it.learner('ana')).completes();
    assert.equal((await trace(it, result.id)).reason, 'never_polled');
  });
});
