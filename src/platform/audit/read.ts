import type { App } from '../app.ts';
import { statement } from '../db/database.ts';
import type { SealedRow } from './line.ts';
import { whole } from './whole.ts';

const page = statement('audit.page')`
  select audit_id, at, request_id, actor, action, resource, status, encode(address, 'hex') as address, detail from audit
   where organisation_id = $1 and audit_id > $2 and ($3::timestamptz is null or at >= $3) and ($4::timestamptz is null or at < $4)
   order by audit_id limit $5`;

/** The organisation's log in order, in bounded memory. */
export const readAudit = (
  app: App,
  organisationId: number,
  from: Date | null,
  to: Date | null,
): AsyncGenerator<SealedRow> => whole(app, organisationId, { from, to }, pagesOf(app, organisationId, from, to));

async function* pagesOf(
  app: App,
  organisationId: number,
  from: Date | null,
  to: Date | null,
): AsyncGenerator<SealedRow> {
  let last = 0;
  for (;;) {
    const rows = await app.db.query<SealedRow>(page, [organisationId, last, from, to, 1000]);
    yield* rows;
    if (rows.length < 1000) return;
    last = rows.at(-1)!.audit_id;
  }
}
