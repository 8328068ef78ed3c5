import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import type { Change, Report } from '../../../client/src/index.ts';
import { Client, openMirror } from '../../../client/src/index.ts';
import type { Assessment, Filters, Store, StoreTransaction, Surroundings } from '../../../client/src/index.ts';
import { sqliteStore } from '../../../client/src/stores/sqlite.ts';
import type { Key } from '../../contract/support/client.ts';
import { recordResults, scenario } from '../../support/scenario.ts';
import type { TestService } from '../../support/service.ts';
import { digestService } from './digest-service.ts';

/** Mirrors for tests: in SQLite, with statements that can be made to fail, as a process that is killed there leaves them. */

export class Killed extends Error {
  constructor() {
    super('the process was killed here, on purpose');
  }
}

export type TestStore = Store<DatabaseSync> & {
  database: DatabaseSync;
  /** How many statements are still carried out before one fails, with its transaction. */
  left: number;
};

/** A mirror in memory: what a process that is killed leaves is there for the next one. */
export function memoryStore(): TestStore {
  const database = new DatabaseSync(':memory:');
  const inner = sqliteStore(database);
  const count = () => {
    if (self.left-- <= 0) throw new Killed();
  };
  const counted = <Native>(transaction: StoreTransaction<Native>): StoreTransaction<Native> => {
    const wrapped: Record<string, unknown> = { native: transaction.native };
    for (const name of ['readState', 'writeState', 'find', 'put', 'remove', 'list'] as const)
      wrapped[name] = async (...given: never[]) => {
        count();
        return (transaction[name] as (...all: never[]) => Promise<unknown>)(...given);
      };
    return wrapped as StoreTransaction<Native>;
  };
  const self: TestStore = {
    database,
    left: Infinity,
    open: inner.open,
    transaction: (work) =>
      inner.transaction(async (transaction) => {
        count();
        const result = await work(counted(transaction));
        // The commit is a statement, too.
        count();
        return result;
      }),
  };
  return self;
}

/** What the store holds, by id. */
export function heldBy(store: TestStore): Map<string, Assessment> {
  const made = store.database.prepare("select count(*) as n from sqlite_master where name = 'ars_assessment'").get();
  if (made!.n === 0) return new Map();
  const rows = store.database.prepare('select assessment_id, record from ars_assessment').all() as {
    assessment_id: string;
    record: string;
  }[];
  return new Map(rows.map((row) => [row.assessment_id, JSON.parse(row.record) as Assessment]));
}

/** A client that is not patient unless it is asked to be: what fails in a test has failed. */
export function clientOf(baseUrl: string, key: Key, surroundings: Partial<Surroundings> = {}, patienceMs = 0): Client {
  return new Client({
    baseUrl,
    accessKeyId: key.access_key_id,
    secretAccessKey: key.secret_access_key,
    patienceMs,
    surroundings: { nowMs: () => 1_800_000_000_000, random: () => 0.5, ...surroundings },
  });
}

/** What a mirror must hold: what a walk through everything shows. */
export async function truth(client: Client, filters: Filters = {}): Promise<Map<string, Assessment>> {
  const found = new Map<string, Assessment>();
  for await (const entry of client.assessments.list({ ...filters, status: ['completed'], limit: 500 }))
    found.set(entry.assessment_id, entry as Assessment);
  return found;
}

/** Fails with the first few differences, in words. */
export function assertSame(held: Map<string, Assessment>, wanted: Map<string, Assessment>, message: string): void {
  const differences: string[] = [];
  for (const [id, record] of wanted) {
    const has = held.get(id);
    if (has === undefined) differences.push(`missing ${id}`);
    else if (has.updated_at !== record.updated_at) differences.push(`outdated ${id}`);
    else if (JSON.stringify(has) !== JSON.stringify(record)) differences.push(`altered ${id}`);
  }
  for (const id of held.keys()) if (!wanted.has(id)) differences.push(`kept ${id}`);
  assert.equal(
    differences.length,
    0,
    `${message}: ${differences.length} of ${wanted.size} differ: ${differences.slice(0, 3).join(', ')}`,
  );
}

/** An organisation with two learners and results, a service before it, and a mirror that is empty yet. */
export async function mirrorScene(of: TestService, results: number, hasDigest: boolean | (() => boolean) = true) {
  const scene = await scenario(of);
  const front = await digestService(of.url, hasDigest);
  const clock = { ms: 1_800_000_000_000 };
  const client = clientOf(front.url, scene.org.key, { nowMs: () => clock.ms });
  const ana = await scene.learner('ana-1');
  const ben = await scene.learner('ben-1');
  await of.withUnitOfWork((work) =>
    recordResults(
      work,
      scene.org.id,
      Array.from({ length: results }, (_, i) => ({ ref: i % 2 === 0 ? 'ana-1' : 'ben-1' })),
    ),
  );
  const store = memoryStore();
  const changes: Change[] = [];
  const options = { client, store, pageSize: 3, onChange: (some: Change[]) => void changes.push(...some) };
  /** One poll, and the requests that it took beside the one for the organisation. */
  const polled = async (more: object = {}): Promise<Report & { requests: string[] }> => {
    changes.length = 0;
    front.passed.length = 0;
    const report = await openMirror({ ...options, ...more }).poll();
    return { ...report, requests: front.passed.filter((one) => !one.endsWith('/health')) };
  };
  const inStep = async (message: string, filters = {}) =>
    assertSame(heldBy(store), await truth(client, filters), message);
  return { scene, front, client, ana, ben, store, changes, options, polled, inStep, clock };
}
