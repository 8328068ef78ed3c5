import assert from 'node:assert/strict';
import type { Database } from '../../../src/platform/db/database.ts';
import { statement } from '../../../src/platform/db/database.ts';

const recent = statement('laws.recent_positions')`
  select assessment_id::text as id, position from assessment_feed where organisation_id = $1 and position >= $2
  union all select learner_id::text, position from learner_feed where organisation_id = $1 and position >= $2
  union all select group_id::text, position from learner_group where organisation_id = $1 and position >= $2`;

/** Law 3: looks at an organisation's feed again and again; nothing may become visible below what was visible before. */
export class PositionWatch {
  looks = 0;
  #db: Database;
  #organisationId: number;
  #lookBackUs: number;
  #greatest = 0;
  #known = new Map<string, number>();

  /** @param lookBackUs how far behind the greatest position a look reads: all, or less to look more often */
  constructor(db: Database, organisationId: number, lookBackUs = Number.MAX_SAFE_INTEGER) {
    this.#db = db;
    this.#lookBackUs = lookBackUs;
    this.#organisationId = organisationId;
  }

  async look(): Promise<void> {
    this.looks++;
    const rows = await this.#db.query<{ id: string; position: number }>(recent, [
      this.#organisationId,
      Math.max(0, this.#greatest - this.#lookBackUs),
    ]);
    const before = this.#greatest;
    for (const { id, position } of rows) {
      if (this.#known.get(id) === position) continue;
      this.#known.set(id, position);
      assert.ok(
        this.looks === 1 || position > before,
        `law 3: ${id} became visible below what was visible before (by ${before - position} microseconds)`,
      );
      this.#greatest = Math.max(this.#greatest, position);
    }
  }
}
