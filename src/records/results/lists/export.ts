import { type Readable, PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { App } from '../../../platform/app.ts';
import type { Database, Tx } from '../../../platform/db/database.ts';
import { renderSets } from '../../../feed/group-sets.ts';
import { type Column, type Sheet, type SheetFormat, sheetBytes } from '../../../platform/formats/sheet.ts';
import { limits } from '../../../platform/config/limits.ts';
import { type BrowsedResult, everyResult, exportSort } from './browse.ts';
import type { ResultQuery } from './browse-statements.ts';
import { isProvisional, levelInterval, placementOf, probabilityBelow } from './interval.ts';
import { flagsOf } from '../reviews.ts';

/** Streams lists of results as files from one snapshot, so that memory stays small. */

/** `groups`: the names of the learner's groups. */
export type ExportedResult = BrowsedResult & { groups: string };

/**
 * Makes a function that returns the UTC offset of a time zone in milliseconds. Offsets are cached by quarter of an
 * hour, because they change only at full quarters.
 */
export function clockOf(zone: string): (ms: number) => number {
  const quarter = 15 * 60_000;
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeZoneName: 'longOffset' });
  const offsets = new LRUCache<number, number>({
    max: 10_000,
    memoMethod: (at) => {
      const text = format.formatToParts(at * quarter).find((part) => part.type === 'timeZoneName')?.value ?? 'GMT';
      const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)/.exec(text) ?? [];
      return sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
    },
  });
  return (ms) => offsets.memo(Math.floor(ms / quarter));
}

const yesNo = (value: boolean | null) => (value === null ? null : value ? 'Yes' : 'No');

export type FundingColumns = { below: 'Level 1' | 'Level 2'; startUs: number | null };

type Value<T> = (row: ExportedResult) => T | null;

export function resultColumns(zone: string, funding: FundingColumns | null = null): Column<ExportedResult>[] {
  const clock = clockOf(zone);
  const text = (key: string, head: string, width: number, value: Value<string>) =>
    ({ key, head, width, kind: 'text', value }) as const;
  const moment = (key: string, head: string, value: Value<number>) =>
    ({ key, head: `${head} (${zone})`, width: 18, kind: 'moment', clock, value }) as const;
  const interval = ({ content }: ExportedResult) => levelInterval(content.level_probabilities);
  const code: Value<number> = ({ content }) => content.rqf_level_code;
  const columns: (Column<ExportedResult> | null)[] = [
    text('learner', 'Learner', 28, (row) => row.full_name),
    text('reference', 'Reference', 16, (row) => row.ref),
    text('subject', 'Subject', 10, ({ content }) => content.subject),
    text('placement', 'Placement', 26, ({ content }) => placementOf(content)),
    text('rqf_level', 'RQF level', 12, ({ content }) => content.rqf_level),
    { key: 'rqf_level_code', head: 'RQF level code', width: 8, kind: 'number', value: code },
    text('below_level_1', 'Below Level 1', 8, ({ content }) => yesNo(content.below_level_1)),
    text('likely_from', 'Likely level, lowest', 20, (row) => interval(row)?.low ?? null),
    text('likely_to', 'Likely level, highest', 20, (row) => interval(row)?.high ?? null),
    funding && {
      key: 'probability_below',
      head: `Probability below ${funding.below}`,
      width: 12,
      kind: 'share',
      value: ({ content }) => probabilityBelow(content.level_probabilities, funding.below),
    },
    text('recommended_next_level', 'Recommended next level', 20, ({ content }) => content.recommended_next_level),
    moment('assessed', 'Assessed', ({ content }) => content.assessed_at_us / 1000),
    funding?.startUs == null
      ? null
      : text('after_start', 'Assessed after the programme started', 12, ({ content }) =>
          yesNo(content.assessed_at_us >= funding.startUs!),
        ),
    text('provisional', 'Provisional', 8, (row) => yesNo(isProvisional(row))),
    text('close', 'Close to a boundary', 8, ({ content }) => yesNo(flagsOf(content).includes('borderline'))),
    text('borderline', 'is_borderline of the API', 8, ({ content }) => yesNo(content.is_borderline)),
    text('needs_review', 'Needs review', 8, ({ content }) => yesNo(content.needs_review)),
    text('source', 'Source', 10, (row) => (row.source === 'sitting' ? 'Sat here' : 'Imported')),
    text('framework', 'Framework', 30, ({ content }) => content.framework),
    text('domains', 'Domains', 50, ({ content }) =>
      content.domains.map(({ name, score_pct }) => (score_pct === null ? name : `${name} ${score_pct} %`)).join('; '),
    ),
    text('groups', 'Groups', 30, (row) => row.groups),
    moment('changed', 'Last change', (row) => row.position / 1000),
    text('reason', 'Reason of the last amendment', 30, (row) => row.change?.reason ?? null),
    text('evidence_sha256', 'Evidence SHA-256', 20, (row) => row.report_sha256),
    text('assessment_id', 'Result’s id', 38, (row) => row.assessment_id),
  ];
  return columns.filter((column) => column !== null);
}

/** Yields pages of results with the names of the learners' groups. `tx` must be one snapshot. */
export async function* exportedResults(tx: Tx, look: ResultQuery): AsyncGenerator<ExportedResult[]> {
  const sorted = { ...look, ...(await exportSort(tx, look)), after: null, limit: limits.exportPage };
  for await (const rows of everyResult(tx, sorted)) {
    const sets = await renderSets(tx, look.organisationId, [...new Set(rows.map((row) => row.group_set_id))]);
    const namesIn = ({ json }: { json: string }) => (JSON.parse(json) as { name: string }[]).map((one) => one.name);
    const names = new Map([...sets].map(([id, set]) => [id, namesIn(set).join('; ')]));
    yield rows.map((row) => ({ ...row, groups: names.get(row.group_set_id) ?? '' }));
    // A pause between two pages lets other requests have their turn.
    await setImmediate();
  }
}

export class ExportsBusy extends Error {}

const running = new WeakMap<Database, number>();

/**
 * Streams a file from one snapshot. The snapshot ends if the reader stops or takes too long, because a long transaction
 * keeps PostgreSQL from removing old rows.
 * @throws ExportsBusy
 */
export function sheetFile<Row>(app: App, format: SheetFormat, sheetOf: (tx: Tx) => Sheet<Row>): Readable {
  const { db } = app;
  const others = running.get(db) ?? 0;
  if (others >= limits.exportsAtOnce) throw new ExportsBusy();
  running.set(db, others + 1);
  const out = new PassThrough();
  const signal = AbortSignal.timeout(limits.exportMs);
  void db
    .snapshot((tx) => pipeline(sheetBytes(sheetOf(tx), format), out, { signal }))
    .catch((error: unknown) => out.destroy(error as Error))
    .finally(() => running.set(db, running.get(db)! - 1));
  return out;
}
