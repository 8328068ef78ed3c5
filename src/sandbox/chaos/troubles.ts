import type { App } from '../../platform/app.ts';
import { amendAssessment } from '../../records/results/amend.ts';
import { contentOf } from '../../records/results/body.ts';
import { findLive } from '../../records/results/results.ts';
import { formatMs } from '../../platform/time/clock.ts';
import { statement } from '../../platform/db/database.ts';
import { feedQueue, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { removeMembers } from '../../organisations/groups/members.ts';
import { importRecords } from '../../records/import/import.ts';
import { readyRecord } from '../../records/import/record.ts';
import { correctName } from '../../records/learners/rename.ts';
import { findLearnersByIds } from '../../records/learners/learners.ts';
import { pick, type Random } from '../../platform/crypto/random.ts';
import { subjects } from '../../engine/scoring/levels.ts';
import { listEndpoints } from '../../integrations/webhooks/endpoints/endpoints.ts';
import { sendTest } from '../../integrations/webhooks/attempt.ts';
import { withdrawAssessment } from '../../governance/erasure/withdraw.ts';
import { Backup } from './backup.ts';
import { type ChaosKind, repeatDelivery } from './chaos.ts';
import { fullName } from '../data/people.ts';
import { notPlaced } from '../data/results.ts';
import { unknownEventBody } from './unknown.ts';

const latest = statement('chaos.latest')`
  select assessment_id, learner_id from assessment_feed where organisation_id = $1 and not deleted
   order by position desc limit 100`;
const memberships = statement('chaos.memberships')`
  select m.group_id, l.ref from membership m
    join learner l on l.organisation_id = m.organisation_id and l.learner_id = m.learner_id and l.ref is not null
    join learner_group g on g.organisation_id = m.organisation_id and g.group_id = m.group_id and g.active and g.type <> 'team'
    join assessment_feed f on f.organisation_id = m.organisation_id and f.learner_id = m.learner_id and not f.deleted
   where m.organisation_id = $1 and m.left_position is null limit 200`;

const actor = 'sandbox';
const reason = 'The sandbox was told to change now and then';

const stepKinds = [
  'amended',
  'withdrawn',
  'renamed-learner',
  'null-references',
  'scope-exits',
  'repeated-webhooks',
  'unknown-values',
  'restored-backup',
] as const satisfies ChaosKind[];

type StepKind = (typeof stepKinds)[number];

/** Changes data and events of a sandbox by the functions that real changes use. */
export class ChaosChanges {
  readonly kinds: readonly StepKind[];
  #app: App;
  #organisation: { organisation_id: number; public_id: string };
  #random: Random;
  #backup: Backup;

  constructor(
    app: App,
    organisation: { organisation_id: number; public_id: string },
    kinds: ReadonlySet<ChaosKind>,
    random: Random,
  ) {
    this.#app = app;
    this.#organisation = organisation;
    this.#random = random;
    this.#backup = new Backup(app, organisation.organisation_id);
    this.kinds = stepKinds.filter((kind) => kinds.has(kind));
  }

  /** @returns the kind of the change, or null if nothing could be changed */
  async step(kind: StepKind = pick(this.#random, this.kinds)): Promise<StepKind | null> {
    try {
      return (await this.#does(kind)) ? kind : null;
    } catch (error) {
      // Another change deleted the record before this step could change it.
      if (error instanceof ApiError && error.code === 'not_found') return null;
      throw error;
    }
  }

  async #does(kind: StepKind): Promise<boolean> {
    const { organisation_id: id, public_id } = this.#organisation;
    const inFeed = <T>(inside: Parameters<typeof withUnitOfWork<T>>[2]) =>
      withUnitOfWork(this.#app, feedQueue(id), inside);
    if (kind === 'repeated-webhooks') return repeatDelivery(this.#app, id, this.#random);
    if (kind === 'unknown-values') return this.#surpriseEndpoints();
    if (kind === 'restored-backup') {
      const came = await this.#backup.restore();
      await this.#backup.keep();
      return came;
    }
    if (kind === 'null-references') {
      const record = {
        assessment_id: this.#app.random.uuid(),
        learner: { ref: null, full_name: fullName(this.#random) },
        assessed_at: formatMs(this.#app.clock.nowMs()),
        ...notPlaced(pick(this.#random, subjects)),
      };
      await inFeed((work) =>
        importRecords(work, id, [readyRecord(record, public_id, work.nowMs)], { events: true, actor }),
      );
      return true;
    }
    if (kind === 'scope-exits') {
      const found = await this.#app.db.query<{ group_id: string; ref: string }>(memberships, [id]);
      if (found.length === 0) return false;
      const { group_id: groupId, ref } = pick(this.#random, found);
      await inFeed((work) => removeMembers(work, id, groupId, [ref]));
      return true;
    }
    const found = await this.#app.db.query<{ assessment_id: string; learner_id: string }>(latest, [id]);
    if (found.length === 0) return false;
    const { assessment_id: assessmentId, learner_id: learnerId } = pick(this.#random, found);
    return inFeed(async (work) => {
      if (kind === 'withdrawn') {
        await withdrawAssessment(work, id, assessmentId, { actor, reason });
        return true;
      }
      if (kind === 'renamed-learner') {
        const [learner] = await findLearnersByIds(work.tx, id, [learnerId]);
        const name = pick(this.#random, [fullName(this.#random), `${learner?.full_name ?? ''} Smith`.trim()]);
        return (await correctName(work, id, { learnerId }, name, { actor, reason })).changed;
      }
      const row = await findLive(work.tx, id, assessmentId);
      if (row === undefined) return false;
      const { needs_review } = contentOf(row.body, row.assessed_at);
      return amendAssessment(work, id, assessmentId, { needs_review: !needs_review }, { actor, reason });
    });
  }

  async #surpriseEndpoints(): Promise<boolean> {
    const endpoints = await listEndpoints(this.#app.db, this.#organisation.organisation_id);
    const active = endpoints.filter(({ status }) => status === 'active');
    for (const endpoint of active)
      await sendTest(this.#app, endpoint, { payload: unknownEventBody(formatMs(this.#app.clock.nowMs())) });
    return active.length > 0;
  }

  close(): Promise<void> {
    return this.#backup.close();
  }
}
