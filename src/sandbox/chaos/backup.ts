import type { App } from '../../platform/app.ts';
import type { Dedicated } from '../../platform/db/database.ts';
import { drawState } from '../../feed/position.ts';
import { beginFeedAgain } from '../../feed/restored.ts';

/** Tables of results, learners and groups. A table that refers to another table comes before it. */
const recordTables = [
  'evidence',
  'sitting_item',
  'sitting',
  'start_code',
  'invitation',
  'assessment_change',
  'review',
  'learner_change',
  'learner_leaving',
  'scope_exit',
  'digest_cell',
  'result_day',
  'assessment_feed',
  'assessment',
  'membership',
  'learner_feed',
  'learner_alias',
  'learner_distinct',
  'learner',
  'group_set_group',
  'group_set',
  'team_staff',
  'learner_group',
  'idempotency',
];

/** The most learners in a backup. Copying more learners would block the sandbox for too long. */
const maxLearners = 20_000;

const feedColumns = 'position, state, groups_version, shape, shape_position, digest_n, digest_w1, digest_w2';

/**
 * A backup of a sandbox and its restore. After a restore, clients see that later records have vanished without
 * tombstones, and that new positions are above all earlier positions (docs/decisions/0014).
 * Stored responses are restored too, because a later response could name a learner who no longer exists. Keys,
 * endpoints and the audit log stay.
 */
export class Backup {
  #connection: Dedicated;
  #random: App['random'];
  #organisationId: number;
  #isKept = false;

  constructor({ db, random }: Pick<App, 'db' | 'random'>, organisationId: number) {
    this.#random = random;
    // The copies are temporary tables, which exist only on this connection.
    this.#connection = db.dedicated();
    this.#organisationId = organisationId;
  }

  async #inTransaction(inside: (position: number) => Promise<void>): Promise<void> {
    await this.#connection.query('begin');
    try {
      const [feed] = await this.#connection.query<{ position: number }>(
        'select position from feed where organisation_id = $1 for update',
        [this.#organisationId],
      );
      await inside(feed!.position);
      await this.#connection.query('commit');
    } catch (error) {
      await this.#connection.query('rollback').catch(() => {});
      throw error;
    }
  }

  /** The table's columns without generated columns, because PostgreSQL refuses to insert their values. */
  async #columnsOf(table: string): Promise<string> {
    const [row] = await this.#connection.query<{ columns: string }>(
      `select string_agg(quote_ident(column_name), ', ') as columns from information_schema.columns
        where table_schema = current_schema() and table_name = $1 and is_generated = 'NEVER'`,
      [table],
    );
    return row!.columns;
  }

  async keep(): Promise<void> {
    const more = await this.#connection.query('select from learner where organisation_id = $1 offset $2 limit 1', [
      this.#organisationId,
      maxLearners,
    ]);
    if (more.length > 0) return;
    await this.#inTransaction(async () => {
      for (const table of ['feed', ...recordTables]) {
        await this.#connection.query(`drop table if exists pg_temp.kept_${table}`);
        await this.#connection.query(`create temp table kept_${table} (like ${table})`);
        await this.#connection.query(
          `insert into pg_temp.kept_${table} select * from ${table} where organisation_id = $1`,
          [this.#organisationId],
        );
      }
    });
    this.#isKept = true;
  }

  /** @returns false if there is no backup */
  async restore(): Promise<boolean> {
    if (!this.#isKept) return false;
    await this.#inTransaction(async (went) => {
      for (const table of recordTables)
        await this.#connection.query(`delete from ${table} where organisation_id = $1`, [this.#organisationId]);
      for (const table of recordTables.toReversed()) {
        const columns = await this.#columnsOf(table);
        await this.#connection.query(`insert into ${table} (${columns}) select ${columns} from pg_temp.kept_${table}`);
      }
      await this.#connection.query(
        `update feed set (${feedColumns}) = (select ${feedColumns} from pg_temp.kept_feed) where organisation_id = $1`,
        [this.#organisationId],
      );
      await beginFeedAgain(this.#connection, this.#organisationId, drawState(this.#random), went);
    });
    return true;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}
