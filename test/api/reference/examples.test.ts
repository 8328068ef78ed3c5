import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { readExamples } from '../../../src/api/reference/examples.ts';
import { AssessmentCompleted, LearnerGroupsUpdated } from '../../../src/api/reference/openapi-webhooks.ts';
import { routes } from '../../../src/api/route-table.ts';
import { legacyHeader, sign, signatureHeader } from '../../../src/integrations/webhooks/http/signing.ts';
import { eventTypes } from '../../../src/platform/validation/event-types.ts';
import { assertShape } from '../../contract/support/expect.ts';
import { recordExamples } from '../../support/documents/examples.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { thisServer } from '../../support/service.ts';

suite('the examples of the reference', async () => {
  const { operations, events } = await readExamples();

  test('are what a running service answers and delivers', async () => {
    const database = await freshDatabase(await thisServer());
    const recorded = await recordExamples(database.url);
    await database.drop();
    const committed = await readFile(new URL('../../../src/api/reference/examples.json', import.meta.url), 'utf8');
    assert.equal(committed, recorded, 'run: npm run check -- --write');
  });

  test('show each success of each endpoint, an error of each, and the 304 of the feed', () => {
    for (const { id, answers, bodyExample } of routes) {
      const exchanges = operations[id]!;
      const statuses = exchanges.map(({ response }) => response.status);
      for (const status of Object.keys(answers)) assert.ok(statuses.includes(Number(status)), `${id} ${status}`);
      if (id !== 'listWebhooks')
        assert.ok(
          statuses.some((status) => status >= 400),
          id,
        );
      if (bodyExample !== undefined) assert.deepEqual(exchanges[0]!.request.body, bodyExample, id);
      for (const { response } of exchanges) {
        const schema = answers[response.status]?.schema;
        const lines =
          typeof response.body === 'string'
            ? response.body.split('\n').map((line) => JSON.parse(line))
            : [response.body];
        if (schema !== undefined) for (const line of lines) assertShape(schema, line);
      }
    }
    const [, changed, unchanged] = operations.listAssessments!;
    assert.equal(unchanged!.response.status, 304);
    assert.equal(unchanged!.request.headers['If-None-Match'], changed!.response.headers.ETag);
  });

  test('of events are signed with the secret that the example of POST /webhooks shows', () => {
    const { data } = operations.registerWebhook![0]!.response.body as { data: { secret: string } };
    assert.deepEqual(Object.keys(events).sort(), [...eventTypes].sort());
    assertShape(AssessmentCompleted, events['assessment.completed']!.body);
    assertShape(LearnerGroupsUpdated, events['learner.groups.updated']!.body);
    for (const { headers, body } of Object.values(events)) {
      const nowMs = Number(/^t=(\d+)/.exec(headers[signatureHeader]!)![1]) * 1000;
      const signed = sign({ secrets: [data.secret], body: JSON.stringify(body), nowMs });
      assert.equal(headers[signatureHeader], signed[signatureHeader]);
      assert.equal(headers[legacyHeader], signed[legacyHeader]);
    }
  });
});
