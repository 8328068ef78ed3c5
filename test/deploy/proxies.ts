import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, request as askHttp } from 'node:http';
import { Agent as TlsAgent, request as askHttps } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { read } from '../support/structure/source-tree.ts';
import { freePorts } from '../support/ports.ts';

/** nginx, HAProxy and Caddy by the examples of deploy/, and requests to them. */

const folder = mkdtempSync(join(tmpdir(), 'ars-proxies-'));
after(() => rmSync(folder, { recursive: true }));
const certificate = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem'), both: join(folder, 'both.pem') };

/** `plain`: without TLS, where the example has that. `logged`: everything that the proxy has written by now. */
type Started = { origin: string; plain: string | null; logged(): string };

/** A line of an access log. Caddy has the names of its own. */
type Line = { address: string; method: string; path: string; status: string; request_id?: string };
type CaddyLine = { request?: { remote_ip: string; method: string; uri: string }; status?: number };

export function accessLines(logged: string): Line[] {
  return logged.split('\n').flatMap((text) => {
    if (!text.startsWith('{')) return [];
    const { request, status, ...line } = JSON.parse(text) as Line & CaddyLine;
    if (request === undefined) return line.path === undefined ? [] : [{ ...line, status: String(status) }];
    return [{ address: request.remote_ip, method: request.method, path: request.uri, status: String(status) }];
  });
}

/** The name that the examples have. */
export const hostName = 'results.example.org';
type Proxy = { name: string; program: string; start(backends: number[]): Promise<Started> };

/** Every text has to be in the example. */
function changed(path: string, changes: [string, string][]): string {
  let now = read(path);
  for (const [from, to] of changes) {
    assert.ok(now.includes(from), `${path} has no ${from}`);
    now = now.replaceAll(from, to);
  }
  return now;
}

async function run(program: string, words: string[], port: number, plainPort: number | null): Promise<Started> {
  const origin = `https://127.0.0.1:${port}`;
  const plain = plainPort === null ? null : `http://127.0.0.1:${plainPort}`;
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: folder } });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (said += String(bytes)));
  let gone = false;
  const ended = once(child, 'exit').then(() => (gone = true));
  after(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  for (;;) {
    if (gone) throw new Error(`${program} did not start: ${said}`);
    const reply = await call(origin, '/livez').catch(() => null);
    if (reply !== null) return { origin, plain, logged: () => said };
    await setTimeout(20);
  }
}

export const proxies: Proxy[] = [
  {
    name: 'nginx',
    program: 'nginx',
    async start([one, two]) {
      const [port, plain] = await freePorts(2);
      const site = join(folder, 'ars.conf');
      const logs = {
        errors: join(folder, 'errors.log'),
        access: join(folder, 'access.log'),
        own: join(folder, 'own.log'),
      };
      writeFileSync(
        site,
        changed('deploy/nginx.conf', [
          ['127.0.0.1:8081', `127.0.0.1:${one!}`],
          ['127.0.0.1:8082', `127.0.0.1:${two!}`],
          ['listen 443', `listen 127.0.0.1:${port!}`],
          ['listen 80', `listen 127.0.0.1:${plain!}`],
          ['/var/log/nginx/error.log', logs.errors],
          ['/var/log/nginx/ars-access.log', logs.own],
          ['/etc/ssl/certs/results.example.org.pem', certificate.cert],
          ['/etc/ssl/private/results.example.org.key', certificate.key],
        ]),
      );
      const main = join(folder, 'nginx.conf');
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (name) => `${name}_temp_path ${folder}/${name};`,
      );
      writeFileSync(
        main,
        `user root; daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr;
         events {} http { access_log ${logs.access}; ${paths.join(' ')} include ${site}; }`,
      );
      const started = await run('nginx', ['-p', folder, '-e', 'stderr', '-c', main], port!, plain!);
      await call(`http://127.0.0.1:${plain!}`, '/redirected');
      const filesToo = () =>
        Object.values(logs).map((file) => (existsSync(file) ? readFileSync(file, 'utf8') : assert.fail(file)));
      return { ...started, logged: () => started.logged() + filesToo().join('') };
    },
  },
  {
    name: 'HAProxy',
    program: 'haproxy',
    async start([one, two]) {
      const [port] = await freePorts(1);
      const file = join(folder, 'haproxy.cfg');
      writeFileSync(
        file,
        changed('deploy/haproxy.cfg', [
          ['127.0.0.1:8081', `127.0.0.1:${one!}`],
          ['127.0.0.1:8082', `127.0.0.1:${two!}`],
          ['bind :443', `bind 127.0.0.1:${port!}`],
          ['/etc/ssl/private/results.example.org.pem', certificate.both],
          ['maxconn 20000', 'maxconn 200'],
          ['/dev/log', 'stdout format raw'],
        ]),
      );
      return run('haproxy', ['-db', '-f', file], port!, null);
    },
  },
  {
    name: 'Caddy',
    program: 'caddy',
    async start([one, two]) {
      const [port, plain] = await freePorts(2);
      const file = join(folder, 'Caddyfile');
      writeFileSync(
        file,
        changed('deploy/Caddyfile', [
          [
            '\tauto_https',
            `\tadmin off\n\tdefault_bind 127.0.0.1\n\thttp_port ${plain!}\n\thttps_port ${port!}\n\tauto_https`,
          ],
          ['file /var/log/caddy/ars-access.log', 'stderr'],
          [':80, :443 {', `:${plain!}, :${port!} {`],
          [`\n${hostName} {`, `\n${hostName} {\n\ttls ${certificate.cert} ${certificate.key}`],
          ['127.0.0.1:8081', `127.0.0.1:${one!}`],
          ['127.0.0.1:8082', `127.0.0.1:${two!}`],
        ]),
      );
      return run('caddy', ['run', '--adapter', 'caddyfile', '--config', file], port!, plain!);
    },
  },
];

const agents = {
  'http:': new Agent({ keepAlive: true }),
  'https:': new TlsAgent({ keepAlive: true, rejectUnauthorized: false }),
};
after(() => {
  for (const agent of Object.values(agents)) agent.destroy();
});

export type Asked = { method?: string; headers?: Record<string, string>; body?: string | Buffer; from?: string };

export function send(origin: string, path: string, { method = 'GET', headers = {}, body, from }: Asked = {}) {
  const { protocol, hostname, port } = new URL(origin);
  const asked = (protocol === 'https:' ? askHttps : askHttp)({
    hostname,
    port,
    path,
    method,
    headers: { host: hostName, ...headers },
    servername: hostName,
    agent: headers.connection === 'close' ? false : agents[protocol as 'https:'],
    rejectUnauthorized: false,
    localAddress: from,
  });
  asked.end(body);
  return asked;
}

export async function call(origin: string, path: string, asked: Asked = {}) {
  const [reply] = (await once(send(origin, path, asked), 'response')) as [IncomingMessage];
  const bytes: Buffer[] = [];
  for await (const chunk of reply) bytes.push(chunk as Buffer);
  const body = Buffer.concat(bytes);
  return { status: reply.statusCode!, headers: reply.headers, body, json: () => JSON.parse(String(body)) as unknown };
}

export const installed = proxies.filter(({ program }) => spawnSync('which', [program]).status === 0);

const made = spawnSync('openssl', [
  ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=results.example.org -addext subjectAltName=DNS:results.example.org'.split(
    ' ',
  ),
  ...['-keyout', certificate.key, '-out', certificate.cert],
]);
assert.equal(made.status, 0, String(made.stderr));
writeFileSync(certificate.both, readFileSync(certificate.cert, 'utf8') + readFileSync(certificate.key, 'utf8'));
