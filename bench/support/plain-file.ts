import { readFile } from 'node:fs';
import { createServer } from 'node:http';

/** The ceiling of the report benchmark: files of the folder in the first argument, each read whole for each request. */
const folder = process.argv[2]!;
const server = createServer((request, response) => {
  readFile(folder + request.url!, (error, bytes) => {
    if (error !== null) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'application/pdf', 'content-length': bytes.length });
    response.end(bytes);
  });
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ port: (server.address() as { port: number }).port })}\n`),
);
process.once('SIGTERM', () => process.exit(0));
