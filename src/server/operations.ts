import { once } from 'node:events';
import { createServer } from 'node:http';
import { databaseUp, opening as isOpening } from '../platform/observability/metric-definitions.ts';
import { exposition, expositionType, readMetrics } from '../platform/observability/metrics.ts';
import { type Readiness, unknownChecks } from './probes.ts';
import { missingPage, organisationPage, overviewPage, statusHeaders } from './status/page.ts';
import type { Status } from './status/status.ts';
import { build } from '../platform/config/version.ts';

/** What the probe and metrics port reports: the state of this process, or of all processes that it has started. */
export type OperationsSource = {
  readiness(): Promise<Readiness>;
  metrics(): Promise<string>;
  /** Null: no process can read the database. */
  status(): Promise<Status | null>;
};

export type Operations = {
  url: string;
  setSource(source: OperationsSource): void;
  stop(): Promise<void>;
};

/** Answers for the port while the database is not open yet. */
const opening: OperationsSource = {
  readiness: async () => ({ status: 'not_ready', ...build, checks: unknownChecks }),
  metrics: async () => exposition(readMetrics()),
  status: async () => null,
};

type Reply = readonly [status: number, type: string, body: string];

const statusPath = /^\/status(?:\/([0-9a-f-]{36}))?(\.json)?$/;

/** The page of all organisations or of one, or its JSON. */
async function statusReply(
  source: OperationsSource,
  host: string | undefined,
  [, id, json]: RegExpExecArray,
): Promise<Reply> {
  if (!isOwnHost(host)) return otherHost;
  const status = await source.status().catch(() => null);
  if (status === null) return [503, 'text/plain', 'The database does not answer. Read the log of the service.'];
  const one = id === undefined ? undefined : status.organisations.find(({ organisation_id: of }) => of === id);
  const isMissing = id !== undefined && one === undefined;
  const code = isMissing ? 404 : 200;
  if (json !== undefined) return [code, 'application/json', JSON.stringify(isMissing ? null : (one ?? status))];
  const page = isMissing ? missingPage() : one === undefined ? overviewPage(status) : organisationPage(status, one);
  return [code, 'text/html; charset=utf-8', page];
}

const noSniff = { 'x-content-type-options': 'nosniff' };

/**
 * Whether a browser cannot have been led here by the DNS of another site: the host is an IP address or has no dot. Other
 * programs may leave it out.
 */
const isOwnHost = (host: string | undefined) =>
  host === undefined || /^(\[[0-9a-f:.]+\]|[\d.]+|[\w-]+)(:\d+)?$/i.test(host);

const otherHost: Reply = [421, 'text/plain', 'Use the IP address or the short name of the host in the URL.'];

/** Answers probes and metrics on a separate port, which no proxy exposes to clients. */
export async function startOperations(
  { host, port }: { host: string; port: number },
  source: OperationsSource = opening,
): Promise<Operations> {
  let current = source;
  isOpening.set(source === opening ? 1 : 0);
  // Until the database answers, the metric reports it as down.
  if (source === opening) databaseUp.set(0);
  const answers: Record<string, () => Promise<Reply>> = {
    '/livez': async () => [200, 'application/json', '{"status":"ok"}'],
    '/readyz': async () => {
      const state = await current.readiness();
      return [state.status === 'ready' ? 200 : 503, 'application/json', JSON.stringify(state)];
    },
    '/metrics': async () => [200, expositionType, await current.metrics()],
  };
  const server = createServer({ requireHostHeader: false }, (request, response) => {
    const path = (request.url ?? '').split('?')[0]!;
    const reads = request.method === 'GET' || request.method === 'HEAD';
    const asked = statusPath.exec(path);
    const found =
      asked !== null
        ? () => statusReply(current, request.headers.host, asked)
        : Object.hasOwn(answers, path)
          ? answers[path]
          : undefined;
    const refused = async (): Promise<Reply> => [found === undefined ? 404 : 405, 'text/plain', ''];
    (found !== undefined && reads ? found : refused)().then(
      ([status, type, body]) =>
        response
          .writeHead(status, { ...noSniff, ...statusHeaders, 'content-type': type, 'cache-control': 'no-store' })
          .end(body),
      () => response.writeHead(500, noSniff).end(),
    );
  });
  server.on('clientError', (_error, socket) => {
    const head = ['HTTP/1.1 400 Bad Request', 'X-Content-Type-Options: nosniff', 'Connection: close', '', ''];
    if (socket.writable) socket.end(head.join('\r\n'));
    else socket.destroy();
  });
  server.listen(port, host);
  await once(server, 'listening');
  const { address, family, port: taken } = server.address() as { address: string; family: string; port: number };
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`,
    setSource(other) {
      current = other;
      isOpening.set(0);
    },
    async stop() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
