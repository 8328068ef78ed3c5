import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { ReadyRecord } from './record.ts';

/**
 * The tables of an import that no learner's rows are in, which are copied as a whole: an organisation has few of each.
 */
const ofOrganisation = ['feed', 'learner_group', 'group_set', 'group_set_group'];
/** What an import adds to: of changes, it also reads those of results. */
const addedTo = ['assessment_change', 'digest_cell'];

/** Prepares a batch: everything that it could find or change is in the copies afterwards. */
export type Rehearsal = { takeIn(records: readonly ReadyRecord[]): Promise<void> };

/**
 * Puts copies in front of the tables that an import writes, for the rest of this unit of work, which must be rolled
 * back: temporary tables of the same names, which hold an organisation's groups and what a batch takes in. The verbs
 * then do in them what they would do, one batch upon the other, and hold no lock that another writer could wait for.
 * What is copied is of one moment.
 */
export async function openRehearsal({ tx }: UnitOfWork, organisationId: number): Promise<Rehearsal> {
  await tx.query('set transaction isolation level repeatable read');
  // Columns that the database computes can't be copied, and are computed anew.
  const tables = await tx.query<{ schema: string; name: string; columns: string }>(
    `select table_schema as schema, table_name as name,
            string_agg(quote_ident(column_name), ', ' order by ordinal_position) filter (where is_generated = 'NEVER') as columns
       from information_schema.columns where table_schema = current_schema()
      group by 1, 2 having bool_or(column_name = 'learner_id') order by 2`,
  );
  const schema = tables[0]!.schema;
  const ofLearners = tables.map(({ name }) => name);
  const columnsOf = new Map(tables.map(({ name, columns }) => [name, columns]));
  for (const name of [...ofLearners, ...ofOrganisation, ...addedTo])
    await tx.query(`create temporary table "${name}" (like "${schema}"."${name}" including all) on commit drop`);
  // Said in so many words, so that statements which were prepared before are looked up anew, now and after the end.
  await tx.query(`set local search_path = pg_temp, "${schema}"`);
  for (const name of ofOrganisation)
    await tx.query(`insert into pg_temp."${name}" select * from "${schema}"."${name}" where organisation_id = $1`, [
      organisationId,
    ]);
  let batches = 0;
  let nextAnalyze = 1;
  return {
    async takeIn(records) {
      const learners = await tx.query<{ learner_id: string }>(
        `with meant as (
           select learner_id from "${schema}".learner where organisation_id = $1 and ref = any($2)
           union select learner_id from "${schema}".learner_alias where organisation_id = $1 and ref = any($2)
           union select learner_id from "${schema}".assessment where organisation_id = $1 and assessment_id = any($3::uuid[]))
         select learner_id from (
           select learner_id from meant
           union select m.learner_id from "${schema}".learner m join meant on m.organisation_id = $1 and m.merged_into = meant.learner_id) l
          where not exists (select from pg_temp.learner t where t.organisation_id = $1 and t.learner_id = l.learner_id)`,
        [
          organisationId,
          records.flatMap(({ learnerRef }) => learnerRef ?? []),
          records.map(({ assessmentId }) => assessmentId),
        ],
      );
      const ids = learners.map((row) => row.learner_id);
      if (ids.length > 0)
        for (const name of ofLearners)
          await tx.query(
            `insert into pg_temp."${name}" (${columnsOf.get(name)!}) select ${columnsOf.get(name)!} from "${schema}"."${name}" where organisation_id = $1 and learner_id = any($2)`,
            [organisationId, ids],
          );
      if (ids.length > 0)
        await tx.query(
          `insert into pg_temp.assessment_change select c.* from "${schema}".assessment_change c
             join pg_temp.assessment a on a.organisation_id = $1 and a.assessment_id = c.assessment_id
            where c.organisation_id = $1 and a.learner_id = any($2)`,
          [organisationId, ids],
        );
      // As in a real import: plans for empty tables don't serve full ones.
      if (batches++ !== nextAnalyze) return;
      nextAnalyze *= 10;
      for (const name of ofLearners) await tx.query(`analyze pg_temp."${name}"`);
    },
  };
}
