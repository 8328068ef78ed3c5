import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import { openPage, withoutBrowser } from './browser.ts';

const root = join(import.meta.dirname, '../..');

/** What the page does with the client, whose modules it loads as they are built. */
const script = (key: { access_key_id: string; secret_access_key: string }, elsewhere: string) => `
  import { ApiError, Client, openMirror, openWebhook, testWebhook, verifyWebhook } from '/client/index.js';
  import { storeConformance } from '/client/stores/conformance.js';

  const said = {};
  const keys = { accessKeyId: '${key.access_key_id}', secretAccessKey: '${key.secret_access_key}', patienceMs: 0 };
  const secret = 'whsec_of a test';
  const { headers, body } = await testWebhook({ secret, event: { event: 'a.newer.one' } });
  const header = headers['x-svc-signature-256'];
  said.event = (await openWebhook({ secret, header, body })).event;
  said.forged = await verifyWebhook({ secret: 'another', header, body });

  const client = new Client({ baseUrl: location.origin, ...keys });
  said.listed = (await client.assessments.list({ limit: 1 }).toArray()).length;
  said.code = await client.assessments.get('nothing').catch((error) => error instanceof ApiError && error.code);

  // A store of the page's own.
  const rows = new Map();
  let state = null;
  const transaction = (work) => work({
    native: null,
    readState: async () => state,
    writeState: async (text) => void (state = text),
    find: async (ids) => ids.flatMap((id) => rows.get(id) ?? []),
    put: async (given) => given.forEach((row) => rows.set(row.id, row)),
    remove: async (ids) => ids.forEach((id) => rows.delete(id)),
    list: async (after, limit) =>
      [...rows.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).filter(({ id }) => after === null || id > after).slice(0, limit),
  });
  const report = await openMirror({ client, store: { open: async () => {}, transaction } }).poll();
  said.mirror = [report.results, report.isProven];
  said.suites = storeConformance({}).length > 5;

  const { bytes } = await client.assessments.report([...rows.keys()][0]);
  said.evidence = new TextDecoder().decode(bytes.subarray(0, 4));

  const far = new Client({ baseUrl: '${elsewhere}', ...keys });
  said.elsewhere = await far.health().catch((error) => error.name);
  document.title = JSON.stringify(said);
`;

suite('the built client in a browser', { skip: withoutBrowser }, async () => {
  if (withoutBrowser !== false) return;
  const folder = await mkdtemp(join(tmpdir(), 'ars-browser-client-'));
  after(() => rm(folder, { recursive: true, force: true }));
  await promisify(execFile)(process.execPath, [join(root, 'client/build.ts'), folder]);
  const service = await withService();
  const scene = await scenario(service);
  const ana = await scene.learner('ana-1');
  await ana.completes();
  await ana.completes();

  // The page and the client's modules. What the page asks of its own origin's API goes on to the service, as by a proxy.
  const server = createServer(async (request, response) => {
    const path = request.url!;
    if (path === '/') {
      const page = `<!doctype html><title></title><script type="module">${script(scene.org.key, service.url)}</script>`;
      return response.writeHead(200, { 'content-type': 'text/html' }).end(page);
    }
    if (!path.startsWith('/client/')) return response.writeHead(404).end();
    const text = await readFile(join(folder, 'esm', path.slice('/client/'.length)));
    return response.writeHead(200, { 'content-type': 'text/javascript' }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const own = `http://127.0.0.1:${(server.address() as { port: number }).port}`;

  test('verifies webhooks, lists, hashes evidence and keeps a mirror on the page’s own origin, and reaches no other', async () => {
    const { page } = await openPage({ width: 800 });
    await page.route(`${own}/api/**`, async (route) => {
      const answer = await route.fetch({ url: route.request().url().replace(own, service.url) });
      await route.fulfill({ response: answer });
    });
    await page.goto(own);
    await page.waitForFunction("document.title !== ''");
    assert.deepEqual(JSON.parse(await page.title()), {
      event: 'a.newer.one',
      forged: 'no_matching_signature',
      listed: 2,
      code: 'not_found',
      mirror: [2, true],
      suites: true,
      evidence: '%PDF',
      // The service lets no page of another origin read its answers.
      elsewhere: 'ConnectionError',
    });
  });
});
