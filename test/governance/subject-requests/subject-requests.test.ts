import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { RequestStep } from '../../../src/governance/subject-requests/subject-requests.ts';
import {
  AboutErased,
  acknowledgeBy,
  countDueRequests,
  findRequest,
  listEntries,
  openRequest,
  pruneRequests,
  addEntry,
} from '../../../src/governance/subject-requests/subject-requests.ts';
import { feedQueue, withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { listHolds, placeHold, releaseHold } from '../../../src/governance/legal-holds/holds.ts';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { dayAfter, dayOf, lastInstantOf } from '../../../src/organisations/zone.ts';
import { ars } from '../../support/ars.ts';
import { withService } from '../../support/service.ts';
import { personOf } from '../../web/console/visitor.ts';

/** Cases and their clock: a month, two more with a reason, and time that doesn't count. */

const dayMs = 86_400_000;
const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const service = await withService({ own: 'Moves the clock.', clock });
const { app } = service;
const org = await service.organisation();
const base = `/console/${org.publicId}/data-protection`;

async function opens(kind: 'access' | 'erasure' | 'complaint' = 'access'): Promise<string> {
  const caseId = app.random.uuid();
  const given = { kind, learnerId: null, about: 'Ana Silva, by letter', note: null, actor: 'operator' };
  await service.withUnitOfWork((work) =>
    openRequest(work, org.id, { ...given, caseId, receivedAt: new Date(clock.nowMs()) }),
  );
  return caseId;
}

const inFeed = <T>(inside: Parameters<typeof withUnitOfWork<T>>[2]) => withUnitOfWork(app, feedQueue(org.id), inside);
const takes = (caseId: string, step: RequestStep) =>
  service.withUnitOfWork((work) => addEntry(work, org.id, caseId, { ...step, actor: 'operator' }));
const due = async (caseId: string) => (await findRequest(app.db, org.id, caseId))!.due_at.toISOString().slice(0, 16);
const counted = (days: number) => countDueRequests(app.db, org.id, new Date(clock.nowMs() + days * dayMs));

suite('the clock of a case', () => {
  test('a month to the same day or the last one; pauses are added; an extension is two months, once', async () => {
    const id = await opens();
    assert.equal(await due(id), '2026-02-28T23:59');
    assert.deepEqual([await counted(28), await counted(29)], [0, 1]);
    assert.equal(await takes(id, { kind: 'resumed', text: null }), false, 'it runs');
    assert.equal(await takes(id, { kind: 'paused', text: 'Who is it?' }), true);
    assert.equal(await takes(id, { kind: 'paused', text: 'Who is it?' }), false);
    assert.equal(await counted(400), 0, 'paused');
    clock.advance(3 * dayMs);
    assert.equal(await takes(id, { kind: 'resumed', text: null }), true);
    assert.equal(await due(id), '2026-03-03T23:59');
    assert.equal(await takes(id, { kind: 'extended', text: 'Eleven requests' }), true);
    assert.equal(await takes(id, { kind: 'extended', text: 'Again' }), false);
    assert.equal(await due(id), '2026-05-03T22:59', 'the same by clocks in London');
    assert.equal(await takes(id, { kind: 'closed', outcome: 'done', text: null }), true);
    for (const step of [
      { kind: 'note', text: 'Late' },
      { kind: 'closed', outcome: 'refused', text: null },
    ] as const)
      assert.equal(await takes(id, step), false, 'closed');
    assert.equal(await counted(400), 0);
    assert.deepEqual(
      (await listEntries(app.db, org.id, id)).map((one) => one.kind),
      ['opened', 'paused', 'resumed', 'extended', 'closed'],
    );
  });

  test('a month is one of the calendar of the organisation, whatever its clocks do meanwhile', async () => {
    for (const [zone, received, within, extended, pausedTwoDays] of [
      ['Europe/London', '2027-03-01', '2027-04-01', '2027-06-01', '2027-04-03'],
      ['Europe/London', '2027-02-28', '2027-03-28', '2027-05-28', '2027-03-30'],
      ['Europe/London', '2027-02-27', '2027-03-27', '2027-05-27', '2027-03-29'],
      ['Europe/London', '2027-01-10', '2027-02-10', '2027-04-10', '2027-02-12'],
      ['Europe/London', '2026-10-31', '2026-11-30', '2027-01-31', '2026-12-02'],
      ['America/New_York', '2027-01-30', '2027-02-28', '2027-04-30', '2027-03-02'],
      ['Pacific/Auckland', '2027-03-05', '2027-04-05', '2027-06-05', '2027-04-07'],
    ] as const) {
      const { id } = await service.organisation();
      await app.db.query('update organisation set time_zone = $2 where organisation_id = $1', [id, zone]);
      const given = { kind: 'access', learnerId: null, about: 'Ana', note: null, actor: 'x' } as const;
      const [asked, paused] = [app.random.uuid(), app.random.uuid()];
      const dueDay = async (of: string) => {
        const at = (await findRequest(app.db, id, of))!.due_at;
        const day = dayOf(at, zone);
        assert.deepEqual(at, lastInstantOf(day, zone));
        return day;
      };
      const step = (of: string, what: RequestStep) =>
        service.withUnitOfWork((work) => addEntry(work, id, of, { ...what, actor: 'x' }));
      for (const caseId of [asked, paused])
        await service.withUnitOfWork((work) =>
          openRequest(work, id, { ...given, caseId, receivedAt: lastInstantOf(received, zone)! }),
        );
      assert.equal(await dueDay(asked), within, `${zone} ${received}`);
      await step(asked, { kind: 'extended', text: 'Many' });
      assert.equal(await dueDay(asked), extended, `${zone} ${received}, extended`);
      await step(paused, { kind: 'paused', text: 'Who?' });
      clock.advance(2 * dayMs);
      await step(paused, { kind: 'resumed', text: null });
      assert.equal(await dueDay(paused), pausedTwoDays, `${zone} ${received}, paused`);
    }
  });

  test('more than a page of them, and of holds, are found page by page', async () => {
    const many = await service.organisation();
    const owner = await personOf(service, many.id, 'owner');
    await service.withUnitOfWork(async (work) => {
      for (let i = 0; i < 51; i++) {
        const given = { kind: 'access', learnerId: null, about: 'A', note: null, actor: 'x' } as const;
        await openRequest(work, many.id, {
          ...given,
          caseId: work.uuid(),
          receivedAt: new Date(clock.nowMs() - i * dayMs),
        });
        const hold = { learnerId: null, reason: `Claim ${i}`, actor: 'x', endsAt: null };
        await placeHold(work, many.id, { ...hold, holdId: work.uuid() });
      }
    });
    for (const [path, row] of [
      ['', /data-protection\/cases\/[0-9a-f-]{36}"/g],
      ['/holds', /holds\/[0-9a-f-]{36}\/release"/g],
    ] as const) {
      const here = `/console/${many.publicId}/data-protection${path}`;
      const first = (await owner.get(here)).text;
      const next = /rel="next" href="([^"]+)"/.exec(first)![1]!;
      const rows = [first, (await owner.get(next)).text].flatMap((text) => text.match(row) ?? []);
      assert.equal(new Set(rows).size, 51, here);
      assert.equal((await owner.get(`${here}?from=99999`)).status, 200);
    }
  });

  test('holds in force come first, those that ended by themselves with those that were released', async () => {
    const org = await service.organisation();
    const [old, ended, released] = [app.random.uuid(), app.random.uuid(), app.random.uuid()];
    const place = (holdId: string, endsAt: Date | null) =>
      service.withUnitOfWork((work) =>
        placeHold(work, org.id, { holdId, learnerId: null, reason: 'A', actor: 'x', endsAt }),
      );
    for (const [id, endsMs] of [
      [old, null],
      [ended, dayMs],
      [released, null],
    ] as const) {
      await place(id, endsMs === null ? null : new Date(clock.nowMs() + endsMs));
      clock.advance(1000);
    }
    await service.withUnitOfWork((work) => releaseHold(work, org.id, released, { actor: 'x' }));
    clock.advance(2 * dayMs);
    const listed = await listHolds(app.db, org.id, { limit: 10, now: new Date(clock.nowMs()) });
    assert.deepEqual(
      listed.map((one) => one.hold_id),
      [old, released, ended],
    );
  });

  test('a complaint is acknowledged by the 30th day after receipt, once, and no other request is', async () => {
    const id = await opens('complaint');
    const by = async () => acknowledgeBy((await findRequest(app.db, org.id, id))!, 'Europe/London');
    const received = dayOf(new Date(clock.nowMs()), 'Europe/London');
    assert.deepEqual(await by(), lastInstantOf(dayAfter(received, 30), 'Europe/London'));
    const acknowledged = { kind: 'acknowledged', text: null } as const;
    assert.equal(await takes(await opens('access'), acknowledged), false);
    assert.equal(await takes(id, acknowledged), true);
    assert.equal(await by(), null);
    assert.equal((await findRequest(app.db, org.id, id))!.acknowledged_at!.getTime(), clock.nowMs());
    assert.equal(await takes(id, acknowledged), false, 'once');
    const unacknowledged = await opens('complaint');
    await takes(unacknowledged, { kind: 'closed', outcome: 'done', text: null });
    assert.equal(await takes(unacknowledged, acknowledged), false, 'closed');
  });

  test('two at once: one closes it', async () => {
    const id = await opens();
    const closes = () => takes(id, { kind: 'closed', outcome: 'done', text: null });
    assert.deepEqual((await Promise.all([closes(), closes(), closes()])).filter(Boolean), [true]);
    assert.equal((await listEntries(app.db, org.id, id)).length, 2);
  });

  test('texts of cases that were closed long ago go, and the case stays', async () => {
    const id = await opens('erasure');
    await takes(id, { kind: 'closed', outcome: 'refused', text: 'Ana was told why' });
    const still = await opens();
    clock.advance(10 * dayMs);
    await service.withUnitOfWork((work) => pruneRequests(work, 9 * dayMs));
    assert.deepEqual(
      (await listEntries(app.db, org.id, id)).map((one) => one.text),
      [null, null],
    );
    assert.equal((await findRequest(app.db, org.id, id))!.about, null);
    assert.notEqual((await findRequest(app.db, org.id, still))!.about, null);
  });
});

test('what a hold keeps stays in closed cases, too, until it ends', async () => {
  const held = await service.organisation();
  const { learner_id: learnerId } = (await held.post('/learners', { ref: 'cy', full_name: 'Cy Young' })).body.data;
  const opened = async (of: string | null) => {
    const caseId = app.random.uuid();
    const given = { kind: 'complaint', caseId, about: 'By letter', note: 'Asked why', actor: 'operator' } as const;
    await service.withUnitOfWork(async (work) => {
      await openRequest(work, held.id, { ...given, learnerId: of, receivedAt: new Date(work.nowMs) });
      await addEntry(work, held.id, caseId, { kind: 'closed', outcome: 'done', text: null, actor: 'operator' });
    });
    return caseId;
  };
  const [own, other] = [await opened(learnerId), await opened(null)];
  /** Which of the two cases have kept their texts, ten days later. */
  const pruned = async () => {
    clock.advance(10 * dayMs);
    await service.withUnitOfWork((work) => pruneRequests(work, 9 * dayMs));
    const kept = [];
    for (const id of [own, other]) {
      const [opening] = await listEntries(app.db, held.id, id);
      const { about } = (await findRequest(app.db, held.id, id))!;
      assert.equal(opening!.text === null, about === null);
      kept.push(about !== null);
    }
    return kept;
  };
  const holds = async (of: string | null) => {
    const holdId = app.random.uuid();
    await service.withUnitOfWork((work) =>
      placeHold(work, held.id, { holdId, learnerId: of, reason: 'A claim', actor: 'operator', endsAt: null }),
    );
    return () => service.withUnitOfWork((work) => releaseHold(work, held.id, holdId, { actor: 'operator' }));
  };
  const [onAll, onOwn] = [await holds(null), await holds(learnerId)];
  assert.deepEqual(await pruned(), [true, true]);
  await onAll();
  assert.deepEqual(await pruned(), [true, false]);
  await onOwn();
  assert.deepEqual(await pruned(), [false, false]);
});

suite('cases in the console and at the command line', () => {
  test('opened, noted, paused, closed; National Insurance numbers and empty reasons are refused beside their fields', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const auditor = await personOf(service, org.id, 'auditor');
    const { learner_id: learner } = (await org.post('/learners', { ref: 'ana', full_name: 'Ana Silva' })).body.data;
    const form = { kind: 'erasure', learner, about: '', received: '2026-02-10', note: 'By <telephone>' };
    const refused = await owner.post(`${base}/open`, { ...form, note: 'AB 12 34 56 C', once: app.random.uuid() });
    assert.equal(refused.status, 422);
    assert.match(refused.text, /National Insurance number, which is never stored/);
    for (const wrong of [{ kind: 'x' }, { learner: app.random.uuid() }, { learner: '' }, { received: '2099-01-01' }])
      assert.equal((await owner.post(`${base}/open`, { ...form, ...wrong, once: app.random.uuid() })).status, 422);
    const once = app.random.uuid();
    for (let i = 0; i < 2; i++)
      assert.equal(
        (await owner.post(`${base}/open`, { ...form, once })).headers.location,
        `${base}/cases/${once}?did=opened`,
      );
    const here = `${base}/cases/${once}`;
    const page = (await auditor.get(here)).text;
    assert.match(page, /By &lt;telephone&gt;/);
    assert.doesNotMatch(page, /Add entry/);
    assert.match((await owner.get(here)).text, new RegExp(`learners/${learner}/erase`));
    assert.equal((await auditor.post(`${here}/step`, { step: 'note', text: 'x' })).status, 404);
    assert.match((await owner.post(`${here}/step`, { step: 'paused', text: '' })).text, /Enter the reason/);
    assert.equal((await owner.post(`${here}/step`, { step: 'paused', text: 'Who?' })).status, 303);
    assert.match((await owner.get(base)).text, /Paused since/);
    assert.equal((await owner.post(`${here}/step`, { step: 'closed-done', text: '' })).status, 303);
    assert.match((await owner.get(`${base}?state=closed`)).text, /Done as asked/);
    assert.equal((await owner.post(`${here}/step`, { step: 'note', text: 'More' })).status, 422);
    for (const role of ['tutor', 'developer'] as const)
      assert.equal((await (await personOf(service, org.id, role)).get(here)).status, 404);
  });

  test('a complaint shows until when it is acknowledged, and then when it was', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const auditor = await personOf(service, org.id, 'auditor');
    const complaint = { kind: 'complaint', learner: '', about: 'A parent', received: '2026-01-31', note: '' };
    const once = app.random.uuid();
    await owner.post(`${base}/open`, { ...complaint, once });
    const here = `${base}/cases/${once}`;
    const shown = /Acknowledge by <time[^>]*>2 Mar 2026</;
    assert.match((await auditor.get(base)).text, shown);
    assert.doesNotMatch((await auditor.get(here)).text, /Record acknowledgement/);
    const page = (await owner.get(here)).text;
    assert.match(page, shown);
    assert.match(page, />Record acknowledgement</);
    assert.equal((await owner.post(`${here}/step`, { step: 'acknowledged' })).status, 303);
    const after = (await owner.get(here)).text;
    assert.match(after, /Acknowledged<\/dt><dd><time/);
    assert.match(after, /Complaint acknowledged/);
    assert.doesNotMatch(after, /Acknowledge by|Record acknowledgement/);
    assert.equal((await owner.post(`${here}/step`, { step: 'acknowledged' })).status, 422, 'once');
  });

  test('of whoever is erased nothing is written any more, and the case is closed without a text', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const { learner_id: learner } = (await org.post('/learners', { ref: 'gone', full_name: 'Gone Canary' })).body.data;
    const [first, second] = [app.random.uuid(), app.random.uuid()];
    const given = {
      kind: 'erasure',
      learnerId: learner,
      about: null,
      note: 'Canary asked',
      actor: 'operator',
    } as const;
    const receivedAt = new Date(clock.nowMs());
    for (const caseId of [first, second])
      await inFeed((work) => openRequest(work, org.id, { ...given, caseId, receivedAt }));
    await takes(first, { kind: 'paused', text: 'Is it Canary?' });
    // Whichever comes first: what is written before goes, and nothing is written after.
    const note = { kind: 'note', text: 'Canary rang' } as const;
    const [noted] = await Promise.allSettled([
      takes(second, note),
      inFeed((work) => eraseLearner(work, org.id, learner, { actor: 'operator' })),
    ]);
    assert.ok(noted.status === 'fulfilled' || noted.reason instanceof AboutErased);
    await assert.rejects(takes(second, note), AboutErased);
    await assert.rejects(takes(second, { kind: 'closed', outcome: 'done', text: 'Canary was told' }), AboutErased);
    const here = `${base}/cases/${first}`;
    const page = (await owner.get(here)).text;
    assert.match(page, /no text about them is kept/);
    assert.doesNotMatch(page, /name="text"|value="note"/);
    const refused = await owner.post(`${here}/step`, { step: 'closed-done', text: 'Canary was told' });
    assert.equal(refused.status, 422);
    assert.match(refused.text, /Close the request without a text/);
    for (const step of ['resumed', 'closed-done'])
      assert.equal((await owner.post(`${here}/step`, { step, text: '' })).status, 303, step);
    const left = await app.db.query('select from data_case_entry where organisation_id = $1 and text like $2', [
      org.id,
      '%Canary%',
    ]);
    assert.deepEqual(left, []);
  });

  test('ars case open, pause, close, list, show', async () => {
    const run = (...words: string[]) => ars([...words, '--organisation', org.publicId, '--json'], service.environment);
    const opened = await run('case', 'open', '--kind', 'complaint', '--about', 'A parent', '--received', '2026-01-05');
    assert.equal(opened.json.due_at.slice(0, 10), '2026-02-05');
    const id = opened.json.case_id as string;
    assert.equal((await run('case', 'show', id)).json.acknowledge_by, '2026-02-04');
    assert.equal((await run('case', 'open', '--kind', 'complaint')).code, 2);
    assert.equal((await run('case', 'close', id, '--outcome', 'partly', '--text', 'Told')).code, 0);
    assert.equal((await run('case', 'note', id, '--text', 'More')).code, 1);
    const shown = (await run('case', 'show', id)).json;
    assert.deepEqual([shown.outcome, shown.entries.length], ['partly', 2]);
  });
});
