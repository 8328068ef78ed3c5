import { suite, test } from 'node:test';
import assert from 'node:assert/strict';
import type { AmendableFields, PlannedRecord } from '../../src/sandbox/data/plan.ts';
import { isWorkingDay } from '../../src/sandbox/data/calendar.ts';
import { outcomeTable } from '../../src/sandbox/data/outcomes.ts';
import { domainNames } from '../../src/sandbox/data/results.ts';
import { isClose } from '../../src/engine/scoring/probabilities.ts';
import { changeOf, type Progress } from '../../src/records/results/lists/progress.ts';
import { frameworkOf } from '../../src/sittings/scoring/standards.ts';
import { dayMs, plan, learners, results, near, shareOf } from './planned.ts';

/** The table of the scoring rules, written out again: working level → level, code, below Level 1. */
const levels: Record<string, [string | null, number | null, boolean]> = {
  'Working towards Entry Level': [null, null, true],
  'Entry Level': ['Entry Level', 1, true],
  'Entry Level 1': ['Entry Level', 1, true],
  'Entry Level 2': ['Entry Level', 1, true],
  'Entry Level 3': ['Entry Level', 1, true],
  'Level 1': ['Level 1', 2, false],
  'Level 2': ['Level 2', 3, false],
  'Level 3': ['Level 3', 5, false],
};
const nextLevels = {
  digital: {
    'Working towards Entry Level': 'Entry Level',
    'Entry Level': 'Level 1',
    'Level 1': 'Level 2',
    'Level 2': 'Level 3',
    'Level 3': null,
  },
  other: {
    'Working towards Entry Level': 'Entry Level 1',
    'Entry Level 1': 'Entry Level 2',
    'Entry Level 2': 'Entry Level 3',
    'Entry Level 3': 'Level 1',
    'Level 1': 'Level 2',
    'Level 2': 'Level 3',
    'Level 3': null,
  },
} as const;

function assertConsistent(record: PlannedRecord): void {
  assert.equal(record.framework, frameworkOf(record.subject, record.rqf_level));
  if (record.working_level === null) {
    assert.deepEqual(
      [record.rqf_level, record.rqf_level_code, record.below_level_1, record.recommended_next_level],
      [null, null, null, null],
    );
  } else {
    assert.deepEqual([record.rqf_level, record.rqf_level_code, record.below_level_1], levels[record.working_level]);
    const ladder: Record<string, string | null> = record.subject === 'digital' ? nextLevels.digital : nextLevels.other;
    assert.ok(record.working_level in ladder, `${record.subject} ${record.working_level}`);
    assert.equal(record.recommended_next_level, ladder[record.working_level]);
  }
  const probabilities = Object.entries(record.level_probabilities ?? {});
  if (record.working_level === null) assert.equal(probabilities.length, 0);
  if (probabilities.length > 0) {
    assert.deepEqual(
      probabilities.map(([level]) => level),
      Object.keys(record.subject === 'digital' ? nextLevels.digital : nextLevels.other),
    );
    assert.equal(Math.round(probabilities.reduce((sum, [, one]) => sum + one, 0) * 1000), 1000);
  }
  assert.deepEqual(
    record.domains.map(({ name }) => name),
    domainNames[record.subject],
  );
  for (const { score_pct, status } of record.domains) {
    if (score_pct === null) {
      assert.ok(status === null || status === 'not_assessed');
    } else {
      assert.ok(Number.isInteger(score_pct) && score_pct >= 0 && score_pct <= 100);
      assert.equal(status, score_pct >= 65 ? 'secure' : score_pct >= 40 ? 'developing' : 'needs_support');
    }
  }
}

/** What share of a standard normal population's simulated sittings has a flag of the table. */
function simulatedShare(flag: 1 | 2): number {
  let [all, flagged] = [0, 0];
  for (const { outcomes } of Object.values(outcomeTable().subjects)) {
    for (const [ability, , , flags] of outcomes) {
      const weight = Math.exp(-(ability ** 2) / 2);
      all += weight;
      if ((flags & flag) > 0) flagged += weight;
    }
  }
  return flagged / all;
}

suite('results', () => {
  test('ids are unique UUIDs', () => {
    assert.equal(new Set(results.map(({ record }) => record.assessment_id)).size, results.length);
    for (const { record } of results) {
      assert.match(record.assessment_id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
  });

  test('levels, codes, frameworks and domains agree', () => {
    for (const { record } of results) assertConsistent(record);
    for (const subject of ['digital', 'english', 'maths'] as const) {
      const ladder = Object.keys(subject === 'digital' ? nextLevels.digital : nextLevels.other);
      const seen = new Set(
        results.filter(({ record }) => record.subject === subject).map(({ record }) => record.working_level),
      );
      for (const level of ladder) assert.ok(seen.has(level), `${subject} ${level}`);
    }
    const shown = new Set(results.flatMap(({ record }) => record.domains.map(({ status }) => status as string | null)));
    assert.deepEqual(shown, new Set(['secure', 'developing', 'needs_support', 'not_assessed', null]));
  });

  test('a learner has up to six, oldest first, of the learner itself', () => {
    for (const learner of learners) {
      assert.ok(learner.results.length <= 6);
      if (learner.ref === null) assert.equal(learner.results.length, 1);
      learner.results.forEach(({ record }, i) => {
        assert.deepEqual(record.learner, { ref: learner.ref, full_name: learner.full_name });
        if (i > 0) assert.ok(record.assessed_at > learner.results[i - 1]!.record.assessed_at);
      });
    }
    near(results.length / learners.length, 2.2, 0.1, 'results per learner');
    for (let count = 0; count <= 6; count += 1) assert.ok(learners.some((learner) => learner.results.length === count));
  });

  test('assessed in working hours of UK working days within the last two years', () => {
    const ukHour = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/London', hour: '2-digit', hourCycle: 'h23' });
    for (const { record } of results) {
      assert.match(record.assessed_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      const at = Date.parse(record.assessed_at);
      assert.ok(at < plan.referenceMs && at >= plan.referenceMs - 730 * dayMs);
      assert.ok(isWorkingDay(Math.floor(at / dayMs) * dayMs), record.assessed_at);
      const hour = Number(ukHour.format(at));
      assert.ok(hour >= 9 && hour < 17, record.assessed_at);
    }
  });

  test('holidays are no working days', () => {
    const holidays = [
      '2025-04-18',
      '2025-04-21',
      '2025-05-05',
      '2025-05-26',
      '2025-08-25',
      '2025-12-25',
      '2026-01-01',
      '2026-04-03',
      '2026-04-06',
      '2027-03-26',
      '2026-03-07',
    ];
    for (const day of holidays) assert.equal(isWorkingDay(Date.parse(`${day}T00:00:00Z`)), false, day);
    for (const day of ['2025-04-22', '2026-03-04', '2026-01-05', '2025-05-12']) {
      assert.equal(isWorkingDay(Date.parse(`${day}T00:00:00Z`)), true, day);
    }
  });

  test('shares of borderline, review, withdrawn and amended results', () => {
    near(
      shareOf(results, ({ record }) => record.is_borderline),
      simulatedShare(1),
      0.05,
      'borderline',
    );
    near(
      shareOf(results, ({ record }) => record.needs_review),
      simulatedShare(2),
      0.03,
      'needs review',
    );
    near(
      shareOf(results, ({ withdraw }) => withdraw !== null),
      0.015,
      0.006,
      'withdrawn',
    );
    near(
      shareOf(results, ({ amend }) => amend !== null),
      0.01,
      0.005,
      'amended',
    );
    near(
      shareOf(results, ({ record }) => record.working_level === null),
      0.005,
      0.004,
      'not placed',
    );
    for (const subject of ['digital', 'english', 'maths'])
      near(
        shareOf(results, ({ record }) => record.subject === subject),
        1 / 3,
        0.04,
        subject,
      );
  });

  test('a third of the results are close to a boundary, and areas differ within many results', () => {
    const isCloseOne = ({ record }: (typeof results)[number]) =>
      isClose(Object.values(record.level_probabilities ?? {}));
    near(shareOf(results, isCloseOne), 0.35, 0.05, 'close to a boundary');
    for (const subject of ['digital', 'english', 'maths']) {
      const own = results.filter(({ record }) => record.subject === subject && record.level_probabilities !== null);
      const close = shareOf(own, ({ record }) => isClose(Object.values(record.level_probabilities!)));
      assert.ok(close > 0.15 && close < 0.45, `${close} close to a boundary in ${subject}`);
      const varied = shareOf(own, ({ record }) => new Set(record.domains.map(({ status }) => status)).size > 1);
      assert.ok(varied > 0.2, `areas differ in ${varied} of the results in ${subject}`);
    }
  });

  test('the distance travelled is measured: some learners gain clearly, and hardly any lose', () => {
    const outcomes = learners.flatMap((learner) =>
      [...Map.groupBy(learner.results, ({ record }) => record.subject).values()].flatMap((own) => {
        const compared = ({ record }: (typeof own)[number]) =>
          ({ source: 'imported', content: record, ability: null }) as unknown as Progress['first'];
        const [first, latest] = [compared(own[0]!), compared(own.at(-1)!)];
        return changeOf({ results: own.length, first, latest } as Progress)?.outcome ?? [];
      }),
    );
    const share = (outcome: string) => shareOf(outcomes, (one) => one === outcome);
    assert.ok(share('gain') > 0.05 && share('gain') < 0.5, `${share('gain')} gain`);
    assert.ok(share('loss') < 0.02, `${share('loss')} lose`);
    assert.ok(share('unmeasured') < 0.03, `${share('unmeasured')} are not measured`);
  });

  test('learners progress: repeated subjects rise more often than they fall', () => {
    let risen = 0;
    let fallen = 0;
    for (const learner of learners) {
      const before = new Map<string, number>();
      for (const { record } of learner.results) {
        const ladder = Object.keys(record.subject === 'digital' ? nextLevels.digital : nextLevels.other);
        const rung = ladder.indexOf(record.working_level ?? '');
        const last = before.get(record.subject);
        if (rung < 0) continue;
        if (last !== undefined && rung > last) risen += 1;
        if (last !== undefined && rung < last) fallen += 1;
        before.set(record.subject, rung);
      }
    }
    assert.ok(risen > 100 && risen > 5 * fallen, `${risen} risen, ${fallen} fallen`);
  });

  test('amendments touch amendable fields only, change something and stay consistent', () => {
    const amendable: (keyof AmendableFields)[] = [
      'framework',
      'working_level',
      'recommended_next_level',
      'is_borderline',
      'needs_review',
      'domains',
      'level_probabilities',
    ];
    for (const { record, amend, withdraw } of results) {
      if (amend === null) continue;
      assert.equal(withdraw, null);
      assert.ok(amend.reason.length > 0);
      for (const field of Object.keys(amend.fields)) assert.ok((amendable as string[]).includes(field), field);
      const amended = { ...record, ...amend.fields };
      assert.notDeepEqual(amended, record);
      assertConsistent(amended);
    }
  });
});
