import type { App } from '../../platform/app.ts';
import { amendAssessment } from '../../records/results/amend.ts';
import { formatMs } from '../../platform/time/clock.ts';
import { feedQueue, type UnitOfWork, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { followEvents, newestEvent } from '../../feed/events/follow.ts';
import { changeGroup } from '../../organisations/groups/change.ts';
import { createGroup } from '../../organisations/groups/create.ts';
import { removeMembers } from '../../organisations/groups/members.ts';
import { importRecords } from '../../records/import/import.ts';
import { readyRecord } from '../../records/import/record.ts';
import { createKey, type KeyPair } from '../../integrations/access-keys/keys.ts';
import { correctName } from '../../records/learners/rename.ts';
import { createOrganisation } from '../../organisations/organisations.ts';
import { seededRandom, uuidOf } from '../../platform/crypto/random.ts';
import { newRestamping, restampNext } from '../../governance/upgrade/restamp.ts';
import { Backup } from '../chaos/backup.ts';
import { fullName } from '../data/people.ts';
import { notPlaced, outcomeAt } from '../data/results.ts';
import type { Forwarded, Forwarder } from './forward.ts';
import { removeEndpoint, listEndpoints } from '../../integrations/webhooks/endpoints/endpoints.ts';
import { withdrawAssessment } from '../../governance/erasure/withdraw.ts';
import { eventTypes } from '../../platform/validation/event-types.ts';

/** More results than the largest page contains. */
export const firstResults = 620;
const perLearner = 2;

export const refPrefix = 'CONFORM-';
export const stageGroup = { type: 'cohort', ref: 'conform' };

const why = { actor: 'conform', reason: 'A scenario of ars conform' };
/** How often a delivery is tried while the consumer starts. */
const attempts = 15;
const againMs = 400;

/** The organisation in which a consumer is tested, and the changes that the scenarios make. */
export class Stage {
  readonly app: App;
  readonly organisation: { organisation_id: number; public_id: string };
  /** `key` is the consumer's access key. With `ownKey`, the test itself reads the feed. */
  readonly key: KeyPair;
  readonly ownKey: KeyPair;
  readonly groupId: string;
  readonly secret: string;
  readonly backup: Backup;
  /** A backup from before the consumer wrote anything. */
  readonly beginning: Backup;
  readonly ids: string[] = [];
  readonly delivered: { deliveryId: string; body: string; forwarded: Forwarded }[] = [];
  /** Whether new events are kept in `held` instead of being delivered. */
  isHolding = false;
  /** References of learners who left the group. */
  readonly left: string[] = [];
  readonly held: { deliveryId: string; body: string }[] = [];
  #forwarder: Forwarder | null;
  #random = seededRandom('conform');
  #number = 0;
  #isThere = true;
  #stopping = new AbortController();
  #forwarding: Promise<void> = Promise.resolve();

  private constructor(
    app: App,
    made: Pick<Stage, 'organisation' | 'key' | 'ownKey' | 'groupId' | 'secret'>,
    forwarder: Forwarder | null,
  ) {
    this.app = app;
    this.organisation = made.organisation;
    this.key = made.key;
    this.ownKey = made.ownKey;
    this.groupId = made.groupId;
    this.secret = made.secret;
    this.backup = new Backup(app, made.organisation.organisation_id);
    this.beginning = new Backup(app, made.organisation.organisation_id);
    this.#forwarder = forwarder;
  }

  static async open(app: App, secret: string, forwarder: Forwarder | null): Promise<Stage> {
    const made = await withUnitOfWork(app, null, async (work) => {
      const organisation = await createOrganisation(work, {
        name: 'Conformance College',
        plan: 'unlimited',
        credits: 0,
        groupAutocreate: true,
      });
      const id = organisation.organisation_id;
      const key = await createKey(work, id, { label: 'Consumer', kind: 'test' });
      const ownKey = await createKey(work, id, { label: 'ars conform', kind: 'test' });
      return { organisation, key, ownKey };
    });
    const { organisation_id: id } = made.organisation;
    const { row } = await withUnitOfWork(app, feedQueue(id), (work) =>
      createGroup(work, id, { ...stageGroup, name: 'Cohort' }),
    );
    const stage = new Stage(app, { ...made, groupId: row.group_id, secret }, forwarder);
    await stage.completes(firstResults, { isSilent: true });
    await stage.beginning.keep();
    return stage;
  }

  #change<T>(inside: (work: UnitOfWork) => Promise<T>): Promise<T> {
    return withUnitOfWork(this.app, feedQueue(this.organisation.organisation_id), inside);
  }

  /** Creates results of new learners in the group. @returns the IDs of the results */
  async completes(count = 1, { isSilent = false, isNameless = false, isPlaced = true } = {}): Promise<string[]> {
    const { organisation_id: id, public_id } = this.organisation;
    const records = Array.from({ length: count }, () => {
      const number = this.#number++;
      const ref = `${refPrefix}${Math.floor(number / perLearner)}-${isNameless ? 'x' : 'n'}`;
      const outcome = isNameless || !isPlaced ? notPlaced('maths') : outcomeAt('maths', 0.3, this.#random.float());
      const learner = { ref: isNameless ? null : ref, full_name: `Learner ${Math.floor(number / perLearner)}` };
      const groups = isNameless ? {} : { groups: [{ ...stageGroup, name: 'Cohort' }] };
      return {
        assessment_id: this.app.random.uuid(),
        learner,
        assessed_at: formatMs(this.app.clock.nowMs()),
        ...outcome,
        ...groups,
      };
    });
    await this.#change((work) =>
      importRecords(
        work,
        id,
        records.map((record) => readyRecord(record, public_id, work.nowMs)),
        { events: !isSilent, actor: why.actor },
      ),
    );
    const ids = records.map((record) => record.assessment_id);
    this.ids.push(...ids);
    return ids;
  }

  amends(assessmentId: string): Promise<boolean> {
    const framework = `Framework ${this.app.random.uuid().slice(0, 8)}`;
    return this.#change((work) =>
      amendAssessment(work, this.organisation.organisation_id, assessmentId, { framework }, why),
    );
  }

  withdraws(assessmentId: string): Promise<void> {
    return this.#change((work) => withdrawAssessment(work, this.organisation.organisation_id, assessmentId, why));
  }

  async renamesLearner(number: number): Promise<void> {
    const ref = `${refPrefix}${number}-n`;
    await this.#change((work) =>
      correctName(work, this.organisation.organisation_id, { ref }, fullName(this.#random), why),
    );
  }

  async leaves(number: number): Promise<void> {
    const ref = `${refPrefix}${number}-n`;
    this.left.push(ref);
    await this.#change((work) => removeMembers(work, this.organisation.organisation_id, this.groupId, [ref]));
  }

  /** Renames the group, which changes all its results in the feed. */
  async renamesGroup(): Promise<void> {
    const name = `Cohort ${this.app.random.uuid().slice(0, 8)}`;
    await this.#change((work) => changeGroup(work, this.organisation.organisation_id, this.groupId, { name }));
  }

  /** Restores the state from before the consumer began, and removes the consumer's webhook endpoints. */
  async restoresBeginning(): Promise<void> {
    const { organisation_id: id } = this.organisation;
    for (const { endpoint_id } of await listEndpoints(this.app.db, id))
      await this.#change((work) => removeEndpoint(work, id, endpoint_id));
    this.ids.length = firstResults;
    await this.restoresBackup(this.beginning);
  }

  /** Restores a backup, and immediately gives every live record a new position, so that clients read all records. */
  async restoresBackup(backup = this.backup): Promise<void> {
    await backup.restore();
    const restamping = newRestamping();
    while ((await restampNext(this.app, restamping)) !== 'nothing left');
  }

  async beginsForwarding(): Promise<void> {
    const { organisation_id: id } = this.organisation;
    const from = (await newestEvent(this.app.db, id))?.number ?? 0;
    this.#forwarding = (async () => {
      for await (const event of followEvents(this.app.db, id, from, eventTypes, this.#stopping.signal)) {
        const one = { deliveryId: uuidOf('conform', event.event_id), body: event.payload };
        if (this.isHolding) this.held.push(one);
        else await this.delivers(one);
      }
    })();
  }

  /**
   * Delivers an event. Without a response it is retried, because the consumer may still be starting. If all attempts
   * fail, the next event is tried only once.
   */
  async delivers({ deliveryId, body }: { deliveryId: string; body: string }): Promise<Forwarded | null> {
    if (this.#forwarder === null) return null;
    let forwarded = await this.#forwarder.forward(this.secret, deliveryId, body);
    for (let attempt = 1; this.#isThere && forwarded.statusCode === null && attempt < attempts; attempt++) {
      await new Promise((resolve) => setTimeout(resolve, againMs));
      forwarded = await this.#forwarder.forward(this.secret, deliveryId, body);
    }
    this.#isThere = forwarded.statusCode !== null;
    this.delivered.push({ deliveryId, body, forwarded });
    return forwarded;
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#forwarding;
    await this.backup.close();
    await this.beginning.close();
  }
}
