import assert from 'node:assert/strict';
import { amendAssessment } from '../../src/records/results/amend.ts';
import { withdrawAssessment } from '../../src/governance/erasure/withdraw.ts';
import type { ResultContent } from '../../src/records/results/body.ts';
import { learnerJson, storedColumns } from '../../src/records/results/body.ts';
import { levels } from '../../src/records/results/facet.ts';
import { recordAssessments } from '../../src/records/results/record.ts';
import type { Amendment } from '../../src/records/results/result-fields.ts';
import type { UnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { lockFeed } from '../../src/feed/position.ts';
import { parseInstant } from '../../src/feed/time.ts';
import { findLearnersByRefs } from '../../src/records/learners/learners.ts';
import type { Client } from '../contract/support/client.ts';
import type { TestOrganisation, TestService } from './service.ts';
import type { Subject } from '../../src/engine/scoring/levels.ts';

/**
 * Histories as sentences: `await ana.joins(cohort); await feed.poll(); await ana.leaves(cohort)`.
 * What the public API can do is done through it; results come, change and go by the verbs that operators use.
 */

export type ResultInput = {
  subject?: Subject;
  assessed_at?: string;
  /** Index of facet.ts `levels`: 0 not placed, 1 below Entry, 2 Entry, 3 Level 1, 4 Level 2, 5 Level 3. */
  level?: number;
  assessment_id?: string;
};

export function contentOf(input: ResultInput): ResultContent {
  const level = levels[input.level ?? 3]!;
  return {
    assessed_at_us: parseInstant(input.assessed_at ?? '2026-01-15T10:00:00Z')!,
    subject: input.subject ?? 'maths',
    framework: 'Functional Skills subject content',
    ...level,
    working_level: level.rqf_level,
    recommended_next_level: null,
    is_borderline: false,
    needs_review: false,
    domains: [{ name: 'Number', score_pct: 60, status: 'developing' }],
    level_probabilities: null,
  };
}

/** Records completed results of learners that exist, in the given order. @returns their ids */
export async function recordResults(
  work: UnitOfWork,
  organisationId: number,
  results: ({ ref: string } & ResultInput)[],
  options = { events: false },
): Promise<string[]> {
  const feed = await lockFeed(work, organisationId);
  const learners = new Map(
    (await findLearnersByRefs(work.tx, organisationId, [...new Set(results.map((result) => result.ref))])).map(
      (row) => [row.asked, row],
    ),
  );
  const rows = results.map((result) => {
    const assessment_id = result.assessment_id ?? work.uuid();
    const content = contentOf(result);
    const learner = learners.get(result.ref);
    // A reference of before reaches its learner, too: whoever isn't found is lost to those who know that reference.
    assert.ok(learner !== undefined, 'law 1: nobody is found by a reference that somebody was given');
    return {
      assessment_id,
      learner_id: learner.learner_id,
      source: 'imported' as const,
      assessed_at: content.assessed_at_us,
      learner: learnerJson(learner.ref, learner.full_name),
      report_sha256: null,
      ...storedColumns(content),
    };
  });
  await recordAssessments(work, feed, rows, options);
  return rows.map((row) => row.assessment_id);
}

const why = { actor: 'operator', reason: 'a scenario' };

function expectStatus(answer: { status: number; text: string }, ...statuses: number[]): void {
  assert.ok(statuses.includes(answer.status), `${answer.status} ${answer.text}`);
}

/** A result of a learner. */
export class Result {
  readonly id: string;
  readonly learner: Learner;
  readonly subject: Subject;
  #scene: Scenario;

  constructor(scene: Scenario, id: string, learner: Learner, subject: Subject) {
    this.#scene = scene;
    this.id = id;
    this.learner = learner;
    this.subject = subject;
    scene.names.set(id, `${learner.ref} ${subject}`);
  }

  isAmended(amendment: Amendment = { framework: 'Another framework' }): Promise<boolean> {
    return this.#scene.service.withUnitOfWork((work) =>
      amendAssessment(work, this.#scene.org.id, this.id, amendment, why),
    );
  }

  async isWithdrawn(): Promise<void> {
    await this.#scene.service.withUnitOfWork((work) => withdrawAssessment(work, this.#scene.org.id, this.id, why));
  }

  /** @param status what the answer must be: two refusals would be alike in everything that a report is compared by */
  async readReport(status = 200) {
    const answer = await this.#scene.org.get(`/assessments/${this.id}/report.pdf`);
    expectStatus(answer, status);
    return answer;
  }

  read() {
    return this.#scene.org.get(`/assessments/${this.id}`);
  }
}

export class Group {
  readonly id: string;
  readonly ref: string;
  #scene: Scenario;

  constructor(scene: Scenario, id: string, ref: string) {
    this.#scene = scene;
    this.id = id;
    this.ref = ref;
  }

  async change(change: { name?: string; active?: boolean }) {
    const answer = await this.#scene.org.patch(`/groups/${this.id}`, change);
    expectStatus(answer, 200);
    return answer.body.data;
  }

  isRenamed(name: string) {
    return this.change({ name });
  }
  isArchived() {
    return this.change({ active: false });
  }
  isReactivated() {
    return this.change({ active: true });
  }

  async adds(...learners: Learner[]) {
    const answer = await this.#scene.org.post(`/groups/${this.id}/members`, {
      learner_refs: learners.map((learner) => learner.ref),
    });
    expectStatus(answer, 200);
    return answer.body as { added: string[]; already_members: string[]; not_found: string[] };
  }

  async removes(...learners: Learner[]) {
    const answer = await this.#scene.org.post(`/groups/${this.id}/members/remove`, {
      learner_refs: learners.map((learner) => learner.ref),
    });
    expectStatus(answer, 200);
    return answer.body as { removed: string[]; not_members: string[] };
  }
}

export class Learner {
  readonly ref: string;
  #scene: Scenario;

  constructor(scene: Scenario, ref: string) {
    this.#scene = scene;
    this.ref = ref;
  }

  joins(group: Group) {
    return group.adds(this);
  }
  leaves(group: Group) {
    return group.removes(this);
  }

  async isCalled(fullName: string, groups?: { type: string; ref: string; name: string }[]): Promise<void> {
    expectStatus(
      await this.#scene.org.post('/learners', {
        ref: this.ref,
        full_name: fullName,
        ...(groups === undefined ? {} : { groups }),
      }),
      200,
      201,
    );
  }

  async completes(input: ResultInput = {}): Promise<Result> {
    const [id] = await this.#scene.service.withUnitOfWork((work) =>
      recordResults(work, this.#scene.org.id, [{ ref: this.ref, ...input }], { events: true }),
    );
    return new Result(this.#scene, id!, this, input.subject ?? 'maths');
  }

  async read() {
    const answer = await this.#scene.org.get(`/learners/${this.ref}`);
    expectStatus(answer, 200);
    return answer.body.data;
  }
}

/** A consumer that follows a list as the documents say, and holds what it was told. */
export class Follower {
  /** What it holds, by id: the payloads of completed records. */
  readonly held = new Map<string, any>();
  /** The address of the next poll, without the cursor. */
  #since: string | null = null;
  #etag: string | null = null;
  #client: Client;
  #path: string;
  #filters: string;
  #limit: number;
  #idOf: (entry: any) => string;
  #nameOf: (id: string, entry: any) => string;
  #last = new Map<string, string>();

  constructor(
    client: Client,
    path: string,
    filters: Record<string, string>,
    limit: number,
    names: { idOf(entry: any): string; nameOf(id: string, entry: any): string },
  ) {
    this.#client = client;
    this.#path = path;
    this.#filters = new URLSearchParams(filters).toString();
    this.#limit = limit;
    this.#idOf = names.idOf;
    this.#nameOf = names.nameOf;
  }

  #address(): string {
    const parts = [this.#filters, this.#since === null ? '' : `since=${this.#since}`, `limit=${this.#limit}`].filter(
      (part) => part !== '',
    );
    return `${this.#path}?${parts.join('&')}`;
  }

  /**
   * Walks all pages from the last sync position, conditionally, and takes over what they say.
   * @returns what is new, such as `ana maths: completed`, in the order of the feed
   */
  async poll(): Promise<string[]> {
    const news: string[] = [];
    const first = await this.#client.get(this.#address(), this.#etag === null ? {} : { 'if-none-match': this.#etag });
    if (first.status === 304) return news;
    expectStatus(first, 200);
    let page = first;
    for (;;) {
      for (const entry of page.body.data) this.#take(entry, news);
      const { next } = page.body.pagination;
      if (next === null) break;
      const address = new URL(next);
      page = await this.#client.get(address.pathname.slice('/api/v1'.length) + address.search);
      expectStatus(page, 200);
    }
    const through = first.headers['x-sync-through']!;
    // The ETag belongs to the address that it came from.
    this.#etag = through === this.#since ? first.headers.etag! : null;
    this.#since = through;
    return news;
  }

  #take(entry: any, news: string[]): void {
    const id = this.#idOf(entry);
    const text = JSON.stringify(entry);
    if (this.#last.get(id) === text) return;
    this.#last.set(id, text);
    const kind = entry.removed !== undefined ? 'left' : (entry.status ?? 'here');
    if (kind === 'left' || kind === 'deleted') this.held.delete(id);
    else this.held.set(id, entry);
    news.push(`${this.#nameOf(id, entry)}: ${kind}`);
  }

  /** Everything that a consumer without history would hold now. */
  async sweep(): Promise<Map<string, any>> {
    const fresh = new Follower(this.#client, this.#path, {}, 500, { idOf: this.#idOf, nameOf: this.#nameOf });
    fresh.#filters = this.#filters;
    await fresh.poll();
    return fresh.held;
  }

  /** The law of convergence: what it holds is what a sweep gives. */
  async assertConverged(): Promise<void> {
    await this.poll();
    const sorted = (held: Map<string, any>) => [...held].sort(([a], [b]) => (a < b ? -1 : 1));
    assert.deepEqual(sorted(this.held), sorted(await this.sweep()));
  }
}

/** One organisation of a running service, with names for everything in it. */
export class Scenario {
  readonly service: TestService;
  readonly org: TestOrganisation;
  /** Names of results by their ids. */
  readonly names = new Map<string, string>();

  constructor(service: TestService, org: TestOrganisation) {
    this.service = service;
    this.org = org;
  }

  async learner(ref: string, fullName = `Learner ${ref}`): Promise<Learner> {
    const learner = new Learner(this, ref);
    await learner.isCalled(fullName);
    return learner;
  }

  async group(ref: string, type = 'cohort'): Promise<Group> {
    const answer = await this.org.post('/groups', { type, ref, name: `The ${type} ${ref}` });
    expectStatus(answer, 200, 201);
    return new Group(this, answer.body.data.id, ref);
  }

  /** Follows GET /assessments; groups in `of` become group_id. */
  follow(filters: Record<string, string> = {}, options: { of?: Group[]; limit?: number } = {}): Follower {
    const all = {
      ...filters,
      ...(options.of === undefined ? {} : { group_id: options.of.map((group) => group.id).join(',') }),
    };
    return new Follower(this.org, '/assessments', all, options.limit ?? 100, {
      idOf: (entry) => entry.assessment_id,
      nameOf: (id) => this.names.get(id) ?? id,
    });
  }

  followLearners(options: { limit?: number } = {}): Follower {
    return new Follower(this.org, '/learners', {}, options.limit ?? 100, {
      idOf: (entry) => entry.ref,
      nameOf: (id) => id,
    });
  }

  followGroups(filters: Record<string, string> = {}, options: { limit?: number } = {}): Follower {
    return new Follower(this.org, '/groups', filters, options.limit ?? 100, {
      idOf: (entry) => entry.id,
      nameOf: (_id, entry) => entry.ref,
    });
  }
}

/** A fresh organisation on a service. */
export async function scenario(service: TestService): Promise<Scenario> {
  return new Scenario(service, await service.organisation());
}
