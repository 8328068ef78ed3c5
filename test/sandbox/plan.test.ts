import { suite, test } from 'node:test';
import assert from 'node:assert/strict';
import { planSandbox } from '../../src/sandbox/plan.ts';
import type {
  AmendableFields,
  GroupKey,
  PlannedLearner,
  PlannedRecord,
  PlannedResult,
} from '../../src/sandbox/plan.ts';
import { isWorkingDay } from '../../src/sandbox/calendar.ts';
import { nameStocks } from '../../src/sandbox/names.ts';
import { outcomeTable } from '../../src/sandbox/outcomes.ts';
import { clientGroupTypes } from '../../src/groups/types.ts';
import { domainNames } from '../../src/sandbox/results.ts';
import { frameworkOf } from '../../src/sittings/standards.ts';

const dayMs = 86_400_000;
const nowMs = Date.UTC(2026, 2, 4, 13, 37, 11);
const seed = 'test';
const plan = planSandbox({ seed, learners: 4_000, nowMs });
const learners: PlannedLearner[] = [...plan.learners()];
const results: PlannedResult[] = learners.flatMap((learner) => learner.results);
const key = (group: GroupKey): string => `${group.type} ${group.ref}`;
const groupByKey = new Map(plan.groups.map((group) => [key(group), group]));

/** Two letters, six digits and a letter, wherever and however they are separated. */
const nationalInsurance = /[A-Z]{2}\d{6}[A-D]/i;
const looksLikeNationalInsurance = (text: string): boolean =>
  nationalInsurance.test(text.replace(/[^\p{L}\p{N}]/gu, ''));

function near(actual: number, expected: number, tolerance: number, what: string): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, expected ${expected} ± ${tolerance}`);
}
const shareOf = <T>(list: readonly T[], test: (one: T) => boolean): number => list.filter(test).length / list.length;

suite('the same seed and day give the same sandbox', () => {
  test('whatever the moment of the day', () => {
    const again = planSandbox({ seed, learners: 300, nowMs: Math.floor(nowMs / dayMs) * dayMs });
    assert.deepEqual([...again.learners()], learners.slice(0, 300));
  });

  test('learner k is the same whatever the total is, and in whatever order learners are asked for', () => {
    const few = planSandbox({ seed, learners: 100, nowMs });
    const more = planSandbox({ seed, learners: 2_000, nowMs });
    assert.deepEqual([...few.learners()], [...more.learners()].slice(0, 100));
    assert.deepEqual(few.learner(1_777), more.learner(1_777));
    const keys = new Map(more.groups.map((group) => [key(group), group]));
    for (const group of few.groups) assert.deepEqual(keys.get(key(group)), group);
    few.teams.forEach((team, i) => {
      for (let number = 1; number <= 200; number += 1)
        assert.equal(team.includes(number), more.teams[i]!.includes(number));
    });
  });

  test('known values, so that a change of the generator is seen', () => {
    assert.deepEqual(
      [plan.learner(1), plan.learner(2)].map(({ ref, full_name, results: own }) => [
        ref,
        full_name,
        own[0]?.record.assessment_id ?? null,
      ]),
      [
        ['LRN-000001', 'Kyle Naylor', null],
        ['LRN-000002', 'Daisy Walker', '49c1d581-cc71-8b26-b1f1-33b476b63291'],
      ],
    );
  });

  test('another seed gives other people, references and ids', () => {
    const other = [...planSandbox({ seed: 'other', learners: 500, nowMs }).learners()];
    assert.ok(shareOf(other, (learner) => learner.full_name === learners[learner.number - 1]!.full_name) < 0.05);
    const ids = new Set(results.map(({ record }) => record.assessment_id));
    for (const learner of other) for (const { record } of learner.results) assert.ok(!ids.has(record.assessment_id));
  });

  test('ids and levels do not depend on the day', () => {
    const later = planSandbox({ seed, learners: 200, nowMs: nowMs + 9 * dayMs });
    for (const learner of later.learners()) {
      const mine = learners[learner.number - 1]!;
      assert.deepEqual(
        learner.results.map(({ record }) => [record.assessment_id, record.working_level]),
        mine.results.map(({ record }) => [record.assessment_id, record.working_level]),
      );
    }
  });
});

suite('learners', () => {
  test('references are unique, opaque and of the pattern', () => {
    const refs = learners.flatMap((learner) => (learner.ref === null ? [] : [learner.ref]));
    assert.equal(new Set(refs).size, refs.length);
    for (const ref of refs) {
      assert.match(ref, /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$/);
      assert.ok(!looksLikeNationalInsurance(ref), ref);
    }
    for (const character of './:_-')
      assert.ok(
        refs.some((ref) => ref.includes(character)),
        character,
      );
    near(1 - refs.length / learners.length, 0.03, 0.01, 'share without a reference');
    assert.match(plan.learner(1_000_000).ref ?? 'x', /1000000|x/);
  });

  test('a reference never holds a part of the name', () => {
    for (const { ref, full_name } of learners) {
      for (const part of full_name.toLowerCase().split(/[^\p{L}\p{M}]+/u)) {
        if (part.length > 3 && ref !== null) assert.ok(!ref.toLowerCase().includes(part), ref);
      }
    }
  });

  test('names are tidy and of every shape', () => {
    for (const { full_name } of learners) {
      assert.equal(full_name, full_name.trim().replace(/\s+/g, ' '));
      assert.ok(full_name.length >= 1 && full_name.length <= 200, full_name);
      assert.match(full_name, /^[\p{L}\p{M}'’. \-־]+$/u);
    }
    const some = (what: string, test: (name: string) => boolean): void =>
      assert.ok(
        learners.some(({ full_name }) => test(full_name)),
        what,
      );
    some('apostrophe', (name) => name.includes("'"));
    some('typographic apostrophe', (name) => name.includes('’'));
    some('hyphen', (name) => name.includes('-'));
    some('over 60 characters', (name) => name.length > 60);
    some('decomposed', (name) => name !== name.normalize('NFC'));
    some('Latin letter with a combining mark that has no composed form', (name) =>
      /\p{Script=Latin}\p{M}/u.test(name.normalize('NFC')),
    );
    near(
      shareOf(learners, ({ full_name }) => /^\p{Script=Latin}[\p{L}\p{M}']+$/u.test(full_name)),
      0.01,
      0.007,
      'single names',
    );
    assert.ok(new Set(learners.map(({ full_name }) => full_name)).size > learners.length * 0.8);
  });

  test('names stand in every script, nine in ten in Latin', () => {
    const scripts = [
      'Arabic',
      'Hebrew',
      'Greek',
      'Cyrillic',
      'Devanagari',
      'Bengali',
      'Gurmukhi',
      'Tamil',
      'Ethiopic',
      'Thai',
      'Han',
      'Hiragana',
      'Hangul',
    ];
    for (const script of scripts) {
      const letters = new RegExp(`\\p{Script=${script}}`, 'u');
      assert.ok(
        learners.some(({ full_name }) => letters.test(full_name)),
        script,
      );
    }
    near(
      shareOf(learners, ({ full_name }) => /\p{Script=Latin}/u.test(full_name)),
      0.89,
      0.03,
      'share in Latin script',
    );
  });

  test('every stock of names has a form of the family name for each sex', () => {
    for (const stock of nameStocks) {
      if (stock.familiesOfWomen !== undefined)
        assert.equal(stock.familiesOfWomen.length, stock.families.length, stock.families.join(' '));
    }
  });
});

suite('groups', () => {
  test('fewer than 450 at any size, teams included, of every type, some archived', () => {
    for (const size of [0, 1, 100, 2_000, 100_000, 1_000_000]) {
      const sized = planSandbox({ seed, learners: size, nowMs });
      assert.ok(sized.groups.length + sized.teams.length < 450, `${size}: ${sized.groups.length}`);
      for (const type of clientGroupTypes)
        assert.ok(
          sized.groups.some((group) => group.type === type),
          type,
        );
      const archived = sized.groups.filter((group) => group.archived).length;
      assert.ok(archived >= 5 && archived < sized.groups.length / 3, `${archived} archived of ${sized.groups.length}`);
    }
  });

  test('references and names are valid and unique by type', () => {
    assert.equal(groupByKey.size, plan.groups.length);
    assert.equal(new Set(plan.groups.map((group) => `${group.type} ${group.name}`)).size, plan.groups.length);
    for (const group of plan.groups) {
      assert.match(group.ref, /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$/);
      assert.ok(group.name.length > 0 && group.name.length <= 200);
      assert.ok(!looksLikeNationalInsurance(group.ref) && !looksLikeNationalInsurance(group.name), group.name);
    }
  });

  test('at every moment of the year and of the day, members belong to planned groups', () => {
    for (const month of [0, 3, 7, 8, 11]) {
      const other = planSandbox({ seed, learners: 300, nowMs: Date.UTC(2027, month, 1) });
      const keys = new Set(other.groups.map(key));
      for (const learner of other.learners())
        for (const group of learner.groups) assert.ok(keys.has(key(group)), key(group));
    }
  });

  test('members hold planned groups, at most 20, and moves fit what they hold', () => {
    const members = new Map<string, number>();
    for (const learner of learners) {
      const held = new Set(learner.groups.map(key));
      assert.equal(held.size, learner.groups.length);
      if (learner.ref === null) assert.equal(learner.groups.length + learner.moves.length, 0);
      else assert.ok(held.size >= 4 && held.size <= 20);
      for (const name of held) members.set(name, (members.get(name) ?? 0) + 1);
      for (const move of learner.moves) {
        assert.ok(move.remove.length + move.add.length > 0);
        for (const group of move.remove) assert.ok(held.delete(key(group)), `${learner.number} leaves ${key(group)}`);
        for (const group of move.add) {
          assert.equal(groupByKey.get(key(group))?.archived, false);
          assert.ok(!held.has(key(group)), `${learner.number} joins ${key(group)} twice`);
          held.add(key(group));
        }
      }
    }
    for (const name of members.keys()) assert.ok(groupByKey.has(name), name);
    assert.ok(shareOf(plan.groups, (group) => members.has(key(group))) > 0.9);
    assert.ok(
      plan.groups.some((group) => group.archived && members.has(key(group))),
      'an archived group with members',
    );
    near(
      shareOf(learners, (learner) => learner.moves.length > 0),
      0.13,
      0.03,
      'share of moved learners',
    );
  });

  test('teams have members, each a learner with a reference and in one team at most', () => {
    const sizes = plan.teams.map(() => 0);
    for (const learner of learners) {
      const mine = plan.teams.flatMap((team, i) => (team.includes(learner.number) ? [i] : []));
      assert.ok(mine.length <= (learner.ref === null ? 0 : 1));
      for (const i of mine) sizes[i]! += 1;
    }
    for (const size of sizes) assert.ok(size > learners.length * 0.03, String(sizes));
  });
});

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
