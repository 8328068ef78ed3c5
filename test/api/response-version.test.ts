import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import Type from 'typebox';
import { routes } from '../../src/api/route-table.ts';
import { responseVersion, payloadSamples } from '../../src/api/response-version.ts';

const samples = payloadSamples();

/** The routes with another schema where the given one answers. */
function withSchema(path: string, change: (schema: any) => any) {
  return routes.map((route) =>
    route.method === 'GET' && route.path === path
      ? {
          ...route,
          answers: { ...route.answers, 200: { ...route.answers[200]!, schema: change(route.answers[200]!.schema) } },
        }
      : route,
  );
}

suite('the version of responses', () => {
  const now = responseVersion(routes, samples);

  test('is the same for the same schemas and payloads', () =>
    assert.equal(responseVersion(routes, payloadSamples()), now));

  for (const { path } of routes.filter((route) => route.method === 'GET' && route.answers[200]?.schema !== undefined))
    test(`changes with what GET ${path} answers`, () => {
      const more = withSchema(path, (schema) => Type.Object({ ...schema.properties, more: Type.Null() }));
      assert.notEqual(responseVersion(more, samples), now);
    });

  for (const [n, sample] of samples.entries())
    test(`changes with the text of spliced payload ${n + 1}`, () => {
      const other = samples.with(n, sample.replace(/}$/, ',"more":null}'));
      assert.notEqual(responseVersion(routes, other), now);
    });

  test('does not change with an example or a description of an endpoint', () => {
    const told = routes.map((route) => ({ ...route, summary: 'Another summary', bodyExample: null }));
    assert.equal(responseVersion(told, samples), now);
  });
});
