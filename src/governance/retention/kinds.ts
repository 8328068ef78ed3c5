import { isHeld } from '../legal-holds/holds.ts';

/**
 * A kind of data and how long it is kept. The defaults suit a UK training provider: auditors ask for funded records up
 * to 6 years after the funding year. Each organisation can change the times.
 */
export type Kind = {
  label: string;
  afterwards: string;
  hint: string;
  defaultMonths: number;
  /** SQL: how many items of learner `l` are older than $4. $5 is the same time in microseconds. */
  due: string;
};

const lastActivity = `greatest(l.created_at,
    (select to_timestamp(max(f.assessed_at) / 1000000.0) from assessment_feed f
      where f.organisation_id = $1 and f.learner_id = l.learner_id and not f.deleted),
    (select max(greatest(i.created_at, i.expires_at)) from invitation i where i.organisation_id = $1 and i.learner_id = l.learner_id),
    (select max(s.last_seen_at) from sitting s where s.organisation_id = $1 and s.learner_id = l.learner_id),
    (select to_timestamp(max(m.joined_position) / 1000000.0) from membership m
      where m.organisation_id = $1 and m.learner_id = l.learner_id and m.left_position is null))`;

export const kinds = {
  learners: {
    label: 'Learners without any activity',
    afterwards: 'They are erased with all their data.',
    hint: 'Activity is a result, a sitting, an open invitation, or joining a current group.',
    defaultMonths: 84,
    due: `(${lastActivity} < $4)::int`,
  },
  invited: {
    label: 'People who were invited and never began',
    afterwards: 'They are erased, because there is no result and no reason to keep their data.',
    hint: 'Counted from the day on which their last invitation ended.',
    defaultMonths: 12,
    due: `(coalesce((select max(greatest(i.created_at, i.expires_at)) from invitation i
                where i.organisation_id = $1 and i.learner_id = l.learner_id) < $4, false)
        and not exists (select from sitting s where s.organisation_id = $1 and s.learner_id = l.learner_id)
        and not exists (select from assessment_feed f where f.organisation_id = $1 and f.learner_id = l.learner_id))::int`,
  },
  results: {
    label: 'Results with their evidence',
    afterwards: 'They are withdrawn: connected platforms get tombstones, and the evidence packs are deleted.',
    hint: 'Six years after the end of the funding year is usual for evidence that funding was paid on.',
    defaultMonths: 84,
    due: `(select count(*)::int from assessment_feed f
       where f.organisation_id = $1 and f.learner_id = l.learner_id and not f.deleted and f.assessed_at < $5)`,
  },
  answers: {
    label: 'Answers that were typed in sittings',
    afterwards: 'The answers are deleted; the result, the questions and whether each answer was right are kept.',
    hint: 'Needed while a result may be contested or reviewed.',
    defaultMonths: 24,
    due: `(select count(*)::int from sitting s join sitting_item i on i.organisation_id = $1 and i.sitting_id = s.sitting_id
       where s.organisation_id = $1 and s.learner_id = l.learner_id and s.finished_at < $4 and i.answer is not null)`,
  },
  reasons: {
    label: 'Reasons of changes, and the values before',
    afterwards: 'The texts are deleted; the fact, time and person of each change are kept.',
    hint: 'Reasons are free text about a person. Evidence that shows one keeps it for as long as the evidence is kept.',
    defaultMonths: 84,
    due: `((select count(*)::int from assessment_feed f
         join assessment_change c on c.organisation_id = $1 and c.assessment_id = f.assessment_id
        where f.organisation_id = $1 and f.learner_id = l.learner_id and c.at < $4 and (c.reason <> '' or c.before is not null))
      + (select count(*)::int from learner_change c
          where c.organisation_id = $1 and c.learner_id = l.learner_id and c.at < $4 and c.reason is not null))`,
  },
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof kinds;
export const kindNames = Object.keys(kinds) as KindName[];

/** Null: kept until the organisation is deleted. */
export type Months = Record<KindName, number | null>;

export const minMonths = 1;
export const maxMonths = 600;

export const defaultMonths = (): Months =>
  Object.fromEntries(kindNames.map((kind) => [kind, kinds[kind].defaultMonths])) as Months;

/**
 * SQL: the next $3 learners after $2, each with the number of due items and whether a legal hold covers the learner at
 * $6.
 */
export const walk = (kind: KindName): string => `
  select l.learner_id, ${kinds[kind].due} as due, ${isHeld('$1', 'l.learner_id', '$6::timestamptz')} as held
    from (select learner_id, created_at from learner
           where organisation_id = $1 and learner_id > $2 and full_name <> '' order by learner_id limit $3) l
   where $4::timestamptz is not null and $5::int8 is not null
   order by l.learner_id`;
