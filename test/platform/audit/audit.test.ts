import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readAudit } from '../../../src/platform/audit/read.ts';
import { waitForTable } from '../../support/postgres.ts';
import { Scenario } from '../../support/scenario.ts';
import type { TestOrganisation } from '../../support/service.ts';
import { withService } from '../../support/service.ts';

const service = await withService();

async function auditOf(org: TestOrganisation) {
  return Array.fromAsync(readAudit(service.app, org.id, null, null));
}

suite('law 5: answered means audited', () => {
  test('every answer of an organisation has its row, refused ones too', async () => {
    const org = await service.organisation();
    const etag = (await org.get('/groups')).headers.etag!;
    await org.get('/groups', { 'if-none-match': etag });
    await org.get('/groups?foo=1');
    await org.get('/nothing');
    await org.get('/assessments/%zz');
    await org.api('PUT', '/health');
    await org.post('/learners', '{');
    await org.post('/learners', 'x'.repeat(2 * 1024 * 1024));
    const made = await org.post('/groups', { type: 'cohort', ref: 'A', name: 'A' });
    const rows = await auditOf(org);
    assert.deepEqual(
      rows.map((row) => `${row.action} ${row.status}`),
      [
        'GET /groups 200',
        'GET /groups 304',
        'GET /groups 400',
        'GET (no route) 404',
        'GET /assessments/{id} 404',
        'PUT (no route) 405',
        'POST /learners 400',
        'POST /learners 413',
        'POST /groups 201',
      ],
    );
    assert.ok(rows.every((row) => row.actor === org.key.access_key_id));
    assert.equal(rows.at(-1)!.resource, made.body.data.id);
  });

  test('whoever asks at once', async () => {
    const org = await service.organisation();
    await Promise.all(Array.from({ length: 100 }, () => org.get('/health')));
    assert.equal((await auditOf(org)).length, 100);
  });

  test('failed sign-ins are in the log of nobody', async () => {
    const org = await service.organisation();
    const count = async () =>
      (
        await service.app.db.query<{ n: number }>(
          'select count(*) as n from audit where organisation_id = 0 and status = 401',
        )
      )[0]!.n;
    const before = await count();
    await service.client({ ...org.key, secret_access_key: 'x' }).get('/health');
    assert.equal(await count(), before + 1);
    assert.deepEqual(await auditOf(org), []);
  });

  test('an answer waits for its row', async () => {
    const org = await service.organisation();
    const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const lock = service.app.db.transaction(async (tx) => {
      await tx.query('lock table audit in access exclusive mode');
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    let answered = false;
    const asked = org.get('/health').finally(() => {
      answered = true;
    });
    // The request's own row waits for the lock; everything else that it needs passes meanwhile.
    while ((await service.app.db.query(waitForTable('audit'))).length === 0) assert.equal(answered, false);
    assert.equal(answered, false);
    release.resolve();
    await lock;
    assert.equal((await asked).status, 200);
    assert.equal((await auditOf(org)).length, 1);
  });
});

suite('law 8: personal data stays in bodies', () => {
  test('no name, reference or address is in the log or the audit', async () => {
    const org = await service.organisation();
    const scene = new Scenario(service, org);
    const ana = await scene.learner('REF-4711', 'Anastasia Quux');
    await org.post('/learners', { ref: 'REF-4712', full_name: 'Bartholomew Quux', email: 'quux@example.org' });
    await (await scene.group('COHORT-QUUX')).adds(ana);
    await ana.read();
    await org.get('/assessments?learner_ref=REF-4711');
    await org.get('/learners/AB123456C');
    await org.post('/learners', { full_name: 'AB123456C' });
    const audit = JSON.stringify(await auditOf(org));
    for (const text of [service.logged.join(''), audit]) {
      assert.doesNotMatch(text, /REF-471|Quux|QUUX|quux|AB123456C|127\.0\.0\.1:\d+\/api/);
    }
    assert.match(service.logged.join(''), /"action":"GET \/learners\/\{ref\}"/);
  });
});
