import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { makeOpenApi } from '../../../src/api/reference/openapi.ts';
import { toPostman } from '../../../src/api/reference/postman.ts';
import { routes } from '../../../src/api/route-table.ts';
import { exampleOrigin } from '../../../src/platform/config/settings.ts';

type Node = Record<string, any>;

const collection = JSON.parse(JSON.stringify(toPostman(await makeOpenApi(exampleOrigin)))) as Node;
const items: Node[] = collection.item.flatMap((folder: Node) => folder.item);

suite('the Postman collection', () => {
  test('is of format 2.1, with the variables that users set', () => {
    assert.equal(collection.info.schema, 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json');
    assert.deepEqual(
      collection.variable.slice(0, 3).map(({ key, value }: Node) => [key, value]),
      [
        ['baseUrl', `${exampleOrigin}/api/v1`],
        ['accessKeyId', ''],
        ['secretAccessKey', ''],
      ],
    );
  });

  test('has every operation with both headers, a body if it needs one, a test script and an example response', () => {
    const addressed = items.map(({ request }) => `${request.method} ${request.url.path.join('/')}`);
    assert.deepEqual(
      addressed.map((one) => one.replace(/\{\{\w+\}\}/, '{}')).sort(),
      routes.map(({ method, path }) => `${method} ${path.slice(1).replace(/\{\w+\}/, '{}')}`).sort(),
    );
    for (const { name, request, response, event } of items) {
      const sent = new Map<string, Node>(request.header.map((header: Node) => [header.key, header]));
      assert.equal(sent.get('X-Access-Key-Id')!.value, '{{accessKeyId}}', name);
      assert.equal(sent.get('X-Secret-Access-Key')!.value, '{{secretAccessKey}}', name);
      assert.equal(sent.get('Idempotency-Key')?.disabled, request.method === 'POST' ? false : undefined, name);
      if (/POST|PATCH/.test(request.method)) assert.ok(Object.keys(JSON.parse(request.body.raw)).length > 0, name);
      assert.ok(response.length > 0 && response.every(({ code }: Node) => code >= 200 && code < 300), name);
      assert.ok(
        event.some(({ listen }: Node) => listen === 'test'),
        name,
      );
    }
  });

  test('sets each variable before a request uses it', () => {
    const known = new Set(['baseUrl', 'accessKeyId', 'secretAccessKey', '$guid']);
    for (const { request, event } of items) {
      for (const [, name] of JSON.stringify(request).matchAll(/\{\{([\w$]+)\}\}/g)) assert.ok(known.has(name!), name!);
      for (const [, name] of JSON.stringify(event).matchAll(/collectionVariables\.set\('(\w+)'/g)) known.add(name!);
    }
    const listed = collection.variable.map(({ key }: Node) => key);
    assert.deepEqual(
      [...known].filter((name) => name !== '$guid' && !listed.includes(name)),
      [],
    );
  });
});
