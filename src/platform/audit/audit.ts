import { systemClock } from '../time/clock.ts';
import { arrayLiteral, joinedTexts, joinedTextsOf } from '../db/arrays.ts';
import { batcher } from '../db/batcher.ts';
import { type Dedicated, statement, type Tx } from '../db/database.ts';
import { auditBatch, auditTime } from '../observability/metric-definitions.ts';

/** An entry for one answered call or one command. It never contains a reference, a name or an IP address. */
export type AuditEntry = {
  organisationId: number;
  atMs: number;
  requestId: string;
  /** An access key ID, `operator`, `learner` (anyone with a learner's link), or `-`. */
  actor: string;
  /** Method and route, such as `GET /learners/{ref}`, or a command. */
  action: string;
  resource: string | null;
  status: number | null;
  /** The request and the response, as JSON (log.ts, Recorded). */
  detail?: string | null;
  /** Keyed hash of a refused client's IP address. */
  address?: Buffer | null;
};

const insert = statement('audit.insert')`
  insert into audit (organisation_id, at, request_id, actor, action, resource, status, detail, address)
  select organisation_id, to_timestamp(ms / 1000.0::float8), request_id, coalesce(actor, ''), coalesce(action, ''), resource, status, detail,
         decode(address, 'hex')
    from unnest($1::int8[], $2::int8[], ${joinedTextsOf('$3')}::uuid[], ${joinedTextsOf('$4')}, ${joinedTextsOf('$5')},
                ${joinedTextsOf('$6', 'emptyAsNull')}, $7::int2[], ${joinedTextsOf('$8', 'emptyAsNull')},
                ${joinedTextsOf('$9', 'emptyAsNull')})
      as e(organisation_id, ms, request_id, actor, action, resource, status, detail, address)`;

function values(entries: AuditEntry[]) {
  const joined = (text: (entry: AuditEntry) => string) => joinedTexts(entries.map(text));
  const numbers = (number: (entry: AuditEntry) => number | null) => arrayLiteral(entries.map(number));
  return [
    numbers((e) => e.organisationId),
    numbers((e) => e.atMs),
    joined((e) => e.requestId),
    joined((e) => e.actor),
    joined((e) => e.action),
    joined((e) => e.resource ?? ''),
    numbers((e) => e.status),
    joined((e) => e.detail ?? ''),
    joined((e) => e.address?.toString('hex') ?? ''),
  ];
}

/** Writes an entry and resolves after the commit. If a response waits for this, its entry can't be lost (law 5). */
export type Audit = (entry: AuditEntry) => Promise<void>;

export function auditor(connection: Dedicated): Audit {
  return batcher<AuditEntry, void>(async (entries) => {
    const sentMs = systemClock.monotonicMs();
    await connection.query(insert, values(entries));
    auditBatch.observe(entries.length);
    auditTime.observe((systemClock.monotonicMs() - sentMs) / 1000);
    return new Array<void>(entries.length).fill(undefined);
  }, 1000);
}

/** Writes entries in the transaction of the change that they record, so both are stored or neither. */
export async function auditInside(tx: Tx, ...entries: AuditEntry[]): Promise<void> {
  await tx.query(insert, values(entries));
}
