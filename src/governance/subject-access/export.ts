import { Zip, ZipDeflate, ZipPassThrough } from 'fflate';
import type { App } from '../../platform/app.ts';
import { type Row, statement } from '../../platform/db/database.ts';
import { formatPosition } from '../../feed/time.ts';
import { isJsonObject } from '../../platform/formats/json.ts';
import { findPerson } from '../../records/learners/learners.ts';
import { keptReplies, replyFor } from '../erasure/stored-responses.ts';
import { summaryPage } from './summary.ts';
import { learnerTables } from './tables.ts';

/**
 * A learner's data as one ZIP: a page in plain words, a JSON file for each table, and the evidence files. One table or
 * file is in memory at a time.
 */

const reads = Object.entries(learnerTables).map(([table, { whose, order, omits = {} }]) => ({
  table,
  sql: statement(`disclosure.${table}`)`
  select to_jsonb(t) - $3::text[] as row from ${table} t where t.organisation_id = $1 and ${whose} order by ${order}`,
  omits: ['organisation_id', ...Object.keys(omits)],
}));

const files = statement('disclosure.files')`
  select e.assessment_id, e.edition, e.sha256 from evidence e
    join assessment_feed f on f.organisation_id = e.organisation_id and f.assessment_id = e.assessment_id
   where f.organisation_id = $1 and f.learner_id = $2 and e.pdf is not null order by e.assessment_id, e.edition`;
const file = statement('disclosure.file')`
  select encode(pdf, 'base64') as pdf from evidence
   where organisation_id = $1 and assessment_id = $2 and edition = $3 and pdf is not null`;

/** Columns that contain microseconds since 1970. */
const instants = new Set(['assessed_at', 'joined_position', 'left_position', 'named_at', 'position']);

/** Marking keys belong to the item bank. They are not personal data, so the export leaves them out. */
const ofTheBank = new Set(['key', 'rationale', 'distractor_rationales', 'accept']);

function withoutKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutKeys);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !ofTheBank.has(name))
      .map(([name, inner]) => [name, withoutKeys(inner)]),
  );
}

/** Text columns that contain JSON, or the members of a JSON object without its braces. */
const jsonTexts = new Set([
  'assessment.body',
  'assessment.learner',
  'assessment_change.before',
  'audit.detail',
  'event.payload',
  'evidence.input',
  'import_run_row.record',
  'sitting.result',
  'sitting.settings',
  'sitting_item.answer',
  'sitting_item.choice',
  'sitting_item.rendered',
]);

function unfolded(text: string): unknown {
  if (text === '') return text;
  for (const whole of [text, `{${text}}`]) {
    if (!/^[[{]/.test(whole)) continue;
    try {
      return JSON.parse(whole) as unknown;
    } catch {
      continue;
    }
  }
  return text;
}

/** Columns of type timestamptz. PostgreSQL writes their values in the session's time zone. */
export const momentName = /(^|_)(at|since|until)$/;
const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?[+-]\d\d:\d\d$/;

/** A row as the export shows it: times in UTC, parsed JSON, and no marking keys. */
export function shown(table: string, row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      // In sitting_item, `position` is the number of the question and not a time.
      if (typeof value === 'number' && instants.has(column) && table !== 'sitting_item')
        return [column, formatPosition(value)];
      if (typeof value !== 'string') return [column, column === 'rendered' ? withoutKeys(value) : value];
      if (momentName.test(column) && moment.test(value)) return [column, new Date(value).toISOString()];
      if (!jsonTexts.has(`${table}.${column}`)) return [column, value];
      const plain = unfolded(value);
      return [column, column === 'rendered' ? withoutKeys(plain) : plain];
    }),
  );
}

type ExportOf = {
  organisation: { organisation_id: number; name: string; contact: string | null; time_zone: string };
  learnerId: string;
};

export async function* exportLearner(app: App, { organisation, learnerId }: ExportOf): AsyncGenerator<Uint8Array> {
  const { organisation_id: id } = organisation;
  const made = new Date(app.clock.nowMs());
  const ready: Uint8Array[] = [];
  const zip = new Zip((error, chunk) => {
    if (error !== null) throw error;
    ready.push(chunk);
  });
  const add = (name: string, bytes: Uint8Array, packed: boolean) => {
    const part = packed ? new ZipDeflate(name, { level: 6 }) : new ZipPassThrough(name);
    part.mtime = made;
    zip.add(part);
    part.push(bytes, true);
  };
  const addJson = (name: string, value: unknown) =>
    add(`data/${name}.json`, Buffer.from(`${JSON.stringify(value, null, 2)}\n`), true);

  const held: Record<string, Row[]> = {};
  for (const read of reads) {
    const found = await app.db.query<{ row: Row }>(read.sql, [id, learnerId, read.omits]);
    const rows = (held[read.table] = found.map(({ row }) => shown(read.table, row)));
    if (rows.length > 0) addJson(read.table, rows);
    yield* ready.splice(0);
  }
  const learner = held.learner!.find((row) => row.learner_id === learnerId);
  if (learner === undefined) throw new Error('there is no such learner');
  const sought = await findPerson(app.db, id, { learner_id: learnerId, ref: (learner.ref ?? null) as string | null });
  const replies: unknown[] = [];
  for await (const { reply } of keptReplies(app.db, app.secrets, id, sought)) replies.push(replyFor(reply, sought));
  if (replies.length > 0) addJson('kept_replies', replies);
  const evidence = await app.db.query<{ assessment_id: string; edition: number }>(files, [id, learnerId]);
  for (const { assessment_id, edition } of evidence) {
    const [found] = await app.db.query<{ pdf: string }>(file, [id, assessment_id, edition]);
    if (found !== undefined) add(`evidence/${assessment_id}-${edition}.pdf`, Buffer.from(found.pdf, 'base64'), false);
    yield* ready.splice(0);
  }
  add('read-me-first.html', Buffer.from(summaryPage({ organisation, held, made, files: evidence.length })), true);
  // If the learner was erased during the export, the file is incomplete, so the export fails.
  const [still] = await app.db.query(stillThere, [id, learnerId]);
  if (still === undefined) throw new Error('the learner was erased while the export was made');
  zip.end();
  yield* ready.splice(0);
}

const stillThere = statement('disclosure.still_there')`
  select from learner where organisation_id = $1 and learner_id = $2 and full_name <> ''`;
