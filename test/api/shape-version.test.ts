import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import Type from 'typebox';
import { routes } from '../../src/api/route-table.ts';
import { shapeVersion, splicedSamples } from '../../src/api/shape-version.ts';

const samples = splicedSamples();

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

suite('the version of the shapes', () => {
  const now = shapeVersion(routes, samples);

  test('is the same for the same shapes', () => assert.equal(shapeVersion(routes, splicedSamples()), now));

  for (const { path } of routes.filter((route) => route.method === 'GET' && route.answers[200]?.schema !== undefined))
    test(`changes with what GET ${path} answers`, () => {
      const more = withSchema(path, (schema) => Type.Object({ ...schema.properties, more: Type.Null() }));
      assert.notEqual(shapeVersion(more, samples), now);
    });

  for (const [n, sample] of samples.entries())
    test(`changes with the text of spliced payload ${n + 1}`, () => {
      const other = samples.with(n, sample.replace(/}$/, ',"more":null}'));
      assert.notEqual(shapeVersion(routes, other), now);
    });

  test('does not change with an example or a description of an endpoint', () => {
    const told = routes.map((route) => ({ ...route, summary: 'Another summary', bodyExample: null }));
    assert.equal(shapeVersion(told, samples), now);
  });
});
