import { parseInline, plainText } from '../../engine/item-bank/markup.ts';
import { isClose } from '../../engine/scoring/probabilities.ts';
import type { Row } from '../../platform/db/database.ts';
import { type Content, html, type Markup } from '../../platform/html/html.ts';
import { isJsonObject } from '../../platform/formats/json.ts';
import { learnerTables } from './tables.ts';

type Summary = {
  organisation: { name: string; contact: string | null; time_zone: string };
  held: Record<string, Row[]>;
  made: Date;
  files: number;
};

const section = (title: string, rows: readonly Content[]): Markup | null =>
  rows.length === 0 ? null : html`<h2>${title}</h2><ul>${rows.map((row) => html`<li>${row}</li>`)}</ul>`;

const text = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

/** The answer in the words that the learner saw, if the words are known. */
function answerOf({ answer, rendered }: Row): string {
  if (answer === null || answer === undefined) return 'No answer is stored';
  const words = new Map<string, string>();
  const gather = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(gather);
    else if (isJsonObject(value)) {
      const said = value.text ?? value.label;
      if (typeof value.id === 'string' && typeof said === 'string') words.set(value.id, plain(said));
      Object.values(value).forEach(gather);
    }
  };
  gather(rendered);
  const say = (value: unknown): string =>
    Array.isArray(value)
      ? value.map(say).join(', ')
      : isJsonObject(value)
        ? Object.values(value).map(say).join(', ')
        : (words.get(text(value)) ?? text(value));
  return say(answer);
}

const plain = (markup: string): string => plainText(parseInline(markup));

const outcomes: Record<string, string> = {
  right: 'right',
  wrong: 'wrong',
  skipped: 'not answered',
  not_reached: 'not reached, not counted',
};

function question(row: Row): Content {
  const rendered = isJsonObject(row.rendered) ? row.rendered : {};
  const stem = Array.isArray(rendered.stem)
    ? rendered.stem.map((one) => plain(text(one))).join(' ')
    : text(row.item_id);
  const seconds = typeof row.working_ms === 'number' ? `, ${Math.round(row.working_ms / 1000)} seconds` : '';
  return html`${stem} <strong>${answerOf(row)}</strong> (${outcomes[text(row.outcome)] ?? 'open'}${seconds})`;
}

function result(row: Row): Content {
  const body = isJsonObject(row.body) ? row.body : {};
  const shares = Object.entries(isJsonObject(body.level_probabilities) ? body.level_probabilities : {});
  const likely = shares.map(([level, share]) => `${level} ${Math.round(Number(share) * 100)} %`);
  const marks = [
    isClose(shares.map(([, share]) => Number(share))) ? 'close to the line between two levels' : '',
    body.needs_review === true ? 'marked for human review' : '',
  ].filter((one) => one !== '');
  return html`${text(body.subject)}, ${day(row.assessed_at)}: <strong>${text(body.working_level ?? body.rqf_level) || 'not placed'}</strong>${likely.length === 0 ? null : html`; probability of each level: ${likely.join(', ')}`}${marks.length === 0 ? null : html`; ${marks.join(', ')}`}. Number ${text(row.assessment_id)}.`;
}

const day = (value: unknown): string => text(value).slice(0, 10);
const minute = (value: unknown): string => text(value).slice(0, 16).replace('T', ' at ');

function sitting(row: Row, items: readonly Row[]): Markup {
  return html`<h3>${text(row.subject)}, begun on ${minute(row.started_at)}</h3><p>${
    row.status === 'completed' ? 'Finished' : row.status === 'void' ? 'Ended without a result' : 'In progress'
  }; ${Math.round(Number(row.used_ms) / 60_000)} minutes of working time.</p><ol>${items.map((one) => html`<li>${question(one)}</li>`)}</ol>`;
}

/** The page can be read offline and printed. Times are in UTC, as in the other files of the export. */
export function summaryPage({ organisation, held, made, files }: Summary): string {
  const rows = (table: string): Row[] => held[table] ?? [];
  const learner = rows('learner').find((row) => row.merged_into === null);
  const groups = new Map(rows('learner_group').map((row) => [row.group_id, row]));
  const items = Map.groupBy(rows('sitting_item'), (row) => text(row.sitting_id));
  const parts = Object.entries(learnerTables).filter(([table]) => rows(table).length > 0);
  const page = html`<html lang="en-GB"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>Your personal data</title><style>body{font-family:sans-serif;line-height:1.5;max-width:45rem;margin:2rem auto;padding:0 1rem}li{margin:.3rem 0}</style></head><body><main><h1>Your personal data</h1>
<p>${organisation.name} uses an assessment service. This file contains all data that the service held about ${text(learner?.full_name)} on ${minute(made.toISOString())} (all times are UTC). ${organisation.contact === null ? `Questions go to ${organisation.name}.` : `Questions go to ${organisation.name}: ${organisation.contact}`}</p>
<p>You may ask ${organisation.name} to correct wrong data, or to erase data that is no longer needed. You may also object to the use of your data. If you are not satisfied, complain to ${organisation.name}, which confirms your complaint within 30 days. You can also complain to the Information Commissioner, at ico.org.uk.</p>
<p>The service computes a level from your answers by rules and statistics. You may ask for a person to review it, and say what the person should know.</p>
${section('Your details', [
  html`Name: ${text(learner?.full_name)}`,
  html`Reference: ${text(learner?.ref) || 'none'}`,
  html`Email address: ${text(learner?.email) || 'none'}`,
  html`Stored since ${day(learner?.created_at)}`,
])}${section(
    'Groups',
    rows('membership').map((row) => {
      const group = groups.get(row.group_id);
      return html`${text(group?.name)} (${text(group?.type)}), from ${day(row.joined_position)}${row.left_position === null ? ' until today' : html` until ${day(row.left_position)}`}`;
    }),
  )}${section(
    'Invitations',
    rows('invitation').map(
      (row) =>
        html`${day(row.created_at)}: ${(row.subjects as string[]).join(', ')}; ${text(row.status)}, could be used until ${day(row.expires_at)}; extra time ${text(row.extra_time_pct)} %; ${text(row.supervision)}`,
    ),
  )}${section(
    'Results',
    rows('assessment')
      .filter((row) => row.body !== null)
      .map(result),
  )}${section(
    'Changes and their reasons',
    [...rows('learner_change'), ...rows('assessment_change')].map(
      (row) =>
        html`${minute(row.at)}: ${row.field === 'email' ? 'email address changed' : text(row.kind)}; ${text(row.reason) || 'no reason recorded'}`,
    ),
  )}${
    rows('sitting').length === 0
      ? null
      : html`<h2>Your sittings, question by question</h2>${rows('sitting').map((row) => sitting(row, items.get(text(row.sitting_id)) ?? []))}`
  }<h2>The files</h2><p>${files === 0 ? 'There are no evidence packs.' : html`The folder <code>evidence</code> contains ${files} evidence ${files === 1 ? 'pack' : 'packs'} (PDF).`} The folder <code>data</code> contains all data as JSON, a format that other services read:</p><ul>${parts.map(([table, { says }]) => html`<li><code>${table}.json</code>: ${says}</li>`)}</ul></main></body></html>`;
  return `<!doctype html>\n${page.text}\n`;
}
