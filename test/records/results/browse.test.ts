import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { allFacets } from '../../../src/records/results/facet.ts';
import { browseResults, everyResult } from '../../../src/records/results/lists/browse.ts';
import type { ResultQuery, ResultFilter, ResultSort } from '../../../src/records/results/lists/browse-statements.ts';
import { resultSorts, unfiltered } from '../../../src/records/results/lists/browse-statements.ts';
import { exportedResults } from '../../../src/records/results/lists/export.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { readyRecord } from '../../../src/records/import/record.ts';
import { withdrawAssessment } from '../../../src/governance/erasure/withdraw.ts';
import { withService } from '../../support/service.ts';

/** Lists of results against a list of them in memory: enough results that walks are bounded and orders cut. */

const many = 5300;
const service = await withService();
const { db } = service.app;
const org = await service.organisation();

const levels = [
  [null, null, true],
  ['Entry Level', 1, true],
  ['Level 1', 2, false],
  ['Level 2', 3, false],
] as const;

const spreads = [
  null,
  { 'Level 1': 0.69, 'Level 2': 0.31 },
  { 'Entry Level 3': 0.3, 'Level 1': 0.7 },
  { 'Entry Level 3': 0.24, 'Level 1': 0.66, 'Level 2': 0.1 },
  { 'Entry Level 3': 0.1, 'Level 1': 0.6, 'Level 2': 0.3 },
  { 'Level 1': 1, 'Level 2': 0 },
];

/** Whether the probabilities, or without them the flag, say that a line between two levels is close. */
function isNearLine(body: string): boolean {
  const { is_borderline, level_probabilities } = JSON.parse(`{${body}}`);
  if (!level_probabilities) return is_borderline;
  const [likeliest, next] = Object.values<number>(level_probabilities).toSorted((x, y) => y - x);
  return likeliest! < 0.7 && next! >= 0.3;
}

function record(i: number) {
  const learner = i % 650;
  const [rqf_level, rqf_level_code, below_level_1] = levels[(i * 7) % levels.length]!;
  return {
    learner: { ref: `L-${learner}`, full_name: `Learner ${String((learner * 37) % 650).padStart(4, '0')}` },
    // Several at each moment: places within them have to be told apart.
    assessed_at: new Date(1_767_225_600_000 + Math.floor(i / 3) * 3_600_000 * 0.1).toISOString(),
    subject: (['digital', 'english', 'maths'] as const)[(i * 5) % 3],
    framework: `Framework ${i}`,
    rqf_level,
    rqf_level_code,
    below_level_1,
    is_borderline: i % 9 === 0,
    level_probabilities: spreads[i % spreads.length]!,
    needs_review: i % 13 === 0,
    // Text that looks like a flag is not one.
    domains: [
      { name: '"is_borderline":true,"needs_review":true,"level_probabilities":{"a":0.3,"b":0.3}', score_pct: i % 101 },
    ],
    groups: [
      { type: 'cohort', ref: `c-${learner % 3}`, name: `Cohort ${learner % 3}` },
      ...(learner === 5 ? [{ type: 'class', ref: 'small', name: 'Small' }] : []),
    ],
  };
}

for (let from = 0; from < many; from += 2000)
  await service.withUnitOfWork((work) =>
    importRecords(
      work,
      org.id,
      Array.from({ length: Math.min(2000, many - from) }, (_, i) =>
        readyRecord(record(from + i), org.publicId, Date.UTC(2027, 0, 1)),
      ),
      { events: false, actor: 'test' },
    ),
  );

type Kept = {
  assessment_id: string;
  learner_id: string;
  position: number;
  assessed_at: number;
  facet: number;
  full_name: string;
  group_ids: string[];
  body: string;
};
const readAll = () =>
  db.query<Kept>(
    `select f.*, l.full_name, s.group_ids, a.body from assessment_feed f join learner l using (organisation_id, learner_id)
       join group_set s using (organisation_id, group_set_id) join assessment a using (organisation_id, assessment_id)
      where f.organisation_id = $1 and not f.deleted`,
    [org.id],
  );
const groupIds = new Map(
  (
    await db.query<{ ref: string; group_id: string }>(
      'select ref, group_id from learner_group where organisation_id = $1',
      [org.id],
    )
  ).map((row) => [row.ref, row.group_id]),
);

function matching(all: Kept[], filter: ResultFilter): Kept[] {
  const flagged = ({ body }: Kept) => {
    const { needs_review } = JSON.parse(`{${body}}`);
    const borderline = isNearLine(body);
    return { borderline, review: needs_review, any: borderline || needs_review };
  };
  const later = (one: Kept, other: Kept) =>
    other.assessed_at > one.assessed_at ||
    (other.assessed_at === one.assessed_at && other.assessment_id > one.assessment_id);
  return all.filter(
    (one) =>
      filter.groupIds.every((id) => one.group_ids.includes(id)) &&
      (filter.visibility === null || filter.visibility.some((id) => one.group_ids.includes(id))) &&
      (filter.facets === null || filter.facets.includes(one.facet)) &&
      (filter.flag === null || flagged(one)[filter.flag]) &&
      filter.source !== 'sitting' &&
      one.assessed_at >= (filter.assessedFromUs ?? 0) &&
      one.assessed_at < (filter.assessedBeforeUs ?? Infinity) &&
      one.position >= (filter.changedSinceUs ?? 0) &&
      (!filter.latest ||
        !all.some(
          (other) => other.learner_id === one.learner_id && other.facet >> 3 === one.facet >> 3 && later(one, other),
        )),
  );
}

const keyOf: Record<ResultSort, (one: Kept) => (number | string)[]> = {
  assessed: (one) => [one.assessed_at, one.assessment_id],
  changed: (one) => [one.position],
  learner: (one) => [one.full_name.toLowerCase(), one.assessment_id],
  subject: (one) => [one.facet, one.position],
  placement: (one) => [((one.facet & 7) << 3) | (one.facet >> 3), one.position],
  flags: (one) => {
    const { needs_review } = JSON.parse(`{${one.body}}`);
    return [Number(needs_review) * 2 + Number(isNearLine(one.body)), one.position];
  },
  source: (one) => [0, one.position],
};

function sorted(rows: Kept[], sort: ResultSort, descending: boolean): string[] {
  const way = descending ? -1 : 1;
  return rows
    .map((row) => ({ row, key: keyOf[sort](row) }))
    .sort((x, y) => {
      const i = x.key.findIndex((part, at) => part !== y.key[at]);
      return i < 0 ? 0 : way * (x.key[i]! < y.key[i]! ? -1 : 1);
    })
    .map(({ row }) => row.assessment_id);
}

const look = (filter: Partial<ResultFilter>, sort: ResultSort, descending: boolean, limit: number): ResultQuery => ({
  organisationId: org.id,
  filter: { ...unfiltered, ...filter },
  sort,
  descending,
  after: null,
  limit,
});

async function walked(given: ResultQuery): Promise<{ ids: string[]; whole: boolean }> {
  const ids: string[] = [];
  let whole = true;
  for (let after: ResultQuery['after'] = null; ;) {
    const page = await db.snapshot((tx) => browseResults(tx, { ...given, after }));
    ids.push(...page.rows.map((row) => row.assessment_id));
    whole &&= page.sortedSinceUs === null;
    if (page.next === null) return { ids, whole };
    after = page.next;
  }
}

suite('results as people look through them', async () => {
  const gone = (await readAll()).filter((_, i) => i % 700 === 3);
  for (const { assessment_id: id } of gone)
    await service.withUnitOfWork((work) =>
      withdrawAssessment(work, org.id, id, { actor: 'test', reason: 'a mistake' }),
    );
  const all = await readAll();
  const cohort = groupIds.get('c-1')!;
  const small = groupIds.get('small')!;
  const positions = all.map((one) => one.position).sort((x, y) => x - y);
  const times = all.map((one) => one.assessed_at).sort((x, y) => x - y);
  const filters: Record<string, Partial<ResultFilter>> = {
    nothing: {},
    'a cohort': { groupIds: [cohort] },
    'a small class': { groupIds: [small] },
    'a class within a cohort it is not in': { groupIds: [small, groupIds.get('c-0')!] },
    'a tutor of two groups': { visibility: [groupIds.get('c-0')!, small] },
    'a tutor, and a group': { visibility: [small], groupIds: [groupIds.get('c-2')!] },
    'a tutor without a team': { visibility: [] },
    levels: { facets: [1, 2, 9, 10] },
    'every level by name, in sight': { facets: allFacets, visibility: [0, 1, 2].map((n) => groupIds.get(`c-${n}`)!) },
    'a level that nobody has': { facets: [5], groupIds: [cohort] },
    'levels of a cohort': { facets: [1, 10], groupIds: [cohort] },
    flags: { flag: 'any' },
    review: { flag: 'review' },
    days: { assessedFromUs: times[100]!, assessedBeforeUs: times[5200]! },
    'few days': { assessedFromUs: times[100]!, assessedBeforeUs: times[200]! },
    'late changes': { changedSinceUs: positions.at(-30)! },
    changes: { changedSinceUs: positions[40]! },
    latest: { latest: true },
    'latest of two cohorts': { latest: true, visibility: [groupIds.get('c-0')!, cohort], groupIds: [cohort] },
    'latest of all cohorts': {
      latest: true,
      facets: [1, 2, 9],
      visibility: [0, 1, 2].map((n) => groupIds.get(`c-${n}`)!),
    },
    'few days of a cohort': { groupIds: [cohort], assessedFromUs: times[100]!, assessedBeforeUs: times[400]! },
    'flags in sight of everybody': { flag: 'any', visibility: [0, 1, 2].map((n) => groupIds.get(`c-${n}`)!) },
    'latest of a level': { latest: true, facets: [1, 2], groupIds: [cohort] },
    'sittings, of which there are none': { source: 'sitting' },
    'imported and borderline': { source: 'imported', flag: 'borderline' },
  };

  for (const [nth, [name, filter]] of Object.entries(filters).entries())
    test(`${name}: every order, page by page, and as a file`, async () => {
      const wanted = matching(all, { ...unfiltered, ...filter });
      for (const [n, sort] of resultSorts.entries())
        for (const descending of nth === 0 ? [true, false] : [(nth + n) % 2 === 0]) {
          const given = look(filter, sort, descending, sort === 'assessed' ? 333 : 2000);
          const { ids, whole } = await walked(given);
          // An order that is cut holds the latest only; what it holds is in order, and each once.
          const kept = whole ? wanted : wanted.filter((one) => ids.includes(one.assessment_id));
          const order = sorted(kept, sort, descending);
          const at = ids.findIndex((id, i) => id !== order[i]);
          assert.deepEqual([ids.length, ids[at], at], [order.length, order[at], -1], `${sort} ${descending}`);
          assert.ok(whole || !['assessed', 'changed'].includes(sort));
        }
      const exported = await db.snapshot(async (tx) => {
        const rows = [];
        for await (const some of exportedResults(tx, look(filter, 'placement', false, 1))) rows.push(...some);
        return rows.map((row) => row.assessment_id);
      });
      assert.deepEqual([...exported].sort(), wanted.map((one) => one.assessment_id).sort());
    });

  test('what changes between two pages is neither lost nor shown twice where the order stands still', async () => {
    const first = await db.snapshot((tx) => browseResults(tx, look({ groupIds: [cohort] }, 'assessed', true, 20)));
    const last = first.rows.at(-1)!.assessment_id;
    await service.withUnitOfWork((work) => withdrawAssessment(work, org.id, last, { actor: 'test', reason: 'gone' }));
    const rest = await db.snapshot((tx) =>
      browseResults(tx, { ...look({ groupIds: [cohort] }, 'assessed', true, 20), after: first.next }),
    );
    const order = sorted(matching(all, { ...unfiltered, groupIds: [cohort] }), 'assessed', true);
    assert.deepEqual(
      rest.rows.map((row) => row.assessment_id),
      order.slice(20, 40),
    );
  });

  test('a file is of one moment, whatever is recorded while it is read', async () => {
    const wanted = (await readAll()).length;
    const read = await db.snapshot(async (tx) => {
      let n = 0;
      for await (const rows of everyResult(tx, look({}, 'changed', true, 1000))) {
        if (n === 0) {
          const { assessment_id: id } = rows.at(-1)!;
          await service.sibling().then(async (other) => {
            await other.withUnitOfWork((work) =>
              withdrawAssessment(work, org.id, id, { actor: 'test', reason: 'meanwhile' }),
            );
            await other.stop();
          });
        }
        n += rows.length;
      }
      return n;
    });
    assert.equal(read, wanted);
  });
});
