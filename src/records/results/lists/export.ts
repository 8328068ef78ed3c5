import { PassThrough } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import type { App } from '../../../platform/app.ts';
import type { Database, Tx } from '../../../platform/db/database.ts';
import { renderSets } from '../../../feed/group-sets.ts';
import type { Column, Sheet, SheetFormat } from '../../../platform/formats/sheet.ts';
import { sheetBytes } from '../../../platform/formats/sheet.ts';
import { limits } from '../../../platform/config/limits.ts';
import type { BrowsedResult } from './browse.ts';
import { everyResult, exportSort } from './browse.ts';
import type { Look } from './browse-statements.ts';
import { levelInterval, placementOf, probabilityBelow } from './interval.ts';

/**
 * Results as files, exactly as they are filtered on the page, in one snapshot. Rows flow from the database to whoever takes
 * them: nothing is held, and when nobody takes them any more the snapshot ends.
 */

/** A result with the names of its learner's groups. */
export type ExportedResult = BrowsedResult & { groups: string };

/** Milliseconds that the clocks of a zone are ahead of UTC. They change at whole quarters of an hour only. */
export function clockOf(zone: string): (ms: number) => number {
  const quarter = 15 * 60_000;
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeZoneName: 'longOffset' });
  const known = new Map<number, number>();
  return (ms) => {
    const at = Math.floor(ms / quarter);
    let ahead = known.get(at);
    if (ahead === undefined) {
      const text = format.formatToParts(ms).find((part) => part.type === 'timeZoneName')?.value ?? 'GMT';
      const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)/.exec(text) ?? [];
      ahead = sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
      if (known.size > 10_000) known.clear();
      known.set(at, ahead);
    }
    return ahead;
  };
}

const yesNo = (value: boolean | null) => (value === null ? null : value ? 'Yes' : 'No');

/** What a list that funding turns on adds to each result. */
export type FundingColumns = { below: 'Level 1' | 'Level 2'; startUs: number | null };

export function resultColumns(zone: string, funding: FundingColumns | null = null): Column<ExportedResult>[] {
  const clock = clockOf(zone);
  const text = (key: string, head: string, width: number, value: (row: ExportedResult) => string | null) => ({
    key,
    head,
    width,
    kind: 'text' as const,
    value,
  });
  const moment = (
    key: string,
    head: string,
    value: (row: ExportedResult) => number | null,
  ): Column<ExportedResult> => ({
    key,
    head: `${head} (${zone})`,
    width: 18,
    kind: 'moment',
    clock,
    value,
  });
  const interval = ({ content }: ExportedResult) => levelInterval(content.level_probabilities);
  return [
    text('learner', 'Learner', 28, (row) => row.full_name),
    text('reference', 'Reference', 16, (row) => row.ref),
    text('subject', 'Subject', 10, ({ content }) => content.subject),
    text('placement', 'Placement', 26, ({ content }) => placementOf(content)),
    text('rqf_level', 'RQF level', 12, ({ content }) => content.rqf_level),
    {
      key: 'rqf_level_code',
      head: 'RQF level code',
      width: 8,
      kind: 'number',
      value: ({ content }) => content.rqf_level_code,
    },
    text('below_level_1', 'Below Level 1', 8, ({ content }) => yesNo(content.below_level_1)),
    text('likely_from', 'Likely level, lowest', 20, (row) => interval(row)?.low ?? null),
    text('likely_to', 'Likely level, highest', 20, (row) => interval(row)?.high ?? null),
    ...(funding === null
      ? []
      : [
          {
            key: 'probability_below',
            head: `Probability below ${funding.below}`,
            width: 12,
            kind: 'share' as const,
            value: ({ content }: ExportedResult) => probabilityBelow(content.level_probabilities, funding.below),
          },
        ]),
    text('recommended_next_level', 'Recommended next level', 20, ({ content }) => content.recommended_next_level),
    moment('assessed', 'Assessed', ({ content }) => content.assessed_at_us / 1000),
    ...(funding?.startUs == null
      ? []
      : [
          text('after_start', 'Assessed after the programme started', 12, ({ content }) =>
            yesNo(content.assessed_at_us >= funding.startUs!),
          ),
        ]),
    text('borderline', 'Borderline', 8, ({ content }) => yesNo(content.is_borderline)),
    text('needs_review', 'Needs review', 8, ({ content }) => yesNo(content.needs_review)),
    text('source', 'Source', 10, (row) => (row.source === 'sitting' ? 'Sat here' : 'Imported')),
    text('framework', 'Framework', 30, ({ content }) => content.framework),
    text('domains', 'Domains', 50, ({ content }) =>
      content.domains
        .map((one) =>
          [one.name, one.score_pct === null ? null : `${one.score_pct} %`].filter((part) => part !== null).join(' '),
        )
        .join('; '),
    ),
    text('groups', 'Groups', 30, (row) => row.groups),
    moment('changed', 'Last change', (row) => row.position / 1000),
    text('reason', 'Reason of the last amendment', 30, (row) => row.change?.reason ?? null),
    text('evidence_sha256', 'Evidence SHA-256', 20, (row) => row.report_sha256),
    text('assessment_id', 'Result’s id', 38, (row) => row.assessment_id),
  ];
}

/** Adds the names of groups, and lets others have a turn between two pages. */
async function* withGroups(tx: Tx, organisationId: number, pages: AsyncIterable<BrowsedResult[]>) {
  for await (const rows of pages) {
    const sets = await renderSets(tx, organisationId, [...new Set(rows.map((row) => row.group_set_id))]);
    const names = new Map(
      [...sets].map(([id, { json }]) => [
        id,
        (JSON.parse(json) as { name: string }[]).map((one) => one.name).join('; '),
      ]),
    );
    yield rows.map((row): ExportedResult => ({ ...row, groups: names.get(row.group_set_id) ?? '' }));
    await setImmediate();
  }
}

/** Results of a look, for a file. To be read within one snapshot. */
export async function* exportedResults(tx: Tx, look: Look): AsyncGenerator<ExportedResult[]> {
  const sorted = { ...look, ...(await exportSort(tx, look)), after: null, limit: limits.exportPage };
  yield* withGroups(tx, look.organisationId, everyResult(tx, sorted));
}

/** As many files as may be written at once are being written already. */
export class ExportsBusy extends Error {}

const running = new WeakMap<Database, number>();

/**
 * A file out of one snapshot, to be read. When it isn't read to its end, or for too long, the snapshot ends: a transaction that
 * waits for a slow reader keeps the database from tidying up. @throws ExportsBusy
 */
export function sheetFile<Row>(app: App, format: SheetFormat, sheetOf: (tx: Tx) => Sheet<Row>): Readable {
  const { db } = app;
  const others = running.get(db) ?? 0;
  if (others >= limits.exportsAtOnce) throw new ExportsBusy();
  running.set(db, others + 1);
  const out = new PassThrough();
  const tooLong = new AbortController();
  const timer = setTimeout(() => tooLong.abort(), limits.exportMs);
  const { signal } = tooLong;
  void db
    .snapshot((tx) => pipeline(sheetBytes(sheetOf(tx), format), out, { signal }))
    .catch((error: unknown) => out.destroy(error as Error))
    .finally(() => {
      clearTimeout(timer);
      running.set(db, running.get(db)! - 1);
    });
  return out;
}
