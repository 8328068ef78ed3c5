import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { Work } from '../db/work.ts';
import { lockFeed } from '../feed/position.ts';

/**
 * The queue of reviews of what a release from before it recorded, amended or withdrew while this one had begun: the
 * migration saw what stood at its time, and the positions tell what has changed since.
 */

const unfilled = statement(
  'review.unfilled',
  'select organisation_id from review_fill where organisation_id <> all($1) order by organisation_id limit 1',
);
const fill = statement(
  'review.fill',
  `
  with slice as materialized (
    select f.position, f.assessment_id, f.learner_id, f.deleted, a.body, a.source
      from assessment_feed f
      join assessment a on a.organisation_id = f.organisation_id and a.assessment_id = f.assessment_id
     where f.organisation_id = $1 and f.position > (select b.position from review_fill b where b.organisation_id = $1)
     order by f.position limit $2),
  found as (
    select p.*, array_remove(array[
             case when p.body like '%"needs_review":true%' then 'needs_review' end,
             case when s.result like '%"person_fit"%' then 'person_fit' end,
             case when p.body like '%"is_borderline":true%' then 'borderline' end], null) as flags
      from slice p left join sitting s on s.organisation_id = $1 and s.assessment_id = p.assessment_id and p.source = 'sitting'),
  opened as (
    insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags)
    select $1, f.assessment_id, 1, f.learner_id, substring(f.body from '"subject":"(\\w+)"'), $3, f.flags
      from found f
     where f.flags <> '{}' and not exists (
       select from review r where r.organisation_id = $1 and r.assessment_id = f.assessment_id)),
  closed as (
    update review r set outcome = 'withdrawn', decided_at = $3, decided_by = 'service'
      from slice p where r.organisation_id = $1 and r.assessment_id = p.assessment_id and r.decided_at is null and p.deleted),
  moved as (
    update review_fill b set position = m.position from (select max(position) as position from slice) m
     where b.organisation_id = $1 and m.position is not null)
  select count(*) as count from slice`,
);
const filled = statement('review.filled', 'delete from review_fill where organisation_id = $1');

/** An organisation whose queue may lack something, other than these. */
export async function findUnfilledReviews(tx: Tx, others: readonly number[] = []): Promise<number | null> {
  return (await tx.query<{ organisation_id: number }>(unfilled, [others]))[0]?.organisation_id ?? null;
}

/** Looks at the next results that have changed since. @returns whether more are left */
export async function fillReviews(work: Work, organisationId: number, most: number): Promise<boolean> {
  await lockFeed(work, organisationId);
  const [row] = await work.tx.query<{ count: number }>(fill, [organisationId, most, new Date(work.nowMs)]);
  if (row!.count === most) return true;
  await work.tx.query(filled, [organisationId]);
  return false;
}
