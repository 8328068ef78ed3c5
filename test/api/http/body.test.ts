import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { routes } from '../../../src/api/route-table.ts';
import type { App } from '../../../src/platform/app.ts';
import { fieldRefusals, readBody } from '../../../src/api/http/body.ts';
import { refusalsOf } from '../../../src/api/reference/codes.ts';

const app = { settings: { webhookAllowNetworks: [] } } as unknown as App;

suite('a body read by its schema', () => {
  for (const route of routes) {
    const { body: schema, bodyExample, method, path } = route;
    if (schema === undefined) continue;
    const example = bodyExample as Record<string, unknown>;
    const read = (body: Record<string, unknown>) => readBody(schema, { app, body });

    test(`${method} ${path}: the example is what it is`, () => assert.deepEqual(read(example), example));

    test(`${method} ${path}: each field says what was expected, and the first fault is told`, () => {
      const refusals = fieldRefusals(schema);
      assert.deepEqual(
        refusals.map(({ code }) => code),
        Object.keys(schema.properties).map((name) => `invalid_${name}`),
      );
      const documented = refusalsOf(route).map(({ code }) => code);
      for (const { code } of refusals) assert.ok(documented.includes(code), code);
      for (const wrong of [{}, null, 1, [[]], [{}], '', '\n']) {
        const all = Object.fromEntries(Object.keys(schema.properties).map((name) => [name, wrong]));
        assert.throws(() => read({ ...all, unknown: 1 }), { code: refusals[0]!.code, status: 422 });
        refusals.forEach(({ code, message }) => {
          const body = { ...example, [code.slice('invalid_'.length)]: wrong, unknown: 1 };
          assert.throws(() => read(body), { code, status: 422 });
          if (!Array.isArray(wrong) && typeof wrong !== 'string') assert.throws(() => read(body), { message });
        });
      }
    });

    test(`${method} ${path}: an unknown field, however it is called`, () => {
      for (const name of ['unknown', '__proto__', 'constructor', '', 'toString'])
        assert.throws(() => read(JSON.parse(`{${JSON.stringify(example).slice(1, -1)},${JSON.stringify(name)}:1}`)), {
          code: 'unknown_field',
        });
    });
  }
});
