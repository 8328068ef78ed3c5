import pg from 'pg';

/**
 * The ceiling of a page: the driver alone fetches the rows of a page of 500, prepared, and joins them into one text. Four
 * clients are its best on two cores.
 * @returns pages a second
 */
export async function bareDriver(
  databaseUrl: string,
  organisationId: number,
  seconds: number,
  clients = 4,
): Promise<number> {
  let done = 0;
  const stopMs = performance.now() + seconds * 1000;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      const client = new pg.Client({ connectionString: databaseUrl });
      await client.connect();
      while (performance.now() < stopMs) {
        const { rows } = await client.query({
          name: 'page',
          values: [organisationId, 0, 501],
          text: `
        select f.position, f.assessment_id, f.deleted, f.group_set_id, a.learner, a.body, a.report_sha256
          from (select * from assessment_feed where organisation_id = $1 and position >= $2 order by position limit $3) f
          join assessment a on a.organisation_id = $1 and a.first_position = f.first_position order by f.position`,
        });
        let text = '';
        for (const row of rows)
          text += row.position + row.assessment_id + row.group_set_id + row.learner + row.body + row.report_sha256;
        if (text.length > 0) done++;
      }
      await client.end();
    }),
  );
  return done / seconds;
}
