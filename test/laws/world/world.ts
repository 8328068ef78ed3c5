import assert from 'node:assert/strict';
import { amendAssessment } from '../../../src/records/results/amend.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { withdrawAssessment } from '../../../src/governance/erasure/withdraw.ts';
import { findLearnersByRefs } from '../../../src/records/learners/learners.ts';
import { levels } from '../../../src/records/results/facet.ts';
import { readyRecord } from '../../../src/records/import/record.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { changeReference } from '../../../src/records/learners/reference.ts';
import { correctName, findNamedLearner } from '../../../src/records/learners/rename.ts';
import { lockFeed } from '../../../src/feed/position.ts';
import { mergeLearners } from '../../../src/governance/deduplication/merge.ts';
import type { UnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { ApiError } from '../../../src/platform/errors/errors.ts';
import { clientGroupTypes } from '../../../src/organisations/groups/types.ts';
import { ensureTeam } from '../../../src/organisations/teams.ts';
import { addToTeam, removeFromTeam } from '../../support/teams.ts';
import type { Random } from '../../../src/platform/crypto/random.ts';
import { pick } from '../../../src/platform/crypto/random.ts';
import type { Answer, Client } from '../../contract/support/client.ts';
import { recordResults } from '../../support/scenario.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import { Persons } from './persons.ts';
import type { KnownRecord, RecordLine } from './records.ts';
import { newRecord, recordLine, some, someGroup, someName } from './records.ts';

/** Runs a verb in a unit of work, as the command line does. */
export type InWork = <T>(inside: (work: UnitOfWork) => Promise<T>) => Promise<T>;

/** Of learners who are erased now and then. */
export const erasedRefs = ['gone-1', 'gone-2'];

/** What the writers of a history know about their organisation, and every way in which they change it. */
export class World {
  readonly refs: string[] = [];
  /** References that consumers filter by; the last one is given to somebody in the course of the history. */
  readonly watched: string[] = [];
  readonly groups: string[] = [];
  readonly teams: string[] = [];
  readonly records: KnownRecord[] = [];
  /** How often each way was gone. */
  readonly done = new Map<string, number>();
  readonly organisation: { id: number; publicId: string };
  #withUnitOfWork: InWork[];
  #clients: readonly Client[];
  #count = 0;
  #given = false;
  #erasable: string[] = [];
  #persons = new Persons();
  #waiting: (() => void)[] = [];
  changes = 0;
  over = false;

  /** @param clients the organisation through each process; @param withUnitOfWork units of work on each pool of connections */
  constructor(organisation: { id: number; publicId: string }, clients: readonly Client[], withUnitOfWork: InWork[]) {
    this.organisation = organisation;
    this.#clients = clients;
    this.#withUnitOfWork = withUnitOfWork;
  }

  #number(): number {
    return ++this.#count;
  }

  #record(random: Random, known?: KnownRecord): RecordLine {
    return recordLine(random, known ?? newRecord(random, this.refs, () => this.#number()), known !== undefined);
  }

  async #imports(random: Random, lines: RecordLine[]): Promise<void> {
    await this.#work(random, (work) =>
      importRecords(
        work,
        this.organisation.id,
        lines.map(({ line }) => readyRecord(line, this.organisation.publicId, work.nowMs)),
        { events: random.float() < 0.5, actor: 'operator' },
      ),
    );
    for (const { known } of lines) {
      if (!this.records.includes(known)) this.records.push(known);
      if (known.ref !== null && !this.refs.includes(known.ref)) this.refs.push(known.ref);
    }
  }

  async #learnerOf(work: UnitOfWork, assessmentId: string): Promise<string> {
    const found = 'select learner_id from assessment where organisation_id = $1 and assessment_id = $2';
    return (await work.tx.query(found, [this.organisation.id, assessmentId]))[0]!.learner_id;
  }

  /** A verb may find that another writer withdrew its record; that is its answer, not a fault. */
  async #work<T>(random: Random, inside: (work: UnitOfWork) => Promise<T>): Promise<void> {
    try {
      await pick(random, this.#withUnitOfWork)(inside);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
    }
  }

  get #lastingRefs(): string[] {
    return this.refs.filter((ref) => !erasedRefs.includes(ref));
  }

  /** A reference of somebody who is never erased: often one that consumers filter by. */
  #lasting(random: Random): string {
    const lasting = this.#lastingRefs;
    return pick(random, random.float() < 0.4 ? this.watched.filter((ref) => lasting.includes(ref)) : lasting);
  }

  /** @param read the id of the learner whom a reference reaches. @returns it of each that reaches one */
  async assertReached(read: (ref: string) => Promise<string | null>): Promise<Map<string, string>> {
    const reached = new Map<string, string>();
    for (const ref of new Set([...this.refs, ...this.watched, ...erasedRefs])) {
      const id = await read(ref);
      if (id !== null) reached.set(ref, id);
    }
    this.#persons.assertReached(this.#lastingRefs, reached);
    return reached;
  }

  async #call(random: Random, method: string, path: string, body: unknown, statuses: number[]): Promise<Answer> {
    const answer = await pick(random, this.#clients).api(method, path, { body });
    assert.ok(statuses.includes(answer.status), `${method} ${path} was refused: ${answer.status} ${answer.text}`);
    return answer;
  }

  async #provision(random: Random, ref: string, fullName: string, groups: number): Promise<void> {
    await this.#call(
      random,
      'POST',
      '/learners',
      {
        ref,
        full_name: fullName,
        ...(groups === 0
          ? {}
          : {
              groups: Array.from({ length: groups }, () => someGroup(random)).filter(
                (group, i, all) => all.findIndex((one) => one.ref === group.ref) === i,
              ),
            }),
      },
      [200, 201],
    );
    if (!this.refs.includes(ref)) this.refs.push(ref);
  }

  /** Two learners are one from now on, whichever is lost; now and then one of them had no reference. */
  async #merge(random: Random): Promise<void> {
    const { id } = this.organisation;
    const ref = this.#lasting(random);
    const nameless = this.records.filter((record) => record.ref === null);
    const by = nameless.length > 0 && random.float() < 0.3 ? pick(random, nameless) : this.#lasting(random);
    const turned = random.float() < 0.5;
    await this.#work(random, async (work) => {
      // Who they are stays so until the end.
      await lockFeed(work, id);
      const other = typeof by === 'string' ? { ref: by } : { learnerId: await this.#learnerOf(work, by.assessment_id) };
      const [one, two] = [await findNamedLearner(work.tx, id, { ref }), await findNamedLearner(work.tx, id, other)];
      assert.ok(one, `law 1: ${ref} reaches nobody`);
      if (two === undefined || one.learner_id === two.learner_id) return;
      const [from, into] = turned ? [one, two] : [two, one];
      const pair = { from: from.learner_id, into: into.learner_id };
      await mergeLearners(work, id, pair, { actor: 'operator', reason: 'a history' });
      if (two.ref !== null) this.#persons.areOne(ref, two.ref);
    });
  }

  #ways: [string, number, (random: Random) => Promise<void>][] = [
    [
      'provision somebody new',
      3,
      (random) => this.#provision(random, `L-${this.#number()}`, someName(random), Math.floor(random.float() * 4)),
    ],
    [
      'provision again',
      2,
      (random) => this.#provision(random, pick(random, this.refs), someName(random), Math.floor(random.float() * 3)),
    ],
    [
      'create a group',
      1,
      async (random) => {
        const answer = await this.#call(random, 'POST', '/groups', someGroup(random), [200, 201]);
        if (!this.groups.includes(answer.body.data.id)) this.groups.push(answer.body.data.id);
      },
    ],
    [
      'rename a group',
      2,
      async (random) => {
        await this.#call(
          random,
          'PATCH',
          `/groups/${pick(random, this.groups)}`,
          { name: `Group ${this.#number()}` },
          [200],
        );
      },
    ],
    [
      'archive or reactivate',
      2,
      async (random) => {
        await this.#call(
          random,
          'PATCH',
          `/groups/${pick(random, this.groups)}`,
          { active: random.float() < 0.6 },
          [200],
        );
      },
    ],
    [
      'add members',
      4,
      async (random) => {
        await this.#call(
          random,
          'POST',
          `/groups/${pick(random, this.groups)}/members`,
          { learner_refs: some(random, this.refs, 12) },
          [200],
        );
      },
    ],
    [
      'remove members',
      4,
      async (random) => {
        await this.#call(
          random,
          'POST',
          `/groups/${pick(random, this.groups)}/members/remove`,
          { learner_refs: some(random, this.refs, 25) },
          [200],
        );
      },
    ],
    [
      'join a team',
      1,
      (random) =>
        this.#work(random, (work) =>
          addToTeam(work, this.organisation.id, pick(random, this.teams), some(random, this.refs, 8)),
        ),
    ],
    [
      'leave a team',
      1,
      (random) =>
        this.#work(random, (work) =>
          removeFromTeam(work, this.organisation.id, pick(random, this.teams), some(random, this.refs, 12)),
        ),
    ],
    [
      'import results',
      5,
      (random) =>
        this.#imports(
          random,
          Array.from({ length: 1 + Math.floor(random.float() * 6) }, () => this.#record(random)),
        ),
    ],
    [
      'import again',
      3,
      (random) =>
        this.#imports(
          random,
          some(random, this.records, 5).map((known) => this.#record(random, known)),
        ),
    ],
    [
      'amend',
      3,
      (random) =>
        this.#work(random, (work) =>
          amendAssessment(
            work,
            this.organisation.id,
            pick(random, this.records).assessment_id,
            { needs_review: random.float() < 0.5, framework: `Framework ${Math.floor(random.float() * 3)}` },
            { actor: 'operator', reason: 'a history' },
          ),
        ),
    ],
    [
      'withdraw',
      2,
      (random) =>
        this.#work(random, (work) =>
          withdrawAssessment(work, this.organisation.id, pick(random, this.records).assessment_id, {
            actor: 'operator',
            reason: 'a history',
          }),
        ),
    ],
    [
      'erase a learner',
      2,
      async (random) => {
        const { id, publicId } = this.organisation;
        const found = this.#erasable.pop();
        if (found !== undefined) {
          await this.#work(random, async (work) => {
            const [learner] = await findLearnersByRefs(work.tx, id, [found]);
            // Another writer may have brought them back, and they went with the same erasure.
            if (learner !== undefined) await eraseLearner(work, id, learner.learner_id, { actor: 'operator' });
          });
          return;
        }
        // Under the same references again and again, so that others hold them after those who were erased.
        const ref = pick(random, erasedRefs);
        await this.#provision(random, ref, someName(random), 2);
        await this.#work(random, (work) =>
          importRecords(
            work,
            id,
            Array.from({ length: 2 }, () => {
              const { line } = this.#record(random);
              return readyRecord({ ...line, learner: { ref, full_name: someName(random) } }, publicId, work.nowMs);
            }),
            { events: true, actor: 'operator' },
          ),
        );
        if (random.float() < 0.5)
          await this.#work(random, (work) =>
            changeReference(work, id, { ref }, `${ref}-${this.#number()}`, { actor: 'operator', reason: 'a history' }),
          );
        if (!this.#erasable.includes(ref)) this.#erasable.unshift(ref);
      },
    ],
    [
      'complete a sitting',
      4,
      async (random) => {
        const [ref, level] = [this.#lasting(random), Math.floor(random.float() * levels.length)];
        await this.#work(random, (work) =>
          recordResults(work, this.organisation.id, [{ ref, subject: pick(random, subjects), level }], {
            events: true,
          }),
        );
      },
    ],
    [
      'read a report',
      1,
      async (random) => {
        await this.#call(
          random,
          'GET',
          `/assessments/${pick(random, this.records).assessment_id}/report.pdf`,
          undefined,
          [200, 404],
        );
      },
    ],
    [
      'correct a name',
      2,
      (random) => {
        const { ref, assessment_id } = pick(random, this.records);
        return this.#work(random, async (work) => {
          const who = ref === null ? { learnerId: await this.#learnerOf(work, assessment_id) } : { ref };
          const reason = 'a history';
          await correctName(work, this.organisation.id, who, someName(random), { actor: 'operator', reason });
        });
      },
    ],
    [
      'change a reference',
      2,
      async (random) => {
        const ref = this.#lasting(random);
        const to = this.#given ? `R-${this.#number()}` : this.watched.at(-1)!;
        this.#given = true;
        const why = { actor: 'operator', reason: 'a history' };
        await this.#work(random, (work) => changeReference(work, this.organisation.id, { ref }, to, why));
        this.refs.push(to);
        this.#persons.areOne(ref, to);
      },
    ],
    ['merge learners', 3, (random) => this.#merge(random)],
    ['rename a learner', 2, (random) => this.#provision(random, pick(random, this.refs), someName(random), 0)],
  ];

  /** Learners, groups, teams and results to begin with. */
  async begin(random: Random): Promise<void> {
    for (let i = 0; i < 24; i++) this.refs.push(`L-${this.#number()}`);
    this.watched.push(...this.refs.slice(3, 6), 'R-watched');
    for (let i = 0; i < 2; i++)
      await this.#imports(
        random,
        Array.from({ length: 40 }, () => this.#record(random)),
      );
    for (const ref of this.refs.slice(0, 24)) await this.#provision(random, ref, someName(random), 2);
    for (let i = 0; i < 16; i++) {
      const answer = await this.#call(
        random,
        'POST',
        '/groups',
        { type: clientGroupTypes[i % 5]!, ref: `G-${i}`, name: `Group ${i}` },
        [200, 201],
      );
      this.groups.push(answer.body.data.id);
    }
    for (const ref of ['T-1', 'T-2'])
      this.teams.push(
        await this.#withUnitOfWork[0]!((work) => ensureTeam(work, this.organisation.id, { ref, name: `Team ${ref}` })),
      );
  }

  /** One change: of any kind, or the one with this number, so that a short history has every kind too. */
  async change(random: Random, number = Infinity): Promise<void> {
    const total = this.#ways.reduce((sum, [, weight]) => sum + weight, 0);
    let left = random.float() * total;
    const [name, , go] = this.#ways[number] ?? this.#ways.find(([, weight]) => (left -= weight) < 0)!;
    await go(random);
    this.done.set(name, (this.done.get(name) ?? 0) + 1);
    this.changes++;
    for (const waiting of this.#waiting.splice(0)) waiting();
  }

  /** Resolves when this many changes have been made, or when the history is over. */
  async until(changes: number): Promise<void> {
    while (this.changes < changes && !this.over)
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
  }

  /** Nobody writes any more. */
  end(): void {
    this.over = true;
    for (const waiting of this.#waiting.splice(0)) waiting();
  }

  /** The ways that no writer has gone. */
  get untried(): string[] {
    return this.#ways.map(([name]) => name).filter((name) => !this.done.has(name));
  }
}
