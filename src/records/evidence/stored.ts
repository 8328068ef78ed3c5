import { LRUCache } from 'lru-cache';
import { arrayLiteral, uuidArray } from '../../platform/db/arrays.ts';
import { batcher } from '../../platform/db/batcher.ts';
import { type Database, statement } from '../../platform/db/database.ts';

/** The most bytes of PDFs that a process caches. */
const maxBytes = 32 * 1024 * 1024;
/** The most reports that one statement reads, because the response contains every PDF that is not cached. */
const maxAtOnce = 32;

// The driver receives bytes as text, and base64 is shorter than hexadecimal.
const current = statement('evidence.current')`
  select g.n::int4 as n, a.report_sha256 as sha256, case when g.held is distinct from a.report_sha256 then (
           select encode(e.pdf, 'base64') from evidence e
            where e.organisation_id = a.organisation_id and e.assessment_id = a.assessment_id and e.sha256 = a.report_sha256 limit 1) end as pdf
    from unnest($1::int8[], $2::uuid[], $3::text[]) with ordinality as g(organisation_id, assessment_id, held, n)
    join assessment a on a.organisation_id = g.organisation_id and a.assessment_id = g.assessment_id
   where a.report_sha256 is not null`;

/** The renderer's version of an edition whose file was deleted because it contained data that must not be stored. */
export const redactedRenderer = 'redacted';

type Key = { organisationId: number; assessmentId: string };

export type Report = { pdf: Buffer; sha256: string };

/**
 * Reads a result's current report; null if the result is not live or has no report yet. Each read asks the database,
 * which sends the PDF only if it is not cached.
 */
type ReadStored = (organisationId: number, assessmentId: string) => Promise<Report | null>;

const opened = new WeakMap<Database, ReadStored>();

export function storedReports(db: Database): ReadStored {
  const read = opened.get(db) ?? openReports(db);
  opened.set(db, read);
  return read;
}

function openReports(db: Database): ReadStored {
  const connection = db.dedicated();
  const cache = new LRUCache<string, Report>({ maxSize: maxBytes, sizeCalculation: ({ pdf }) => pdf.length });
  const keyOf = ({ organisationId, assessmentId }: Key) => `${organisationId} ${assessmentId}`;
  const read = batcher<Key, Report | 'lost' | null>(
    async (calls) => {
      const held = calls.map((call) => cache.get(keyOf(call)));
      const rows = await connection.query<{ n: number; sha256: string; pdf: string | null }>(current, [
        arrayLiteral(calls.map((call) => call.organisationId)),
        uuidArray(calls.map((call) => call.assessmentId)),
        arrayLiteral(held.map((report) => report?.sha256 ?? null)),
      ]);
      const out = new Array<Report | 'lost' | null>(calls.length).fill(null);
      for (const { n, sha256, pdf } of rows) {
        const cached = held[n - 1];
        const report = pdf !== null ? { sha256, pdf: Buffer.from(pdf, 'base64') } : cached;
        out[n - 1] = report?.sha256 === sha256 ? report : 'lost';
        if (report?.sha256 === sha256) cache.set(keyOf(calls[n - 1]!), report);
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
