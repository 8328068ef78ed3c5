import { batcher } from '../db/batcher.ts';
import type { Database } from '../db/database.ts';
import { statement } from '../db/database.ts';

/** Bytes of PDFs that a process keeps at hand. What a hash stands for never changes, so they can't go stale. */
const keptBytes = 32 * 1024 * 1024;

const currentHashes = statement('evidence.current_hashes', `
  select g.n::int4 as n, a.report_sha256 as sha256
    from unnest($1::int8[], $2::uuid[]) with ordinality as g(organisation_id, assessment_id, n)
    join assessment a on a.organisation_id = g.organisation_id and a.assessment_id = g.assessment_id
   where a.report_sha256 is not null`);
// The driver takes bytes as text only, and base64 is shorter than its hexadecimal: less to send, copy and decode.
const bytes = statement('evidence.bytes', `
  select encode(pdf, 'base64') as pdf from evidence where organisation_id = $1 and assessment_id = $2 and sha256 = $3 limit 1`);

type Asked = { organisationId: number; assessmentId: string };

/** The stored editions of one database. */
export type StoredReports = {
  /** Hash of the current edition, always asked of the database; null without a live result or before its first report. */
  currentHash(organisationId: number, assessmentId: string): Promise<string | null>;
  /** The bytes behind a hash that `currentHash` gave; undefined when they have been deleted meanwhile. */
  bytesOf(organisationId: number, assessmentId: string, sha256: string): Promise<Buffer | undefined>;
};

const opened = new WeakMap<Database, StoredReports>();

export function storedReports(db: Database): StoredReports {
  let reports = opened.get(db);
  if (reports === undefined) {
    reports = openReports(db);
    opened.set(db, reports);
  }
  return reports;
}

function openReports(db: Database): StoredReports {
  const connection = db.dedicated();
  const current = batcher<Asked, string | null>(async (calls) => {
    const rows = await connection.query<{ n: number; sha256: string }>(currentHashes, [calls.map((call) => call.organisationId), calls.map((call) => call.assessmentId)]);
    const out = new Array<string | null>(calls.length).fill(null);
    for (const { n, sha256 } of rows) out[n - 1] = sha256;
    return out;
  }, 512);
  /** In the order of use, the least recent first. */
  const kept = new Map<string, Buffer>();
  let size = 0;
  const underWay = new Map<string, Promise<Buffer | undefined>>();

  async function fetch(organisationId: number, assessmentId: string, sha256: string): Promise<Buffer | undefined> {
    const [row] = await db.query<{ pdf: string }>(bytes, [organisationId, assessmentId, sha256]);
    if (row === undefined) return undefined;
    const pdf = Buffer.from(row.pdf, 'base64');
    if (kept.has(sha256)) return pdf;
    kept.set(sha256, pdf);
    size += pdf.length;
    for (const [oldest, { length }] of kept) {
      if (size <= keptBytes) break;
      kept.delete(oldest);
      size -= length;
    }
    return pdf;
  }
  return {
    currentHash: (organisationId, assessmentId) => current({ organisationId, assessmentId }),
    async bytesOf(organisationId, assessmentId, sha256) {
      const found = kept.get(sha256);
      if (found !== undefined) {
        kept.delete(sha256);
        kept.set(sha256, found);
        return found;
      }
      // The organisation is part of the key: what it may read is asked for in its own name.
      const key = `${organisationId} ${assessmentId} ${sha256}`;
      let reading = underWay.get(key);
      if (reading === undefined) {
        reading = fetch(organisationId, assessmentId, sha256).finally(() => underWay.delete(key));
        underWay.set(key, reading);
      }
      return reading;
    },
  };
}
