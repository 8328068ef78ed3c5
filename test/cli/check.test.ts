import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { byteReaders, findPersonalData } from '../../cli/check.ts';
import { storedTexts } from '../../src/db/stored-text.ts';
import { scenario } from '../scenario.ts';
import { withService } from '../service.ts';

suite('ars check personal-data', async () => {
  const service = await withService();
  const scene = await scenario(service);
  const { app } = service;
  const number = 'QQ:12:34:56:C';

  test('finds nothing in what the service stores by its own rules, in any column', async () => {
    const ana = await scene.learner('ana', 'Ana Silva');
    const result = await ana.completes();
    await result.readReport();
    await result.isAmended();
    await scene.org.post('/learners', { full_name: 'Kept Reply', ref: 'kept' }, { 'idempotency-key': 'one' });
    assert.deepEqual(await findPersonalData(app, null), []);
    const read = new Set<string>();
    for await (const { table, column } of storedTexts(app.db, null, byteReaders(app))) read.add(`${table}.${column}`);
    for (const column of [
      'learner.full_name',
      'assessment.body',
      'assessment_change.reason',
      'evidence.input',
      'idempotency.reply',
    ])
      assert.ok(read.has(column), column);
  });

  test('finds one in any column of text, and says where without saying what', async () => {
    const other = await service.organisation();
    const [{ learner_id: learnerId }] = (await app.db.query<{ learner_id: string }>(
      'select learner_id from learner where organisation_id = $1 order by created_at limit 1',
      [scene.org.id],
    )) as [{ learner_id: string }];
    await app.db.query('update learner set email = $2 where learner_id = $1', [learnerId, `${number}@x.example`]);
    await app.db.query('update assessment_change set reason = $1', [`about ${number}`]);
    await app.db.query("update evidence set input = json_build_object('deep', json_build_array($1::text))::text", [
      number,
    ]);
    await app.db.query('update idempotency set reply = $1', [
      app.secrets.seal('idempotency', JSON.stringify({ status: 201, body: number }), app.random),
    ]);
    const found = await findPersonalData(app, null);
    assert.deepEqual([...new Set(found.map((one) => `${one.table}.${one.column}`))].sort(), [
      'assessment_change.reason',
      'evidence.input',
      'idempotency.reply',
      'learner.email',
    ]);
    assert.equal(found.find((one) => one.table === 'learner')!.key.learner_id, learnerId);
    assert.ok(!JSON.stringify(found).includes('12:34'));
    assert.deepEqual(await findPersonalData(app, other.id), [], "an organisation's check sees its own rows only");
    assert.ok((await findPersonalData(app, scene.org.id)).length >= 4);
  });

  test('what only the punctuation of JSON joins is not a finding', async () => {
    await app.db.query('update assessment_change set reason = $1', ['{"de":"123456","a":1}']);
    assert.ok((await findPersonalData(app, null)).every((one) => one.table !== 'assessment_change'));
  });

  test('a column of bytes that nobody has described stops the check', async () => {
    await assert.rejects(async () => {
      for await (const _ of storedTexts(app.db, null, {})) break;
    }, /nobody has said how access_key\.secret_sha256 is read/);
  });
});
