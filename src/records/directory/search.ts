import { type Tx, statement } from '../../platform/db/database.ts';
import { type Visibility, isVisibleLearner } from '../../organisations/groups/visibility.ts';

export type FoundLearner = { learner_id: string; ref: string | null; full_name: string };

/** Sorting more matches of a short text would take too long. */
const maxSorted = 100;
const byText = statement('records.search')`
  select learner_id, ref, full_name from (
    (select l.* from learner l
      where l.organisation_id = $1 and l.full_name <> '' and name_words(l.organisation_id, folded_name(l.full_name)) @@ name_query($1, folded_name($2))
      limit ${maxSorted})
    union
    (select l.* from learner l
      where l.organisation_id = $1 and l.full_name <> '' and coalesce(lower(l.ref collate "C"), '~') >= lower($2) collate "C"
        and coalesce(lower(l.ref collate "C"), '~') < lower($2) || '~'
      limit ${maxSorted})) l
   order by folded_name(full_name) collate "C", learner_id limit $3`;

/** Finds learners by beginnings of words of the name or the beginning of the reference, for a person who sees all. */
export function searchLearners(tx: Tx, organisationId: number, text: string, limit: number): Promise<FoundLearner[]> {
  return tx.query<FoundLearner>(byText, [organisationId, text, limit]);
}

/** At most this many addresses with the same beginning are checked. */
const maxEmails = 2000;
const byEmail = statement('records.search_by_email')`
  select l.learner_id, l.ref, l.full_name from (
    select * from learner e
     where e.organisation_id = $1 and lower(e.email) collate "C" >= $2 and lower(e.email) collate "C" < $2 || '~'
     order by lower(e.email) collate "C" limit ${maxEmails}) l
   where ${isVisibleLearner('l.learner_id', '$3')} limit $4`;

/** Finds learners by an email address or its beginning. */
export function findLearnersByEmail(
  tx: Tx,
  organisationId: number,
  text: string,
  visibility: Visibility,
  limit: number,
): Promise<FoundLearner[]> {
  return tx.query<FoundLearner>(byEmail, [organisationId, text.toLowerCase(), visibility, limit]);
}
