import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { lockFeed } from '../../../src/feed/position.ts';
import { insertLearners } from '../../../src/records/learners/learners.ts';
import { ensureTeam } from '../../../src/organisations/teams.ts';
import { addToTeam } from '../../support/teams.ts';
import type { LearnerFilter, LearnerPageStart } from '../../../src/records/directory/browse.ts';
import { browseLearners, learnerSorts, maxScanned } from '../../../src/records/directory/browse.ts';
import type { Visibility } from '../../../src/organisations/groups/visibility.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import type { Learner } from '../../support/scenario.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

const service = await withService();
const { app } = service;
const none: LearnerFilter = { text: null, groupIds: [], subject: null, placement: null, state: null };

const now = () => new Date(app.clock.nowMs());

/** Every page from the first to the last, and back again, by the places that the pages give. */
async function walk(
  organisationId: number,
  filter: LearnerFilter,
  given: { visibility?: Visibility; by?: (typeof learnerSorts)[number]; descending?: boolean; limit?: number } = {},
): Promise<string[]> {
  const { visibility = null, by = 'name', descending = false, limit = 3 } = given;
  const page = (place: LearnerPageStart) =>
    browseLearners(app.db, organisationId, visibility, filter, { by, descending }, place, { limit, now: now() });
  const there: string[][] = [];
  let place: LearnerPageStart = null;
  for (;;) {
    const found = await page(place);
    there.push(found.learners.map((one) => one.full_name));
    if (found.next === null) break;
    place = found.next;
  }
  const back: string[][] = [];
  let at: LearnerPageStart = place;
  do {
    const found = await page(at);
    back.unshift(found.learners.map((one) => one.full_name));
    at = found.previous;
  } while (at !== null);
  assert.deepEqual([...new Set(back.flat())].sort(), [...new Set(there.flat())].sort(), 'backwards as forwards');
  return there.flat();
}

suite('learners are looked for', async () => {
  const scene = await scenario(service);
  const { id } = scene.org;
  const called: Record<string, string> = {
    'LRN-1': 'Ana Silva',
    'LRN-2': 'ana maria O’Brien',
    'LRN-3': 'Zoë Smith-Jones',
    'LRN-4': 'Łukasz Nowak',
    'LRN-5': 'ÉLODIE STRAßER',
    'LRN-6': 'Søren Æbelø',
    'LRN-7': 'Олена Шевченко',
    'lrn-80': 'ΓΙΏΡΓΟΣ',
    'X-9': 'محمد علي',
    'X-10': "Robert'); drop table learner;--",
    'X-11': '100%_\\ name',
  };
  const learners: Record<string, Learner> = {};
  for (const [ref, full_name] of Object.entries(called)) learners[ref] = await scene.learner(ref, full_name);
  const other = await scenario(service);
  await other.learner('LRN-1', 'Ana Elsewhere');
  const like = (text: string, visibility?: Visibility) =>
    walk(id, { ...none, text }, visibility === undefined ? {} : { visibility }).then((names) => names.sort());

  test('by beginnings of words, whatever their case, marks and hyphens', async () => {
    const cases: [typed: string, ...found: string[]][] = [
      ['ana', 'Ana Silva', 'ana maria O’Brien'],
      ['SIL an', 'Ana Silva'],
      ["o'brien", 'ana maria O’Brien'],
      ['obrien', 'ana maria O’Brien'],
      ['brien', 'ana maria O’Brien'],
      ['zoe', 'Zoë Smith-Jones'],
      ['Zoe\u0308 smithj', 'Zoë Smith-Jones'],
      ['jones smith', 'Zoë Smith-Jones'],
      ['lukasz', 'Łukasz Nowak'],
      ['Elodie strasser', 'ÉLODIE STRAßER'],
      ['aebelo', 'Søren Æbelø'],
      ['soren', 'Søren Æbelø'],
      ['олена шев', 'Олена Шевченко'],
      ['γιωργος', 'ΓΙΏΡΓΟΣ'],
      ['محم', 'محمد علي'],
      ['drop table', "Robert'); drop table learner;--"],
      ['100%', '100%_\\ name'],
      ['ilva'],
      ['elsewhere'],
      ['%'],
      ["' | 'silva", 'Ana Silva'],
      ['ana & !silva', 'Ana Silva'],
      ['---'],
    ];
    for (const [typed, ...found] of cases) assert.deepEqual(await like(typed), found.sort(), typed);
  });

  test('by the beginning of a reference in any case, or by the id', async () => {
    assert.deepEqual(await like('lrn-4'), ['Łukasz Nowak']);
    assert.deepEqual(await like('LRN-8'), ['ΓΙΏΡΓΟΣ']);
    assert.deepEqual(await like('x-1'), ['100%_\\ name', "Robert'); drop table learner;--"]);
    const { learner_id: learnerId } = await learners['LRN-1']!.read();
    assert.deepEqual(await like(learnerId.toUpperCase()), ['Ana Silva']);
    assert.deepEqual(await like('RN-4'), []);
  });

  test('in three orders, both ways, page by page', async () => {
    const all = await walk(id, none);
    assert.equal(all.length, Object.keys(called).length);
    assert.deepEqual(all.slice(0, 5), [
      '100%_\\ name',
      'ana maria O’Brien',
      'Ana Silva',
      'ÉLODIE STRAßER',
      'Łukasz Nowak',
    ]);
    assert.deepEqual(await walk(id, none, { by: 'name', descending: true }), all.toReversed());
    const byRef = await walk(id, none, { by: 'ref' });
    assert.deepEqual(byRef.slice(0, 2), ['Ana Silva', 'ana maria O’Brien']);
    assert.deepEqual(await walk(id, none, { by: 'ref', descending: true, limit: 4 }), byRef.toReversed());
    await learners['X-9']!.isCalled('محمد علي سالم');
    const changed = await walk(id, none, { by: 'changed', descending: true });
    assert.deepEqual([changed.length, changed[0]], [all.length, 'محمد علي سالم']);
    for (const limit of [1, 2, 50]) assert.deepEqual(await walk(id, none, { limit }), await walk(id, none));
  });

  test('those of one name, and those without a reference, follow each other over pages', async () => {
    const { org } = await scenario(service);
    const names = ['Ana One', 'Sam Same', 'Sam Same', 'Sam Same', 'Sam Same', 'Sam Same', 'Zoe Last'];
    await withUnitOfWork(app, null, async (work) =>
      insertLearners(
        work,
        await lockFeed(work, org.id),
        names.map((full_name) => ({ learner_id: work.uuid(), ref: null, full_name, email: null })),
      ),
    );
    for (const by of learnerSorts)
      for (const descending of [false, true]) {
        const found = await walk(org.id, none, { by, descending, limit: 2 });
        assert.deepEqual([...found].sort(), names, `${by} ${descending}`);
      }
  });

  test('by what they have done, and where they are', async () => {
    const cohort = await scene.group('C1');
    await cohort.adds(learners['LRN-1']!, learners['LRN-2']!, learners['LRN-3']!);
    const team = await service.withUnitOfWork((work) => ensureTeam(work, id, { ref: 'north', name: 'North' }));
    await service.withUnitOfWork((work) => addToTeam(work, id, team, ['LRN-2', 'LRN-4']));
    await learners['LRN-1']!.completes({ subject: 'maths', level: 2, assessed_at: '2026-01-01T09:00:00Z' });
    await learners['LRN-1']!.completes({ subject: 'maths', level: 3, assessed_at: '2026-02-01T09:00:00Z' });
    await learners['LRN-2']!.completes({ subject: 'maths', level: 2 });
    const gone = await learners['LRN-3']!.completes({ subject: 'english', level: 2 });
    await gone.isWithdrawn();
    const found = (filter: Partial<LearnerFilter>) => walk(id, { ...none, ...filter }).then((names) => names.sort());
    assert.deepEqual(await found({ groupIds: [cohort.id] }), ['Ana Silva', 'Zoë Smith-Jones', 'ana maria O’Brien']);
    assert.deepEqual(await found({ groupIds: [cohort.id, team] }), ['ana maria O’Brien']);
    assert.deepEqual(await found({ groupIds: ['5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d'] }), []);
    assert.deepEqual(await found({ subject: 'maths' }), ['Ana Silva', 'ana maria O’Brien']);
    assert.deepEqual(await found({ subject: 'english' }), [], 'a withdrawn result counts no more');
    assert.deepEqual(await found({ placement: 'entry' }), ['ana maria O’Brien'], 'the newest one counts');
    assert.deepEqual(await found({ subject: 'maths', placement: 'below_level_1' }), ['ana maria O’Brien']);
    assert.deepEqual(await found({ subject: 'digital', placement: 'level_1' }), []);
    assert.deepEqual(await found({ placement: 'level_1', groupIds: [cohort.id], text: 'ana' }), ['Ana Silva']);
    assert.equal((await found({ state: 'invited' })).length, Object.keys(called).length);
    await app.db.query(
      `update invitation i set status = 'used' from learner l where l.organisation_id = i.organisation_id and l.learner_id = i.learner_id and l.ref = 'LRN-1'`,
    );
    await app.db.query(
      `update invitation i set expires_at = $1 from learner l where l.organisation_id = i.organisation_id and l.learner_id = i.learner_id and l.ref = 'LRN-2'`,
      [now()],
    );
    assert.deepEqual(await found({ state: 'finished' }), ['Ana Silva']);
    assert.deepEqual(await found({ state: 'expired' }), ['ana maria O’Brien']);
    assert.deepEqual(await found({ state: 'cancelled' }), []);
    assert.deepEqual(await found({ state: 'none' }), []);
  });

  test('a tutor sees those of their teams, and nobody by the place of somebody else', async () => {
    const [team] = await app.db.query<{ group_id: string }>(
      `select group_id from learner_group where organisation_id = $1 and type = 'team'`,
      [id],
    );
    const visibility = [team!.group_id];
    assert.deepEqual((await walk(id, none, { visibility, limit: 1 })).sort(), ['ana maria O’Brien', 'Łukasz Nowak']);
    assert.deepEqual(await like('ana', visibility), ['ana maria O’Brien']);
    assert.deepEqual(await like('LRN-1', visibility), []);
    assert.deepEqual(await walk(id, none, { visibility: [] }), []);
    const stranger = (await learners['X-11']!.read()).learner_id;
    for (const by of learnerSorts)
      for (const place of [{ after: stranger }, { before: stranger }]) {
        const at = (where: LearnerPageStart) =>
          browseLearners(app.db, id, visibility, none, { by, descending: true }, where, { limit: 1, now: now() });
        assert.deepEqual(await at(place), await at({ after: '5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d' }));
      }
  });

  test('nobody is found who was erased, and their place is the beginning', async () => {
    const gone = (await learners['LRN-4']!.read()).learner_id;
    await service.withUnitOfWork((work) => eraseLearner(work, id, gone, { actor: 'operator' }));
    assert.deepEqual(await like('lukasz'), []);
    assert.deepEqual(await like('LRN-4'), []);
    assert.deepEqual(await like(gone), []);
    const first = (place: LearnerPageStart) =>
      browseLearners(app.db, id, null, none, { by: 'name', descending: false }, place, { limit: 2, now: now() });
    assert.deepEqual(await first({ after: gone }), await first(null));
  });
});

/** Learners whose names and references tell their number. */
async function fill(organisationId: number, total: number): Promise<void> {
  await withUnitOfWork(app, null, async (work) => {
    const feed = await lockFeed(work, organisationId);
    await insertLearners(
      work,
      feed,
      Array.from({ length: total }, (_, n) => ({
        learner_id: work.uuid(),
        ref: `R-${String(n).padStart(5, '0')}`,
        full_name: `Learner Number ${String(n).padStart(5, '0')}`,
        email: null,
      })),
    );
  });
}

suite('many learners', async () => {
  const scene = await scenario(service);
  const { id } = scene.org;
  await fill(id, maxScanned + 600);

  test('a walk that finds little says so, and goes on where it has looked to', async () => {
    const last = await scene.learner('last', 'Zz Last');
    await last.completes({ level: 5 });
    const filter = { ...none, state: 'invited' } as const;
    // Somebody rare is found by the index of what is rare about them.
    assert.deepEqual(await walk(id, filter), ['Zz Last']);
    assert.deepEqual(await walk(id, { ...none, placement: 'level_3' }), ['Zz Last']);
    const page = (place: LearnerPageStart) =>
      browseLearners(app.db, id, null, { ...none, state: 'none' }, { by: 'name', descending: true }, place, {
        limit: 50,
        now: now(),
      });
    const first = await page(null);
    assert.deepEqual([first.learners.length, first.extent], [50, 'whole']);
    // Nobody of these many is in the group: the filter begins with its members instead.
    const group = await scene.group('empty');
    assert.deepEqual(await walk(id, { ...none, groupIds: [group.id] }), []);
  });

  test('too many of one name are said to be some; with a group, all of them are looked at', async () => {
    const some = await browseLearners(
      app.db,
      id,
      null,
      { ...none, text: 'learner' },
      { by: 'name', descending: false },
      null,
      { limit: 50, now: now() },
    );
    assert.deepEqual([some.learners.length, some.extent], [50, 'some']);
    const group = await scene.group('G1');
    await scene.org.post(`/groups/${group.id}/members`, { learner_refs: ['R-02599', 'R-00001'] });
    assert.deepEqual(await walk(id, { ...none, text: 'learner', groupIds: [group.id] }), [
      'Learner Number 00001',
      'Learner Number 02599',
    ]);
    assert.deepEqual(await walk(id, { ...none, text: 'number 02' }, { limit: 500 }).then((names) => names.length), 600);
  });

  test('a filter that is met only far down is met on the first page, to the end and back', async () => {
    await app.db.query(
      `insert into invitation (organisation_id, invitation_id, learner_id, subjects, credit_spent, created_at, expires_at, status)
       select $1, gen_random_uuid(), learner_id, '{maths}', false, $2, $2, 'used' from learner where organisation_id = $1 and full_name <> 'Learner Number 02500'`,
      [id, now()],
    );
    const filter = { ...none, state: 'none' } as const;
    const first = await browseLearners(app.db, id, null, filter, { by: 'name', descending: false }, null, {
      limit: 50,
      now: now(),
    });
    assert.deepEqual([first.learners.length, first.extent], [1, 'whole']);
    assert.deepEqual(await walk(id, filter), ['Learner Number 02500']);
  });

  test('of a team with more members than a page looks at, each is seen once, whatever is filtered', async () => {
    const team = await service.withUnitOfWork((work) => ensureTeam(work, id, { ref: 'many', name: 'Many' }));
    const refs = Array.from({ length: maxScanned + 100 }, (_, n) => `R-${String(n + 450).padStart(5, '0')}`);
    await app.db.query(
      `insert into membership (organisation_id, group_id, learner_id, joined_position)
       select $1, $2, learner_id, 1 from learner where organisation_id = $1 and ref = any($3)`,
      [id, team, refs],
    );
    await app.db.query('analyze membership');
    const visibility = [team];
    assert.equal((await walk(id, none, { visibility, limit: 1000 })).length, refs.length);
    assert.equal(
      (await walk(id, { ...none, groupIds: [team] }, { limit: 1000, descending: true })).length,
      refs.length,
    );
    // The only one who is like that stands behind all that a page looks at.
    const filter = { ...none, state: 'none' } as const;
    assert.deepEqual(await walk(id, filter, { visibility }), ['Learner Number 02500']);
    assert.deepEqual(await walk(id, { ...none, text: 'number 00501' }, { visibility }), ['Learner Number 00501']);
  });
});

suite('more learners than two looks pass', async () => {
  const scene = await scenario(service);
  const { id } = scene.org;
  await fill(id, 2 * maxScanned + 1200);
  await app.db.query(
    `insert into invitation (organisation_id, invitation_id, learner_id, subjects, credit_spent, created_at, expires_at, status)
     select $1, gen_random_uuid(), learner_id, '{maths}', false, $2, $2, case when ref ~ '00$' then 'withdrawn' else 'used' end
       from learner where organisation_id = $1 and ref !~ '^R-046'`,
    [id, now()],
  );

  test('of groups with more members than are sorted, what a plain statement finds, in every order', async () => {
    const group = async (ref: string, condition: string) => {
      const made = await scene.group(ref);
      await app.db.query(
        `insert into membership (organisation_id, group_id, learner_id, joined_position)
         select $1, $2, learner_id, 1 from learner where organisation_id = $1 and (${condition})`,
        [id, made.id],
      );
      return made.id;
    };
    const late = await group('late', `ref >= 'R-01000'`);
    const odd = await group('odd', `ref ~ '[13579]$' or ref < 'R-02000'`);
    await app.db.query('analyze membership');
    const plain = async (filter: LearnerFilter, visibility: Visibility) => {
      const rows = await app.db.query<{ full_name: string }>(
        `select full_name from learner l where organisation_id = $1
            and not exists (select from unnest($2::uuid[]) g where not exists (
              select from membership m where m.organisation_id = $1 and m.learner_id = l.learner_id and m.group_id = g and m.left_position is null))
            and ($3::uuid[] is null or exists (
              select from membership m where m.organisation_id = $1 and m.learner_id = l.learner_id and m.group_id = any($3) and m.left_position is null))
            and ($4::text is null or exists (select from invitation i where i.organisation_id = $1 and i.learner_id = l.learner_id and i.status = $4))
            and ($5::text is null or full_name ~* $5)`,
        [id, filter.groupIds, visibility, filter.state === 'cancelled' ? 'withdrawn' : null, filter.text],
      );
      return rows.map((row) => row.full_name).sort();
    };
    const cases: [Partial<LearnerFilter>, Visibility][] = [
      [{ groupIds: [late] }, null],
      [{ groupIds: [late, odd] }, null],
      [{ groupIds: [odd] }, [late]],
      [{ groupIds: [odd], state: 'cancelled' }, null],
      [{ state: 'cancelled' }, [late, odd]],
      [{ groupIds: [late], text: 'number' }, [odd]],
    ];
    for (const [n, [some, visibility]] of cases.entries()) {
      const filter = { ...none, ...some };
      const found = await walk(id, filter, {
        visibility,
        limit: 900,
        by: learnerSorts[n % 3]!,
        descending: n % 2 === 1,
      });
      const wanted = await plain(filter, visibility);
      // Of names that are too many a part is found.
      if (filter.text === null) assert.deepEqual([...found].sort(), wanted, JSON.stringify(some));
      else assert.ok(found.length > 0 && found.every((one) => wanted.includes(one)));
      if (n % 3 < 2) assert.deepEqual(found, n % 2 === 1 ? [...found].sort().reverse() : [...found].sort());
    }
  });

  test('a page that has met nobody says how many it looked through, and leads on to who is met', async () => {
    const filter = { ...none, state: 'none' } as const;
    const page = (place: LearnerPageStart) =>
      browseLearners(app.db, id, null, filter, { by: 'name', descending: false }, place, { limit: 60, now: now() });
    const empty = await page(null);
    assert.deepEqual([empty.learners.length, empty.extent, empty.scanned], [0, 'scanned', 2 * maxScanned]);
    const next = await page(empty.next);
    assert.deepEqual([next.learners.length, next.learners[0]!.full_name], [60, 'Learner Number 04600']);
    assert.equal((await walk(id, filter, { limit: 60 })).length, 100);
  });
});
