import { statement, type Tx } from '../../platform/db/database.ts';
import { bothSit, heldWords, type Pair, refIsName, sameLearner } from './merge.ts';
import { isNameOf } from '../../platform/validation/personal-data.ts';

export type Side = {
  learner_id: string;
  ref: string | null;
  full_name: string;
  has_email: boolean;
  created_at: Date;
  results: number;
  withdrawn: number;
  /** Microseconds since 1970. */
  last_assessed_at: number | null;
  evidence: number;
  open_invitations: number;
  /** Subjects of open sittings. */
  sitting: string[];
  /** Type and reference of each group. */
  groups: string[];
  aliases: number;
};

export type MergePreview = {
  from: Side;
  into: Side;
  joins: string[];
  ref: string | null;
  /** Pairs of results with the same subject and time, which are probably duplicates. */
  alike: number;
  refused: string | null;
};

const sides = statement('merge.sides')`
  select l.learner_id, l.ref, l.full_name, l.email is not null as has_email, l.created_at,
         r.results, r.withdrawn, r.last_assessed_at,
         (select count(*) from assessment_feed f join evidence e on e.organisation_id = $1 and e.assessment_id = f.assessment_id
           where f.organisation_id = $1 and f.learner_id = l.learner_id and not f.deleted and e.pdf is not null) as evidence,
         (select count(*) from invitation i where i.organisation_id = $1 and i.learner_id = l.learner_id and i.status = 'open'
             and i.expires_at > $3) as open_invitations,
         array(select s.subject from sitting s where s.organisation_id = $1 and s.learner_id = l.learner_id and s.status = 'open'
                order by 1) as sitting,
         array(select g.type || ' ' || g.ref from membership m
                 join learner_group g on g.organisation_id = $1 and g.group_id = m.group_id
                where m.organisation_id = $1 and m.learner_id = l.learner_id and m.left_position is null order by 1) as groups,
         (select count(*) from learner_alias a where a.organisation_id = $1 and a.learner_id = l.learner_id) as aliases
    from learner l
    cross join lateral (
      select count(*) filter (where not f.deleted) as results, count(*) filter (where f.deleted) as withdrawn,
             max(f.assessed_at) filter (where not f.deleted) as last_assessed_at
        from assessment_feed f where f.organisation_id = $1 and f.learner_id = l.learner_id) r
   where l.organisation_id = $1 and l.learner_id = any($2::uuid[]) and l.full_name <> ''`;
const alike = statement('merge.alike')`
  select count(*) as count from assessment_feed a
    join assessment_feed b on b.organisation_id = $1 and b.learner_id = $3 and not b.deleted
                          and b.facet >> 3 = a.facet >> 3 and b.assessed_at = a.assessed_at
   where a.organisation_id = $1 and a.learner_id = $2 and not a.deleted`;

/** @returns undefined if one of the two does not exist */
export async function previewMerge(
  tx: Tx,
  organisationId: number,
  { from, into }: Pair,
  now: Date,
): Promise<MergePreview | undefined> {
  const rows = await tx.query<Side>(sides, [organisationId, [from, into], now]);
  const [lost, survivor] = [from, into].map((id) => rows.find((row) => row.learner_id === id));
  if (lost === undefined || survivor === undefined) return undefined;
  const [twice] = await tx.query<{ count: number }>(alike, [organisationId, from, into]);
  const both = lost.sitting.filter((subject) => survivor.sitting.includes(subject));
  const ref = survivor.ref ?? lost.ref;
  const isName = ref !== null && isNameOf(ref, survivor.full_name);
  const held = await heldWords(tx, organisationId, from, now);
  return {
    from: lost,
    into: survivor,
    joins: lost.groups.filter((group) => !survivor.groups.includes(group)),
    ref,
    alike: from === into ? 0 : twice!.count,
    refused: from === into ? sameLearner : isName ? refIsName : (held ?? (both.length > 0 ? bothSit(both) : null)),
  };
}
