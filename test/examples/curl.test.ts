import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { routes } from '../../src/api/route-table.ts';
import { ask } from '../contract/support/client.ts';
import { withService } from '../support/service.ts';

const run = promisify(execFile);
const lacksCurl = await run('curl', ['--version']).then(
  () => false as const,
  () => 'no curl on this machine',
);

const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };

test('every command of the reference page works when pasted', { skip: lacksCurl }, async () => {
  const service = await withService();
  const org = await service.organisation();
  const folder = await mkdtemp(join(tmpdir(), 'ars-curl-'));
  after(() => rm(folder, { recursive: true, force: true }));
  const page = (await ask(service.url, 'GET', '/docs/reference.html')).text;
  const plain = (text: string) => text.replace(/&(amp|lt|gt|quot|#39);/g, (entity) => entities[entity]!);
  const shown = /<h4>Request<\/h4><pre><code>([^<]*)<\/code><\/pre>\s*<h4>Response<\/h4><pre><code>HTTP\/1.1 (\d+)/g;
  const examples = [...page.matchAll(shown)].map(([, text, status]) => ({ command: plain(text!), status: status! }));
  assert.ok(examples.length >= routes.length);
  for (const { command, status } of examples) {
    // What lasts is ended after a while, which curl takes for a fault.
    const lasts = command.includes('/events') ? ' -m 3 || true' : '';
    const { stdout } = await run('sh', ['-c', `${command} -w '\\n%{http_code}'${lasts}`], {
      cwd: folder,
      env: { ...process.env, ACCESS_KEY_ID: org.key.access_key_id, SECRET_ACCESS_KEY: org.key.secret_access_key },
    });
    // The IDs of the examples name nothing in this organisation, and what they created or read is not there.
    const likely = new Set([status, '404', ...(/^(2|304)/.test(status) ? ['200', '201'] : [])]);
    assert.ok(likely.has(stdout.split('\n').at(-1)!), `${command}\n${stdout}`);
  }
});
