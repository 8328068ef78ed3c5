import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { makeOpenApi, referenceFiles } from '../../../src/api/reference/openapi.ts';
import { exampleOrigin } from '../../../src/platform/config/settings.ts';

type Node = Record<string, any>;

const document = await makeOpenApi(exampleOrigin);
const [latest, older] = ['openapi.json', 'openapi-3.0.json'].map(
  (name) => JSON.parse(referenceFiles[name]!(document)) as Node,
) as [Node, Node];
const operationsOf = ({ paths }: Node) =>
  Object.entries<Node>(paths).flatMap(([path, methods]) =>
    Object.entries<Node>(methods).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
  );

/** The places in a document that can have a description and have none. */
function undescribed(value: unknown, place: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { properties, parameters, responses, ...rest } = value as Node;
  const named = Object.entries<Node>({ ...properties, ...parameters, ...responses });
  const missing = named.filter(([, one]) => one.$ref === undefined && !(one.description?.length > 3));
  return [
    ...missing.map(([name]) => `${place}/${name}`),
    ...named.flatMap(([name, one]) => undescribed(one, `${place}/${name}`)),
    ...Object.entries(rest).flatMap(([name, one]) =>
      /^examples?$/.test(name) ? [] : undescribed(one, `${place}/${name}`),
    ),
  ];
}

for (const [version, file] of [
  ['3.1.1', latest],
  ['3.0.3', older],
] as const)
  suite(`the OpenAPI ${version} document`, () => {
    test('has no warning of the strict rules', async () => {
      const config = await createConfig({
        extends: ['recommended-strict'],
        rules: {
          'no-invalid-media-type-examples': 'error',
          'no-invalid-parameter-examples': 'error',
          'no-invalid-schema-examples': 'error',
          'operation-description': 'error',
          'operation-singular-tag': 'error',
          'operation-tag-defined': 'error',
          'parameter-description': 'error',
          'tag-description': 'error',
          'info-contact': 'error',
          'component-name-unique': 'error',
          'path-excludes-patterns': { severity: 'error', patterns: [' '] },
          'paths-kebab-case': 'error',
        },
      });
      const problems = await lintFromString({ source: JSON.stringify(file), absoluteRef: 'openapi.json', config });
      assert.deepEqual(
        problems.map(({ ruleId, location, message }) => `${ruleId} ${location[0]?.pointer ?? ''} ${message}`),
        [],
      );
    });

    test('says its version, whom to ask, and something of every part', () => {
      assert.equal(file.openapi, version);
      assert.deepEqual(Object.keys(file.info.contact), ['name', 'url']);
      const operations = operationsOf(file).map(({ name, operation }) => [name, operation]);
      const schemas = Object.entries<Node>(file.components.schemas);
      assert.deepEqual(
        [...operations, ...schemas]
          .filter(([, { description }]: any) => !(description?.length > 3))
          .map(([name]) => name),
        [],
      );
      assert.deepEqual(undescribed(file, ''), []);
    });

    test('describes everything in the words of the glossary', () => {
      const old =
        /\b([Ww]alk|[Ss]weep|[Pp]oll|[Rr]epl(y|ies)|told|[Rr]efused?|ids?|whole(?! number)|(?<!Email |email |IP )[Aa]ddress)\b/;
      const texts: string[] = [];
      JSON.stringify(file, (key, value) => {
        if (/^(description|summary)$/.test(key) && typeof value === 'string')
          texts.push(value.replaceAll(/`.*?`/g, ''));
        return /^examples?$/.test(key) ? undefined : value;
      });
      assert.ok(texts.length > 300);
      assert.deepEqual(
        texts.filter((text) => old.test(text)),
        [],
      );
    });

    test('warns of prior attainment, and explains a level code that is null', () => {
      const { rqf_level_code } = file.components.schemas.Assessment.properties;
      assert.match(rqf_level_code.description, /Do not copy the code into an ILR return as prior attainment/);
      assert.match(rqf_level_code.description, /Null with below_level_1 true: below Entry Level/);
    });

    test('has no HEAD operation, and tells how to send a reference with a slash', () => {
      const names = operationsOf(file).map(({ name }) => name);
      assert.deepEqual(
        names.filter((name) => name.startsWith('head')),
        [],
      );
      assert.match(file.paths['/learners/{ref}'].get.parameters[0].description, /percent-encoded: \/ becomes %2F/);
    });
  });

suite('the OpenAPI 3.0.3 document against 3.1', () => {
  test('has the same operations with the same parameters, examples and statuses', () => {
    const shown = (file: Node) =>
      operationsOf(file).map(({ name, operation }) => ({
        name,
        parameters: operation.parameters?.map((one: Node) => one.$ref ?? one.name),
        body: operation.requestBody?.content['application/json'].example,
        responses: Object.entries<Node>(operation.responses).map(([status, { content, $ref }]) => [
          status,
          $ref,
          Object.values<Node>(content ?? {}).map(({ example, examples }) => [example, examples]),
        ]),
      }));
    assert.deepEqual(shown(older), shown(latest));
    assert.equal(older.webhooks, undefined);
  });

  test('has no keyword of JSON Schema 2020-12', () => {
    const found: string[] = [];
    const visit = (value: unknown, place: string): void => {
      if (typeof value !== 'object' || value === null) return;
      for (const [key, inside] of Object.entries(value)) {
        if (/^(const|patternProperties|anyOf|\$schema|contentEncoding)$/.test(key)) found.push(`${place}/${key}`);
        if (key === 'type' && Array.isArray(inside)) found.push(`${place}/${key}`);
        if (key.startsWith('exclusiveM') && typeof inside === 'number') found.push(`${place}/${key}`);
        if (key === 'examples' && Array.isArray(inside)) found.push(`${place}/${key}`);
        if (key !== 'example' && key !== 'examples') visit(inside, `${place}/${key}`);
      }
    };
    visit(older, '');
    assert.deepEqual(found, []);
  });

  test('has one object for an entry of a list, with what all entries have required', () => {
    const { FeedEntry, LearnerEntry, FeedDigest, Assessment } = older.components.schemas as Record<string, Node>;
    assert.deepEqual(FeedEntry!.required, ['assessment_id', 'updated_at']);
    assert.deepEqual(FeedEntry!.properties.status.enum, ['completed', 'deleted']);
    assert.deepEqual(FeedEntry!.properties.removed.properties.reason.enum, ['left_scope']);
    assert.deepEqual(
      Object.keys(FeedEntry!.properties).sort(),
      [...Object.keys(Assessment!.properties), 'removed'].sort(),
    );
    assert.deepEqual(LearnerEntry!.required, ['learner_id', 'status', 'updated_at']);
    assert.deepEqual(LearnerEntry!.properties.status.enum, ['active', 'deleted']);
    assert.deepEqual(FeedDigest!.required, ['bits', 'through']);
    assert.equal(Assessment!.properties.rqf_level.nullable, true);
    assert.deepEqual(
      older.paths['/assessments'].get.responses['200'].content['application/json'].schema.properties.data.items,
      {
        $ref: '#/components/schemas/FeedEntry',
      },
    );
  });
});
