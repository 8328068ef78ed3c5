import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { Provider } from 'oidc-provider';

/**
 * A real OpenID provider in a process of its own: any name signs in. Arguments: certificate file, redirect address. It says
 * when somebody gave their password to the client `console` where that is asked for, to `says-when` always, and to
 * `never-says` never, as providers do whose claim `auth_time` isn't switched on.
 */

const [pem, redirectUri] = process.argv.slice(2) as [string, string];
const text = readFileSync(pem, 'utf8');
let listener: RequestListener = (_request, reply) => void reply.writeHead(503).end();
const server = createServer({ key: text, cert: text }, (request, reply) => listener(request, reply));
server.listen(0, '127.0.0.1', () => {
  const issuer = `https://localhost:${(server.address() as { port: number }).port}`;
  const provider = new Provider(issuer, {
    clients: ['console', 'says-when', 'never-says'].map((id) => ({
      client_id: id,
      client_secret: 'secret-of-the-console',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      require_auth_time: id === 'says-when',
    })),
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
  // As providers do while a secret is being replaced, it takes several.
  (provider as any).Client.prototype.compareClientSecret = (secret: string) =>
    /secret-of-the-console|(newer|another) secret/.test(secret);
  const answer = provider.callback();
  listener = (request, reply) => {
    if (/client_id=never-says/.test(request.url!)) request.url = request.url!.replace(/&(max_age|prompt)=\w+/g, '');
    return answer(request, reply);
  };
  process.stdout.write(`${issuer}\n`);
});
