import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

/** Starts a real OpenID provider in a process of its own. @returns its issuer */
export async function startProvider(redirectUri: string): Promise<string> {
  const script = new URL('provider-process.ts', import.meta.url).pathname;
  const certificate = fileURLToPath(new URL('../../../integrations/webhooks/tls/localhost.pem', import.meta.url));
  const child = spawn(process.execPath, [script, certificate, redirectUri], { stdio: ['ignore', 'pipe', 'ignore'] });
  after(() => child.kill());
  return new Promise((resolve) => createInterface(child.stdout).once('line', resolve));
}
