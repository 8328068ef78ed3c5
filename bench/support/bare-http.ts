import { createServer } from 'node:http';

/** The ceiling of the poll benchmark: a server that answers 304 to everything. */
const server = createServer((_request, response) => {
  response.writeHead(304);
  response.end();
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ port: (server.address() as { port: number }).port })}\n`),
);
process.once('SIGTERM', () => process.exit(0));
