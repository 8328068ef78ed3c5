import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { suite, test } from 'node:test';
import { ConditionalReadCache } from '../../src/api/conditional-read-cache.ts';
import { manualClock } from '../platform/time/manual-clock.ts';
import { revokeKey } from '../../src/integrations/access-keys/keys.ts';
import type { Client } from '../contract/support/client.ts';
import { assertRefused } from '../contract/support/expect.ts';
import { scenario } from '../support/scenario.ts';
import type { TestOrganisation } from '../support/service.ts';
import { withService } from '../support/service.ts';

/** A list's 304 and an evidence PDF that have been served once go a shorter way from then on: nobody may see which. */

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const service = await withService({ own: 'Moves the clock.', clock, settings: { ARS_LOG: 'all' } });
const paths = ['/assessments?limit=500', '/learners?since=2026-01-01T00:00:00Z', '/groups'];

/** Polls until the service knows the poll; the ETag then held. */
async function known(org: Client, path: string): Promise<string> {
  const etag = (await org.get(path)).headers.etag!;
  assert.equal((await org.get(path, { 'if-none-match': etag })).status, 304);
  return etag;
}

async function audited(org: TestOrganisation, resource: string | null = null): Promise<Record<string, number>> {
  const rows = await service.app.db.query<{ what: string; count: number }>(
    `select actor || ' ' || action || ' ' || status as what, count(distinct request_id) as count from audit
      where organisation_id = $1 and ($2::text is null or resource = $2) group by 1 order by 1`,
    [org.id, resource],
  );
  return Object.fromEntries(rows.map((row) => [row.what, row.count]));
}

/** Without what differs from reply to reply. */
function lasting(headers: Record<string, string>): Record<string, string> {
  const { date: _date, ratelimit: _left, 'x-request-id': _id, ...rest } = headers;
  return rest;
}

suite('a repeated read', () => {
  for (const path of paths) {
    test(`${path}: the same reply each time, in the rate limit, the audit log and the service's log`, async () => {
      const org = await service.organisation();
      const etag = (await org.get(path)).headers.etag!;
      const answers = [];
      for (let i = 0; i < 4; i++) answers.push(await org.get(path, { 'if-none-match': etag }));
      const [first] = answers;
      answers.forEach(({ status, text, headers }, i) => {
        assert.deepEqual([status, text], [304, '']);
        assert.equal(headers.ratelimit, `"default";r=${298 - i};t=60`);
        assert.deepEqual(lasting(headers), lasting(first!.headers));
      });
      const action = `GET ${path.split('?')[0]}`;
      assert.deepEqual(await audited(org), {
        [`${org.key.access_key_id} ${action} 200`]: 1,
        [`${org.key.access_key_id} ${action} 304`]: 4,
      });
      await new Promise((resolve) => setImmediate(resolve));
      const lines = service.logged
        .join('')
        .split('\n')
        .filter((line) => line.includes(org.key.access_key_id))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      assert.deepEqual(
        lines.map(({ action: said, status }) => [said, status]),
        [[action, 200], ...Array(4).fill([action, 304])],
      );
      assert.deepEqual(
        lines.slice(1).map((line) => line.request_id),
        answers.map(({ headers }) => headers['x-request-id']),
      );
      assert.equal(new Set(lines.map((line) => line.request_id)).size, 5);
    });
  }

  test('an evidence PDF: the same reply each time, until its result changes or goes', async () => {
    const scene = await scenario(service);
    const { org } = scene;
    const result = await (await scene.learner('ana')).completes();
    const path = `/assessments/${result.id}/report.pdf`;
    const answers = [];
    for (let i = 0; i < 5; i++) answers.push(await org.get(path));
    const [, first] = answers;
    for (const { status, bytes, headers } of answers) {
      assert.equal(status, 200);
      assert.equal(hash('sha256', bytes, 'hex'), headers['x-report-sha256']);
      assert.deepEqual(lasting(headers), lasting(first!.headers));
    }
    for (let i = 0; i < 3; i++)
      assert.deepEqual(
        [
          (await org.get(path, { 'if-none-match': first!.headers.etag! })).status,
          (await org.get(path, { 'if-none-match': '"x"' })).status,
        ],
        [304, 200],
      );
    const part = await org.get(path, { range: 'bytes=0-3' });
    assert.deepEqual([part.status, part.text], [206, '%PDF']);
    assert.deepEqual(
      Object.entries(await audited(org, result.id)),
      [
        ['GET /assessments/{id}/report.pdf 200', 8],
        ['GET /assessments/{id}/report.pdf 206', 1],
        ['GET /assessments/{id}/report.pdf 304', 3],
      ].map(([what, count]) => [`${org.key.access_key_id} ${what}`, count]),
    );
    await result.isAmended({ is_borderline: true });
    const amended = await org.get(path);
    assert.notEqual(amended.headers['x-report-sha256'], first!.headers['x-report-sha256']);
    assert.deepEqual((await org.get(path)).bytes, amended.bytes);
    assert.equal((await org.get(path, { 'if-none-match': first!.headers.etag! })).status, 200);
    const other = await service.organisation();
    assertRefused(await other.get(path), 404, 'not_found');
    await result.isWithdrawn();
    for (const held of [undefined, { 'if-none-match': amended.headers.etag! }])
      assertRefused(await org.get(path, held), 404, 'not_found');
  });

  test('a change is seen at once, whoever made it', async () => {
    const org = await service.organisation();
    const sibling = (await service.sibling()).client(org.key);
    const etag = await known(org, '/groups');
    for (let i = 0; i < 3; i++) {
      assert.equal((await org.get('/groups', { 'if-none-match': etag })).status, 304);
    }
    await sibling.post('/groups', { type: 'cohort', ref: 'A', name: 'A' });
    const seen = await org.get('/groups', { 'if-none-match': etag });
    assert.deepEqual([seen.status, seen.body.data.length], [200, 1]);
    assert.equal((await org.get('/groups', { 'if-none-match': seen.headers.etag! })).status, 304);
  });

  test('never a reader that sees less than was told before', async () => {
    const org = await service.organisation();
    let told = 0;
    let over = false;
    const writing = (async () => {
      for (let n = 1; n <= 60; n++) {
        assert.equal((await org.post('/groups', { type: 'cohort', ref: `C-${n}`, name: 'Cohort' })).status, 201);
        told = n;
      }
      over = true;
    })();
    const reader = await org.another();
    await Promise.all([
      writing,
      ...Array.from({ length: 8 }, async () => {
        const { key } = reader;
        let held = { etag: '""', count: 0 };
        while (!over) {
          const before = told;
          const answer = await service.client(key).get('/groups?limit=100', { 'if-none-match': held.etag });
          if (answer.status === 429) {
            clock.advance(61_000);
            continue;
          }
          if (answer.status === 200) held = { etag: answer.headers.etag!, count: answer.body.data.length };
          assert.ok(held.count >= before, `${answer.status} with ${held.count} groups after ${before} were told`);
        }
      }),
    ]);
  });

  test('of somebody else is a first one', async () => {
    const [org, other] = [await service.organisation(), await service.organisation()];
    const etag = await known(org, '/groups');
    assert.equal((await other.get('/groups', { 'if-none-match': etag })).status, 200);
    assertRefused(
      await service.client({ ...org.key, secret_access_key: 'x' }).get('/groups', { 'if-none-match': etag }),
      401,
      'invalid_credentials',
    );
    assertRefused(await service.client(null).get('/groups', { 'if-none-match': etag }), 401, 'invalid_credentials');
    assert.deepEqual(await audited(other), { [`${other.key.access_key_id} GET /groups 200`]: 1 });
  });

  test('with a revoked key, by another method or for another page is none', async () => {
    const org = await service.organisation();
    const etag = await known(org, '/groups');
    const held = { 'if-none-match': etag };
    assert.deepEqual(
      [(await org.api('HEAD', '/groups', { headers: held })).status, (await org.get('/groups?limit=4', held)).status],
      [304, 200],
    );
    assertRefused(await org.get('/groups?x=1', held), 400, 'unknown_parameter');
    assert.equal((await org.get('/groups', held)).status, 304);
    assert.equal(
      (await org.api('POST', '/groups', { headers: held, body: { type: 'cohort', ref: 'A', name: 'A' } })).status,
      201,
    );
    const again = { 'if-none-match': await known(org, '/groups') };
    assert.equal((await org.get('/groups', again)).status, 304);
    await service.withUnitOfWork((work) => revokeKey(work, org.id, org.key.access_key_id));
    assertRefused(await org.get('/groups', again), 401, 'invalid_credentials');
  });

  test('many at once, by several keys and with other calls between them: exactly 300 a key, each in the log', async () => {
    const org = await service.organisation();
    const keys = [org, await org.another(), await org.another()];
    const etag = await known(org, '/groups');
    clock.advance(61_000);
    const before = await audited(org);
    const answers = (
      await Promise.all(
        keys.flatMap((one) =>
          Array.from({ length: 330 }, async (_, i) => {
            const path = i % 4 === 3 ? '/health' : '/groups';
            const { status } = await one.get(path, path === '/groups' ? { 'if-none-match': etag } : {});
            return `${one.key.access_key_id} GET ${path} ${status}`;
          }),
        ),
      )
    ).sort();
    for (const { key } of keys)
      assert.equal(answers.filter((one) => one.startsWith(key.access_key_id) && !one.endsWith('429')).length, 300);
    const expected = { ...before };
    for (const one of answers) expected[one] = (expected[one] ?? 0) + 1;
    assert.deepEqual(await audited(org), expected);
  });
});

test('law 6: what one key has read is a repeat for nobody else, whatever they show of themselves', () => {
  const reads = new ConditionalReadCache();
  const socket = new Socket();
  const request = (headers: Record<string, string>) =>
    ({
      socket,
      method: 'GET',
      url: '/api/v1/assessments/1/report.pdf',
      headers: { host: 'x', ...headers },
      rawHeaders: ['Host', 'x'],
    }) as unknown as IncomingMessage;
  const reader = { 'x-access-key-id': 'A', 'x-secret-access-key': 'a' };
  reads.keep(request(reader), {
    organisationId: 1,
    feed: { position: 1, state: 0, restoredAt: 0 },
    action: 'GET /assessments/{id}/report.pdf',
    resource: null,
    status: 200,
    detail: '{}',
    headers: [],
    body: Buffer.from('%PDF'),
  });
  assert.notEqual(reads.find(request(reader)), null);
  for (const other of [{}, { ...reader, 'x-access-key-id': 'B' }, { ...reader, 'x-secret-access-key': 'b' }])
    assert.equal(reads.find(request(other)), null);
});
