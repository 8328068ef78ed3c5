import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { auditInside } from '../../../src/platform/audit/audit.ts';
import {
  asCurl,
  callsByHour,
  findCall,
  findCalls,
  groupErrors,
  type LogFilter,
} from '../../../src/platform/audit/log.ts';
import { sealNow } from './sealed.ts';
import { manualClock } from '../time/manual-clock.ts';
import { withService } from '../../support/service.ts';

/** The request log: what is asked of it is answered the same whether rows are sealed or not, whatever the clock did. */

const start = Date.UTC(2026, 5, 1, 9);
const clock = manualClock(start);
const service = await withService({ own: 'Moves the clock.', clock });
const { app } = service;
const hour = 3600_000;
const whole = { from: new Date(start - 10 * hour), to: new Date(start + 100 * hour) };

type Written = { key?: string; action?: string; status?: number; code?: string };

async function organisationWith(...written: Written[]) {
  const org = await service.organisation();
  for (const [i, { key = 'ARSKA', action = 'GET /groups', status = 200, code }] of written.entries())
    await auditInside(app.db, {
      organisationId: org.id,
      // Every fourth row by a clock that is two hours behind.
      atMs: start + i * 20 * 60_000 - (i % 4 === 3 ? 2 * hour : 0),
      requestId: app.random.uuid(),
      actor: key,
      action,
      resource: null,
      status,
      detail: JSON.stringify({ ...(code === undefined ? {} : { code }), ms: 1 }),
    });
  return org;
}

const various: Written[] = Array.from({ length: 60 }, (_, i) => ({
  key: i % 3 === 0 ? 'ARSKA' : 'ARSKB',
  action: i % 2 === 0 ? 'GET /groups' : 'GET /learners',
  status: [200, 304, 400, 404, 429][i % 5]!,
  ...([400, 404, 429].includes([200, 304, 400, 404, 429][i % 5]!)
    ? { code: ['', '', 'invalid_since', 'not_found', 'rate_limited'][i % 5]! }
    : {}),
}));

async function pages(organisationId: number, filter: LogFilter, size: number): Promise<number[]> {
  const ids: number[] = [];
  let place = null;
  do {
    const { calls, next } = await findCalls(app.db, organisationId, filter, place, size);
    assert.ok(calls.length <= size);
    ids.push(...calls.map((call) => call.audit_id));
    place = next;
  } while (place !== null);
  return ids;
}

const filters: [string, Omit<LogFilter, 'from' | 'to'>, string][] = [
  ['all', {}, 'true'],
  ['a key', { actor: 'ARSKA' }, `actor = 'ARSKA'`],
  ['a route', { action: 'GET /learners' }, `action = 'GET /learners'`],
  ['a class', { statusClass: 3 }, 'status = 304'],
  ['a code', { code: 'not_found' }, `detail like '%not_found%'`],
  [
    'several',
    { actor: 'ARSKB', statusClass: 4, code: 'rate_limited' },
    `actor = 'ARSKB' and detail like '%rate_limited%'`,
  ],
  ['a class that is sent', { statusClass: 2 }, 'status between 200 and 299'],
  ['a class that is refused', { statusClass: 4, action: 'GET /groups' }, `status >= 400 and action = 'GET /groups'`],
  ['a class that nobody saw', { statusClass: 5, actor: 'ARSKA' }, 'false'],
  ['a code that nobody saw', { code: 'never_seen' }, 'false'],
  ['what nobody did', { action: 'GET /nowhere' }, 'false'],
];

suite('calls', async () => {
  const org = await organisationWith(...various);
  const half = await organisationWith(...various);
  const expected = async (organisationId: number, where: string, from: Date, to: Date) =>
    (
      await app.db.query<{ audit_id: number }>(
        `select audit_id from audit where organisation_id = $1 and at >= $2 and at < $3 and ${where} order by at desc, audit_id desc`,
        [organisationId, from, to],
      )
    ).map((row) => row.audit_id);

  for (const state of ['not sealed', 'sealed'] as const)
    for (const [name, filter, where] of filters)
      test(`${name}, ${state}: each one once, the newest first, whatever the page size and the period`, async () => {
        if (state === 'sealed') await sealNow(app);
        for (const size of [1, 7, 500])
          assert.deepEqual(
            await pages(org.id, { ...whole, ...filter }, size),
            await expected(org.id, where, whole.from, whole.to),
          );
        const [from, to] = [new Date(start + 1.5 * hour), new Date(start + 6.2 * hour)];
        assert.deepEqual(await pages(org.id, { from, to, ...filter }, 4), await expected(org.id, where, from, to));
      });

  test('of which some are sealed and some are not', async () => {
    await sealNow(app);
    for (const { key, action } of various.slice(0, 10))
      await auditInside(app.db, {
        organisationId: half.id,
        atMs: start + 21 * hour,
        requestId: app.random.uuid(),
        actor: key!,
        action: action!,
        resource: null,
        status: 200,
      });
    assert.deepEqual(await pages(half.id, whole, 8), await expected(half.id, 'true', whole.from, whole.to));
  });

  test('one of them whole, and never that of somebody else', async () => {
    const [id] = await pages(org.id, whole, 1);
    assert.equal((await findCall(app.db, org.id, id!))!.audit_id, id);
    assert.equal(await findCall(app.db, half.id, id!), undefined);
  });

  test('refused ones are grouped with what to do, and hours are counted by class, sealed and not', async () => {
    const fresh = await organisationWith(...various);
    const before = [await groupErrors(app.db, fresh.id, whole), await callsByHour(app.db, fresh.id, whole)];
    await sealNow(app);
    assert.deepEqual([await groupErrors(app.db, fresh.id, whole), await callsByHour(app.db, fresh.id, whole)], before);
    const [groups, hours] = before as [any[], any[]];
    assert.deepEqual(
      groups.map(({ code, action, calls, keys }) => [code, action, calls, keys]),
      [
        ['invalid_since', 'GET /groups', 6, 2],
        ['invalid_since', 'GET /learners', 6, 2],
        ['not_found', 'GET /groups', 6, 2],
        ['not_found', 'GET /learners', 6, 2],
        ['rate_limited', 'GET /groups', 6, 2],
        ['rate_limited', 'GET /learners', 6, 2],
      ],
    );
    assert.match(groups[0].fix, /^since is malformed\. Send an RFC 3339 date-time/);
    const sum = (name: string) => hours.reduce((total, one) => total + one[name], 0);
    assert.deepEqual(['answered', 'unchanged', 'refused', 'limited', 'failed'].map(sum), [12, 12, 24, 12, 0]);
  });
});

test('a call as a command line holds no secret, no reference and no cursor', () => {
  const call = {
    audit_id: 1,
    at: new Date(start),
    request_id: 'x',
    actor: 'ARSKA',
    action: 'GET /assessments',
    resource: null,
    status: 200,
    detail: { query: 'learner_id=5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d&subject=maths', limit: 50, cursor: 17 },
  };
  assert.equal(
    asCurl('https://results.example/api/v1', call),
    [
      `curl 'https://results.example/api/v1/assessments?learner_ref=LEARNER_REF&subject=maths&limit=50&cursor=CURSOR'`,
      `-H 'X-Access-Key-Id: ARSKA'`,
      `-H "X-Secret-Access-Key: $SECRET_ACCESS_KEY"`,
    ].join(' \\\n  '),
  );
  assert.equal(asCurl('x', { ...call, action: 'organisation update' }), null);
});
