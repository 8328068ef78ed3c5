import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withService } from '../../support/service.ts';
import { personOf } from './visitor.ts';

test('a request without the right to a page leaves an audit row for the operator', async () => {
  const service = await withService();
  const org = await service.organisation();
  const other = await service.organisation();
  const tutor = await personOf(service, org.id, 'tutor');
  const nobody = '5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d';
  const asked: [string, string, string, Record<string, string>?][] = [
    [`/console/${org.publicId}/keys`, 'GET', org.publicId],
    [`/console/${other.publicId}`, 'GET', other.publicId],
    [`/console/${org.publicId}/keys/create`, 'POST', org.publicId, { label: 'Mine' }],
    [`/console/${org.publicId}/learners/${nobody}`, 'GET', org.publicId],
  ];
  for (const [path, method, organisation, fields] of asked) {
    const { status, headers } = await (method === 'GET' ? tutor.get(path) : tutor.post(path, fields));
    assert.equal(status, 404, path);
    const rows = await service.app.db.query<{ detail: string; status: number; action: string; hashed: boolean }>(
      `select detail, status, action, octet_length(address) = 16 as hashed from audit
        where organisation_id = 0 and request_id = $1`,
      [headers['x-request-id']],
    );
    assert.equal(rows.length, 1, path);
    const [{ detail, ...row }] = rows as [(typeof rows)[0]];
    assert.deepEqual(JSON.parse(detail), { code: 'not_allowed', user: tutor.userId, organisation });
    assert.match(row.action, new RegExp(`^${method} /console`));
    assert.deepEqual([row.status, row.hashed], [404, true]);
  }
  assert.equal((await tutor.get(`/console/${org.publicId}`)).status, 200);
});
