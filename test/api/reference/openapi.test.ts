import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { AssessmentCompleted, LearnerGroupsUpdated } from '../../../src/api/reference/openapi-webhooks.ts';
import { makeOpenApi, referenceFiles } from '../../../src/api/reference/openapi.ts';
import type { OpenApiReply } from '../../../src/api/reference/openapi-document.ts';
import { routes } from '../../../src/api/route-table.ts';
import { exampleOrigin } from '../../../src/platform/config/settings.ts';
import type { Answer, Ask } from '../../contract/support/client.ts';
import { ask } from '../../contract/support/client.ts';
import { assertShape } from '../../contract/support/expect.ts';
import { recordResults, scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

const document = await makeOpenApi(exampleOrigin);

function resolved(given: OpenApiReply | { $ref: string }): OpenApiReply {
  return '$ref' in given ? document.components.responses[given.$ref.split('/').at(-1)!]! : given;
}

suite('the OpenAPI document', () => {
  test('the same bytes each time, and those that are committed', async () => {
    for (const [name, textOf] of Object.entries(referenceFiles)) {
      const text = textOf(document);
      assert.equal(textOf(await makeOpenApi(exampleOrigin)), text);
      const committed = await readFile(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');
      assert.equal(committed, text, 'run: npm run check -- --write');
    }
  });

  test('every example of a body is what its schema says', () => {
    for (const route of routes) if (route.body !== undefined) assertShape(route.body, route.bodyExample);
  });

  test('every route is in it, once, with the answers of its table', () => {
    for (const route of routes) {
      const operation = document.paths[route.path]?.[route.method.toLowerCase()];
      assert.equal(operation?.operationId, route.id);
      for (const status of Object.keys(route.answers)) assert.ok(operation!.responses[status], `${route.id} ${status}`);
      for (const status of [401, 429, 500, 503]) assert.ok(operation!.responses[status], `${route.id} ${status}`);
    }
    const operations = Object.values(document.paths).flatMap((methods) => Object.keys(methods));
    assert.equal(operations.length, routes.length);
  });

  test('no property of a body that is sent has a default: generators of types would require it', () => {
    const sent = new Set<string>();
    const look = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      for (const [key, inside] of Object.entries(value)) {
        assert.notEqual(key, 'default', JSON.stringify(value));
        if (key !== '$ref') look(inside);
        else if (!sent.has(inside as string)) {
          sent.add(inside as string);
          look(document.components.schemas[(inside as string).split('/').at(-1)!]);
        }
      }
    };
    for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods)))
      look(operation.requestBody?.content['application/json']?.schema);
    assert.ok(sent.size >= 5);
  });

  test('nothing signs in but the two headers, at an address that ends in /api/v1, in version 1.0.0', () => {
    const schemes = Object.values(document.components.securitySchemes);
    assert.deepEqual(
      schemes.map(({ type, in: where, name }) => [type, where, name]),
      [
        ['apiKey', 'header', 'X-Access-Key-Id'],
        ['apiKey', 'header', 'X-Secret-Access-Key'],
      ],
    );
    assert.deepEqual(document.security, [{ accessKeyId: [], secretAccessKey: [] }]);
    for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods)))
      assert.equal(operation.security, undefined);
    assert.equal(document.servers[0]!.url, `${exampleOrigin}/api/v1`);
    assert.equal(document.info.version, '1.0.0');
  });

  test('the rate limit is that of the service', async () => {
    const text = referenceFiles['openapi.json']!(await makeOpenApi(exampleOrigin, 4711));
    assert.match(text, /4711 requests in any 60 seconds/);
    assert.match(text, /q=4711;w=60/);
    assert.doesNotMatch(text, /\b300\b/);
  });

  test('of reads that are compressed, and of those alone, Accept-Encoding and Content-Encoding are announced', () => {
    const announced = (path: string) => {
      const { parameters = [], responses } = document.paths[path]!.get!;
      const asked = parameters.some((one) => '$ref' in one && one.$ref.endsWith('/Accept-Encoding'));
      const told = resolved(responses[200]!).headers?.['Content-Encoding'] !== undefined;
      assert.equal(asked, told, path);
      return told;
    };
    const gets = routes.filter((route) => route.method === 'GET').map(({ path }) => path);
    assert.deepEqual(
      gets.filter((path) => !announced(path)),
      ['/health', '/assessments/{id}/report.pdf', '/events'],
    );
  });

  test('every parameter of a query is flat snake_case', () => {
    for (const route of routes)
      for (const { name } of route.query ?? []) assert.match(name, /^[a-z]+(_[a-z0-9]+)*$/, `${route.path} ${name}`);
  });

  test('values of lists are separated by commas inside one parameter', () => {
    const parameters = document.paths['/assessments']!.get!.parameters!;
    const subject = parameters.find((one) => 'name' in one && one.name === 'subject');
    assert.deepEqual(subject, {
      name: 'subject',
      in: 'query',
      description: 'One or more subjects. Safe with since: it never changes.',
      style: 'form',
      explode: false,
      schema: { type: 'array', items: { type: 'string', enum: ['digital', 'english', 'maths'] } },
    });
  });
});

/** Headers that HTTP itself or the connection adds, and headers that only browsers read. */
const ofTheConnection = [
  'date',
  'connection',
  'keep-alive',
  'content-type',
  'content-length',
  'transfer-encoding',
  'x-content-type-options',
  'content-security-policy',
];

/** Headers that stand for something which isn't so of every such reply. */
const sometimes = ['x-sync-restored', 'content-encoding', 'link', 'idempotency-replayed', 'retry-after'];

/** The reply is one that the document announces: its status, its code, its headers and its body. */
function assertDocumented(operationId: string, answer: Answer): void {
  const operation = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .find((one) => one.operationId === operationId)!;
  const given = operation.responses[answer.status];
  assert.ok(given, `${operationId} does not announce ${answer.status}: ${answer.text}`);
  const reply = resolved(given);
  const known = Object.keys(reply.headers ?? {}).map((name) => name.toLowerCase());
  for (const name of Object.keys(answer.headers))
    assert.ok(
      known.includes(name) || ofTheConnection.includes(name),
      `${operationId} ${answer.status} does not announce the header ${name}`,
    );
  for (const name of known) {
    if (!sometimes.includes(name) && answer.status < 500 && operation.operationId === operationId)
      assert.ok(name in answer.headers, `${operationId} ${answer.status} has no header ${name}`);
  }
  if (answer.status >= 400) {
    const examples = reply.content!['application/json']!.examples!;
    assert.ok(
      examples[answer.body.error.code],
      `${operationId} ${answer.status} does not announce ${answer.body.error.code}`,
    );
  } else if (reply.content === undefined) assert.equal(answer.text, '');
  else if (answer.headers['content-type'] !== 'application/pdf') {
    const schema = routes.find((route) => route.id === operationId)!.answers[answer.status]!.schema!;
    assertShape(schema, answer.body);
  }
}

suite('the service answers what the document says', async () => {
  const service = await withService();
  const scene = await scenario(service);
  const { org } = scene;
  const cohort = await scene.group('C-1');
  const ana = await scene.learner('ana-1', 'Ana Silva');
  const result = await ana.completes({ subject: 'maths' });
  await cohort.adds(ana);
  const endpoint = await org.post('/webhooks', {
    url: 'https://hooks.example.org/ars',
    event_types: ['assessment.completed', 'learner.groups.updated'],
  });
  const absent = '00000000-0000-4000-8000-000000000000';
  const json = { 'content-type': 'application/json' };

  /** operation, method, path, expected status, then what is asked. */
  const calls: [string, string, string, number, Ask?][] = [
    ['health', 'GET', '/health', 200],
    ['health', 'GET', '/health?a=1', 400],
    ['listAssessments', 'GET', '/assessments', 200],
    ['listAssessments', 'GET', '/assessments?limit=1&status=completed,deleted', 200],
    ['listAssessments', 'GET', '/assessments?sort=updated_at&since=2026-01-01T00:00:00Z', 400],
    ['listAssessments', 'GET', '/assessments', 304, { headers: { 'if-none-match': '*' } }],
    ['getAssessmentDigest', 'GET', '/assessments/digest?bits=4', 200],
    ['getAssessmentDigest', 'GET', '/assessments/digest?bits=1&buckets=0,1', 200],
    ['getAssessmentDigest', 'GET', '/assessments/digest?bits=17', 400],
    ['getAssessment', 'GET', `/assessments/${result.id}`, 200],
    ['getAssessment', 'GET', `/assessments/${result.id}`, 304, { headers: { 'if-none-match': '*' } }],
    ['getAssessment', 'GET', `/assessments/${absent}`, 404],
    ['getReport', 'GET', `/assessments/${result.id}/report.pdf`, 200],
    ['getReport', 'GET', `/assessments/${result.id}/report.pdf`, 206, { headers: { range: 'bytes=0-99' } }],
    ['getReport', 'GET', `/assessments/${result.id}/report.pdf`, 304, { headers: { 'if-none-match': '*' } }],
    ['getReport', 'GET', `/assessments/${absent}/report.pdf`, 404],
    ['listLearners', 'GET', '/learners', 200],
    ['listLearners', 'GET', '/learners?since=yesterday', 400],
    ['listLearners', 'GET', '/learners', 304, { headers: { 'if-none-match': '*' } }],
    [
      'provisionLearner',
      'POST',
      '/learners',
      201,
      { body: { full_name: 'Ben Okafor', ref: 'ben-1' }, headers: { 'idempotency-key': 'once' } },
    ],
    [
      'provisionLearner',
      'POST',
      '/learners',
      201,
      { body: { full_name: 'Ben Okafor', ref: 'ben-1' }, headers: { 'idempotency-key': 'once' } },
    ],
    [
      'provisionLearner',
      'POST',
      '/learners',
      422,
      { body: { full_name: 'Another', ref: 'ben-1' }, headers: { 'idempotency-key': 'once' } },
    ],
    ['provisionLearner', 'POST', '/learners', 200, { body: { full_name: 'Ben Okafor', ref: 'ben-1' } }],
    ['provisionLearner', 'POST', '/learners', 422, { body: { full_name: 'Ben Okafor', ref: 'ben@example.org' } }],
    ['provisionLearner', 'POST', '/learners', 422, { body: [] }],
    ['provisionLearner', 'POST', '/learners', 400, { body: '{', headers: json }],
    ['provisionLearner', 'POST', '/learners', 415, { body: 'a=1', headers: { 'content-type': 'text/plain' } }],
    ['provisionLearner', 'POST', '/learners', 413, { body: `"${'x'.repeat(1_100_000)}"`, headers: json }],
    ['getLearner', 'GET', '/learners/ana-1', 200],
    ['getLearner', 'GET', '/learners/ana-1', 304, { headers: { 'if-none-match': '*' } }],
    ['getLearner', 'GET', '/learners/nobody', 404],
    ['listGroups', 'GET', '/groups?type=cohort,course&active=true', 200],
    ['listGroups', 'GET', '/groups?type=herd', 400],
    ['createGroup', 'POST', '/groups', 201, { body: { type: 'course', ref: 'K-1', name: 'Course one' } }],
    ['createGroup', 'POST', '/groups', 200, { body: { type: 'course', ref: 'K-1', name: 'Course one' } }],
    ['createGroup', 'POST', '/groups', 422, { body: { type: 'team', ref: 'T-1', name: 'Team one' } }],
    ['createGroup', 'POST', '/groups', 422, { body: { type: 'herd', ref: 'T-1', name: 'Team one' } }],
    ['getGroup', 'GET', `/groups/${cohort.id}`, 200],
    ['getGroup', 'GET', `/groups/${absent}`, 404],
    ['changeGroup', 'PATCH', `/groups/${cohort.id}`, 200, { body: { name: 'Cohort one' } }],
    ['changeGroup', 'PATCH', `/groups/${cohort.id}`, 422, { body: {} }],
    ['changeGroup', 'PATCH', `/groups/${absent}`, 404, { body: { active: false } }],
    [
      'addMembers',
      'POST',
      `/groups/${cohort.id}/members`,
      200,
      { body: { learner_refs: ['ana-1', 'ben-1', 'nobody'] } },
    ],
    ['addMembers', 'POST', `/groups/${cohort.id}/members`, 422, { body: { learner_refs: [] } }],
    [
      'removeMembers',
      'POST',
      `/groups/${cohort.id}/members/remove`,
      200,
      { body: { learner_refs: ['ana-1', 'nobody'] } },
    ],
    ['listWebhooks', 'GET', '/webhooks', 200],
    ['listenToEvents', 'GET', '/events?after=yesterday', 400],
    ['listenToEvents', 'GET', '/events?event_types=all', 400],
    ['registerWebhook', 'POST', '/webhooks', 201, { body: { url: 'https://hooks.example.org/other' } }],
    ['registerWebhook', 'POST', '/webhooks', 422, { body: { url: 'http://hooks.example.org/' } }],
    ['registerWebhook', 'POST', '/webhooks', 422, { body: { url: 'https://hooks.example.org/', group_ids: [absent] } }],
    ['removeWebhook', 'DELETE', `/webhooks/${absent}`, 404],
    ['removeWebhook', 'DELETE', `/webhooks/${endpoint.body.data.id as string}?a=1`, 400],
    ['removeWebhook', 'DELETE', `/webhooks/${endpoint.body.data.id as string}`, 204],
  ];

  test('replies and refusals of every endpoint', async () => {
    for (const [operationId, method, path, status, given] of calls) {
      const answer = await org.api(method, path, given);
      assert.equal(answer.status, status, `${operationId}: ${answer.text}`);
      assertDocumented(operationId, answer);
    }
    assert.deepEqual(
      [...new Set(calls.map(([operationId]) => operationId))].sort(),
      routes.map((route) => route.id).sort(),
    );
  });

  test('the files of the reference are served to everyone, with an ETag', async () => {
    for (const [name, textOf] of Object.entries(referenceFiles)) {
      const answer = await fetch(`${service.url}/${name}`);
      const text = textOf(await makeOpenApi(service.app.settings.baseUrl, service.app.settings.rateLimit));
      assert.equal(await answer.text(), text, name);
      assert.equal(answer.headers.get('access-control-allow-origin'), '*');
      const headers = { 'if-none-match': answer.headers.get('etag')! };
      assert.equal((await fetch(`${service.url}/${name}`, { headers })).status, 304);
    }
  });

  test('wrong credentials', async () => {
    assertDocumented('listAssessments', await service.client(null).get('/assessments'));
  });

  test('events have the shapes of the webhooks section', async () => {
    await org.post('/webhooks', {
      url: 'https://hooks.example.org/events',
      event_types: ['assessment.completed', 'learner.groups.updated'],
    });
    await service.withUnitOfWork((work) =>
      recordResults(work, org.id, [{ ref: 'ana-1', subject: 'english' }], { events: true }),
    );
    await cohort.adds(ana);
    const events = await service.app.db.query<{ type: string; payload: string }>(
      'select type, payload from event where organisation_id = $1',
      [org.id],
    );
    for (const { type, payload } of events)
      assertShape(type === 'assessment.completed' ? AssessmentCompleted : LearnerGroupsUpdated, JSON.parse(payload));
    assert.deepEqual([...new Set(events.map((event) => event.type))].sort(), [
      'assessment.completed',
      'learner.groups.updated',
    ]);
  });

  test('the document is served to everybody, with the origin of the service and an ETag', async () => {
    for (const path of ['/openapi.json']) {
      const first = await ask(service.url, 'GET', path);
      assert.equal(first.status, 200);
      assert.ok(first.text.includes(`${service.url}/api/v1`));
      assert.ok(!first.text.includes(`${exampleOrigin}/api/v1"`));
      const again = await ask(service.url, 'GET', path, { headers: { 'if-none-match': first.headers.etag! } });
      assert.equal(`${again.status} ${again.text}`, '304 ');
      assert.equal((await ask(service.url, 'HEAD', path)).headers['content-length'], String(first.bytes.length));
    }
    assert.equal((await ask(service.url, 'GET', '/api/v1/openapi.json')).status, 401);
  });
});
