import { LRUCache } from 'lru-cache';
import { arrayLiteral, uuidArray } from '../../platform/db/arrays.ts';
import { batcher } from '../../platform/db/batcher.ts';
import type { Database } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';

/** Bytes of PDFs that a process keeps at hand. */
const keptBytes = 32 * 1024 * 1024;
/** Reports in one statement: what isn't at hand comes with its bytes, so this bounds how much comes at once. */
const maxAtOnce = 32;

// The driver takes bytes as text only, and base64 is shorter than its hexadecimal: less to send, copy and decode.
const current = statement(
  'evidence.current',
  `
  select g.n::int4 as n, a.report_sha256 as sha256, case when g.held is distinct from a.report_sha256 then (
           select encode(e.pdf, 'base64') from evidence e
            where e.organisation_id = a.organisation_id and e.assessment_id = a.assessment_id and e.sha256 = a.report_sha256 limit 1) end as pdf
    from unnest($1::int8[], $2::uuid[], $3::text[]) with ordinality as g(organisation_id, assessment_id, held, n)
    join assessment a on a.organisation_id = g.organisation_id and a.assessment_id = g.assessment_id
   where a.report_sha256 is not null`,
);

/**
 * What stands in the place of the renderer's version once an edition's file is gone, because it held what must not be
 * stored.
 */
export const redactedRenderer = 'redacted';

type Asked = { organisationId: number; assessmentId: string };

/** A PDF with the hash of its bytes. */
export type Report = { pdf: Buffer; sha256: string };

/** The current edition, always asked of the database; null without a live result or before its first report. */
export type ReadStored = (organisationId: number, assessmentId: string) => Promise<Report | null>;

const opened = new WeakMap<Database, ReadStored>();

/** The stored editions of one database. */
export function storedReports(db: Database): ReadStored {
  let read = opened.get(db);
  if (read === undefined) {
    read = openReports(db);
    opened.set(db, read);
  }
  return read;
}

function openReports(db: Database): ReadStored {
  const connection = db.dedicated();
  /** What was read last of each result. */
  const kept = new LRUCache<string, Report>({ maxSize: keptBytes, sizeCalculation: ({ pdf }) => pdf.length });
  const keyOf = ({ organisationId, assessmentId }: Asked) => `${organisationId} ${assessmentId}`;
  const read = batcher<Asked, Report | 'lost' | null>(
    async (calls) => {
      const held = calls.map((call) => kept.get(keyOf(call)));
      const rows = await connection.query<{ n: number; sha256: string; pdf: string | null }>(current, [
        arrayLiteral(calls.map((call) => call.organisationId)),
        uuidArray(calls.map((call) => call.assessmentId)),
        arrayLiteral(held.map((report) => report?.sha256 ?? null)),
      ]);
      const out = new Array<Report | 'lost' | null>(calls.length).fill(null);
      for (const { n, sha256, pdf } of rows) {
        const before = held[n - 1];
        if (pdf === null && before?.sha256 !== sha256) {
          out[n - 1] = 'lost';
          continue;
        }
        const report = pdf === null ? before! : { sha256, pdf: Buffer.from(pdf, 'base64') };
        kept.set(keyOf(calls[n - 1]!), report);
        out[n - 1] = report;
      }
      return out;
    },
    maxAtOnce,
    2,
  );
  return async (organisationId, assessmentId) => {
    const report = await read({ organisationId, assessmentId });
    if (report === 'lost') throw new Error(`the report of ${assessmentId} is named but not stored`);
    return report;
  };
}
