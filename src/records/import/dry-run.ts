import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { ReadyRecord } from './record.ts';

/** Tables without a learner ID. These tables are small, so all rows of the organisation are copied. */
const ofOrganisation = ['feed', 'learner_group', 'group_set', 'group_set_group'];
/** Tables that start empty. `copyFor` adds the history of the results that it copies. */
const addedTo = ['assessment_change', 'digest_cell', 'result_day'];

/** `copyFor` copies the rows that the import of these records can read or change. */
export type DryRun = { copyFor(records: readonly ReadyRecord[]): Promise<void> };

/**
 * Makes temporary tables that hide the tables an import writes, so that the import takes no lock that others need. The
 * caller must roll back this unit of work.
 */
export async function openDryRun({ tx }: UnitOfWork, organisationId: number): Promise<DryRun> {
  await tx.query('set transaction isolation level repeatable read');
  // Generated columns cannot be copied, so the database computes these columns again.
  const tables = await tx.query<{ schema: string; name: string; columns: string }>(
    `select table_schema as schema, table_name as name,
            string_agg(quote_ident(column_name), ', ' order by ordinal_position) filter (where is_generated = 'NEVER') as columns
       from information_schema.columns where table_schema = current_schema()
      group by 1, 2 having bool_or(column_name = 'learner_id') order by 2`,
  );
  const schema = tables[0]!.schema;
  for (const name of [...tables.map((table) => table.name), ...ofOrganisation, ...addedTo])
    await tx.query(`create temporary table "${name}" (like "${schema}"."${name}" including all) on commit drop`);
  // With pg_temp in the search path, PostgreSQL parses prepared statements again, both now and after the rollback.
  await tx.query(`set local search_path = pg_temp, "${schema}"`);
  for (const name of ofOrganisation)
    await tx.query(`insert into pg_temp."${name}" select * from "${schema}"."${name}" where organisation_id = $1`, [
      organisationId,
    ]);
  let batches = 0;
  let nextAnalyze = 1;
  return {
    async copyFor(records) {
      const learners = await tx.query<{ learner_id: string }>(
        `with named as (
           select learner_id from "${schema}".learner where organisation_id = $1 and ref = any($2)
           union select learner_id from "${schema}".learner_alias where organisation_id = $1 and ref = any($2)
           union select learner_id from "${schema}".assessment where organisation_id = $1 and assessment_id = any($3::uuid[]))
         select learner_id from (
           select learner_id from named
           union select m.learner_id from "${schema}".learner m join named on m.organisation_id = $1 and m.merged_into = named.learner_id) l
          where not exists (select from pg_temp.learner t where t.organisation_id = $1 and t.learner_id = l.learner_id)`,
        [
          organisationId,
          records.flatMap(({ learnerRef }) => learnerRef ?? []),
          records.map(({ assessmentId }) => assessmentId),
        ],
      );
      const values = [organisationId, learners.map((row) => row.learner_id)];
      for (const { name, columns } of tables)
        await tx.query(
          `insert into pg_temp."${name}" (${columns}) select ${columns} from "${schema}"."${name}" where organisation_id = $1 and learner_id = any($2)`,
          values,
        );
      await tx.query(
        `insert into pg_temp.assessment_change select c.* from "${schema}".assessment_change c
           join pg_temp.assessment a on a.organisation_id = $1 and a.assessment_id = c.assessment_id
          where c.organisation_id = $1 and a.learner_id = any($2)`,
        values,
      );
      // The tables are analysed as in a real import, because plans for empty tables are slow when the tables are full.
      if (batches++ !== nextAnalyze) return;
      nextAnalyze *= 10;
      for (const { name } of tables) await tx.query(`analyze pg_temp."${name}"`);
    },
  };
}
