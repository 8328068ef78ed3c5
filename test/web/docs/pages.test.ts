import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ask } from '../../contract/support/client.ts';
import { withService } from '../../support/service.ts';

suite('the site as it is served', async () => {
  const service = await withService();

  test('/ and /docs lead to it; a page comes once, and is 304 while it stays', async () => {
    for (const path of ['/', '/docs']) assert.equal((await ask(service.url, 'GET', path)).headers.location, '/docs/');
    for (const path of [
      '/docs/',
      '/docs/reference.html',
      '/docs/sync/sync-results.html',
      '/docs/style.css',
      '/docs/delta-sync.svg',
    ]) {
      const first = await ask(service.url, 'GET', path);
      assert.equal(first.status, 200, path);
      assert.match(first.headers['content-security-policy']!, /^default-src 'none'; style-src /);
      assert.match(first.headers['cache-control']!, /must-revalidate/);
      const again = await ask(service.url, 'GET', path, { headers: { 'if-none-match': first.headers.etag! } });
      assert.equal(`${again.status} ${again.text}`, '304 ');
      assert.equal((await ask(service.url, 'HEAD', path)).headers['content-length'], String(first.bytes.length));
      const zipped = await fetch(service.url + path, { headers: { 'accept-encoding': 'gzip' } });
      assert.equal(zipped.headers.get('content-encoding'), 'gzip');
      assert.equal(await zipped.text(), first.text);
    }
  });

  test('the reference speaks of this service', async () => {
    const { text } = await ask(service.url, 'GET', '/docs/reference.html');
    assert.ok(text.includes(`${service.url}/api/v1`));
  });

  test('what is not in it is not found, whatever the path climbs to', async () => {
    for (const path of [
      '/docs/none.html',
      '/docs/../package.json',
      '/docs/%2e%2e/package.json',
      '/docs/__proto__',
      '/docs/site.ts',
    ])
      assert.equal((await ask(service.url, 'GET', path)).status, 404, path);
  });

  test('and the OpenAPI document are made again after they could not be', async () => {
    const later = await service.sibling();
    const { baseUrl } = later.app.settings;
    // As when no more files may be open: what each is made from first fails.
    let asked = 0;
    Object.defineProperty(later.app.settings, 'baseUrl', {
      get() {
        if (asked++ < 2) throw new Error('EMFILE');
        return baseUrl;
      },
    });
    for (const status of [500, 200])
      for (const path of ['/docs/', '/openapi.json'])
        assert.equal((await ask(later.url, 'GET', path)).status, status, path);
  });
});
