import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { KeyView } from '../../src/api/key-view.ts';
import { viewKey } from '../../src/api/key-view.ts';
import { dropAuditMonths } from '../../src/audit/months.ts';
import { sealOrganisation } from '../../src/audit/seal.ts';
import { manualClock } from '../../src/clock.ts';
import { findKey, revokeKey } from '../../src/keys/keys.ts';
import type { KeyDescription } from '../../src/keys/description.ts';
import type { Random } from '../../src/random.ts';
import { pick, seededRandom } from '../../src/random.ts';
import type { Client } from '../contract/client.ts';
import type { Group, Learner, Result } from '../scenario.ts';
import { Scenario } from '../scenario.ts';
import { withService } from '../service.ts';
import { eraseLearner } from '../../src/withdrawals/erase.ts';

/** What a key receives next is what it is then sent: in every state, for keys with and without bounds. */

const clock = manualClock(0);
const service = await withService({ clock, settings: { ARS_AUDIT_MONTHS: '3', ARS_RATE_LIMIT: '10000' } });
const { app } = service;
const [begun] = await app.db.query<{ at: Date }>('select at from audit_begun');
clock.set(begun!.at.getTime() + 3600_000);

type KeyClient = Client & { key: { access_key_id: string } };

async function view(scene: Scenario, client: KeyClient, of: number | null = null): Promise<KeyView> {
  const key = (await findKey(app.db, scene.org.id, client.key.access_key_id))!;
  return (await viewKey(app, scene.org.id, key, of))!;
}

async function scene(): Promise<Scenario> {
  clock.advance(60_000);
  return new Scenario(service, await service.organisation());
}

const params = (rawQuery: string) =>
  [...new URLSearchParams(rawQuery)].sort().map(([name, value]) => `${name}=${value}`);
const payloads = (seen: KeyView) => seen.request!.entries.map(({ payload }) => payload);

/** A client as the documents want it: cursors to the end, then `since` from X-Sync-Through, with the ETag of the same request. */
class Poller {
  readonly client: KeyClient;
  readonly filters: string;
  readonly limit: number;
  #next: string | null = null;
  #since: string | null = null;
  #through: string | null = null;
  #etag: { rawQuery: string; etag: string } | null = null;

  constructor(client: KeyClient, filters: string, limit: number) {
    this.client = client;
    this.filters = filters;
    this.limit = limit;
  }

  get rawQuery(): string {
    if (this.#next !== null) return this.#next;
    const since = this.#since === null || this.filters.includes('sort') ? '' : `since=${this.#since}`;
    return [since, this.filters, `limit=${this.limit}`].filter((part) => part !== '').join('&');
  }

  /** Asks once. @returns the entries, or null for a 304 */
  async asks(): Promise<unknown[] | null> {
    clock.advance(1000);
    const { rawQuery } = this;
    const etag = this.#etag?.rawQuery === rawQuery ? { 'if-none-match': this.#etag.etag } : {};
    const answer = await this.client.get(`/assessments?${rawQuery}`, etag as Record<string, string>);
    if (answer.status === 304) return null;
    assert.equal(answer.status, 200, answer.text);
    if (this.#next === null) {
      this.#through = answer.headers['x-sync-through']!;
      this.#etag = { rawQuery, etag: answer.headers.etag! };
    }
    const { next } = answer.body.pagination;
    this.#next = next === null ? null : new URL(next).search.slice(1);
    if (next === null) this.#since = this.#through;
    return answer.body.data;
  }
}

type World = { it: Scenario; learners: Learner[]; groups: Group[]; results: Result[] };

async function happens({ it, learners, groups, results }: World, random: Random): Promise<void> {
  clock.advance(1000);
  const [learner, group] = [pick(random, learners), pick(random, groups)];
  const live = results.length === 0 ? null : pick(random, results);
  switch (Math.floor(random.float() * 9)) {
    case 0:
    case 1:
      results.push(await learner.completes({ subject: pick(random, ['maths', 'english', 'digital']) }));
      break;
    case 2:
    case 3:
      await group.adds(...learners.filter(() => random.float() < 0.5), learner);
      break;
    case 4:
    case 5:
      await group.removes(learner);
      break;
    case 6:
      await live?.isAmended({ framework: `Framework ${random.float()}` });
      break;
    case 7:
      if (live === null) break;
      results.splice(results.indexOf(live), 1);
      await live.isWithdrawn();
      break;
    default:
      await group.isRenamed(`The group ${random.float()}`);
      await it.org.get('/health');
  }
}

suite('what a key receives next', () => {
  for (const seed of ['a', 'b', 'c'])
    test(`is what it is then sent, whatever has happened (${seed})`, async () => {
      const random = seededRandom(seed);
      const it = await scene();
      const groups = [await it.group('C1'), await it.group('C2')];
      const learners = [await it.learner('ana'), await it.learner('bo'), await it.learner('cy')];
      const world: World = { it, learners, groups, results: [] };
      const [c1, c2] = groups.map(({ id }) => id) as [string, string];
      const bounds: Partial<KeyDescription>[] = [
        {},
        { groupIds: [c1] },
        { subjects: ['maths'] },
        { groupIds: [c1, c2], subjects: ['maths', 'english'] },
      ];
      const filters = [
        '',
        `group_id=${c1}`,
        `subject=english%2Cmaths&group_id=${c2}`,
        'learner_ref=ana',
        'status=deleted',
        'sort=assessed_at',
        'sort=-updated_at',
      ];
      const pollers = await Promise.all(
        [...bounds, {}, {}, {}].map(async (extra, i) => {
          const client = await it.org.another(extra);
          return new Poller(client, i === 0 ? '' : pick(random, filters), pick(random, [1, 2, 3, 100]));
        }),
      );
      for (let step = 0; step < 45; step++) {
        for (let i = 0; i < 2; i++) if (random.float() < 0.5) await happens(world, random);
        const poller = pick(random, pollers);
        const seen = await view(it, poller.client);
        // Before its first poll nobody knows what a key will filter by.
        if (seen.state === 'never_polled') {
          const first = await poller.client.get('/assessments');
          assert.deepEqual(payloads(seen), first.body.data, `${step}: the first page`);
          await poller.asks();
          continue;
        }
        assert.deepEqual(params(seen.request!.rawQuery), params(poller.rawQuery), `${step}`);
        const sent = await poller.asks();
        if (sent !== null) assert.deepEqual(payloads(seen), sent, `${step}: ${poller.rawQuery}`);
        if (sent === null) assert.ok(seen.request!.unchanged, `${step}: 304`);
        if (seen.lag?.changes === 0)
          assert.ok(
            seen.request!.entries.every((entry) => entry.again),
            `${step}: ${seen.state}`,
          );
      }
    });
});

/** A key that has just read everything, and what came of it. */
async function walked(extra: Partial<KeyDescription> = {}, query = '') {
  const it = await scene();
  const ana = await it.learner('ana');
  const result = await ana.completes();
  clock.advance(1000);
  const client = await it.org.another({ label: 'Platform', ...extra });
  const first = await client.get(`/assessments?${query}`);
  assert.equal(first.status, 200, first.text);
  clock.advance(1000);
  return { it, ana, result, client, etag: first.headers.etag!, through: first.headers['x-sync-through']! };
}

const kinds = (seen: KeyView) => seen.request!.entries.map(({ kind, again }) => `${kind}${again ? ' again' : ''}`);

suite('states of a key', () => {
  test('never polled: the first page, and all that stands in the feed', async () => {
    const it = await scene();
    const ana = await it.learner('ana');
    const client = await it.org.another({ label: 'Platform' });
    for (const subject of ['maths', 'english', 'digital'] as const) await ana.completes({ subject });
    await client.get('/health');
    const seen = await view(it, client);
    assert.deepEqual([seen.state, seen.lag?.changes, kinds(seen).length], ['never_polled', 3, 3]);
    assert.match(
      seen.sentence,
      /^Platform has been answered no list of results yet: its first page holds 3 entries of 3 changes\.$/,
    );
    assert.equal(seen.last, null);
    const key = (await findKey(app.db, it.org.id, client.key.access_key_id))!;
    const part = (await viewKey(app, it.org.id, key, null, { from: 1, count: 1 }))!.request!;
    assert.deepEqual(
      [part.sent, part.entries],
      [3, [seen.request!.entries[1]]],
      'a part of the page is explained alone',
    );
  });

  test('up to date: the poll that comes brings nothing new, and then 304', async () => {
    const { it, client, through } = await walked();
    const after = await view(it, client);
    assert.deepEqual([after.state, kinds(after), after.request!.unchanged], ['up_to_date', ['result again'], false]);
    assert.equal(after.request!.rawQuery, `since=${encodeURIComponent(through)}&limit=100`);
    const { etag } = (await client.get(`/assessments?${after.request!.rawQuery}`)).headers;
    assert.equal((await view(it, client)).request!.unchanged, true);
    for (let i = 0; i < 3; i++) await client.get(`/assessments?${after.request!.rawQuery}`, { 'if-none-match': etag! });
    const seen = await view(it, client);
    assert.deepEqual([seen.state, seen.last?.status, seen.request!.unchanged], ['up_to_date', 304, true]);
    assert.deepEqual(seen.polls, { answered: 2, unchanged: 3 });
    assert.deepEqual(seen.rate, { limit: 10000, used: 5 });
    assert.match(seen.request!.digest!, /^n=1;w1=\d+;w2=\d+$/);
  });

  test('behind: how far, since when, and what changed about each', async () => {
    const { it, ana, result, client } = await walked();
    const cohort = await it.group('C1');
    const [amended, withdrawn] = [
      await ana.completes({ subject: 'english' }),
      await ana.completes({ subject: 'digital' }),
    ];
    const poller = (await view(it, client)).request!.rawQuery;
    await client.get(`/assessments?${poller}`);
    clock.advance(60_000);
    await amended.isAmended();
    await withdrawn.isWithdrawn();
    const bo = await it.learner('bo');
    await bo.completes();
    clock.advance(120_000);
    const seen = await view(it, client);
    assert.deepEqual([seen.state, seen.lag?.changes], ['behind', 3]);
    assert.match(seen.sentence, /^Platform is 3 changes behind, the oldest of .* UTC, 2 minutes ago\.$/);
    const whys = seen.request!.entries.filter((entry) => !entry.again).map(({ kind, why }) => `${kind}: ${why}`);
    assert.deepEqual(whys, [
      'result: It was amended.',
      'withdrawn: It was withdrawn: the copy is to be deleted.',
      'result: It is new.',
    ]);
    await client.get(`/assessments?${seen.request!.rawQuery}`);
    clock.advance(1000);
    await ana.isCalled('Ana Silva');
    assert.match((await view(it, client)).request!.entries.find((entry) => !entry.again)!.why, /another name/);
    await client.get(`/assessments?${(await view(it, client)).request!.rawQuery}`);
    clock.advance(1000);
    await ana.joins(cohort);
    assert.match(
      (await view(it, client)).request!.entries.find((entry) => !entry.again)!.why,
      /joined or left a group/,
    );
    await client.get(`/assessments?${(await view(it, client)).request!.rawQuery}`);
    clock.advance(1000);
    await cohort.isRenamed('Another name');
    const renamed = (await view(it, client)).request!.entries.filter((entry) => !entry.again);
    assert.deepEqual([renamed[0]!.payload.assessment_id, renamed.length], [result.id, 2]);
    assert.match(renamed[0]!.why, /A group of its learner was renamed/);
  });

  test('walking: the page behind the cursor, and how much is left', async () => {
    const { it, ana, client } = await walked({}, 'limit=1');
    for (const subject of ['english', 'digital'] as const) await ana.completes({ subject });
    await client.get('/assessments?limit=1');
    const seen = await view(it, client);
    assert.deepEqual([seen.state, seen.lag?.changes, kinds(seen)], ['walking', 2, ['result']]);
    assert.match(seen.request!.text, /^GET \/assessments\?limit=1&cursor=CURSOR$/);
  });

  test('a scope exit says which group its learner left', async () => {
    const { it, ana, client, result } = await walked();
    const cohort = await it.group('C1');
    await ana.joins(cohort);
    await client.get(`/assessments?group_id=${cohort.id}`);
    clock.advance(1000);
    await ana.leaves(cohort);
    const seen = await view(it, client);
    assert.deepEqual([seen.state, kinds(seen)], ['behind', ['left_scope']]);
    assert.equal(seen.request!.entries[0]!.payload.assessment_id, result.id);
    assert.match(seen.request!.entries[0]!.why, /^Its learner left cohort C1:/);
    const [other] = seen.others;
    assert.equal(other!.filters, '');
    assert.deepEqual((await view(it, client, other!.call.audit_id)).request!.entries.length, 1);
    assert.equal(
      await viewKey(app, it.org.id, (await findKey(app.db, it.org.id, client.key.access_key_id))!, 1),
      undefined,
    );
  });

  test('a filter, or the bounds, keep out what has changed: which results, and why', async () => {
    const { it, ana, client } = await walked({}, 'subject=maths');
    const english = await ana.completes({ subject: 'english' });
    const seen = await view(it, client);
    assert.equal(seen.state, 'filter_excludes');
    assert.deepEqual(
      seen.keptOut.map(({ assessment_id, why }) => [assessment_id, why]),
      [[english.id, 'it filters another subject']],
    );
    const cohort = await it.group('C1');
    const bounded = await it.org.another({ groupIds: [cohort.id] });
    await bounded.get('/assessments');
    clock.advance(1000);
    await ana.completes({ subject: 'digital' });
    const kept = await view(it, bounded);
    assert.equal(kept.state, 'filter_excludes');
    assert.match(kept.keptOut[0]!.why, /none of the groups that the key is bounded to/);
  });

  test('of one learner: by the reference as it is now, and none for one that nobody has', async () => {
    const { it, result, client } = await walked({}, 'learner_ref=ana');
    const seen = await view(it, client);
    assert.match(seen.request!.text, /learner_ref=LEARNER_REF/);
    assert.match(seen.request!.rawQuery, /learner_ref=ana/);
    assert.deepEqual(
      payloads(seen).map(({ assessment_id }) => assessment_id),
      [result.id],
    );
    const erased = await it.learner('bo');
    await erased.completes();
    await client.get('/assessments?learner_ref=bo');
    const { learner_id: learnerId } = await erased.read();
    await service.inWork((work) => eraseLearner(work, it.org.id, learnerId, { actor: 'operator' }));
    const lost = await view(it, client);
    assert.deepEqual([lost.state, lost.request], ['not_known', null]);
    assert.match(lost.sentence, /has lost the reference, as by an erasure/);
    await client.get('/assessments?learner_ref=nobody');
    const unknown = await view(it, client);
    assert.deepEqual([unknown.state, unknown.request], ['filter_excludes', null]);
    assert.match(unknown.sentence, /a learner_ref that no learner had/);
  });

  test('in another order everything is walked again: nothing is counted, and a 304 stays one until something changes', async () => {
    const { it, ana, client, etag } = await walked({}, 'sort=-updated_at');
    await client.get('/assessments?sort=-updated_at', { 'if-none-match': etag });
    const still = await view(it, client);
    assert.deepEqual(
      [still.last?.status, still.state, still.lag, still.request!.unchanged],
      [304, 'up_to_date', null, true],
    );
    const english = await ana.completes({ subject: 'english' });
    const seen = await view(it, client);
    assert.deepEqual([seen.state, seen.lag, seen.keptOut], ['behind', null, []]);
    assert.equal(payloads(seen)[0]!.assessment_id, english.id);
  });

  test('refused the last time: why, and what the last good request leads to', async () => {
    const { it, client } = await walked();
    await client.get('/assessments?foo=1');
    const seen = await view(it, client);
    assert.deepEqual([seen.state, seen.refusal?.code], ['up_to_date', 'unknown_parameter']);
    const fresh = await it.org.another();
    await fresh.get('/assessments?since=yesterday');
    const never = await view(it, fresh);
    assert.deepEqual([never.state, never.refusal?.code], ['never_polled', 'invalid_since']);
  });

  test('revoked, or at its end: nothing', async () => {
    const { it, client } = await walked({ expiresAt: new Date(clock.nowMs() + 3600_000) });
    clock.advance(2 * 3600_000);
    const ended = await view(it, client);
    assert.deepEqual([ended.state, ended.request], ['expired', null]);
    await service.inWork((work) => revokeKey(work, it.org.id, client.key.access_key_id));
    assert.match((await view(it, client)).sentence, /receives nothing more: it was revoked at .* UTC/);
  });

  test('sealed or not, the same is told', async () => {
    const { it, ana, client } = await walked();
    await ana.completes({ subject: 'english' });
    assert.equal((await client.get('/assessments/digest?bits=0')).status, 200);
    const before = await view(it, client);
    assert.equal(before.comparisons, 1);
    await sealOrganisation(app, it.org.id);
    assert.deepEqual(await view(it, client), before);
  });

  // Last, because it takes the log of all the others away.
  test('not known once the log of its polls is gone, or an older version kept nothing of them', async () => {
    const { it, client } = await walked();
    const other = await it.org.another();
    await other.get('/assessments');
    await app.db.query('update audit set detail = null where organisation_id = $1 and actor = $2', [
      it.org.id,
      other.key.access_key_id,
    ]);
    assert.match((await view(it, other)).sentence, /is not in the log\. Its next poll tells\.$/);
    clock.advance(200 * 86_400_000);
    for (const { organisation_id: id } of await app.db.query<{ organisation_id: number }>(
      'select organisation_id from organisation union all select 0',
    ))
      await sealOrganisation(app, id);
    await dropAuditMonths(app);
    const seen = await view(it, client);
    assert.deepEqual([seen.state, seen.request], ['not_known', null]);
    assert.match(seen.sentence, /the log goes back to/);
  });
});
