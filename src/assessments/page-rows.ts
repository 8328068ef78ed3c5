import type { ByteRow } from '../db/byte-rows.ts';
import { asBytes, byteRows } from '../db/byte-rows.ts';
import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { shapeAt } from '../db/shape.ts';
import type { FeedPage, FeedRow } from './walk.ts';

/** How a page's rows travel: what wraps a stream of narrow rows, and what reads the answer. */

/** A statement for one page, with its values. */
export type Plan = { sql: string; name: string; values: unknown[] };

const texts = 'select a.report_sha256, a.learner, a.body from assessment a where a.organisation_id = $1';

/**
 * Wraps a stream of narrow rows: the page's limit, the bodies, and the groups' version in the same snapshot. The bytes of
 * texts are sent on as they come (docs/decisions/0176). Texts are found by where the result stood first: those of neighbours lie
 * beside one another, and by id each would lie anywhere (docs/decisions/0169). Exits, and what was stored before there were
 * first positions, have none. "offset 0" keeps the planner from reading every body and joining them to the page.
 */
export function wrap(stream: string, order: string, limit: string): string {
  return `
    select case when c.exit then 'x' when c.deleted then 't' else 'f' end as ${asBytes}, c.assessment_id, c.group_set_id, c.learner_id,
           ${shapeAt('c.position')}, c.position, c.assessed_at, v.groups_version, a.report_sha256, a.learner, a.body
      from (select * from (${stream}) s order by ${order} limit ${limit}) c
      join feed v on v.organisation_id = $1
      left join lateral (
        ${texts} and a.first_position = c.first_position
        union all ${texts} and a.assessment_id = c.assessment_id and c.first_position is null and not c.exit offset 0) a on true
     order by ${order.replaceAll('s.', 'c.')}`;
}

/** Reads a row of what `wrap` selects; none of its columns but the last three is ever null. */
function readRow(row: ByteRow): FeedRow {
  const [kind, assessment_id, group_set_id, learner_id, shape, position, assessed_at, , report_sha256, learner, body] =
    row as string[];
  return {
    assessment_id: assessment_id!,
    group_set_id: group_set_id!,
    deleted: kind === 't',
    exit: kind === 'x',
    learner_id: learner_id!,
    shape: Number(shape),
    position: Number(position),
    assessed_at: Number(assessed_at),
    report_sha256: report_sha256!,
    learner: learner!,
    body: body!,
  };
}
const groupsVersion = 7;

export async function runPlan(tx: Tx, { name, sql, values }: Plan): Promise<FeedPage> {
  const rows = byteRows(await tx.query<[ByteRow[]]>({ ...statement(name, sql), arrays: true }, values));
  return { rows: rows.map(readRow), groupsVersion: Number(rows[0]?.[groupsVersion] ?? 0) };
}
