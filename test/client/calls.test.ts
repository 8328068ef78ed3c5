import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { suite, test } from 'node:test';
import { ApiError, Client, HashMismatchError, operations } from '../../client/src/index.ts';
import type { Assessment, Learner, OperationId } from '../../client/src/index.ts';
import { recordResults, scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import { digestService } from './support/digest-service.ts';
import { clientOf } from './support/mirrors.ts';
import { json, scripted } from './support/scripted.ts';

suite('the client against the service', async () => {
  const service = await withService();
  const scene = await scenario(service);
  const client = new Client({
    baseUrl: service.url,
    accessKeyId: scene.org.key.access_key_id,
    secretAccessKey: scene.org.key.secret_access_key,
  });
  const ana = await scene.learner('a/na-1');
  const result = await ana.completes();

  test('every operation of the reference is answered as it is declared', async () => {
    const group = await client.groups.create({ type: 'cohort', ref: 'C-9', name: 'Cohort' });
    const endpoint = await client.webhooks.register({ url: 'https://portfolio.example.org/hooks' });
    const [id, path] = [result.id, { id: group.id }];
    const inputs: Record<OperationId, object> = {
      health: {},
      healthHead: {},
      listAssessments: { query: { subject: ['digital', 'maths'], rqf_level_code: [1, 2], below_level_1: false } },
      listAssessmentsHead: {},
      getAssessment: { path: { id } },
      getAssessmentHead: { path: { id } },
      getReport: { path: { id } },
      getReportHead: { path: { id } },
      listLearners: { query: { limit: 3 } },
      listLearnersHead: {},
      provisionLearner: { body: { full_name: 'Ben Okafor', ref: 'ben-1' } },
      getLearner: { path: { ref: 'a/na-1' } },
      getLearnerHead: { path: { ref: 'a/na-1' } },
      listGroups: { query: { type: ['cohort'], active: true } },
      listGroupsHead: {},
      createGroup: { body: { type: 'course', ref: 'D', name: 'Course' } },
      getGroup: { path },
      getGroupHead: { path },
      changeGroup: { path, body: { name: 'Another' } },
      addMembers: { path, body: { learner_refs: ['a/na-1'] } },
      removeMembers: { path, body: { learner_refs: ['a/na-1'] } },
      listWebhooks: {},
      listWebhooksHead: {},
      registerWebhook: { body: { url: 'https://portfolio.example.org/other' } },
      removeWebhook: { path: { id: endpoint.id } },
      getAssessmentDigest: { query: { bits: 4 } },
      getAssessmentDigestHead: {},
    };
    assert.deepEqual(Object.keys(inputs).sort(), Object.keys(operations).sort());
    for (const [operation, input] of Object.entries(inputs)) {
      const reply = await client.call(operation as 'health', input);
      assert.ok(reply.status >= 200 && reply.status < 300, operation);
      assert.match(String(reply.requestId), /^[0-9a-f-]{36}$/, operation);
      const hasBody = !operation.endsWith('Head') && operation !== 'removeWebhook';
      assert.equal(reply.body !== undefined, hasBody, operation);
    }
  });

  test('named calls give the data', async () => {
    assert.equal((await client.health()).organisation_id, scene.org.publicId);
    const read = await client.assessments.get(result.id);
    assert.equal(read.learner.ref, 'a/na-1');
    assert.equal((await client.learners.get('a/na-1')).assessments[0]!.assessment_id, result.id);
    const learner = await client.learners.provision({ full_name: 'Cai Lee', ref: 'cai-1' });
    assert.match(learner.assessment_url, /^http/);
    const group = await client.groups.create({ type: 'cohort', ref: 'C-1', name: 'Cohort' });
    assert.deepEqual(await client.groups.addMembers(group.id, ['cai-1', 'nobody']), {
      added: ['cai-1'],
      already_members: [],
      not_found: ['nobody'],
    });
    assert.equal((await client.groups.get(group.id)).member_count, 1);
    assert.deepEqual(await client.groups.removeMembers(group.id, ['cai-1']), { removed: ['cai-1'], not_members: [] });
    assert.equal((await client.groups.change(group.id, { active: false })).active, false);
    assert.ok((await client.groups.list({ active: false }).toArray()).some(({ id }) => id === group.id));
    assert.ok((await client.learners.list().toArray()).length >= 2);
    const endpoint = await client.webhooks.register({ url: 'https://portfolio.example.org/third' });
    assert.match(endpoint.secret, /^whsec_/);
    await client.webhooks.remove(endpoint.id);
    assert.ok((await client.webhooks.list()).every(({ id }) => id !== endpoint.id));
  });

  test('an idempotency key of the caller gives the first reply again', async () => {
    const input = { body: { full_name: 'Dee Fox', ref: 'dee-1' } };
    const first = await client.call('provisionLearner', input, { idempotencyKey: 'dee' });
    const again = await client.call('provisionLearner', input, { idempotencyKey: 'dee' });
    assert.deepEqual([first.isReplayed, again.isReplayed], [false, true]);
    assert.deepEqual(again.body, first.body);
    await assert.rejects(
      client.learners.provision({ full_name: 'Another' }, { idempotencyKey: 'dee' }),
      (error: unknown) => error instanceof ApiError && error.code === 'idempotency_mismatch',
    );
  });

  test('a POST whose reply was lost is done once, however often it is sent', async () => {
    const front = await digestService(service.url);
    let lost = 3;
    front.interfere = () => (lost-- > 0 ? 'lost' : false);
    const { key } = scene.org;
    const patient = clientOf(front.url, key, { wait: async () => {} }, 120_000);
    const learner = await patient.learners.provision({ full_name: 'Fay Hill' });
    assert.equal(front.passed.length, 4);
    const all = (await client.learners.list().toArray()) as Learner[];
    const made = all.filter(({ full_name }) => full_name === 'Fay Hill');
    assert.deepEqual(
      made.map(({ learner_id }) => learner_id),
      [learner.learner_id],
      'the learner was not made once',
    );
  });

  test('what is unchanged comes as 304, without data', async () => {
    const { etag } = await client.call('getAssessment', { path: { id: result.id } });
    const again = await client.call('getAssessment', { path: { id: result.id } }, { ifNoneMatch: etag! });
    assert.deepEqual([again.status, again.body], [304, undefined]);
  });

  test('refusals carry code, status and the id of the request', async () => {
    await assert.rejects(client.assessments.get('nothing'), (error: unknown) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.status, error.code], [404, 'not_found']);
      assert.match(String(error.requestId), /^[0-9a-f-]{36}$/);
      return true;
    });
    await assert.rejects(client.assessments.list({ learner_ref: 'a b' }).toArray(), { code: 'invalid_learner_ref' });
    const stranger = new Client({ baseUrl: service.url, accessKeyId: 'AK', secretAccessKey: 'ars_test_no' });
    await assert.rejects(stranger.health(), { code: 'invalid_credentials', status: 401 });
  });

  test('evidence is hashed here, and compared with the header and with the result', async () => {
    const { bytes, sha256 } = await client.assessments.report(result.id);
    assert.equal(sha256, createHash('sha256').update(bytes).digest('hex'));
    const read = await client.assessments.get(result.id);
    assert.equal((await client.assessments.report(read)).sha256, read.report_sha256);
    await assert.rejects(
      client.assessments.report({ ...read, report_sha256: '0'.repeat(64) }),
      (error: unknown) => error instanceof HashMismatchError && error.actualSha256 === sha256,
    );
    const changed = await scripted([
      (_request, response) =>
        response
          .writeHead(200, { 'content-type': 'application/pdf', 'x-report-sha256': sha256 })
          .end(Buffer.concat([bytes, Buffer.from(' ')])),
    ]);
    await assert.rejects(changed.client.assessments.report(result.id), HashMismatchError);
    const part = await client.call('getReport', { path: { id: result.id } }, { range: 'bytes=0-3' });
    assert.deepEqual([part.status, Buffer.from(part.body as Uint8Array).toString('latin1')], [206, '%PDF']);
  });

  suite('a walk', () => {
    test('gives every entry, and its checkpoint when it is finished and not before', async () => {
      await service.withUnitOfWork((work) =>
        recordResults(
          work,
          scene.org.id,
          Array.from({ length: 20 }, () => ({ ref: 'a/na-1' })),
        ),
      );
      const walk = client.assessments.list({ limit: 6 });
      const seen = new Set<string>();
      for await (const entry of walk) {
        seen.add(entry.assessment_id);
        if (seen.size < 21) assert.equal(walk.checkpoint, null);
      }
      assert.equal(seen.size, 21);
      const { since, etag } = walk.checkpoint!;
      // The next walk has another since, so its ETag is new once; from then on nothing new is unchanged.
      const next = client.assessments.list({ since, limit: 6 }, { etag });
      await next.toArray();
      const third = client.assessments.list({ since, limit: 6 }, { etag: next.checkpoint!.etag });
      assert.deepEqual([await third.toArray(), third.isUnchanged, third.checkpoint], [[], true, null]);

      const other = await scene.learner('eve-1');
      await other.completes();
      const fourth = client.assessments.list({ since, limit: 6 }, { etag: next.checkpoint!.etag });
      assert.ok((await fourth.toArray()).some((entry) => (entry as Assessment).learner.ref === 'eve-1'));
    });

    test('goes on from its position elsewhere, with the checkpoint of its first page', async () => {
      const whole = client.assessments.list({ limit: 500 });
      const all = (await whole.toArray()).map((entry) => entry.assessment_id);
      const begun = client.assessments.list({ limit: 4 });
      const seen: string[] = [];
      let kept = '';
      for await (const page of begun.pages()) {
        seen.push(...page.entries.map((entry) => entry.assessment_id));
        kept = JSON.stringify(page.position);
        if (seen.length >= 8) break;
      }
      const rest = client.assessments.list({ limit: 4 }, { position: JSON.parse(kept) });
      for await (const entry of rest) seen.push(entry.assessment_id);
      assert.deepEqual(seen, all);
      assert.equal(rest.checkpoint!.since, whole.checkpoint!.since);
    });

    test('that stops within a page gets all of it again', async () => {
      const walk = client.assessments.list({ limit: 5 });
      let first = '';
      for await (const entry of walk) {
        first = entry.assessment_id;
        break;
      }
      assert.equal((await walk.toArray())[0]!.assessment_id, first);
    });

    test('asks the address that it was made for, wherever next points', async () => {
      const { client: elsewhere, seen } = await scripted([
        json(200, { data: [], pagination: { next: 'https://evil.example/api/v1/assessments?cursor=x' } }),
        json(200, { data: [], pagination: { next: null } }),
      ]);
      await elsewhere.assessments.list().toArray();
      assert.equal(seen[1]!.url, '/api/v1/assessments?cursor=x');
    });
  });
});
