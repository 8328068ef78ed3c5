import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { loadBank, renderItem } from '../../src/engine/item-bank/load.ts';
import { manualClock } from '../platform/time/manual-clock.ts';
import type { UnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { feedQueue, withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import type { EvidenceInput } from '../../src/records/evidence/document.ts';
import { buildDocument } from '../../src/records/evidence/document.ts';
import { suspendOrganisation } from '../../src/governance/offboarding/suspend.ts';
import { markResumed } from '../../src/organisations/suspension.ts';
import { pauseSitting, resumePaused } from '../../src/sittings/answer.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { reviewSitting } from '../../src/sittings/review.ts';
import { countFast, fastBelowMs } from '../../src/sittings/scoring/engagement-flags.ts';
import type { SittingItemRow } from '../../src/sittings/store.ts';
import { findCurrent } from '../../src/sittings/store.ts';
import { withService } from '../support/service.ts';
import type { SimulatedLearner } from './learner.ts';
import { invited } from './learner.ts';

const bank = loadBank();

suite('what is too fast to have been read', () => {
  const rows = (ids: readonly string[], working_ms: number | null, outcome: SittingItemRow['outcome'] = 'wrong') =>
    ids.map((item_id, i) => ({
      position: i + 1,
      item_id,
      rendered: JSON.stringify(renderItem(bank.item(item_id)!, '1')),
      outcome,
      working_ms,
    })) as SittingItemRow[];
  const ids = bank.subjects.english.items.slice(0, 40).map(({ id }) => id);

  test('forty answers in a minute are, forty in half an hour are not', () => {
    assert.deepEqual(countFast(bank, rows(ids, 1500)), { answers: 40, of: 40 });
    assert.deepEqual(countFast(bank, rows(ids, 45_000)), { answers: 0, of: 40 });
  });

  test('every question of the bank: nobody reads it in a second and a half, and ten seconds are never too fast', () => {
    for (const { items } of Object.values(bank.subjects))
      for (const { id } of items) {
        assert.equal(countFast(bank, rows([id], 1500)).answers, 1, id);
        assert.equal(countFast(bank, rows([id], 10_000)).answers, 0, id);
      }
  });

  test('a skipped question is no answer, an unmeasured time says nothing, and a passage is read once', () => {
    assert.deepEqual(countFast(bank, rows(ids, 1, 'skipped')), { answers: 0, of: 0 });
    assert.deepEqual(countFast(bank, rows(ids, null)), { answers: 0, of: 0 });
    assert.deepEqual(countFast(bank, rows(ids, 0)), { answers: 0, of: 0 });
    const onOne = bank.subjects.english.items.filter(
      (item) => item.type !== 'template' && item.passage === 'pas-l2-train-reply',
    );
    assert.ok(onOne.length >= 2);
    const words = JSON.stringify(bank.passage('pas-l2-train-reply')).split(' ').length;
    assert.ok(fastBelowMs(words) > 8_000);
    assert.equal(countFast(bank, rows([onOne[0]!.id, onOne[1]!.id], 8_000)).answers, 1);
  });
});

suite('signs in evidence and review', async () => {
  const clock = manualClock(Date.parse('2026-03-02T09:00:00Z'));
  const service = await withService({ own: 'Moves the clock.', clock, random: seededRandom('signs') });
  const org = await service.organisation();

  async function sitsWith(learner: SimulatedLearner, each: (position: number) => Promise<unknown>) {
    const sitting = await learner.starts();
    for (let position = 1; (await learner.link()).open?.stop === null; position++) await each(position);
    assert.equal(await learner.finishes(sitting), 'completed');
    const { last } = await learner.link();
    const [row] = await service.app.db.query<{ input: string }>('select input from evidence where assessment_id = $1', [
      last!.assessment_id,
    ]);
    const input = JSON.parse(row!.input) as EvidenceInput;
    return {
      assessmentId: last!.assessment_id!,
      sitting: input.sitting!,
      domains: input.domains,
      page: JSON.stringify(buildDocument(input).blocks),
    };
  }

  test('a minute for forty answers stands on the first page', async () => {
    const ana = await invited(service, org, { theta: 0.1 });
    const { sitting, page } = await sitsWith(ana, async () => {
      clock.advance(1500);
      await ana.answers();
    });
    assert.ok(sitting.signs!.fast!.answers > 20);
    assert.deepEqual(sitting.signs!.fast!.answers, sitting.signs!.fast!.of);
    assert.match(page, /"Very fast answers","text":"\d\d of \d\d answers came sooner/);
  });

  test('a pause during which the provider was suspended is printed without that time', async () => {
    const bea = await invited(service, org, { theta: 0.4 });
    const change = (to: (work: UnitOfWork) => Promise<unknown>) => withUnitOfWork(service.app, feedQueue(org.id), to);
    const { sitting, page } = await sitsWith(bea, async (position) => {
      clock.advance(40_000);
      if (position === 5) {
        const open = (await bea.link()).open!;
        await pauseSitting(service.app, open, null);
        clock.advance(10 * 60_000);
        await change((work) => suspendOrganisation(work, org.id, 'The contract ends'));
        clock.advance(21 * 24 * 3600_000);
        await change((work) => markResumed(work, org.id));
        clock.advance(15 * 60_000);
        await resumePaused(service.app, open);
      }
      await bea.answers();
    });
    assert.deepEqual(sitting.pauses, { count: 1, seconds: 1500 });
    assert.match(page, /"label":"Pauses","value":"1, of 25 minutes"/);
  });

  test('an ordinary sitting has no signs; skips, pauses and times are printed', async () => {
    const ben = await invited(service, org, { theta: 0.4 });
    const { sitting, page, assessmentId } = await sitsWith(ben, async (position) => {
      clock.advance(40_000);
      if (position === 5) {
        const open = (await ben.link()).open!;
        await pauseSitting(service.app, open, null);
        clock.advance(25 * 60_000);
        await resumePaused(service.app, open);
        clock.advance(5_000);
      }
      await ben.answers(position === 3 ? 'skip' : 'by ability');
    });
    assert.deepEqual(sitting.signs, {});
    assert.deepEqual(sitting.pauses, { count: 1, seconds: 1500 });
    assert.deepEqual([sitting.items[2]!.skipped, sitting.items[2]!.right], [true, false]);
    assert.equal(sitting.items[4]!.seconds, 45);
    assert.match(page, /\d+ right, \d+ wrong and 1 skipped, in the order given\. A skipped question counts as wrong\./);
    assert.match(page, /"label":"Pauses","value":"1, of 25 minutes"/);
    assert.match(page, /"skipped","0:40"\]/);
    assert.match(page, /"label":"Why it ended","value":"(Further questions would|The most questions)/);
    const { review } = (await reviewSitting(service.app, org.id, assessmentId))!;
    assert.equal(review.items[2]!.outcome, 'skipped');
    assert.deepEqual([review.items[4]!.working_ms, review.items[4]!.pauses], [45_000, 1]);
    assert.equal(
      review.items.reduce((sum, item) => sum + item.working_ms!, 0),
      review.working_ms,
    );
    const stranger = await service.organisation();
    assert.equal(await reviewSitting(service.app, stranger.id, assessmentId), undefined);
  });

  test('a domain of one answer and many skips has no score, and its evidence counts the one', async () => {
    const dee = await invited(service, org, { theta: 0.3 });
    const name = 'Communicating';
    let [answered, skipped] = [0, 0];
    const { assessmentId, domains } = await sitsWith(dee, async () => {
      clock.advance(40_000);
      const { item_id } = (await findCurrent(service.app.db, (await dee.link()).open!))!;
      const own = bank.item(item_id)!.domain === 'communicating';
      const skip = own && answered > 0;
      if (skip) skipped++;
      else if (own) answered++;
      await dee.answers(skip ? 'skip' : 'by ability');
    });
    assert.deepEqual([answered, skipped >= 3], [1, true]);
    const { body } = await org.get(`/assessments/${assessmentId}`);
    const published = body.data.domains.find((one: { name: string }) => one.name === name);
    const { score_pct, status } = published;
    assert.deepEqual({ score_pct, status }, { score_pct: null, status: null });
    assert.deepEqual(
      domains.find((one) => one.name === name),
      { name, score_pct, status, answered: 1 },
    );
  });

  test('time that ran out after few answers is said, with the question that was cut off', async () => {
    const cem = await invited(service, org, { theta: 0.2 });
    const { sitting, page } = await sitsWith(cem, async () => {
      clock.advance(4.5 * 60_000);
      await cem.answers();
    });
    assert.equal(sitting.ended, 'time_limit');
    assert.deepEqual(sitting.signs, { few_answers: { answered: 13, min: 20 } });
    assert.match(page, /"Few answers","text":"13 questions were answered; a full sitting has at least 20\./);
    assert.match(page, /"Time limit","text":"The sitting ended because its time was over/);
    assert.match(page, /One more was on the screen when the sitting ended, and does not count\./);
  });
});
