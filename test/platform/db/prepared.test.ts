// Process: own. Watches every connection that the process opens.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { prepared } from '../../../src/platform/db/connection/prepared.ts';
import { resultSorts } from '../../../src/records/results/lists/browse-statements.ts';
import { personOf } from '../../web/console/visitor.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';
import { readStatements } from '../../support/statements.ts';

/** However many kinds of requests there are, a connection keeps the statements of one short list. */

const connections = new Set<pg.Client>();
const { connect } = pg.Client.prototype;
pg.Client.prototype.connect = function (this: pg.Client, ...given: unknown[]) {
  connections.add(this);
  this.once('end', () => connections.delete(this));
  return connect.apply(this, given as never);
} as typeof connect;

/** Names of what each open connection keeps prepared. */
async function keptByEach(): Promise<string[][]> {
  const open = [...connections].filter((client) => 'processID' in client && client.processID !== null);
  const answers = await Promise.all(open.map((client) => client.query('select name from pg_prepared_statements')));
  return answers.map(({ rows }) => rows.map((row) => row.name as string));
}

/** Every choice of one value, or none, of each name. */
function* choices(names: Record<string, string[]>): Generator<string> {
  const [[name, values] = [], ...rest] = Object.entries(names);
  if (name === undefined) return yield '';
  for (const tail of choices(Object.fromEntries(rest)))
    for (const value of ['', ...values!]) yield value === '' ? tail : `${name}=${encodeURIComponent(value)}&${tail}`;
}

test('a connection keeps the statements of the list and no others, after more than 500 kinds of requests', async () => {
  const service = await withService({
    own: 'Does background work.',
    role: 'all',
    settings: { ARS_RATE_LIMIT: '100000' },
  });
  const scene = await scenario(service);
  const { org } = scene;
  const groups = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((ref) => scene.group(ref)));
  const learners = await Promise.all(['ana-1', 'ben-1', 'chi-1'].map((ref) => scene.learner(ref, 'Ana Fixture')));
  for (const [i, learner] of learners.entries()) {
    for (const group of groups.slice(i)) await learner.joins(group);
    await learner.completes({ level: i + 1 });
  }
  const since = '2026-01-01T00:00:00Z';
  const asked = new Set<string>();
  const get = async (path: string) => {
    asked.add(path);
    const { status } = await org.get(path);
    assert.ok(status === 200, `${path}: ${status}`);
  };
  for (const query of choices({
    since: [since],
    subject: ['maths', 'maths,english'],
    rqf_level_code: ['2'],
    assessed_from: [since],
    assessed_to: [since],
    status: ['completed', 'deleted'],
    group_id: [groups[0]!.id, groups.map(({ id }) => id).join(',')],
    sort: ['-updated_at', 'assessed_at', '-assessed_at'],
  }))
    if (!/since=.*sort=|sort=.*since=/.test(query)) await get(`/assessments?${query}`);
  for (const path of ['/groups', '/groups?active=true', '/learners/ana-1', '/assessments/digest']) await org.get(path);

  const owner = await personOf(service, org.id, 'owner');
  const base = `/console/${org.publicId}`;
  for (const sort of resultSorts)
    for (const query of choices({ subject: ['maths'], flag: ['borderline'], group: [groups[0]!.id], latest: ['yes'] }))
      await owner.get(`${base}/results?sort=${sort}&${query}`);
  for (const page of ['learners', 'groups', 'invitations', 'deliveries', 'log', 'reviews'])
    for (const sort of ['name', '-name', 'ref', 'changed', '-changed'])
      await owner.get(`${base}/${page}?sort=${sort}&state=used`);
  await owner.post(`${base}/results/export?sort=learner`, { format: 'csv' });

  assert.ok(asked.size > 500, `${asked.size}`);
  const kept = await keptByEach();
  assert.ok(kept.length > 5 && kept.some((names) => names.length > 0));
  for (const names of kept) {
    assert.deepEqual(
      names.filter((name) => !prepared.has(name)),
      [],
    );
    assert.equal(new Set(names).size, names.length);
  }
});

test('the list is short and names statements that there are', async () => {
  const names = await readStatements();
  assert.ok(prepared.size <= 100, `${prepared.size}`);
  const unknown = [...prepared].filter((name) => !names.has(name) && !name.startsWith('assessment.page.'));
  assert.deepEqual(unknown, []);
});
