import { readFile, readdir } from 'node:fs/promises';
import pg from 'pg';
import { freshDatabase, onCitus, spread } from '../postgres.ts';
import { thisServer } from '../service.ts';

/** A database as the release before learner ids left it: its migrations, and rows in its shape. */

const folder = new URL('../../src/db/migrations/', import.meta.url);
const firstWithShapes = 6;

export const people = 40;
export const resultsEach = 3;

/** Its one organisation is 1. */
export async function previousRelease() {
  const database = await freshDatabase(await thisServer(), { migrated: false });
  // Not through our own pool, whose connections say that they know of shapes.
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(
    'create table migration (number int4 primary key, name text not null, applied_at timestamptz not null)',
  );
  for (const name of (await readdir(folder)).sort()) {
    if (Number(name.slice(0, 4)) >= firstWithShapes) continue;
    await client.query(await readFile(new URL(name, folder), 'utf8'));
    await client.query('insert into migration values ($1, $2, to_timestamp(0))', [Number(name.slice(0, 4)), name]);
  }
  await client.query(rows);
  await client.end();
  // A cluster's operator migrates, and distributes, before this release is served.
  if (onCitus) await spread(database.url);
  return database;
}

const body =
  `'"assessed_at":"2026-01-10T09:00:00.000Z","subject":"maths","framework":"F","rqf_level":"Level 1","rqf_level_code":2,` +
  `"below_level_1":false,"working_level":"Level 1","recommended_next_level":"Level 2","is_borderline":false,"needs_review":false,` +
  `"domains":[{"name":"Number","score_pct":60,"status":"developing"}]'`;

/**
 * Each learner has results, of which one in seven is withdrawn; every tenth learner has no reference, and the last of those
 * has nothing left; half of the learners are in one group. Positions are those of January 2026.
 */
const rows = `
  insert into organisation (organisation_id, public_id, name, plan, created_at)
  overriding system value values (1, md5('o')::uuid, 'The College', 'unlimited', to_timestamp(1767225600));
  insert into feed values (1, 1767225600000000 + 1000000);
  insert into group_set (organisation_id, group_set_id, group_ids) values (1, md5('{}')::uuid, '{}');
  insert into learner_group (organisation_id, group_id, type, ref, name, created_at, position)
  values (1, md5('g')::uuid, 'cohort', 'C1', 'The cohort', to_timestamp(1767225600), 1767225600000000);
  insert into group_set (organisation_id, group_set_id, group_ids)
  values (1, md5(array[md5('g')::uuid]::text)::uuid, array[md5('g')::uuid]);
  insert into group_set_group values (1, md5('g')::uuid, md5(array[md5('g')::uuid]::text)::uuid);
  create temporary table given as
  select n, md5('l' || n)::uuid as learner_id, case when n % 10 = 0 then null else 'L-' || n end as ref,
         'Learner ' || n as full_name,
         case when n % 2 = 1 then md5(array[md5('g')::uuid]::text)::uuid else md5('{}')::uuid end as group_set_id
    from generate_series(1, ${people}) n;
  insert into learner (organisation_id, learner_id, ref, full_name, created_at)
  select 1, learner_id, ref, full_name, to_timestamp(1767225600) from given;
  insert into learner_feed (organisation_id, learner_id, position, group_set_id)
  select 1, learner_id, 1767225600000000 + 20 * n, group_set_id from given;
  insert into membership (organisation_id, group_id, learner_id, joined_position)
  select 1, md5('g')::uuid, learner_id, 1767225600000000 from given where n % 2 = 1;
  create temporary table results as
  select g.*, k, md5('a' || n || ' ' || k)::uuid as assessment_id,
         (n * ${resultsEach} + k) % 7 = 0 or n = ${people} as deleted
    from given g, generate_series(1, ${resultsEach}) k;
  insert into assessment (organisation_id, assessment_id, learner_id, source, assessed_at, facet, learner, body)
  select 1, assessment_id, learner_id, 'imported', 1768035600000000, 19,
         case when deleted then null else json_build_object('ref', ref, 'full_name', full_name)::text end,
         case when deleted then null else ${body} end
    from results;
  insert into assessment_feed (organisation_id, position, assessment_id, learner_id, group_set_id, assessed_at, assessed_day, facet, deleted)
  select 1, 1767225600500000 + 20 * (n * ${resultsEach} + k), assessment_id, learner_id, group_set_id, 1768035600000000,
         1768035600000000 / 86400000000, 19, deleted
    from results`;
