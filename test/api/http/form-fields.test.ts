import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { consoleRoutes } from '../../../src/web/console/routes.ts';
import { addressOf } from '../../../src/web/console/kit/route.ts';
import { readFields, readParts } from '../../../src/api/http/form-fields.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { personOf } from '../../web/console/visitor.ts';
import { processorMs } from '../../support/metrics/processor.ts';
import { withService } from '../../support/service.ts';

suite('fields of a form', () => {
  test('are read up to the limit, however many more there are', () => {
    assert.deepEqual([...readFields('a=1&b=2&a=%C3%A9+', 3)].flat(), ['a', '1', 'b', '2', 'a', 'é ']);
    assert.deepEqual([...readFields('a=1&b=2&a=3', 2)].flat(), ['a', '1', 'b', '2']);
    assert.deepEqual([...readFields('', 2)], []);
    for (const text of ['a&', '&', 'a=b&']) {
      const many = text.repeat(500_000);
      assert.ok(processorMs(() => [...readFields(many, 2000)], 20) <= 20, text);
    }
  });

  test('are parts of a form with files: more than the limit are refused before any is read', async () => {
    const part = '--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\nc\r\n';
    const form = (parts: number, end = '--x--\r\n') => Buffer.from(part.repeat(parts) + end);
    for (const type of ['multipart/form-data; boundary=x', 'multipart/form-data; charset=utf-8; Boundary="x"']) {
      assert.equal([...(await readParts(form(3), type, 3))].length, 3);
      await assert.rejects(readParts(form(4), type, 3), { status: 413, message: 'A form may have at most 3 parts.' });
    }
    await assert.rejects(readParts(form(1, ''), 'multipart/form-data; boundary=x', 3), { status: 400 });
    await assert.rejects(readParts(form(1), 'multipart/form-data', 3), { status: 400 });
  });
});

suite('a form that anyone can send has at most 16 KB', async () => {
  const service = await withService();
  const org = await service.organisation();
  const addresses = [
    ...consoleRoutes.filter((route) => route.for === 'anyone' && route.method === 'POST').map(addressOf),
    '/console/nothing',
    '/a/{token}/question',
    '/a/{token}/nothing',
    '/result/{token}',
    '/setup/{token}',
    '/verify',
    '/nothing',
  ].map((path) => path.replace('{organisation}', org.publicId).replace('{token}', 'nobody'));
  const post = (path: string, type: string, bytes: number, headers: Record<string, string> = {}) =>
    fetch(service.url + path, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': type, 'sec-fetch-site': 'same-origin', ...headers },
      body: 'x'.repeat(bytes),
    }).then((reply) => reply.status);
  const types = ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'];

  test('and what is larger is refused', async () => {
    for (const path of addresses)
      for (const type of types) {
        assert.equal(await post(path, type, limits.publicFormBytes + 1), 413, `${path} ${type}`);
        assert.notEqual(await post(path, type, limits.publicFormBytes), 413, `${path} ${type}`);
      }
  });

  test('other pages of the console take more, from those who may open them', async () => {
    const { cookie } = await personOf(service, org.id, 'owner');
    const path = `/console/${org.publicId}/groups/create`;
    assert.equal(await post(path, types[0]!, 500_000), 303);
    assert.equal(await post(path, types[0]!, 500_000, { cookie: cookie! }), 422);
    assert.equal(await post(path, types[0]!, limits.formBytes + 1, { cookie: cookie! }), 413);
  });
});
