import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readAudit } from '../../../src/platform/audit/read.ts';
import { scenario } from '../../support/scenario.ts';
import type { TestOrganisation } from '../../support/service.ts';
import { withService } from '../../support/service.ts';

/** What the log keeps of each call, so that it can be said later what a key asked for and what it got. */

const service = await withService();

async function recorded(org: TestOrganisation): Promise<Record<string, any>[]> {
  const rows = await Array.fromAsync(readAudit(service.app, org.id, null, null));
  return rows.map((row) => {
    const { ms, bytes, ...detail } = JSON.parse(row.detail!);
    return { status: row.status, ...detail, ...(bytes === undefined ? {} : { bytes: bytes > 0 }) };
  });
}

suite('the audit log keeps of a list', async () => {
  const scene = await scenario(service);
  const { org } = scene;
  const learners = await Promise.all(['a', 'b', 'c'].map((name) => scene.learner(`REF-${name}`, `Learner ${name}`)));
  for (const learner of learners) await learner.completes();
  const { data } = (await org.get('/assessments')).body;
  const [first, , last] = (
    await service.app.db.query<{ position: number }>(
      'select position from assessment_feed where organisation_id = $1 order by position',
      [org.id],
    )
  ).map((row) => row.position);
  const learnerId = data[0].learner.learner_id;
  const since = '2026-01-01T00:00:00Z';
  const query = 'since=2026-01-01T00%3A00%3A00.000Z';
  const clear = () => service.app.db.query('delete from audit where organisation_id = $1', [org.id]);

  test('since, filters, ends of the page, how many rows, and 304s, repeated ones too', async () => {
    await clear();
    const path = `/assessments?limit=50&since=${since}`;
    const got = await org.get(path);
    for (let i = 0; i < 3; i++) await org.get(path, { 'if-none-match': got.headers.etag! });
    const [page, ...unchanged] = await recorded(org);
    const { through } = page!;
    assert.equal(new Date(through / 1000).toISOString(), got.headers['x-sync-through']);
    assert.deepEqual(page, { status: 200, query, limit: 50, through, first, last, rows: 3, more: false, bytes: true });
    assert.deepEqual(unchanged, Array(3).fill({ status: 304, query, limit: 50 }));
  });

  test("the cursor's position, where the next page begins, and the walk's own X-Sync-Through on every page", async () => {
    await clear();
    const { next } = (await org.get('/assessments?limit=2')).body.pagination;
    await org.get(next.slice(next.indexOf('/assessments')));
    const [one, two] = await recorded(org);
    assert.deepEqual([one!.rows, one!.more, one!.first, one!.cursor], [2, true, first, undefined]);
    assert.deepEqual([one!.next, one!.next_id], [one!.last, data[1].assessment_id]);
    assert.deepEqual(two, {
      status: 200,
      limit: 2,
      cursor: one!.last,
      through: one!.through,
      first: last,
      last,
      rows: 1,
      more: false,
      bytes: true,
    });
  });

  test('the lowest and the highest position, whichever way it is sorted', async () => {
    await clear();
    await org.get('/assessments?sort=-updated_at');
    const [row] = await recorded(org);
    assert.deepEqual([row!.first, row!.last], [first, last]);
  });

  test('a learner by id, never by reference, in 200 and 304, and whether there is one', async () => {
    await clear();
    const ref = data[0].learner.ref;
    const path = `/assessments?subject=maths&learner_ref=${ref}`;
    const { etag } = (await org.get(path)).headers;
    for (let i = 0; i < 2; i++) await org.get(path, { 'if-none-match': etag! });
    await org.get('/assessments?learner_ref=NOBODY');
    await org.get(`/learners/${ref}`);
    await org.get('/learners/NOBODY');
    const rows = await recorded(org);
    assert.deepEqual(
      rows.map((row) => row.query),
      [...Array(3).fill(`learner_id=${learnerId}&subject=maths`), 'learner_id=unknown', undefined, undefined],
    );
    const stored = JSON.stringify(await Array.fromAsync(readAudit(service.app, org.id, null, null)));
    assert.doesNotMatch(stored, /NOBODY|REF-|Learner [abc]/);
    assert.match(stored, new RegExp(`"resource":"${learnerId}"`));
  });

  test("an error's code, and nothing of what was sent", async () => {
    await clear();
    await org.get('/assessments?since=Anna%20Smith');
    await org.get('/assessments?anna.smith=1');
    await org.post('/groups', { type: 'cohort', ref: 'C', name: 'Anna', secret: 'Smith' });
    assert.deepEqual(
      (await recorded(org)).map(({ status, code, query: asked }) => [status, code, asked]),
      [
        [400, 'invalid_since', undefined],
        [400, 'unknown_parameter', undefined],
        [422, 'unknown_field', undefined],
      ],
    );
    const stored = JSON.stringify(await Array.fromAsync(readAudit(service.app, org.id, null, null)));
    assert.doesNotMatch(stored, /Anna|Smith|anna|smith/);
  });
});
