import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readyRecord } from '../../../../src/records/import/record.ts';
import { importRecords } from '../../../../src/records/import/import.ts';
import { recordResults } from '../../../support/scenario.ts';
import type { Behaviour } from '../receiver.ts';
import { withScene } from '../scene.ts';

suite('a consumer that reads at once after an event', async () => {
  const scene = await withScene();
  const { organisation } = scene;

  test('gets the learner with the groups that the event tells of, never 404 or an older state', async () => {
    const worker = scene.worker();
    const found: string[] = [];
    const readFirst: Behaviour = (request, response) => {
      const event = JSON.parse(request.body.toString());
      void organisation.get(`/learners/${event.learner_ref}`).then((reply) => {
        const groups = new Set(reply.body?.data?.groups?.map((group: { id: string }) => group.id));
        const current = reply.status === 200 && event.added.every((id: string) => groups.has(id));
        found.push(current ? 'current' : `${reply.status} ${reply.text}`);
        response.writeHead(204).end();
      });
    };
    await scene.endpoint({ behaviour: readFirst, types: ['learner.groups.updated'] });
    const refs = Array.from({ length: 40 }, (_, i) => `learner-${i}`);
    for (const ref of refs)
      assert.equal((await organisation.post('/learners', { full_name: 'Test Person', ref })).status, 201);
    const groups = await Promise.all([1, 2, 3].map((n) => scene.group(`group-${n}`)));
    await Promise.all(
      groups.flatMap((group) =>
        [refs.slice(0, 20), refs.slice(20)].map((half) =>
          organisation.post(`/groups/${group}/members`, { learner_refs: half }),
        ),
      ),
    );
    await scene.settle(worker);
    assert.equal(found.length, 120);
    assert.deepEqual([...new Set(found)], ['current']);
    await worker.stop();
  });

  test('is told of a removal through the API, at an endpoint of the group that is left', async () => {
    const worker = scene.worker();
    const group = await scene.group('left');
    const { receiver } = await scene.endpoint({ types: ['learner.groups.updated'], groupIds: [group] });
    const elsewhere = await scene.endpoint({ groupIds: [await scene.group('not left')] });
    assert.equal((await organisation.post('/learners', { full_name: 'Test Person', ref: 'leaver' })).status, 201);
    await organisation.post(`/groups/${group}/members`, { learner_refs: ['leaver'] });
    const gone = await organisation.post(`/groups/${group}/members/remove`, { learner_refs: ['leaver', 'nobody'] });
    assert.deepEqual(gone.body.removed, ['leaver']);
    await scene.settle(worker);
    const told = receiver.received.map((request) => JSON.parse(request.body.toString()));
    for (const { occurred_at } of told) assert.match(occurred_at, /^\d{4}-\d\d-\d\dT.*Z$/);
    assert.deepEqual(
      new Set(told.map(({ occurred_at: _, ...event }) => JSON.stringify(event))),
      new Set(
        [
          { event: 'learner.groups.updated', learner_ref: 'leaver', added: [group], removed: [] },
          { event: 'learner.groups.updated', learner_ref: 'leaver', added: [], removed: [group] },
        ].map((event) => JSON.stringify(event)),
      ),
    );
    assert.deepEqual(elsewhere.receiver.received, []);
    await worker.stop();
  });

  test('gets byte for byte the assessment that the event brought, under the same id', async () => {
    const worker = scene.worker();
    const read: Promise<[string, string]>[] = [];
    const readFirst: Behaviour = (request, response) => {
      const event = request.body.toString();
      const id = JSON.parse(event).data.assessment_id as string;
      read.push(
        organisation.get(`/assessments/${id}`).then((reply) => {
          response.writeHead(204).end();
          return [
            event.slice(event.indexOf('"data":') + 7, event.lastIndexOf(',"group_ids":')),
            reply.text.slice('{"data":'.length, -1),
          ];
        }),
      );
    };
    await scene.endpoint({ behaviour: readFirst, types: ['assessment.completed'] });
    const ids = await scene.service.withUnitOfWork((work) =>
      recordResults(
        work,
        organisation.id,
        Array.from({ length: 12 }, (_, i) => ({ ref: `learner-${i}` })),
        { events: true },
      ),
    );
    assert.equal(ids.length, 12);
    await scene.settle(worker);
    assert.equal(read.length, 12);
    await Promise.all(read);

    // One file may hold a result, its amendment, and its learner's new name and group.
    const record = {
      assessment_id: scene.service.app.random.uuid(),
      assessed_at: '2026-01-15T10:00:00Z',
      subject: 'maths',
      framework: 'First',
      rqf_level: null,
      rqf_level_code: null,
      below_level_1: null,
      working_level: null,
      recommended_next_level: null,
      is_borderline: false,
      needs_review: false,
      domains: [],
      learner: { ref: 'learner-0', full_name: 'Test Person' },
    };
    const later = {
      ...record,
      framework: 'Second',
      learner: { ref: 'learner-0', full_name: 'Another Name' },
      groups: [{ type: 'class', ref: 'later', name: 'Later' }],
    };
    const another = { ...record, assessment_id: scene.service.app.random.uuid(), subject: 'english' };
    await scene.service.withUnitOfWork((work) =>
      importRecords(
        work,
        organisation.id,
        [record, another, later].map((one) => readyRecord(one, organisation.publicId, work.nowMs)),
        { events: true, actor: 'test' },
      ),
    );
    await scene.settle(worker);
    assert.equal(read.length, 14);
    for (const [sent, got] of await Promise.all(read)) assert.equal(sent, got);
    await worker.stop();
  });
});
