import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { after, suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { systemClock } from '../../../../src/platform/time/clock.ts';
import { limits } from '../../../../src/platform/config/limits.ts';
import { connectIdentity, setProvider } from '../../../../src/organisations/users/single-sign-on.ts';
import { withService } from '../../../support/service.ts';
import { startReceiver, trustTestAuthority } from '../../../integrations/webhooks/receiver.ts';
import { personOf, visitor } from '../visitor.ts';

/** Identity providers that attack the service. The organisation chooses the URL, so the service trusts no answer. */

trustTestAuthority();
const service = await withService({
  own: 'Calls addresses of this machine.',
  // Closed: 127.0.0.2, where the trap listens.
  settings: { ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.1/32, ::1/128' },
});
const trap = await startReceiver({ host: '127.0.0.2' });
after(() => trap.close());
const inside = `https://127.0.0.2:${trap.port}`;
const typed = { 'sec-fetch-site': 'none' };

type Behaviour = (reply: ServerResponse, path: string, issuer: string) => void;

const metadata = (issuer: string, more: object = {}) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/keys`,
  response_types_supported: ['code'],
  ...more,
});
const says = (reply: ServerResponse, body: unknown, headers: Record<string, string> = {}, status = 200) =>
  reply
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));

/** Sends a little for ever. */
function drip(reply: ServerResponse): void {
  reply.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => reply.write(' '), 50);
  reply.on('close', () => clearInterval(timer));
}

function flood(reply: ServerResponse): void {
  reply.writeHead(200, { 'content-type': 'application/json' });
  const part = Buffer.alloc(65_536, ' ');
  const more = () => {
    while (!reply.destroyed && reply.write(part));
    if (!reply.destroyed) reply.once('drain', more);
  };
  more();
}

async function providerThat(behaviour: Behaviour) {
  const provider = await startReceiver({ behaviour: ({ path }, reply) => behaviour(reply, path, issuer) });
  after(() => provider.close());
  const issuer = `https://localhost:${provider.port}`;
  const org = await service.organisation();
  await service.withUnitOfWork((work) =>
    setProvider(work, org.id, { issuer, client_id: org.publicId, client_secret: 's', tenant: null }),
  );
  return { org, path: `/console/sso/sign-in/${org.publicId}` };
}

async function refusedInTime(path: string, statuses: number[], one = visitor(service)): Promise<void> {
  const before = performance.now();
  const asked = one.get(path, typed);
  // Meanwhile others are served.
  assert.equal((await visitor(service).get('/console/sign-in')).status, 200);
  const { status, headers } = await asked;
  assert.ok(statuses.includes(status), `${status} ${headers.location}`);
  assert.ok(performance.now() - before < limits.providerMs * 5, 'in time');
  assert.equal(trap.connections(), 0);
}

const discovery: Record<string, Behaviour> = {
  'redirects to a closed address': (reply) => says(reply, '', { location: `${inside}/` }, 302),
  'redirects to itself': (reply, path, issuer) => says(reply, '', { location: `${issuer}${path}` }, 307),
  'never answers': () => {},
  'sends a little for ever': drip,
  'sends without end': flood,
  'sends a compressed bomb': (reply) =>
    says(reply, gzipSync(Buffer.alloc(200_000_000, ' ')), { 'content-encoding': 'gzip' }),
  'sends huge headers': (reply, _path, issuer) => says(reply, metadata(issuer), { 'x-long': 'x'.repeat(200_000) }),
  'sends HTML': (reply) => says(reply, '<html></html>', { 'content-type': 'text/html' }),
  'nests JSON deeply': (reply) => says(reply, '['.repeat(100_000)),
  'is another issuer': (reply) => says(reply, metadata('https://accounts.example.org')),
  'has fields of other types': (reply, _path, issuer) =>
    says(reply, metadata(issuer, { authorization_endpoint: { a: 1 } })),
  'sends people to a script': (reply, _path, issuer) =>
    says(reply, metadata(issuer, { authorization_endpoint: 'javascript:alert(1)' })),
  'sends people to plain HTTP': (reply, _path, issuer) =>
    says(reply, metadata(issuer, { authorization_endpoint: 'http://localhost/authorize' })),
};

const tokens: Record<string, Behaviour> = {
  'has its tokens at a closed address': (reply, _path, issuer) =>
    says(reply, metadata(issuer, { token_endpoint: `${inside}/token` })),
  'has its tokens at a closed metadata service': (reply, _path, issuer) =>
    says(reply, metadata(issuer, { token_endpoint: 'http://169.254.169.254/latest' })),
  'redirects from its tokens': (reply, path, issuer) =>
    path === '/token' ? says(reply, '', { location: `${inside}/token` }, 307) : says(reply, metadata(issuer)),
  'never sends a token': (reply, path, issuer) => {
    if (path !== '/token') says(reply, metadata(issuer));
  },
  'sends tokens for ever': (reply, path, issuer) => (path === '/token' ? flood(reply) : says(reply, metadata(issuer))),
  'sends a token without a signature': (reply, path, issuer) => {
    if (path !== '/token') return says(reply, metadata(issuer));
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const now = Math.floor(systemClock.nowMs() / 1000);
    const claims = { iss: issuer, sub: 'owner', aud: 'x', iat: now, exp: now + 60 };
    return says(reply, {
      access_token: 'a',
      token_type: 'bearer',
      id_token: `${part({ alg: 'none' })}.${part(claims)}.`,
    });
  },
  'sends a token with keys at a closed address': (reply, path, issuer) => {
    if (path !== '/token') return says(reply, metadata(issuer, { jwks_uri: `${inside}/keys` }));
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    return says(reply, {
      access_token: 'a',
      token_type: 'bearer',
      id_token: `${part({ alg: 'RS256', kid: '1' })}.${part({ iss: issuer, sub: 'owner' })}.c2ln`,
    });
  },
};

suite('an identity provider that', { concurrency: 8 }, () => {
  for (const [what, behaviour] of Object.entries(discovery))
    test(what, async () => refusedInTime((await providerThat(behaviour)).path, [502]));

  for (const [what, behaviour] of Object.entries(tokens))
    test(what, async () => {
      const { path } = await providerThat((reply, at, issuer) => behaviour(reply, at, issuer) as void);
      const one = visitor(service);
      const left = await one.get(path, typed);
      // Some settings are refused before the person leaves.
      if (left.status === 502) return;
      assert.equal(left.status, 303);
      const state = new URL(left.headers.location!).searchParams.get('state')!;
      await refusedInTime(`/console/sso/callback?code=x&state=${state}`, [403, 502], one);
      assert.equal((await one.get('/console', typed)).status, 303, 'no person is signed in');
    });

  for (const [key, isPublished] of [
    ['a published key', true],
    ['another key', false],
  ] as const)
    test(`signs a token with ${key}`, async () => {
      const [published, other] = [0, 1].map(() => generateKeyPairSync('rsa', { modulusLength: 2048 }));
      let nonce: string | null = null;
      const { org, path } = await providerThat((reply, at, issuer) => {
        const jwk = { ...published!.publicKey.export({ format: 'jwk' }), kid: '1', alg: 'RS256', use: 'sig' };
        if (at === '/keys') return says(reply, { keys: [jwk] });
        if (at !== '/token') return says(reply, metadata(issuer));
        const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
        const now = Math.floor(systemClock.nowMs() / 1000);
        const claims = { iss: issuer, sub: 'owner', aud: org.publicId, nonce, iat: now, exp: now + 60 };
        const text = `${part({ alg: 'RS256', kid: '1' })}.${part(claims)}`;
        const { privateKey } = isPublished ? published! : other!;
        const signature = sign('sha256', Buffer.from(text), privateKey).toString('base64url');
        return says(reply, { access_token: 'a', token_type: 'bearer', id_token: `${text}.${signature}` });
      });
      const { userId } = await personOf(service, org.id, 'owner');
      const one = visitor(service);
      const left = new URL((await one.get(path, typed)).headers.location!);
      nonce = left.searchParams.get('nonce');
      await service.withUnitOfWork((work) =>
        connectIdentity(work, org.id, { issuer: left.origin, subject: 'owner', userId }),
      );
      await one.get(`/console/sso/callback?code=x&state=${left.searchParams.get('state')}`, typed);
      assert.equal((await one.get(`/console/${org.publicId}`, typed)).status, isPublished ? 200 : 303);
    });
});
