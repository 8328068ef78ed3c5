import { createServer } from 'node:http';
import pg from 'pg';

/** The ceiling of single results: one prepared lookup through a pool for each request, sent as it is stored. */
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 });
const organisationId = process.argv[2];
const text = `
  select a.learner, a.body, a.report_sha256, f.position from assessment a
    join assessment_feed f on f.organisation_id = a.organisation_id and f.learner_id = a.learner_id and f.assessment_id = a.assessment_id
   where a.organisation_id = $1 and a.assessment_id = $2`;
const server = createServer((request, response) => {
  void pool.query({ name: 'one', text, values: [organisationId, request.url!.slice(1)] }).then(({ rows: [row] }) => {
    const body = `{"data":{"updated_at":${row.position},"report_sha256":${row.report_sha256},"learner":${row.learner},${row.body}}`;
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    response.end(body);
  });
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ port: (server.address() as { port: number }).port })}\n`),
);
process.once('SIGTERM', () => process.exit(0));
