import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { monthsAfter } from '../../../src/platform/time/clock.ts';
import { feedQueue, withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { placeHold, releaseHold, UnderHold } from '../../../src/governance/legal-holds/holds.ts';
import { correctName } from '../../../src/records/learners/rename.ts';
import { suspendOrganisation } from '../../../src/governance/offboarding/suspend.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { defaultMonths } from '../../../src/governance/retention/kinds.ts';
import { readMonths, readPolicy, setPolicy } from '../../../src/governance/retention/policy.ts';
import type { Run } from '../../../src/governance/retention/run.ts';
import {
  automatic,
  carryOutRuns,
  orderRun,
  retentionRuns,
  shareDone,
  stopRun,
} from '../../../src/governance/retention/run.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { withdrawAssessment } from '../../../src/governance/erasure/withdraw.ts';
import { ars } from '../../support/ars.ts';
import { Mirror, Shown } from '../../laws/world/mirror.ts';
import { recordResults } from '../../support/scenario.ts';
import type { TestOrganisation } from '../../support/service.ts';
import { withService } from '../../support/service.ts';
import { invited } from '../../sittings/learner.ts';

/** Retention: counted beforehand, deleted in steps that survive a death, and never what is held. */

const begin = Date.UTC(2016, 0, 31, 9);
const clock = manualClock(begin);
const service = await withService({ own: 'Moves the clock.', clock, settings: { ARS_RATE_LIMIT: '1000000' } });
const { app } = service;
const by = { actor: 'operator' };
const month = 31 * 86_400_000;

const inFeed = <T>(org: TestOrganisation, inside: Parameters<typeof withUnitOfWork<T>>[2]) =>
  withUnitOfWork(app, feedQueue(org.id), inside);

async function idOf(org: TestOrganisation, ref: string): Promise<string> {
  return (await org.get(`/learners/${ref}`)).body.data.learner_id;
}

/** Learners, each with a result of the beginning. */
async function people(org: TestOrganisation, ...refs: string[]): Promise<string[]> {
  for (const ref of refs) await org.post('/learners', { ref, full_name: `Person ${ref}` });
  await inFeed(org, (work) =>
    recordResults(
      work,
      org.id,
      refs.map((ref) => ({ ref, assessed_at: '2016-01-20T09:00:00Z' })),
    ),
  );
  return Promise.all(refs.map((ref) => idOf(org, ref)));
}

async function runs(org: TestOrganisation, isDryRun: boolean): Promise<Run> {
  const runId = await inFeed(org, (work) =>
    orderRun(work, org.id, { runId: work.uuid(), isDryRun, actor: 'operator' }),
  );
  await carryOutRuns(app);
  return (await retentionRuns.find(app.db, org.id, runId))!;
}

const months = (changes: Partial<ReturnType<typeof defaultMonths>>) => ({
  learners: null,
  invited: null,
  results: null,
  answers: null,
  reasons: null,
  ...changes,
});

const decide = (org: TestOrganisation, changes: Partial<ReturnType<typeof defaultMonths>>, automatic = false) =>
  inFeed(org, (work) => setPolicy(work, org.id, { months: months(changes), automatic, ...by }));

const numbers = (run: Run) =>
  Object.fromEntries(
    Object.entries(run.tally).map(([kind, { learners, items, held }]) => [kind, [learners, items, held]]),
  );

suite('retention', () => {
  test('months are those of the calendar', () => {
    const day = (text: string, n: number) => monthsAfter(Date.parse(text), -n).toISOString().slice(0, 16);
    assert.equal(day('2026-03-31T10:30Z', 1), '2026-02-28T10:30');
    assert.equal(day('2028-02-29T10:30Z', 12), '2027-02-28T10:30');
    assert.equal(day('2026-01-15T00:00Z', 84), '2019-01-15T00:00');
    assert.deepEqual(readMonths({ learners: '12', results: '' }), {
      months: months({ learners: 12 }),
    });
    for (const wrong of ['0', '601', '-1', '1.5', 'x', '1e2', '٣'])
      assert.ok('faults' in readMonths({ answers: wrong }), wrong);
  });

  test('a dry run counts and changes nothing; the run deletes just that, once; who is active or held stays', async () => {
    clock.set(begin);
    const org = await service.organisation();
    const [old, held, active] = (await people(org, 'old', 'held', 'active')) as [string, string, string];
    const nobody = (await org.post('/learners', { ref: 'never-began', full_name: 'Noor Haddad' })).body.data.learner_id;
    const mirrors = (['/assessments', '/learners'] as const).map(
      (path) => new Mirror([org], seededRandom(`retention ${path}`), new Shown(), { path, limit: 2, manner: 'follow' }),
    );
    for (const mirror of mirrors) await mirror.poll();
    clock.advance(8 * 12 * month);
    await inFeed(org, (work) => recordResults(work, org.id, [{ ref: 'active', assessed_at: '2023-06-01T09:00:00Z' }]));
    const holdId = app.random.uuid();
    const hold = { holdId, learnerId: held, reason: 'Claim 17', endsAt: null, ...by };
    await inFeed(org, (work) => placeHold(work, org.id, hold));
    await decide(org, { learners: 84, invited: 12, results: 84 });
    const { etag } = (await org.get('/learners?limit=10')).headers;

    const dryRun = await runs(org, true);
    // An inactive learner has results that are due, too: a dry run counts both.
    assert.deepEqual(numbers(dryRun), {
      learners: [2, 2, 1],
      invited: [1, 1, 0],
      results: [2, 2, 1],
      ...emptyKinds,
    });
    assert.deepEqual(dryRun.tally.learners!.first.toSorted(), [old, nobody].toSorted());
    assert.equal((await org.get('/learners?limit=10', { 'if-none-match': etag! })).status, 304);

    const done = await runs(org, false);
    assert.deepEqual(numbers(done), { learners: [2, 2, 1], invited: [0, 0, 0], results: [1, 1, 1], ...emptyKinds });
    const { data } = (await org.get('/learners?limit=10')).body;
    assert.deepEqual(
      data
        .filter((one: any) => one.status === 'active')
        .map((one: any) => one.ref)
        .sort(),
      ['active', 'held'],
    );
    const results = (await org.get('/assessments?status=completed')).body.data;
    assert.deepEqual(results.map((one: any) => one.learner.ref).sort(), ['active', 'held']);
    assert.deepEqual(numbers(await runs(org, false)), {
      learners: [0, 0, 1],
      invited: [0, 0, 0],
      results: [0, 0, 1],
      ...emptyKinds,
    });
    for (const mirror of mirrors) await mirror.assertConverged();
    const acts = await app.db.query<{ action: string; resource: string }>(
      `select action, resource from audit where organisation_id = $1 and action like 'retention %' order by audit_id`,
      [org.id],
    );
    assert.deepEqual(
      acts.map((act) => `${act.action} ${act.resource}`).sort(),
      [`retention learners ${nobody}`, `retention learners ${old}`, `retention results ${active}`].sort(),
    );

    await inFeed(org, (work) => releaseHold(work, org.id, holdId, by));
    assert.deepEqual(numbers(await runs(org, false)).learners, [1, 1, 0]);
  });

  test('answers and reasons go, and nothing else changes', async () => {
    clock.set(begin);
    const org = await service.organisation();
    const ana = await invited(service, org, { ref: 'ana', name: 'Ana Silva' });
    const { assessment_id: result } = await ana.sits();
    await inFeed(org, (work) =>
      correctName(work, org.id, { ref: 'ana' }, 'Ana B. Silva', { ...by, reason: 'Misspelt' }),
    );
    const payload = (await org.get(`/assessments/${result}`)).text;
    clock.advance(25 * month);
    await decide(org, { answers: 24, reasons: 24 });
    const run = await runs(org, false);
    assert.equal(run.tally.reasons!.items, 1);
    assert.ok(run.tally.answers!.items > 3);
    const [left] = await app.db.query<{ answers: number; outcomes: number; reasons: number }>(
      `select count(i.answer) as answers, count(i.outcome) as outcomes,
              (select count(reason) from learner_change where organisation_id = $1) as reasons
         from sitting s join sitting_item i using (organisation_id, sitting_id) where s.organisation_id = $1`,
      [org.id],
    );
    assert.equal(left!.answers, 0);
    assert.equal(left!.reasons, 0);
    assert.ok(left!.outcomes > 3);
    assert.equal((await org.get(`/assessments/${result}`)).text, payload);
  });

  test('killed in any step: what is counted was done, another process goes on, and nothing is done twice', async () => {
    clock.set(begin);
    const org = await service.organisation();
    const refs = Array.from({ length: 130 }, (_, i) => `R-${i}`);
    await people(org, ...refs);
    clock.advance(8 * 12 * month);
    await decide(org, { learners: 84 });
    const runId = await inFeed(org, (work) => orderRun(work, org.id, { runId: work.uuid(), isDryRun: false, ...by }));
    const program = fileURLToPath(new URL('die.ts', import.meta.url));
    const state = async () => {
      const run = (await retentionRuns.find(app.db, org.id, runId))!;
      const [row] = await app.db.query<{ erased: number; audited: number; live: number }>(
        `select (select count(*) from learner where organisation_id = $1 and full_name = '') as erased,
                (select count(*) from audit where organisation_id = $1 and action = 'retention learners') as audited,
                (select count(*) from assessment_feed where organisation_id = $1 and not deleted) as live`,
        [org.id],
      );
      const counted = run.tally.learners?.items ?? 0;
      assert.deepEqual(row, { erased: counted, audited: counted, live: refs.length - counted });
      return counted;
    };
    // After 71 seconds the service would continue the run by itself. On a busy machine, this test takes longer.
    Object.assign(app.restored, { older: true, pending: true });
    const seen: number[] = [];
    for (const [nth, at] of [
      ['1', '10'],
      ['2', '10'],
      ['1', 'commit'],
      ['3', 'commit'],
    ] as const) {
      const child = spawn(process.execPath, [program, String(clock.nowMs()), nth, at], {
        env: { ...process.env, ...service.environment },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
      assert.equal(signal, 'SIGKILL');
      seen.push(await state());
    }
    Object.assign(app.restored, { older: false, pending: false });
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      seen,
    );
    assert.ok(seen.at(-1)! > 0 && seen.at(-1)! < refs.length, seen.join());
    assert.ok(shareDone((await retentionRuns.find(app.db, org.id, runId))!) < 1);
    // Two at once share what is left.
    await Promise.all([carryOutRuns(app), carryOutRuns(app)]);
    assert.equal(await state(), refs.length);
    assert.notEqual((await retentionRuns.find(app.db, org.id, runId))!.finished_at, null);
  });

  test('by itself once a day where it is switched on, by one process; stopped where somebody stops it', async () => {
    clock.set(begin);
    const org = await service.organisation();
    await decide(org, { learners: 84 }, true);
    await carryOutRuns(app);
    assert.deepEqual(await retentionRuns.list(app.db, org.id, 10), []);
    clock.advance(86_400_000);
    await Promise.all([carryOutRuns(app), carryOutRuns(app), carryOutRuns(app)]);
    const [only, ...others] = await retentionRuns.list(app.db, org.id, 10);
    assert.deepEqual([only!.created_by, only!.dry_run, others.length], [automatic, false, 0]);
    await decide(org, { learners: 84 }, false);
    clock.advance(3 * 86_400_000);
    await carryOutRuns(app);
    assert.equal((await retentionRuns.list(app.db, org.id, 10)).length, 1);

    const ordered = await inFeed(org, (work) => orderRun(work, org.id, { runId: work.uuid(), isDryRun: false, ...by }));
    const again = await inFeed(org, (work) => orderRun(work, org.id, { runId: work.uuid(), isDryRun: false, ...by }));
    assert.equal(again, ordered, 'one deletion at a time');
    assert.equal(await inFeed(org, (work) => stopRun(work, org.id, ordered, by)), true);
    await carryOutRuns(app);
    const stopped = (await retentionRuns.find(app.db, org.id, ordered))!;
    assert.deepEqual([stopped.stopped_by, stopped.tally], ['operator', {}]);
  });

  test('waits while its organisation is suspended, even where it has begun; what the operator orders is done', async () => {
    clock.set(begin);
    const org = await service.organisation();
    await people(org, 'sus-1', 'sus-2');
    await decide(org, { results: 12 }, true);
    clock.advance(25 * month);
    const runId = await inFeed(org, (work) => orderRun(work, org.id, { runId: work.uuid(), isDryRun: false, ...by }));
    await inFeed(org, (work) => suspendOrganisation(work, org.id, 'Contract ended'));
    const deleted = async () => {
      const [row] = await app.db.query<{ n: number }>(
        'select count(*) as n from assessment_feed where organisation_id = $1 and deleted',
        [org.id],
      );
      return row!.n;
    };
    await carryOutRuns(app);
    await retentionRuns.goOn(app, org.id, runId);
    assert.equal(await deleted(), 0);
    assert.equal((await retentionRuns.find(app.db, org.id, runId))!.finished_at, null);
    await retentionRuns.goOn(app, org.id, runId, { evenSuspended: true });
    assert.equal(await deleted(), 2);
    assert.notEqual((await retentionRuns.find(app.db, org.id, runId))!.finished_at, null);
  });

  test('of one organisation that fails keeps no other from its day', async () => {
    clock.set(begin);
    const [broken, whole] = await Promise.all([service.organisation(), service.organisation()]);
    for (const org of [broken, whole]) await decide(org, { learners: 84 }, true);
    clock.advance(86_400_000);
    // The day's run of the first can't be written.
    await app.db.query(
      `alter table background_job add constraint no_run check (organisation_id <> ${broken.id}) not valid`,
    );
    await app.db.query('update retention_policy set next_at = $2 where organisation_id = $1', [
      broken.id,
      new Date(begin),
    ]);
    await carryOutRuns(app);
    assert.deepEqual(await retentionRuns.list(app.db, broken.id, 10), []);
    assert.equal((await retentionRuns.list(app.db, whole.id, 10)).length, 1);
    await app.db.query('alter table background_job drop constraint no_run');
  });

  test('what is not named stays as it is by then, whoever sets it at the same moment', async () => {
    const org = await service.organisation();
    await decide(org, { learners: 24 });
    const sets = (given: Parameters<typeof setPolicy>[2]) => inFeed(org, (work) => setPolicy(work, org.id, given));
    await Promise.all([
      sets({ months: { answers: 12 }, automatic: null, ...by }),
      sets({ months: { reasons: 6 }, automatic: null, ...by }),
      sets({ months: {}, automatic: true, ...by }),
    ]);
    const { months: all, automatic, next_at } = await readPolicy(app.db, org.id);
    assert.deepEqual([all, automatic], [months({ learners: 24, answers: 12, reasons: 6 }), true]);
    assert.notEqual(next_at, null);
    await sets({ months: { learners: null }, automatic: false, ...by });
    assert.equal((await readPolicy(app.db, org.id)).months.learners, null, 'for ever');
  });
});

const emptyKinds = { answers: [0, 0, 0], reasons: [0, 0, 0] };

suite('a legal hold', () => {
  test('refuses erasure and withdrawal with a sentence, until it ends or is released; one of everybody holds all', async () => {
    clock.set(begin);
    const org = await service.organisation();
    const [id] = (await people(org, 'kept')) as [string];
    const [{ assessment_id: result }] = (await org.get('/assessments')).body.data;
    const withdraw = () => inFeed(org, (work) => withdrawAssessment(work, org.id, result, { ...by, reason: 'Wrong' }));
    const erase = () => inFeed(org, (work) => eraseLearner(work, org.id, id, by));
    for (const learnerId of [id, null]) {
      const endsAt = new Date(clock.nowMs() + 1000);
      const hold = { holdId: app.random.uuid(), learnerId, reason: 'Audit', endsAt, ...by };
      await inFeed(org, (work) => placeHold(work, org.id, hold));
      await assert.rejects(erase, UnderHold);
      await assert.rejects(withdraw, UnderHold);
      clock.advance(1000);
    }
    const [somebody] = (await people(org, 'somebody')) as [string];
    const other = { holdId: app.random.uuid(), learnerId: somebody, reason: 'Audit', endsAt: null, ...by };
    await inFeed(org, (work) => placeHold(work, org.id, other));
    const run = (...words: string[]) => ars([...words, '--json'], service.environment);
    const here = ['--organisation', org.publicId];
    const placed = await run('hold', 'place', ...here, 'kept', '--reason', 'Claim 18');
    const { hold_id: holdId } = placed.json;
    const refused = await run('learner', 'erase', ...here, 'kept', '--confirm');
    assert.deepEqual([refused.code, refused.said.startsWith('ars: The learner is under a legal hold')], [1, true]);
    const preview = (await run('retention', 'preview', ...here)).json;
    assert.deepEqual([preview.dry_run, preview.data.length], [true, 5]);
    assert.equal((await run('retention', 'run', ...here)).code, 2, 'not without --confirm');
    assert.equal((await run('retention', 'set', ...here, 'answers=6', 'invited=')).code, 0);
    const shown = (await run('retention', 'show', ...here)).json;
    assert.deepEqual([shown.decided, shown.months.answers, shown.months.invited], [true, 6, null]);
    const listed = (await run('retention', 'runs', ...here)).json.data;
    assert.deepEqual([listed.length, listed[0].dry_run, listed[0].done], [1, true, 1]);
    assert.equal((await run('retention', 'stop', ...here, listed[0].run_id)).code, 1, 'it is over');
    assert.equal((await run('hold', 'release', ...here, holdId)).code, 0);
    assert.equal((await run('hold', 'release', ...here, holdId)).code, 1);
    assert.equal((await erase())!.results, 1);
    const reasons = await app.db.query('select from legal_hold where learner_id = $1 and reason <> $2', [id, '']);
    assert.deepEqual(reasons, [], 'what was written about them is gone');
  });
});
