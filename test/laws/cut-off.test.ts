// Tier: full. Cuts connections before each statement of two verbs.
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { App } from '../../src/platform/app.ts';
import { lastInstantOf } from '../../src/organisations/zone.ts';
import { DatabaseUnavailable } from '../../src/platform/db/connection/unavailable.ts';
import type { UnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { feedQueue, withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { verifyDigest } from '../../src/feed/digest-repair.ts';
import { orderMoves } from '../../src/organisations/groups/runs.ts';
import { placeHold } from '../../src/governance/legal-holds/holds.ts';
import { beginImport, importRuns, keepImport, dryRunImport } from '../../src/records/import/run.ts';
import { checkRows } from '../../src/sittings/invitations/runs/check.ts';
import { contextOf } from '../../src/sittings/invitations/runs/context.ts';
import { beginRun, draftRun, invitationRuns } from '../../src/sittings/invitations/runs/run.ts';
import { readInviteTable } from '../../src/sittings/invitations/runs/table.ts';
import { openApp } from '../../src/server/open-app.ts';
import { mergeLearners } from '../../src/governance/deduplication/merge.ts';
import { listCreditEntries } from '../../src/organisations/credits.ts';
import { readOrganisation } from '../../src/organisations/organisations.ts';
import { addTeamStaff, ensureTeam } from '../../src/organisations/teams.ts';
import { addToTeam } from '../support/teams.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { setPolicy } from '../../src/governance/retention/policy.ts';
import { carryOutRuns, orderRun, retentionRuns } from '../../src/governance/retention/run.ts';
import { eraseLearner } from '../../src/governance/erasure/erase.ts';
import { personOf } from '../web/console/visitor.ts';
import { recordResults } from '../support/scenario.ts';
import type { TestOrganisation } from '../support/service.ts';
import { withService } from '../support/service.ts';
import { Mirror, Shown } from './world/mirror.ts';

/**
 * Two verbs at once, and the first one's connection is cut off before each of its statements, while the second waits for what
 * the first has locked: each is done as a whole or not at all, and what was counted, shown and seen agrees.
 */

const service = await withService();
const { app } = service;
const by = { actor: 'operator' };
// Another process would wait for the lock itself as this one does, not for a turn.
const doomed = await openApp({ ...app.settings, log: 'none' }, { clock: app.clock });
after(() => doomed.close());

const inFeed = <T>(id: number, inside: (work: UnitOfWork) => Promise<T>, on: App = app): Promise<T> =>
  withUnitOfWork(on, feedQueue(id), inside);

/** The first verb, cut off before its statement of this number, once the second has begun. @returns whether it came so far */
async function cutOff(at: number, first: (app: App) => Promise<unknown>, second: () => void): Promise<boolean> {
  const { db } = doomed.app;
  const { transaction } = db;
  let statements = 0;
  let isCut = false;
  db.transaction = (inside, turn) =>
    transaction(
      (tx) =>
        inside({
          ...tx,
          query: async (sql, values) => {
            if (!isCut && ++statements === at) {
              isCut = true;
              second();
              await tx.query('select pg_terminate_backend(pg_backend_pid())').catch(() => {});
            }
            return tx.query(sql, values);
          },
        }),
      turn,
    );
  try {
    await first(doomed.app);
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
  } finally {
    db.transaction = transaction;
  }
  return isCut;
}

/** Two verbs; `rest`: what the next process goes on with; `holds`: what is so afterwards, whether or not the first was cut off. */
type Race = {
  first(app: App): Promise<unknown>;
  second(): Promise<unknown>;
  rest(): Promise<unknown>;
  holds(isCut: boolean): Promise<void>;
};

async function assertSound(org: TestOrganisation, mirrors: Mirror[]): Promise<void> {
  const entries = (await listCreditEntries(app.db, org.id, { before: null, limit: 100_000 })).reverse();
  let sum = 0;
  for (const entry of entries) assert.equal(entry.balance, (sum += entry.amount));
  const { credits } = await readOrganisation(app.db, org.id);
  assert.equal(credits, sum, 'the ledger adds up to the balance');
  assert.deepEqual(await verifyDigest(app, org.id), []);
  for (const mirror of mirrors) await mirror.assertConverged();
  const strays = await app.db.query(
    `select from assessment_feed f join learner l using (organisation_id, learner_id)
      where organisation_id = $1 and not f.deleted and l.full_name = ''
     union all
     select from invitation i join learner l using (organisation_id, learner_id)
      where organisation_id = $1 and i.status = 'open' and l.full_name = ''`,
    [org.id],
  );
  assert.equal(strays.length, 0, 'nothing is of nobody');
}

/** Cut off before every second statement, or every third; the last time it is not. @returns how many there are, about */
async function cutEverywhere(prepare: (org: TestOrganisation, n: number) => Promise<Race>, every = 1): Promise<number> {
  const org = await service.organisation({ plan: 'standard', credits: 1000 });
  const shown = new Shown();
  const mirrors = (['/assessments', '/learners'] as const).map(
    (path) => new Mirror([org], seededRandom(`cut off ${path}`), shown, { path, limit: 3, manner: 'follow' }),
  );
  for (let at = 1; ; at += every) {
    const race = await prepare(org, at);
    for (const mirror of mirrors) await mirror.poll();
    const started: Promise<unknown>[] = [];
    const isCut = await cutOff(at, race.first, () => started.push(race.second()));
    if (!isCut) started.push(race.second());
    await Promise.all(started);
    for (const mirror of mirrors) await mirror.poll();
    await race.rest();
    await race.holds(isCut);
    if (isCut) continue;
    await assertSound(org, mirrors);
    return at;
  }
}

async function provision(org: TestOrganisation, ref: string, fullName: string): Promise<string> {
  const { status, text } = await org.post('/learners', { ref, full_name: fullName });
  assert.equal(status, 201, text);
  return (await org.get(`/learners/${ref}`)).body.data.learner_id;
}

suite('cut off in the middle of a race', () => {
  test('a run of invitations beside an erasure', async () => {
    const statements = await cutEverywhere(async (org, n) => {
      const erased = await provision(org, `e-${n}`, `Zeno Quagmire ${n}`);
      const organisation = await readOrganisation(app.db, org.id);
      const context = await contextOf(app.db, organisation, app.clock.nowMs(), (day) => lastInstantOf(day, 'UTC'));
      const table = `ref\tname\tsubjects\na-${n}\tAna ${n}\tmaths\ne-${n}\tZeno Quagmire ${n}\tmaths\nb-${n}\tBo ${n}\tmaths`;
      const anybody = { visibility: null, teamId: null };
      const check = await checkRows(app, org.id, await readInviteTable(Buffer.from(table)), context, anybody);
      const runId = app.random.uuid();
      await inFeed(org.id, async (work) => {
        await draftRun(work, org.id, { runId, by: 'operator', check, ...anybody });
        await beginRun(work, org.id, { runId, by: 'operator', check, mails: false, visibility: null, credits: null });
      });
      return {
        first: (on) => invitationRuns.goOn(on, org.id, runId),
        second: () => inFeed(org.id, (work) => eraseLearner(work, org.id, erased, by)),
        rest: () => invitationRuns.goOn(app, org.id, runId),
        async holds(isCut) {
          const run = (await invitationRuns.find(app.db, org.id, runId))!;
          assert.deepEqual([run.status, run.invited], ['finished', isCut ? 2 : 3]);
          for (const [ref, status] of [
            ['a', 200],
            ['e', 404],
            ['b', 200],
          ] as const)
            assert.equal((await org.get(`/learners/${ref}-${n}`)).status, status);
        },
      };
    });
    assert.ok(statements > 8, String(statements));
  });

  test('a merge beside the erasure of one of both', async () => {
    const statements = await cutEverywhere(async (org, n) => {
      const [from, into] = [await provision(org, `f-${n}`, `Fay ${n}`), await provision(org, `i-${n}`, `Fay ${n}`)];
      await inFeed(org.id, (work) => recordResults(work, org.id, [{ ref: `f-${n}` }, { ref: `i-${n}` }]));
      const erased = n % 2 === 0 ? from : into;
      const left = n % 2 === 0 ? `i-${n}` : `f-${n}`;
      return {
        first: (on) =>
          inFeed(org.id, (work) => mergeLearners(work, org.id, { from, into }, { ...by, reason: null }), on),
        second: () => inFeed(org.id, (work) => eraseLearner(work, org.id, erased, by)),
        rest: async () => {},
        async holds(isCut) {
          const { status, body } = await org.get(`/learners/${left}`);
          if (isCut) assert.deepEqual([status, body.data.assessments.length], [200, 1], 'the merge was undone');
          else if (erased === into) assert.equal(status, 404, 'both were one, and that one is erased');
        },
      };
    }, 3);
    assert.ok(statements > 20, String(statements));
  });

  test('an import beside the merge of whom it names', async () => {
    const head = 'learner_ref,learner_full_name,assessed_at,subject,framework,rqf_level,rqf_level_code,below_level_1';
    const statements = await cutEverywhere(async (org, n) => {
      const [from, into] = [await provision(org, `f-${n}`, `Fay ${n}`), await provision(org, `i-${n}`, `Fay ${n}`)];
      const lines = [`f-${n},Fay ${n}`, `new-${n},Nora ${n}`].map(
        (who) => `${who},31/01/2026 09:30,maths,F,Level 1,2,false`,
      );
      const file = Buffer.from([head, ...lines].join('\n'));
      const trial = await dryRunImport(app, { organisationId: org.id, publicId: org.publicId }, file, 'uk');
      const runId = app.random.uuid();
      await inFeed(org.id, async (work) => {
        await keepImport(work, org.id, { runId, by: 'operator', dates: 'uk', events: true, trial });
        await beginImport(work, org.id, runId);
      });
      return {
        first: (on) => importRuns.run(on),
        second: () => inFeed(org.id, (work) => mergeLearners(work, org.id, { from, into }, { ...by, reason: null })),
        rest: () => importRuns.run(app),
        async holds() {
          const run = (await importRuns.find(app.db, org.id, runId))!;
          assert.deepEqual([run.status, run.imported, run.rejected], ['finished', 2, 0]);
          for (const [ref, id] of [
            [`f-${n}`, into],
            [`i-${n}`, into],
            [`new-${n}`, null],
          ]) {
            const { data } = (await org.get(`/learners/${ref}`)).body;
            assert.deepEqual([data.learner_id, data.assessments.length], [id ?? data.learner_id, 1], `${ref}`);
          }
        },
      };
    });
    assert.ok(statements > 8, String(statements));
  });

  test('retention beside a hold that is placed at the same moment', async () => {
    const months = { learners: null, invited: null, results: 84, answers: null, reasons: null };
    const statements = await cutEverywhere(async (org, n) => {
      const [held] = [await provision(org, `h-${n}`, `Hal ${n}`), await provision(org, `o-${n}`, `Ola ${n}`)];
      await inFeed(org.id, (work) =>
        recordResults(
          work,
          org.id,
          ['h', 'o'].map((who) => ({ ref: `${who}-${n}`, assessed_at: '2010-01-20T09:00:00Z' })),
        ),
      );
      await inFeed(org.id, (work) => setPolicy(work, org.id, { months, automatic: false, ...by }));
      const runId = await inFeed(org.id, (work) =>
        orderRun(work, org.id, { runId: work.uuid(), isDryRun: false, ...by }),
      );
      const hold = { holdId: app.random.uuid(), learnerId: held!, reason: 'Claim', endsAt: null, ...by };
      return {
        first: (on) => carryOutRuns(on),
        second: () => inFeed(org.id, (work) => placeHold(work, org.id, hold)),
        rest: () => carryOutRuns(app),
        async holds() {
          const live = async (ref: string) => (await org.get(`/learners/${ref}`)).body.data.assessments.length;
          const { tally, finished_at } = (await retentionRuns.find(app.db, org.id, runId))!;
          const [kept, gone] = [await live(`h-${n}`), await live(`o-${n}`)];
          assert.notEqual(finished_at, null);
          assert.deepEqual([gone, tally.results!.items], [0, 2 - kept], 'what is counted was done');
          // Results of this kind go in one step, so what is held by then is counted as held, and is there.
          assert.ok(tally.results!.held >= kept);
        },
      };
    }, 3);
    assert.ok(statements > 8, String(statements));
  });

  test('a team’s move beside a page of its tutor', async () => {
    let tutor: Awaited<ReturnType<typeof personOf>> | undefined;
    const statements = await cutEverywhere(async (org, n) => {
      tutor ??= await personOf(service, org.id, 'tutor');
      const { userId } = tutor;
      const [ids, refs] = [[] as string[], [`t-${n}`, `u-${n}`]];
      for (const ref of refs) ids.push(await provision(org, ref, `Tom ${ref}`));
      await inFeed(org.id, (work) =>
        recordResults(
          work,
          org.id,
          refs.map((ref) => ({ ref })),
        ),
      );
      const [leaves, joins] = await inFeed(org.id, async (work) => {
        const teams = [
          await ensureTeam(work, org.id, { ref: 'NORTH', name: 'North' }),
          await ensureTeam(work, org.id, { ref: 'SOUTH', name: 'South' }),
        ] as const;
        await addTeamStaff(work, org.id, teams[0], [userId]);
        await addToTeam(work, org.id, teams[0], refs);
        return teams;
      });
      const runId = app.random.uuid();
      const moves = (on: App) =>
        inFeed(
          org.id,
          (work) =>
            orderMoves(work, org.id, { runId, joins, leaves, learnerIds: ids, by: 'operator', managingTeams: true }),
          on,
        );
      const seen = async () => {
        const base = `/console/${org.publicId}/learners`;
        const { status, text } = await tutor!.get(base);
        assert.equal(status, 200);
        const pages = await Promise.all(ids.map(async (id) => (await tutor!.get(`${base}/${id}`)).status));
        return { listed: ids.filter((id) => text.includes(id)).length, pages };
      };
      const [all, nobody] = [
        { listed: 2, pages: [200, 200] },
        { listed: 0, pages: [404, 404] },
      ];
      let during: unknown;
      return {
        first: moves,
        second: async () => {
          during = await seen();
        },
        rest: () => moves(app),
        async holds(isCut) {
          assert.deepEqual(during, isCut ? all : nobody);
          assert.deepEqual(await seen(), nobody, 'whoever was moved is out of sight from the commit on');
        },
      };
    });
    assert.ok(statements > 8, String(statements));
  });
});
