import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { rightAnswer } from '../../../src/engine/item-bank/mark.ts';
import type { RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { score, type ScoredResult } from '../../../src/engine/scoring/score.ts';
import { updateOrganisation } from '../../../src/organisations/organisations.ts';
import type { EvidenceInput } from '../../../src/records/evidence/input.ts';
import { answerQuestion } from '../../../src/sittings/answer.ts';
import { maxQuestions } from '../../../src/sittings/delivery.ts';
import { banksOf } from '../../../src/sittings/scoring/banks.ts';
import { reportFit } from '../../../src/sittings/scoring/fit.ts';
import { findCurrent, findItems, type SittingRow } from '../../../src/sittings/store.ts';
import { buildDocument } from '../../../src/records/evidence/document.ts';
import { ars } from '../../support/ars.ts';
import { withService } from '../../support/service.ts';
import { Visitor } from '../../web/player/visitor.ts';
import { personOf } from '../../web/console/visitor.ts';
import { invited } from '../learner.ts';
import { bankWithPilots, useBank } from './bank.ts';

suite('questions on trial in a sitting', async () => {
  const service = await withService({ own: 'Uses another item bank.' });
  useBank(service, bankWithPilots());
  const org = await service.organisation();
  const evidenceOf = async ({ assessment_id }: SittingRow) => {
    const rows = await service.app.db.query<{ input: string }>(
      'select input from evidence where organisation_id = $1 and assessment_id = $2',
      [org.id, assessment_id],
    );
    return JSON.parse(rows[0]!.input) as EvidenceInput;
  };

  /** The learner and the sitting that have at least two questions on trial. */
  async function satWithPilots() {
    for (let i = 0; i < 8; i++) {
      const learner = await invited(service, org, { theta: 0.2 });
      const sitting = await learner.sits();
      const rows = await findItems(service.app.db, sitting);
      const pilots = rows.filter(({ pilot }) => pilot);
      assert.ok(pilots.length <= 3);
      if (pilots.length >= 2) return { learner, sitting, rows, pilots };
    }
    return assert.fail('no sitting had two questions on trial');
  }
  const sat = satWithPilots();

  test('the result is what scoring makes of the other questions', async () => {
    const { sitting, rows } = await sat;
    const { scoring } = await banksOf(service.app).version(service.app.db, sitting.bank_version);
    const scored = rows
      .filter(({ pilot }) => !pilot)
      .map(({ item_id, outcome }) => ({ itemId: item_id, outcome: outcome! }));
    assert.deepEqual(JSON.parse(JSON.stringify(score(scoring[sitting.subject], scored))), JSON.parse(sitting.result!));
  });

  test('the evidence lists only scored questions, and says how many were on trial', async () => {
    const { sitting, rows, pilots } = await sat;
    const input = await evidenceOf(sitting);
    assert.equal(input.sitting!.pilots, pilots.length);
    assert.deepEqual(
      input.sitting!.items.map(({ id }) => id),
      rows.filter(({ pilot }) => !pilot).map(({ item_id }) => item_id),
    );
    assert.match(JSON.stringify(buildDocument(input)), /The learner also got \d new questions on trial\./);
    const { pilots: _, ...without } = input.sitting!;
    assert.doesNotMatch(JSON.stringify(buildDocument({ ...input, sitting: without })), /on trial/);
  });

  test('a reviewer and the operator see which ones are not scored, and fit leaves them out', async () => {
    const { sitting, pilots } = await sat;
    const owner = await personOf(service, org.id, 'owner');
    const page = await owner.get(`/console/${org.publicId}/review/${sitting.assessment_id}`);
    assert.equal(page.text.match(/On trial, not scored/g)?.length, pilots.length);
    const shown = await ars(
      ['sittings', 'show', '--organisation', org.publicId, sitting.assessment_id!, '--json'],
      service.environment,
    );
    assert.deepEqual(
      shown.json.items
        .filter((item: { pilot: boolean }) => item.pilot)
        .map((item: { item_id: string }) => item.item_id),
      pilots.map(({ item_id }) => item_id),
    );
    const { items } = await reportFit(service.app, [org.id]);
    assert.ok(items.every(({ item_id }) => !pilots.some((pilot) => pilot.item_id === item_id)));
  });

  test('the pages show them as any other question, and count them', async () => {
    const learner = await invited(service, org);
    const visitor = new Visitor(service, learner.token, {
      'user-agent': 'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/131.0.0.0 Mobile Safari/537.36',
      'accept-language': 'pl-PL,en;q=0.5',
    });
    await visitor.get();
    assert.match(visitor.text, /20 to 43 questions/);
    assert.match(visitor.text, /at most 3 of yours/);
    await visitor.post('/start', visitor.hidden());
    const sitting = (await learner.link()).open!;
    let onTrial = 0;
    for (let n = 1; n < 22; n++) {
      const current = (await findCurrent(service.app.db, sitting))!;
      const { pilot } = (await findItems(service.app.db, sitting)).at(-1)!;
      onTrial += Number(pilot);
      assert.equal(visitor.heading(), `Question ${n} of at most 43`);
      assert.doesNotMatch(visitor.text, /pilot|on trial|not scored/i);
      await visitor.sends(
        n % 2 === 0 ? {} : rightAnswer(JSON.parse(current.rendered) as RenderedItem),
        n % 2 === 0 ? 'skip-now' : 'next',
      );
    }
    assert.ok(onTrial > 0);
    const rows = (await findItems(service.app.db, sitting)).slice(0, 21);
    const kept = await service.app.db.query(
      'select distinct device, language from sitting_item where organisation_id = $1 and sitting_id = $2 and position <= 21',
      [org.id, sitting.sitting_id],
    );
    assert.deepEqual(kept, [{ device: 'phone', language: 'other' }]);
    assert.equal(rows.length, 21);
  });

  test('exactly one of several answers to one counts, and the sitting goes on', async () => {
    const learner = await invited(service, org);
    const sitting = await learner.starts();
    for (;;) {
      const rows = await findItems(service.app.db, sitting);
      const { position, pilot, rendered } = rows.at(-1)!;
      assert.ok(position < 22, 'no question on trial came up');
      if (!pilot) {
        await learner.answers('right');
        continue;
      }
      const answer = rightAnswer(JSON.parse(rendered) as RenderedItem);
      const again = await service.sibling();
      const outcomes = await Promise.all(
        [service.app, again.app, service.app, again.app].map((app) =>
          answerQuestion(app, sitting, { position, answer, skip: false }),
        ),
      );
      assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ['late', 'late', 'late', 'taken']);
      const after = await findItems(service.app.db, sitting);
      assert.deepEqual([after.length, after.at(-2)!.outcome], [position + 1, 'right']);
      return;
    }
  });

  test('a question on trial that the time limit cuts off changes nothing', async () => {
    const learner = await invited(service, org);
    const sitting = await learner.starts();
    while (!(await findItems(service.app.db, sitting)).at(-1)!.pilot) await learner.answers('right');
    await service.app.db.query('update sitting set used_ms = time_limit_ms where sitting_id = $1', [
      sitting.sitting_id,
    ]);
    assert.equal(await learner.answers('right'), 'time_up');
    const rows = await findItems(service.app.db, sitting);
    assert.deepEqual([rows.at(-1)!.pilot, rows.at(-1)!.outcome], [true, 'not_reached']);
    // Too few answers for a result: the sitting is void, and the answers on trial do not help it.
    assert.equal(await learner.finishes(sitting), rows.length - 1 >= 12 ? 'completed' : 'void');
  });

  test('a second sitting of the learner gives other ones', async () => {
    const { learner, pilots } = await sat;
    const again = await invited(service, org, { ref: learner.ref, theta: 0.2 });
    const rows = await findItems(service.app.db, await again.sits());
    assert.deepEqual(
      rows.filter(({ item_id }) => pilots.some((one) => one.item_id === item_id)),
      [],
    );
  });

  test('an organisation that has switched them off gets none, and its learners read nothing about them', async () => {
    const off = await service.organisation();
    await service.withUnitOfWork((work) => updateOrganisation(work, off.id, { pilot_items: false }));
    const learner = await invited(service, off);
    const visitor = await new Visitor(service, learner.token).get();
    assert.match(visitor.text, /20 to 40 questions/);
    assert.doesNotMatch(visitor.text, /try out/);
    const sitting = await learner.sits();
    assert.equal(maxQuestions(sitting), 40);
    assert.ok((await findItems(service.app.db, sitting)).every(({ pilot }) => !pilot));
    assert.equal((JSON.parse(sitting.result!) as ScoredResult).counts.shown > 0, true);
  });
});
