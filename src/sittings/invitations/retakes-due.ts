import { statement, type Tx } from '../../platform/db/database.ts';
import {
  amongMembers,
  isInEach,
  isVisibleLearner,
  startOfScan,
  type Visibility,
} from '../../organisations/groups/visibility.ts';
import { nilUuid } from '../../platform/crypto/random.ts';
import { subjects } from '../../engine/scoring/levels.ts';

/** Learners who may take a subject again: the time between assessments is over, and they have no open invitation. */

export type RetakeDue = {
  assessment_id: string;
  learner_id: string;
  full_name: string;
  ref: string | null;
  /** The number of a subject and level (src/records/results/facet.ts). */
  facet: number;
  assessed_at: number;
};

export type RetakeToken = { assessedAt: number; assessmentId: string };

/** Days after the end of the gap in which a learner stays in the list. */
export const retakeDays = 90;
/** The most results that a page reads. */
export const maxRetakesRead = 5000;

const latestFirst = 'order by r.assessed_at desc, r.assessment_id desc';
const wanted = '(r.assessed_at, r.assessment_id) < ($3, $4) and r.assessed_at >= $2';
const all = `
  select r.assessment_id, r.learner_id, r.assessed_at, r.facet from assessment r
   where r.organisation_id = $1 and ${wanted} ${latestFirst} limit $6`;
const ofMembers = `
  select r.* from (
    select distinct m.learner_id from membership m
     where m.organisation_id = $1 and m.group_id = any($7::uuid[]) and m.left_position is null) m
    cross join lateral (
      select o.assessment_id, o.learner_id, o.assessed_at, o.facet from assessment_feed o
       where o.organisation_id = $1 and o.learner_id = m.learner_id and not o.deleted offset 0) r
   where ${wanted} and $6::int4 is not null ${latestFirst}`;

// A learner at the highest level (5) needs no other assessment. `offset 0` keeps the checks in the order of the scan.
const due = (name: string, source: string) =>
  statement(name)`
  select r.assessment_id, r.learner_id, l.full_name, l.ref, r.facet, r.assessed_at
    from (select r.* from (${source}) r
           where r.facet & 7 < 5
             and exists (
               select from assessment_feed f where f.organisation_id = $1 and f.learner_id = r.learner_id
                  and f.assessment_id = r.assessment_id and not f.deleted offset 0)
             and not exists (
               select from assessment_feed n where n.organisation_id = $1 and n.learner_id = r.learner_id and not n.deleted
                  and n.facet >> 3 = r.facet >> 3 and (n.assessed_at, n.assessment_id) > (r.assessed_at, r.assessment_id) offset 0)
             and not exists (
               select from invitation i where i.organisation_id = $1 and i.learner_id = r.learner_id and i.status = 'open'
                  and i.expires_at > $10 and ($11::text[])[(r.facet >> 3) + 1] = any(i.subjects) offset 0)
             and ${isVisibleLearner('r.learner_id', '$8')} and ${isInEach('r.learner_id', '$9')}
           ${latestFirst} limit $5) r
    join learner l on l.organisation_id = $1 and l.learner_id = r.learner_id
   ${latestFirst}`;
const dueOfAll = due('invitation.retakes_due', `select * from (${all}) r where $7::uuid[] is null`);
const dueOfGroups = due(
  'invitation.retakes_due_of_groups',
  `select * from (${all}) r where ${amongMembers('r.learner_id', '$7')} offset 0`,
);
const dueOfMembers = due('invitation.retakes_due_of_members', ofMembers);

export async function listRetakesDue(
  tx: Tx,
  organisationId: number,
  options: {
    gapDays: number;
    visibility: Visibility;
    groupIds: readonly string[];
    after: RetakeToken | null;
    limit: number;
    nowMs: number;
  },
): Promise<RetakeDue[]> {
  const { gapDays, visibility, groupIds, after, limit, nowMs } = options;
  const { start, isFew } = await startOfScan(tx, organisationId, visibility, groupIds);
  const end = (nowMs - gapDays * 86_400_000) * 1000;
  return tx.query<RetakeDue>(isFew ? dueOfMembers : start === null ? dueOfAll : dueOfGroups, [
    organisationId,
    end - retakeDays * 86_400_000_000,
    after?.assessedAt ?? end,
    after?.assessmentId ?? nilUuid,
    limit,
    maxRetakesRead,
    start,
    visibility,
    groupIds,
    new Date(nowMs),
    subjects,
  ]);
}
