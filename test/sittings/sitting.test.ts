import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { suite, test } from 'node:test';
import { renameLearner } from '../../src/records/learners/rename.ts';
import { rightAnswer } from '../../src/engine/item-bank/mark.ts';
import type { Item, RenderedItem } from '../../src/engine/item-bank/schema.ts';
import { manualClock } from '../platform/time/manual-clock.ts';
import { lockFeed } from '../../src/feed/position.ts';
import { findLearner } from '../../src/records/learners/learners.ts';
import type { Subject } from '../../src/engine/scoring/levels.ts';
import { score } from '../../src/engine/scoring/score.ts';
import { answerQuestion } from '../../src/sittings/answer.ts';
import { banksOf } from '../../src/sittings/scoring/banks.ts';
import { AdaptiveSitting } from '../../src/sittings/selection/selection.ts';
import { startSitting } from '../../src/sittings/start.ts';
import { seenForMs } from '../../src/sittings/working-time.ts';
import { deliveryOf, individualOf } from '../../src/sittings/delivery.ts';
import type { SittingRow } from '../../src/sittings/store.ts';
import { findCurrent, findItems, findSitting } from '../../src/sittings/store.ts';
import type { TestOrganisation, TestService } from '../support/service.ts';
import { withService } from '../support/service.ts';
import { invited, invitedAgain } from './learner.ts';

const startMs = Date.parse('2026-03-02T09:00:00Z');

async function results(org: TestOrganisation, ref: string) {
  return (await org.get(`/assessments?learner_ref=${ref}`)).body.data as {
    assessment_id: string;
    subject: Subject;
    report_sha256: string;
    level_probabilities: Record<string, number>;
    domains: { name: string }[];
  }[];
}

function events(service: TestService, org: TestOrganisation) {
  return service.app.db.query<{ payload: string }>(
    "select payload from event where organisation_id = $1 and type = 'assessment.completed'",
    [org.id],
  );
}

/** Goes through a stored sitting again, from nothing but what is stored. */
async function replay(service: TestService, sitting: SittingRow): Promise<void> {
  const { pool } = await deliveryOf(banksOf(service.app), service.app.db, sitting);
  const again = new AdaptiveSitting(pool, individualOf(sitting));
  const rows = await findItems(service.app.db, sitting);
  for (const row of rows) {
    assert.deepEqual(again.next(), JSON.parse(row.choice));
    again.record({ itemId: row.item_id, outcome: row.outcome! });
  }
  const { reason, ...stop } = JSON.parse(sitting.stop!);
  assert.deepEqual({ ...again.next(reason === 'time_limit'), reason }, { ...stop, reason });
}

suite('a learner invited to three subjects', async () => {
  const clock = manualClock(startMs);
  const service = await withService({ own: 'Moves the clock.', clock });
  const org = await service.organisation();
  const ana = await invited(service, org, { ref: 'ana', name: 'Ana Example', theta: 0.9 });
  const sat: SittingRow[] = [];

  for (const subject of ['digital', 'english', 'maths'] as const) {
    test(`${subject}: from the start to the result, in the organisation's order`, async () => {
      const sitting = await ana.sits();
      sat.push(sitting);
      assert.equal(sitting.subject, subject);
      const rows = await findItems(service.app.db, sitting);
      assert.ok(rows.length >= (subject === 'digital' ? 20 : 24) && rows.length <= 40, `${rows.length} questions`);
      const mine = (await results(org, 'ana')).find((result) => result.subject === subject)!;
      assert.equal(mine.assessment_id, sitting.assessment_id);
      const { irt, published } = JSON.parse(sitting.result!);
      assert.deepEqual(mine.level_probabilities, irt.levelProbabilities);
      assert.ok(Object.hasOwn(mine.level_probabilities, published.working_level));
      const report = await org.get(`/assessments/${mine.assessment_id}/report.pdf`);
      assert.equal(createHash('sha256').update(report.bytes).digest('hex'), mine.report_sha256);
      const told = (await events(service, org)).map(({ payload }) => JSON.parse(payload).data);
      assert.deepEqual(
        told.filter((data) => data.assessment_id === mine.assessment_id),
        [mine],
      );
    });

    test(`${subject}: the stored result is what scoring makes of the stored answers`, async () => {
      const sitting = sat.find((one) => one.subject === subject)!;
      const rows = await findItems(service.app.db, sitting);
      const { scoring } = await banksOf(service.app).version(service.app.db, sitting.bank_version);
      assert.deepEqual(
        JSON.parse(
          JSON.stringify(
            score(
              scoring[subject],
              rows.map((row) => ({ itemId: row.item_id, outcome: row.outcome! })),
            ),
          ),
        ),
        JSON.parse(sitting.result!),
      );
    });

    test(`${subject}: replayed exactly from its record`, () =>
      replay(
        service,
        sat.find((one) => one.subject === subject)!,
      ));
  }

  test('the invitation is used up by the last result', async () => {
    assert.equal((await ana.link()).invitation.status, 'used');
    assert.equal((await results(org, 'ana')).length, 3);
  });

  test('a new invitation hardly shows an item again within a year', async () => {
    const again = await invited(service, org, { ref: 'ana', name: 'Ana Example' });
    assert.notEqual(again.invitationId, ana.invitationId);
    const sitting = await again.sits('right');
    const before = new Set(
      (await Promise.all(sat.map((one) => findItems(service.app.db, one)))).flat().map((row) => row.item_id),
    );
    const repeated = (await findItems(service.app.db, sitting)).filter((row) => before.has(row.item_id));
    assert.ok(repeated.length <= 2, `${repeated.length} again`);
    sat.push(sitting);
  });

  test('a question that was seen a year ago is fresh again, and not a moment before', async () => {
    const asked = async (subject: Subject) => {
      const before = sat.filter((one) => one.subject === subject);
      const rows = (await Promise.all(before.map((one) => findItems(service.app.db, one)))).flat();
      return [...new Set(rows.map((row) => row.item_id))].sort();
    };
    clock.advance(seenForMs - 1);
    const later = await invited(service, org, { ref: 'ana', name: 'Ana Example' });
    const first = await later.sits();
    assert.deepEqual(first.withheld.toSorted(), await asked(first.subject));
    clock.advance(1);
    const second = await later.starts();
    assert.notEqual(second.subject, first.subject);
    assert.ok((await asked(second.subject)).length > 0);
    assert.deepEqual(second.withheld, []);
  });

  test('every answer right: the estimate is finite, and the result says that it hit the ceiling', async () => {
    const ben = await invited(service, org, { ref: 'ben' });
    const sitting = await ben.sits('right');
    const { irt, flags } = JSON.parse(sitting.result!);
    assert.ok(Number.isFinite(irt.theta) && flags.includes('ceiling'));
  });
});

test('a bank version that a failover lost is stored again by the process that had stored it', async () => {
  const service = await withService();
  const org = await service.organisation();
  await invited(service, org, { ref: 'ana', name: 'Ana Example', theta: 0.9 }).then((ana) => ana.starts());
  await service.app.db.query('truncate bank_version cascade');
  await invited(service, org, { ref: 'bo', name: 'Bo Example', theta: 0.9 }).then((bo) => bo.starts());
  const stored = await service.app.db.query<{ version: string }>('select version from bank_version');
  assert.deepEqual(stored, [{ version: banksOf(service.app).current().bank.version }]);
});

suite('several requests at once', async () => {
  const service = await withService();
  const org = await service.organisation();

  test('two starts begin one sitting', async () => {
    const cem = await invited(service, org);
    const link = await cem.link();
    await Promise.all([
      startSitting(service.app, link),
      startSitting(service.app, link),
      startSitting(service.app, link),
    ]);
    const [row] = await service.app.db.query<{ count: number }>(
      'select count(*) as count from sitting where invitation_id = $1',
      [cem.invitationId],
    );
    assert.equal(row!.count, 1);
  });

  test('two invitations of one learner begin one sitting, and the second link leads to it', async () => {
    const cho = await invited(service, await service.organisation(), { ref: 'cho', theta: 0.4 });
    const { learner_id } = (await cho.link()).invitation;
    const other = await invitedAgain(cho);
    const links = [await cho.link(), await other.link(), await cho.link(), await other.link()];
    const under = new Set(await Promise.all(links.map((link) => startSitting(service.app, link))));
    assert.equal(under.size, 1);
    const open = () =>
      service.app.db.query<{ invitation_id: string }>(
        "select invitation_id from sitting where learner_id = $1 and status = 'open'",
        [learner_id],
      );
    assert.deepEqual(
      (await open()).map((row) => row.invitation_id),
      [...under],
    );
    const [first, blocked] = under.has(cho.invitationId) ? [cho, other] : [other, cho];
    const page = await fetch(`${service.url}/a/${blocked.token}/start`, { method: 'POST', redirect: 'manual' });
    assert.equal(page.headers.get('location'), `/a/${first.token}`);
    const asked = await fetch(`${service.url}/a/${blocked.token}/start`, { redirect: 'manual' });
    assert.equal(asked.headers.get('location'), `/a/${first.token}`);
    const sitting = (await first.link()).open!;
    while ((await first.answers()) !== null);
    await first.finishes(sitting);
    // The other invitation still has its subject, and hardly anything that was asked before.
    const later = await blocked.starts();
    assert.equal(later.subject, 'digital');
    assert.equal(later.withheld.length, (await findItems(service.app.db, sitting)).length);
  });

  test('exactly one of many answers to a question counts', async () => {
    const dan = await invited(service, org);
    const sitting = await dan.starts();
    const current = (await findCurrent(service.app.db, sitting))!;
    const rendered = JSON.parse(current.rendered) as RenderedItem;
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        answerQuestion(service.app, sitting, {
          position: 1,
          answer: i % 2 === 0 ? rightAnswer(rendered) : {},
          skip: i % 2 === 1,
        }),
      ),
    );
    assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ['late', 'late', 'late', 'late', 'late', 'taken']);
    const rows = await findItems(service.app.db, sitting);
    assert.equal(rows.length, 2);
    assert.equal(rows[1]!.outcome, null);
  });

  test('two declarations give one result and one event', async () => {
    const eve = await invited(service, org, { ref: 'eve' });
    const sitting = await eve.starts();
    while ((await eve.answers()) !== null);
    assert.deepEqual(await Promise.all([eve.finishes(sitting), eve.finishes(sitting), eve.finishes(sitting)]), [
      'completed',
      'completed',
      'completed',
    ]);
    assert.equal((await results(org, 'eve')).length, 1);
    assert.equal((await events(service, org)).length, 1);
  });

  test('a name that changes while the evidence is made is the one that the evidence shows', async () => {
    const fay = await invited(service, org, { ref: 'fay', name: 'Fay Before' });
    const sitting = await fay.starts();
    while ((await fay.answers()) !== null);
    const locked = Promise.withResolvers<void>();
    const finishing = locked.promise.then(() => fay.finishes(sitting));
    await service.withUnitOfWork(async (work) => {
      await lockFeed(work, org.id);
      locked.resolve();
      // The evidence is made with the old name, and its transaction waits for the feed.
      const waitsForThis = 'select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))';
      while ((await work.tx.query(waitsForThis)).length === 0);
      await renameLearner(work, org.id, (await findLearner(work.tx, org.id, 'fay'))!, 'Fay After');
    });
    assert.equal(await finishing, 'completed');
    const { assessment_id } = (await findSitting(service.app.db, sitting))!;
    const inputs = await service.app.db.query<{ input: string }>(
      'select input from evidence where assessment_id = $1',
      [assessment_id],
    );
    assert.deepEqual(
      inputs.map(({ input }) => JSON.parse(input).learner.full_name),
      ['Fay After'],
    );
    assert.equal((await org.get(`/assessments/${assessment_id}`)).body.data.learner.full_name, 'Fay After');
  });

  test('an upgrade of the bank in the middle: the sitting goes on with the version that it began with', async () => {
    const gil = await invited(service, org);
    const sitting = await gil.starts();
    await gil.answers();
    const [stored] = await service.app.db.query<{ content: string }>(
      'select content from bank_version where version = $1',
      [sitting.bank_version],
    );
    const content = JSON.parse(stored!.content) as { items: Item[] };
    const other = '0-000000000000';
    await service.app.db.query('insert into bank_version values ($1, $2, now())', [
      other,
      JSON.stringify({
        ...content,
        items: content.items.filter((item) => item.level !== 'level3' || Number(item.id.slice(-1)) % 2 === 0),
      }),
    ]);
    await service.app.db.query('update sitting set bank_version = $2 where sitting_id = $1', [
      sitting.sitting_id,
      other,
    ]);
    assert.equal(await gil.answers('right'), 'taken');
    const { pool } = await deliveryOf(
      banksOf(service.app),
      service.app.db,
      (await findSitting(service.app.db, sitting))!,
    );
    assert.ok(pool.bank.items.length < banksOf(service.app).current().pools[sitting.subject].bank.items.length);
    assert.ok(pool.indexById.has((await findItems(service.app.db, sitting)).at(-1)!.item_id));
  });

  test('more answers at once than connections, on processes that have just started', async () => {
    const sat = [];
    for (let i = 0; i < 24; i++) {
      const learner = await invited(service, org);
      const sitting = await learner.starts();
      sat.push({ sitting, current: (await findCurrent(service.app.db, sitting))! });
    }
    const [older] = await service.app.db.query<{ version: string }>(
      `insert into bank_version select '0-000000000001', content, created_at from bank_version where version = $1 returning version`,
      [sat[0]!.sitting.bank_version],
    );
    const newest = sat.slice(0, 12).map(({ sitting }) => sitting.sitting_id);
    await service.app.db.query(
      'update sitting set bank_version = $2 where organisation_id = $1 and sitting_id <> all($3) and status = $4',
      [org.id, older!.version, newest, 'open'],
    );
    const fresh = await service.sibling();
    const outcomes = await Promise.all(
      sat.map(({ sitting, current }) =>
        answerQuestion(fresh.app, sitting, { position: current.position, answer: {}, skip: true }),
      ),
    );
    assert.deepEqual([...new Set(outcomes.map(({ kind }) => kind))], ['taken']);
  });
});

suite('what is never stored', async () => {
  const service = await withService();
  const org = await service.organisation();

  test('a National Insurance number that is typed as an answer', async () => {
    // Which items come up is drawn: a sitting that ends without a short text is followed by another learner's.
    for (let learner = 0; learner < 20; learner++) {
      const hal = await invited(service, org);
      await hal.starts();
      for (let i = 0; i < 40; i++) {
        const { open } = await hal.link();
        const current = await findCurrent(service.app.db, open!);
        if (current === undefined || current === null) break;
        const rendered = JSON.parse(current.rendered) as RenderedItem;
        if (rendered.type !== 'short_text') {
          await hal.answers('right');
          continue;
        }
        assert.equal(
          (
            await answerQuestion(service.app, open!, {
              position: current.position,
              answer: { answer: 'QQ 12 34 56 C', stray: 'kept?' },
              skip: false,
            })
          ).kind,
          'taken',
        );
        const row = (await findItems(service.app.db, open!))[current.position - 1]!;
        assert.deepEqual([row.answer, row.outcome], ['{"answer":""}', 'wrong']);
        return;
      }
    }
    assert.fail('no short text came up');
  });
});
