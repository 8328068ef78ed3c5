import { clientMutations } from './client-mutations.ts';

/**
 * Faults that the law tests must catch. Each replaces text of the source that it names, exactly once, when a process loads
 * it; when the source no longer has the text the process stops, so a mutation can't go stale in silence.
 */
export type Mutation = {
  name: string;
  /** What is wrong with it. */
  fault: string;
  changes: { file: string; from: string; to: string }[];
  /** The test that must fail: its file in this folder, its name, and words of the failure. */
  caughtBy: { file: string; test: string; says: RegExp };
};

const position = 'src/feed/position.ts';
const stamp = 'src/feed/stamp.ts';
const listReply = 'src/api/http/list-reply.ts';
const history = { file: 'history.test.ts', test: 'law 1' };
const merge = { file: 'merge.test.ts', test: 'law 1: a merge converges' };

/** Positions from the clock of whoever writes, in microseconds, with nothing held until the commit. */
const bareClock: Mutation['changes'] = [
  {
    file: position,
    from: 'from feed where organisation_id = $1 for update',
    to: 'from feed where organisation_id = $1',
  },
  {
    file: position,
    from: 'let free = begun;',
    to: 'let free = Math.floor((performance.timeOrigin + performance.now()) * 1000);',
  },
  { file: position, from: 'update feed set position = $2,', to: 'update feed set position = greatest(position, $2),' },
  // What the lock kept apart (two writers of one group, of one position) is tried again, so that only the order is lost.
  {
    file: 'src/platform/db/unit-of-work.ts',
    from: `new Set(['40P01', '40001'])`,
    to: `new Set(['40P01', '40001', '23505'])`,
  },
  { file: 'src/platform/db/unit-of-work.ts', from: 'attempt >= 3', to: 'attempt >= 50' },
];

/** The group sets come from the statement that waits for the lock, so from the snapshot before the wait. */
const staleSnapshot: Mutation['changes'] = [
  {
    file: position,
    from: 'select position, shape, suspended, resumed_at from feed where organisation_id = $1 for update',
    to: 'select position, shape, suspended, resumed_at, (select jsonb_object_agg(learner_id, group_set_id) from learner_feed where organisation_id = $1) as sets from feed where organisation_id = $1 for update',
  },
  {
    file: position,
    from: 'const feed: Feed = { organisationId,',
    to: 'const feed: Feed = { organisationId, sets: (row as any).sets,',
  },
  {
    file: 'src/records/results/store.ts',
    from: 'select g.*, l.group_set_id,',
    to: 'select g.*, coalesce(($11::jsonb ->> g.learner_id::text)::uuid, l.group_set_id) as group_set_id,',
  },
  {
    file: 'src/records/results/store.ts',
    from: 'first, ])',
    to: 'first, (feed as any).sets])',
  },
];

export const mutations: Mutation[] = [
  {
    name: 'bare-clock',
    fault: 'positions are taken from a bare clock, without the lock',
    changes: bareClock,
    caughtBy: { ...history, says: /law [123]: / },
  },
  {
    name: 'bare-clock-order',
    fault: 'positions are taken from a bare clock, without the lock',
    changes: bareClock,
    caughtBy: { file: 'order.test.ts', test: 'law 3: a writer', says: /law 3: \S+ became visible below/ },
  },
  {
    name: 'lock-reads',
    fault: 'one statement waits for the lock and reads',
    changes: staleSnapshot,
    caughtBy: { file: 'order.test.ts', test: 'law 2: what waited for the lock', says: /the groups of its learner/ },
  },
  {
    name: 'shared-stamp',
    fault: 'a bulk change gives every record one position',
    changes: [{ file: stamp, from: 'const step = limits.positionStepUs;', to: 'const step = 0;' }],
    // The schema refuses two records at one position, so the change fails whole (the reply doesn't say why) instead of stopping a client for good.
    caughtBy: { file: 'bulk.test.ts', test: 'law 1: a client', says: /the change was refused: 500/ },
  },
  {
    name: 'narrow-step',
    fault: 'records of a bulk change are a microsecond apart, so one millisecond holds a thousand',
    changes: [{ file: 'src/platform/config/limits.ts', from: 'positionStepUs: 20', to: 'positionStepUs: 1' }],
    caughtBy: { file: 'bulk.test.ts', test: 'law 1: a client', says: /stands still/ },
  },
  {
    name: 'shared-millisecond',
    fault: 'two units of work may stamp within one millisecond',
    changes: [
      {
        file: position,
        from: 'Math.max((Math.floor(row.position / 1000) + 1) * 1000, ',
        to: 'Math.max(row.position + limits.positionStepUs, ',
      },
    ],
    caughtBy: { file: 'order.test.ts', test: 'law 2: two changes', says: /law 2: two payloads/ },
  },
  {
    name: 'clock-read-again',
    fault: 'a position that was asked for twice is a minute lower the second time, as a clock that steps back gives it',
    changes: [
      { file: position, from: 'let groups = false;', to: 'let groups = false; let asked = 0;' },
      {
        file: position,
        from: 'next: () => free,',
        to: 'next: () => free - (free === begun ? 60_000_000 * asked++ : 0),',
      },
    ],
    caughtBy: { file: 'order.test.ts', test: 'law 1: a clock that steps back', says: /law 1: the mirror of/ },
  },
  {
    name: 'clock-of-whoever',
    fault: 'positions follow the clock of whoever writes, although it is minutes behind',
    changes: [
      {
        file: position,
        from: '(Math.floor(row.position / 1000) + 1) * 1000,',
        to: '(row.position > (work.nowMs + 60_000) * 1000 ? work.nowMs * 1000 + 7 : (Math.floor(row.position / 1000) + 1) * 1000),',
      },
    ],
    caughtBy: { file: 'order.test.ts', test: 'law 3: a clock', says: /law [123]: / },
  },
  {
    name: 'sets-of-later',
    fault: 'rows show their groups as they are when the groups are read, not when the rows were',
    changes: [
      {
        file: 'src/feed/group-sets.ts',
        from: 'set.version === version)) return null;',
        to: 'set.version === version)) void 0;',
      },
    ],
    caughtBy: { file: 'order.test.ts', test: 'law 2: a group that is renamed', says: /law 2: .* shows two payloads/ },
  },
  {
    name: 'etag-of-page',
    fault: 'the ETag comes from the bytes of the page',
    changes: [
      {
        file: listReply,
        from: 'const etag = etagOf(call, keyScope);',
        to: `const etag = feedETag((await fetch(after, query.limit)).entries.map((entry) => entry.json).join() as never, app.settings.baseUrl, query.canonical);`,
      },
    ],
    caughtBy: { file: 'order.test.ts', test: 'law 1: a first page', says: /hid a change/ },
  },
  {
    name: 'late-sync-through',
    fault: 'X-Sync-Through is read after the page',
    changes: [
      {
        file: listReply,
        from: 'const { entries, passed = null, headers: more } = await fetch(after, query.limit + 1);',
        to: `const { entries, passed = null, headers: more } = await fetch(after, query.limit + 1);
        if (after === null) headers['x-sync-through'] = formatPosition((await app.db.query<{ position: number }>('select position from feed where organisation_id = $1', [caller.organisationId]))[0]!.position);`,
      },
    ],
    caughtBy: { file: 'order.test.ts', test: 'law 1: what commits', says: /mirror/ },
  },
  {
    name: 'cascade-without-learners',
    fault: 'a cascade moves assessments and forgets their learners',
    changes: [
      {
        file: stamp,
        from: 'return stamp(work, feed, { assessments: assessmentsOfThese, learners: learnersThese }, learnerIds);',
        to: `const nobody = statement('feed.nobody', 'select 0::int8 as count where num_nulls($1::int8, $2::uuid[], $3::int8) = 0');
        return stamp(work, feed, { assessments: assessmentsOfThese, learners: nobody }, learnerIds);`,
      },
    ],
    caughtBy: { file: 'order.test.ts', test: 'law 2: two changes', says: /law 2: two payloads/ },
  },
  {
    name: 'digest-keeps-what-moved',
    fault: 'a cascade puts results into their new cells and leaves them in their old ones',
    changes: [
      {
        file: 'src/feed/digest.ts',
        from: '-out2 as s2 from digest_moves union all',
        to: '-out2 as s2 from digest_moves where false union all',
      },
    ],
    caughtBy: { ...history, says: /law 1: the digest of/ },
  },
  {
    name: 'exits-after-limit',
    fault: 'scope exits are limited before they are known to matter',
    changes: [
      {
        file: 'src/records/results/pages/page-statements.ts',
        from: 'from scope_exit e, lateral (',
        to: 'from (select * from scope_exit e where e.organisation_id = $1 and ${which} and e.position >= ${builder.bind(beginsAt(page))} order by e.position limit ${limit}) e, lateral (',
      },
    ],
    caughtBy: { file: 'bulk.test.ts', test: 'law 1: learners that move', says: /law 1: the digest of/ },
  },
  {
    name: 'exits-not-moved',
    fault: 'what was withdrawn while its learner was away keeps its exit where it stood',
    changes: [
      {
        file: 'src/feed/scope-exits.ts',
        from: 'update scope_exit set position = $4 where',
        to: 'update scope_exit set position = position where $4::int8 > 0 and',
      },
    ],
    caughtBy: { file: 'bulk.test.ts', test: 'law 2: a result that was withdrawn', says: /law 2: two payloads/ },
  },
  {
    name: 'exits-of-one-position',
    fault: 'all exits of a removal stand where the removal does',
    changes: [
      {
        file: 'src/feed/scope-exits.ts',
        from: 'select $1, ${group}::uuid, m.position,',
        to: 'select $1, ${group}::uuid, min(m.position) over () + row_number() over (),',
      },
    ],
    caughtBy: {
      file: 'bulk.test.ts',
      test: 'law 1: a client that knows nothing but since gets through a removal',
      says: /stands still/,
    },
  },
  {
    name: 'merge-unstamped',
    fault: 'a merge moves results without giving those of the survivor new positions',
    changes: [
      {
        file: 'src/governance/deduplication/merge.ts',
        from: 'await stampLearnersAndAssessments(work, feed, [into]);',
        to: `await (await import('../../feed/stamp.ts')).stampLearners(work, feed, [into]);`,
      },
    ],
    caughtBy: { ...merge, says: /law [12]: / },
  },
  {
    name: 'merge-leaves-feed',
    fault: 'a feed by the lost reference is left behind',
    changes: [
      {
        file: 'src/records/results/pages/list.ts',
        from: "select learner_id from ${reachedBy('array[$2::text]')} r",
        to: 'select learner_id from learner where organisation_id = $1 and ref = $2',
      },
    ],
    caughtBy: { ...merge, says: /law 1: .*learner_ref=ana/ },
  },
  {
    name: 'merge-leaves-tombstones',
    fault: 'tombstones of the lost learner stay where no reference reaches',
    changes: [
      {
        file: 'src/records/results/store.ts',
        from: 'where organisation_id = $1 and learner_id = $2 returning deleted',
        to: 'where organisation_id = $1 and learner_id = $2 and not deleted returning deleted',
      },
    ],
    caughtBy: { ...merge, says: /law 1: .*learner_ref=ana/ },
  },
  {
    name: 'merge-leaves-exits',
    fault: 'what is told of groups that the lost learner left stays with the lost learner',
    changes: [
      {
        file: 'src/feed/scope-exits.ts',
        from: 'await tx.query(pass, [organisationId, from, to]);',
        to: 'void to;',
      },
    ],
    caughtBy: { ...merge, says: /law 1: .*group_id=/ },
  },
  {
    name: 'reference-of-before',
    fault: 'a learner who gets another reference is no longer reached by the one of before',
    changes: [
      {
        file: 'src/records/learners/reference.ts',
        from: 'if (learner.ref !== null) await keepAlias',
        to: 'if (learner.ref === ref) await keepAlias',
      },
    ],
    caughtBy: { ...history, says: /law 1: / },
  },
  {
    name: 'audit-after-reply',
    fault: 'the reply does not wait for its audit row',
    changes: [{ file: 'src/api/server.ts', from: 'await record(', to: 'void record(' }],
    caughtBy: { file: 'audit.test.ts', test: 'law 5: a reply waits', says: /law 5: a reply left before its audit row/ },
  },
  {
    name: 'change-apart-from-its-row',
    fault: 'the audit row of a change is not of its transaction',
    changes: [
      { file: 'src/api/handle.ts', from: 'await auditInside(work.tx, {', to: 'void ({' },
      { file: 'src/api/handle.ts', from: 'request.committed = made.status;', to: '' },
    ],
    caughtBy: { file: 'audit.test.ts', test: 'law 5: a change and', says: /law 5: a change apart from its row/ },
  },
  {
    name: 'read-unaudited',
    fault: 'a repeated read is answered without its audit row',
    changes: [
      {
        file: 'src/api/admission.ts',
        from: 'join admitted a on a.pair = p.pair and a.all_granted and',
        to: 'join admitted a on false and',
      },
    ],
    caughtBy: { file: 'audit.test.ts', test: 'law 5: after kill -9', says: /law 5: a reply without its audit row/ },
  },
  {
    name: 'read-of-before',
    fault: 'a repeated read is answered as it was before, wherever the feed stands now',
    changes: [{ file: 'src/api/admission.ts', from: 'sameState(cached.feed, row)', to: 'true' }],
    caughtBy: { file: 'order.test.ts', test: 'law 1: a poll that was repeated', says: /hid a change/ },
  },
  {
    name: 'state-counted',
    fault: 'ETags come from the position alone, which is given out again after a commit was lost',
    changes: [{ file: 'src/feed/etag.ts', from: '`${position}.${state}\\n', to: '`${position}\\n' }],
    caughtBy: { file: 'lost-commits.test.ts', test: 'law 1: an ETag', says: /law 1: .* 304/ },
  },
  {
    name: 'version-counted',
    fault: 'the version of the groups is counted, so it is given out again after a commit was lost',
    changes: [
      {
        file: position,
        from: 'when $4 then $3 else groups_version',
        to: 'when $4 then groups_version + 1 else groups_version',
      },
    ],
    caughtBy: { file: 'lost-commits.test.ts', test: 'law 2: a name', says: /law 2: .* shows a name that was lost/ },
  },
  {
    name: 'event-outside',
    fault: 'events are committed before their cause is whole',
    changes: [
      {
        file: 'src/feed/events/emit.ts',
        from: 'if (row!.count > 0) wakeWorkers',
        to: `await work.tx.query('commit and chain');\n  if (row!.count > 0) wakeWorkers`,
      },
    ],
    caughtBy: { file: 'transactions.test.ts', test: 'law 4: a change that fails', says: /law 4: .* left an event/ },
  },
  {
    name: 'group-of-anybody',
    fault: 'a group is found whoever asks',
    changes: [
      {
        file: 'src/organisations/groups/store.ts',
        from: 'from learner_group where organisation_id = $1 and group_id = $2`',
        to: 'from learner_group where $1::int8 is not null and group_id = $2`',
      },
    ],
    caughtBy: { file: 'organisations.test.ts', test: 'law 6: a group', says: /law 6: foreign and unknown differ/ },
  },
  {
    name: 'bounds-dropped',
    fault: 'a key with bounds is let in as one without',
    changes: [
      {
        file: 'src/api/admission.ts',
        from: 'return groupIds === null && subjects === null ? null : { groupIds, subjects };',
        to: 'return groupIds === null || subjects === null || groupIds.length > 0 ? null : { groupIds, subjects };',
      },
    ],
    caughtBy: {
      file: 'organisations.test.ts',
      test: 'law 6: what lies outside',
      says: /law 6: .* shows what lies outside/,
    },
  },
  {
    name: 'bounds-without-etag',
    fault: 'an ETag does not tell which bounds it was made under',
    changes: [{ file: listReply, from: "${keyScope === '' ? '' : `\\n${keyScope}`}", to: '' }],
    caughtBy: { file: 'organisations.test.ts', test: 'law 6: an ETag', says: /law 6: one ETag for two keys/ },
  },
  {
    name: 'etag-of-process',
    fault: 'an ETag depends on the process that makes it',
    changes: [{ file: 'src/feed/etag.ts', from: '${position}.${state}', to: '${process.pid}${position}.${state}' }],
    caughtBy: { file: 'bytes.test.ts', test: 'law 7', says: /law 7: / },
  },
  {
    name: 'address-in-log',
    fault: 'the log has the address of each request',
    changes: [
      {
        file: 'src/api/server.ts',
        from: 'logAnswer(app, request.startedMs, request.id, action,',
        to: 'logAnswer(app, request.startedMs, request.raw.url!, action,',
      },
    ],
    caughtBy: { file: 'personal-data.test.ts', test: 'law 8: no name', says: /law 8: the log holds/ },
  },
  {
    name: 'numbers-stored',
    fault: 'a National Insurance number is taken for any other text',
    changes: [
      {
        file: 'src/platform/validation/personal-data.ts',
        from: 'nationalInsuranceNumber.test(asSeen(',
        to: 'false && nationalInsuranceNumber.test(asSeen(',
      },
    ],
    caughtBy: {
      file: 'personal-data.test.ts',
      test: 'law 8',
      says: /law 8: \w+\.\w+ holds a National Insurance number/,
    },
  },
  ...clientMutations,
];
