import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { shapeAt } from '../db/shape.ts';
import type { FeedPage, FeedRow } from './walk.ts';

/** How a page's rows travel: what wraps a stream of narrow rows, and what reads the answer. */

/** A statement for one page, with its values. `sort`: its rows come in no order, mostly in this one. */
export type Plan = {
  sql: string;
  name: string;
  values: unknown[];
  sort?: (one: FeedRow, other: FeedRow) => number;
};

/** Between the parts of a row: a control character, which JSON never holds unescaped. */
const between = '\u001f';

const texts = 'select a.report_sha256, a.learner, a.body from assessment a where a.organisation_id = $1';

/** A stream of narrow rows as a page: in this order, and so many. */
const pageOf = (stream: string, order: string, limit: string) =>
  `(select * from (${stream}) s order by ${order} limit ${limit}) c`;

/** One text of a row's parts, those of `v`, the feed's row, and what `text` says of a column with texts. */
const joined = (text: (column: string) => string) => `
    select concat_ws('${between}', c.assessment_id, c.group_set_id, c.learner_id,
             case when c.exit then 'x' when c.deleted then 't' else 'f' end, ${shapeAt('c.position')}, c.position, c.assessed_at,
             v.groups_version, coalesce(${text('report_sha256')}, ''), ${text('learner')}, ${text('body')})`;

/**
 * Wraps a stream of narrow rows: the page's limit, the bodies, and the groups' version in the same snapshot. A row
 * travels as one text, which costs driver and database a third less than ten columns; a tombstone's
 * and an exit's lack the last two parts. Texts are found by where the result stood first: those of neighbours lie beside
 * one another, and by id each would lie anywhere (docs/decisions/0002). Exits have none. "offset 0" keeps the planner from
 * reading every body and joining them to the page.
 */
export function wrap(stream: string, order: string, limit: string): string {
  return `${joined((column) => `a.${column}`)}
      from ${pageOf(stream, order, limit)}
      join feed v on v.organisation_id = $1
      left join lateral (${texts} and a.first_position = c.first_position offset 0) a on true
     order by ${order.replaceAll('s.', 'c.')}`;
}

/**
 * The same for a page of every record by position: texts of results that stand where they stood first are read along with the
 * rows, in the same order, and only those of results that have moved are looked up (docs/decisions/0002). Results that have
 * moved on leave their texts behind, so an eighth more is read than the page has rows, and no more. Only a full join is never
 * made by comparing each with each, however few rows the planner counts on; nothing but `coalesce` keeps it from seeing
 * that a left join would do. It promises no order, which is left to whoever reads them: sorted with their texts, 500 rows take the
 * database as long as looking half of them up.
 * @param begins the value that is bound to where the page begins
 */
export function wrapEvery(stream: string, begins: string, descending: boolean, limit: string): string {
  const way = descending ? ' desc' : '';
  return `${joined((column) => `coalesce(n.${column}, a.${column})`)}
      from ${pageOf(stream, `s.position${way}`, limit)}
      full join (
        select n.first_position, n.report_sha256, n.learner, n.body from assessment n
         where n.organisation_id = $1 and n.first_position ${descending ? '<=' : '>='} ${begins}
         order by n.first_position${way} limit ${limit} + ${limit} / 8) n on n.first_position = c.position
      join feed v on v.organisation_id = $1
      left join lateral (${texts} and a.first_position = c.first_position and n.first_position is null offset 0) a on true
     where coalesce(c.position, -1) >= 0`;
}

/** Where the parts of fixed length begin in a row's text. */
const groupSetAt = 37,
  learnerAt = 74,
  deletedAt = 111,
  shownAs = 113;

/** Which part is the groups' version: the same in all rows of a page. */
const versionPart = 7;

/** Reads what `wrap` joined. */
function readRow(text: string): FeedRow {
  const position = text.indexOf(between, shownAs) + 1;
  const assessedAt = text.indexOf(between, position) + 1;
  const version = text.indexOf(between, assessedAt) + 1;
  const sha256 = text.indexOf(between, version) + 1;
  const learner = text.indexOf(between, sha256) + 1;
  const body = text.indexOf(between, learner) + 1;
  const live = learner > 0;
  return {
    assessment_id: text.slice(0, groupSetAt - 1),
    group_set_id: text.slice(groupSetAt, learnerAt - 1),
    deleted: text[deletedAt] === 't',
    exit: text[deletedAt] === 'x',
    learner_id: text.slice(learnerAt, deletedAt - 1),
    shape: Number(text.slice(shownAs, position - 1)),
    position: Number(text.slice(position, assessedAt - 1)),
    assessed_at: Number(text.slice(assessedAt, version - 1)),
    report_sha256: live && learner - 1 > sha256 ? text.slice(sha256, learner - 1) : null,
    learner: live ? text.slice(learner, body - 1) : null,
    body: live ? text.slice(body) : null,
  };
}

export async function runPlan(tx: Tx, { name, sql, values, sort }: Plan): Promise<FeedPage> {
  const texts = await tx.query<[string]>({ ...statement(name, sql), arrays: true }, values);
  const rows = texts.map(([text]) => readRow(text));
  const groupsVersion = rows.length === 0 ? 0 : Number(texts[0]![0].split(between, versionPart + 1)[versionPart]);
  if (sort !== undefined) rows.sort(sort);
  return { rows, groupsVersion };
}
