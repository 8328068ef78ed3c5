import { hash } from 'node:crypto';
import type { App } from '../../platform/app.ts';
import { statement } from '../../platform/db/database.ts';
import { sha256Pattern } from '../../platform/validation/fields.ts';
import { type EvidenceInput, buildDocument } from './document.ts';
import { renderPdf, rendererVersion } from './pdf/pdf.ts';
import { redactedRenderer } from './stored.ts';

// Two organisations may have the same result and therefore the same file. The file is current if one of them has it as
// its current edition.
const byHash = statement('evidence.by_hash')`
  select e.organisation_id, e.assessment_id, e.edition, e.input, e.renderer, e.created_at, e.withdrawn_at,
         e.withdrawn_at is null and a.report_sha256 is not distinct from e.sha256 as current, o.sandbox
    from evidence e join organisation o on o.organisation_id = e.organisation_id left join assessment a on a.organisation_id = e.organisation_id and a.assessment_id = e.assessment_id
   where e.sha256 = $1 order by o.sandbox, current desc, e.withdrawn_at desc nulls first, e.created_at limit 1`;
const bytesByHash = statement('evidence.bytes_by_hash')`
  select pdf from evidence where organisation_id = $1 and sha256 = $2 and pdf is not null limit 1`;

type Found = {
  organisation_id: number;
  assessment_id: string;
  edition: number;
  input: string | null;
  renderer: string;
  created_at: Date;
  withdrawn_at: Date | null;
  current: boolean;
  sandbox: boolean;
};

/** What the service says about a file with a given hash. The answer names no person. */
export type Vouching = {
  /**
   * `current`: the newest edition of a live result. `superseded`: a later edition exists or will be made. `withdrawn`:
   * the result was withdrawn. `test`: made in a sandbox. `unknown`: not a file of this service.
   */
  verdict: 'current' | 'superseded' | 'withdrawn' | 'test' | 'unknown';
  edition: number | null;
  made_at: string | null;
  withdrawn_at: string | null;
};

export const isSha256 = (text: string): boolean => new RegExp(sha256Pattern).test(text);

function vouching(row: Found | undefined): Vouching {
  if (row === undefined) return { verdict: 'unknown', edition: null, made_at: null, withdrawn_at: null };
  return {
    verdict: row.sandbox ? 'test' : row.current ? 'current' : row.withdrawn_at === null ? 'superseded' : 'withdrawn',
    edition: row.edition,
    made_at: row.created_at.toISOString(),
    withdrawn_at: row.withdrawn_at?.toISOString() ?? null,
  };
}

/** Looks up the file with this SHA-256 in lower-case hexadecimal. */
export async function vouch(app: App, sha256: string): Promise<Vouching> {
  return vouching((await app.db.query<Found>(byHash, [sha256]))[0]);
}

export type Inspection = Vouching & {
  holder: { organisationId: number; assessmentId: string } | null;
  /** Whether the renderer still makes the same bytes. Null if the input is unreadable or the file was deleted. */
  reproducible: boolean | null;
  sameRenderer: boolean | null;
  /** Whether the file was deleted because it held data that must not be stored. */
  redacted: boolean;
};

export async function inspect(app: App, sha256: string): Promise<Inspection> {
  const [row] = await app.db.query<Found>(byHash, [sha256]);
  if (row === undefined)
    return { ...vouching(row), holder: null, reproducible: null, sameRenderer: null, redacted: false };
  const redacted = row.renderer === redactedRenderer;
  return {
    ...vouching(row),
    holder: { organisationId: row.organisation_id, assessmentId: row.assessment_id },
    reproducible: row.input === null || redacted ? null : rendersTo(row.input, sha256),
    sameRenderer: row.renderer === rendererVersion,
    redacted,
  };
}

function rendersTo(input: string, sha256: string): boolean | null {
  try {
    return hash('sha256', renderPdf(buildDocument(JSON.parse(input) as EvidenceInput)), 'hex') === sha256;
  } catch {
    return null;
  }
}

export async function editionBytes(app: App, organisationId: number, sha256: string): Promise<Buffer | undefined> {
  return (await app.db.query<{ pdf: Buffer }>(bytesByHash, [organisationId, sha256]))[0]?.pdf;
}
