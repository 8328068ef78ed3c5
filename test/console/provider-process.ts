import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { Provider } from 'oidc-provider';

/** A real OpenID provider in a process of its own: any name signs in. Arguments: certificate file, redirect address. */

const [pem, redirectUri] = process.argv.slice(2) as [string, string];
const text = readFileSync(pem, 'utf8');
let listener: RequestListener = (_request, reply) => void reply.writeHead(503).end();
const server = createServer({ key: text, cert: text }, (request, reply) => listener(request, reply));
server.listen(0, '127.0.0.1', () => {
  const issuer = `https://localhost:${(server.address() as { port: number }).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'console',
        client_secret: 'secret-of-the-console',
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    claims: { openid: ['sub', 'tid'], profile: ['name'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      // Everybody says that they have the same address, verified.
      claims: () => ({
        sub: id,
        name: `Name of ${id}`,
        email: 'same@college.example',
        email_verified: true,
        tid: id.split('@')[1] ?? 'ours',
      }),
    }),
  });
  listener = provider.callback();
  process.stdout.write(`${issuer}\n`);
});
