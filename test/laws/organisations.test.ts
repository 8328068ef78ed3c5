import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { App } from '../../src/platform/app.ts';
import { readLiveInScope } from '../../src/records/results/pages/live.ts';
import type { Database, Tx } from '../../src/platform/db/database.ts';
import type { Answer } from '../contract/support/client.ts';
import { scenario } from '../support/scenario.ts';
import { onCitus } from '../support/postgres.ts';
import { withService } from '../support/service.ts';

/** Law 6: another organisation's things don't exist: the same bytes, by the same statements. */

/** Statements that the service runs, by name, in their order; kept while a request is traced. */
let statements: string[] = [];

/** Notes every statement, whichever connection it takes. */
function trace({ db }: App): void {
  const noting = <T extends Tx>(connection: T): T => {
    const { query } = connection;
    const noted: Tx['query'] = (sql, values) => {
      statements.push(typeof sql === 'string' ? sql : sql.name);
      return query(sql, values);
    };
    return { ...connection, query: noted };
  };
  const { transaction, snapshot, dedicated } = db;
  Object.assign(db, noting(db), {
    transaction: (inside, turn) => transaction((tx) => inside(noting(tx)), turn),
    snapshot: (inside) => snapshot((tx) => inside(noting(tx))),
    dedicated: (options) => noting(dedicated(options)),
  } satisfies Partial<Database>);
}

const service = await withService({
  own: 'Watches the app as it starts.',
  settings: { ARS_RATE_LIMIT: '1000000' },
  prepare: trace,
});
const nowhere = '5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d';

async function traced(request: () => Promise<Answer>): Promise<{ answer: Answer; statements: string[] }> {
  statements = [];
  const answer = await request();
  for (const part of ['admission.', 'audit.'])
    assert.ok(
      statements.some((name) => name.startsWith(part)),
      `the trace sees no ${part}`,
    );
  // Where keys are used is written down beside the requests, in its own time.
  return { answer, statements: statements.filter((name) => !name.startsWith('key_use.')) };
}

/** What of a reply may tell two apart: everything but the moment and the count of requests. */
function bytes({ status, headers, text }: Answer) {
  const { date: _, ratelimit: __, 'x-request-id': _id, etag: ___, ...rest } = headers;
  return { status, headers: rest, text };
}

// Made before the first suite: its tests count statements, and nothing else may run beside them.
const bounded = await (async () => {
  const scene = await scenario(service);
  const [ana, cohort, other] = [await scene.learner('ana'), await scene.group('C1'), await scene.group('C2')];
  await ana.joins(other);
  const maths = await ana.completes();
  await maths.readReport();
  return { scene, maths, other, key: await scene.org.another({ groupIds: [cohort.id] }) };
})();

suite("law 6: another organisation's things do not exist", async () => {
  const theirs = await scenario(service);
  const ours = await scenario(service);
  const ana = await theirs.learner('ana');
  const cohort = await theirs.group('C1');
  await ana.joins(cohort);
  const maths = await ana.completes();
  await maths.readReport();
  const endpoint = (await theirs.org.post('/webhooks', { url: 'https://consumer.example/hook' })).body.data
    .id as string;
  await ours.learner('bo');

  const asked: [string, string, (id: string) => [method: string, path: string, body?: unknown]][] = [
    ['an assessment', maths.id, (id) => ['GET', `/assessments/${id}`]],
    ['a report', maths.id, (id) => ['GET', `/assessments/${id}/report.pdf`]],
    ['a group', cohort.id, (id) => ['GET', `/groups/${id}`]],
    ['a change of a group', cohort.id, (id) => ['PATCH', `/groups/${id}`, { name: 'Ours now' }]],
    ['members of a group', cohort.id, (id) => ['POST', `/groups/${id}/members`, { learner_refs: ['bo'] }]],
    ['leaving a group', cohort.id, (id) => ['POST', `/groups/${id}/members/remove`, { learner_refs: ['bo'] }]],
    ['a webhook', endpoint, (id) => ['DELETE', `/webhooks/${id}`]],
    ['a filter by group', cohort.id, (id) => ['GET', `/assessments?group_id=${id}`]],
    ['a poll by group', cohort.id, (id) => ['GET', `/assessments?group_id=${id}&since=2020-01-01T00:00:00Z`]],
    [
      'a webhook for a group',
      cohort.id,
      (id) => ['POST', '/webhooks', { url: 'https://consumer.example/hook', group_ids: [id] }],
    ],
  ];
  for (const [what, id, request] of asked) {
    test(`law 6: ${what}: foreign and unknown are answered alike`, async () => {
      const of = (given: string) => {
        const [method, path, body] = request(given);
        return traced(() => ours.org.api(method, path, { body }));
      };
      const [foreign, unknown] = [await of(id), await of(nowhere)];
      assert.deepEqual(bytes(foreign.answer), bytes(unknown.answer), 'law 6: foreign and unknown differ');
      assert.deepEqual(
        foreign.statements,
        unknown.statements,
        'law 6: foreign and unknown differ in work, and so in time',
      );
    });
  }

  test('law 6: a learner by reference, and by filter', async () => {
    for (const path of ['/learners/', '/assessments?learner_ref=']) {
      const [foreign, unknown] = [
        await traced(() => ours.org.get(`${path}ana`)),
        await traced(() => ours.org.get(`${path}ann`)),
      ];
      assert.deepEqual(bytes(foreign.answer), bytes(unknown.answer));
      assert.deepEqual(foreign.statements, unknown.statements);
    }
  });

  test('law 6: a cursor of another organisation is no cursor', async () => {
    await ana.completes({ subject: 'english' });
    const next = (await theirs.org.get('/assessments?limit=1')).body.pagination.next;
    const path = new URL(next).search;
    const forged = path.replace(/cursor=./, (found) => (found.endsWith('A') ? 'cursor=B' : 'cursor=A'));
    assert.deepEqual(
      bytes(await ours.org.get(`/assessments${path}`)),
      bytes(await ours.org.get(`/assessments${forged}`)),
    );
  });

  test('law 6: their things are as they were, and ours never moved', async () => {
    assert.equal((await theirs.org.get(`/groups/${cohort.id}`)).body.data.name, 'The cohort C1');
    assert.equal((await theirs.org.get('/webhooks')).body.data.length, 1);
    const [before] = await service.app.db.query<{ position: number }>(
      'select position from feed where organisation_id = $1',
      [ours.org.id],
    );
    await ana.isCalled('Ana Silva');
    assert.deepEqual(
      (await service.app.db.query('select position from feed where organisation_id = $1', [ours.org.id]))[0],
      before,
    );
  });

  test('law 6: results that several organisations ask for at the same time are each answered for its own', async () => {
    const english = await (await ours.learner('cy')).completes({ subject: 'english' });
    const mine = await (await theirs.learner('dee')).completes({ subject: 'english' });
    const whose = new Map([
      [maths.id, theirs],
      [mine.id, theirs],
      [english.id, ours],
    ]);
    const asked = [theirs, ours, theirs].flatMap((who) => [...whose.keys(), nowhere].map((id) => ({ who, id })));
    statements = [];
    // In one turn, so that they are read together.
    const read = await Promise.all(asked.map(({ who, id }) => readLiveInScope(service.app.db, who.org.id, id, null)));
    // On several nodes each is asked where it is.
    assert.deepEqual(statements, onCitus ? asked.map(() => 'assessment.live_alone') : ['assessment.live_each']);
    for (const [i, { who, id }] of asked.entries())
      assert.equal(read[i]?.assessment_id, whose.get(id) === who ? id : undefined, `law 6: ${id}`);
  });
});

suite("law 6: what lies outside a key's bounds does not exist", () => {
  const { scene, maths, other, key } = bounded;

  test('law 6: what lies outside and what is unknown are answered alike', async () => {
    const asked: [string, (id: string) => string][] = [
      [maths.id, (id) => `/assessments/${id}`],
      [maths.id, (id) => `/assessments/${id}/report.pdf`],
      [other.id, (id) => `/groups/${id}`],
      [other.id, (id) => `/assessments?group_id=${id}`],
    ];
    for (const [outside, path] of asked) {
      const [a, b] = [await traced(() => key.get(path(outside))), await traced(() => key.get(path(nowhere)))];
      assert.deepEqual(bytes(a.answer), bytes(b.answer), `law 6: ${path('{id}')} shows what lies outside`);
      assert.deepEqual(a.statements, b.statements, `law 6: ${path('{id}')} takes longer for what lies outside`);
    }
    for (const path of ['/assessments', '/assessments?since=2020-01-01T00:00:00Z', '/assessments?learner_ref=ana'])
      assert.deepEqual((await key.get(path)).body.data, [], `law 6: ${path} shows what lies outside`);
    assert.equal((await key.get('/learners/ana')).status, 404, 'law 6: /learners/ana shows what lies outside');
  });

  test('law 6: an ETag of one key is none of another with other bounds', async () => {
    const [ours, theirs] = [await scene.org.get('/assessments'), await key.get('/assessments')];
    assert.notEqual(ours.headers.etag, theirs.headers.etag, 'law 6: one ETag for two keys');
    assert.equal((await key.get('/assessments', { 'if-none-match': ours.headers.etag! })).status, 200);
  });
});
