import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { proofLines, verifyExport } from '../../../src/platform/audit/export.ts';
import { foldRefused } from '../../../src/platform/audit/refused.ts';
import { sealNow } from './sealed.ts';
import { verifyAudit } from '../../../src/platform/audit/verify.ts';
import { note } from '../../../cli/kit/open.ts';
import { manualClock } from '../time/manual-clock.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { client } from '../../contract/support/client.ts';
import { withService } from '../../support/service.ts';

/** What callers without valid credentials can write is bounded, and nothing of it goes uncounted. */

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
type Service = Awaited<ReturnType<typeof withService>>;

async function totals({ app: { db } }: Service) {
  const [row] = await db.query<{ listed: number; counted: number; addresses: number; rows: number; bytes: number }>(
    `select (select count(*) from audit where organisation_id = 0) as listed,
            (select coalesce(sum(calls), 0)::int8 from refused_calls) as counted,
            (select count(distinct address) from audit where organisation_id = 0) as addresses,
            (select count(*) from refused_calls) as rows,
            pg_total_relation_size('audit') + pg_total_relation_size('refused_calls') as bytes`,
  );
  return row!;
}

async function knock(service: Service, times: number, address: ((i: number) => string) | null = null) {
  const nobody = client(service.url, null);
  const statuses: Record<number, number> = {};
  for (let done = 0; done < times; done += 100)
    await Promise.all(
      Array.from({ length: Math.min(100, times - done) }, async (_, i) => {
        const from = address?.(done + i);
        const { status } = await nobody.get('/health', from === undefined ? {} : { 'x-forwarded-for': from });
        statuses[status] = (statuses[status] ?? 0) + 1;
      }),
    );
  return statuses;
}

suite('refused calls', () => {
  test('of one address: a row each until it is throttled, then one row for the minute; no header makes it another', async () => {
    const service = await withService({ own: 'Moves the clock.', clock });
    const before = await totals(service);
    const calls = 3000;
    assert.deepEqual(await knock(service, calls, (i) => `203.0.113.${i % 250}`), {
      401: limits.failedAttempts,
      429: calls - limits.failedAttempts,
    });
    const after = await totals(service);
    assert.deepEqual(
      [after.listed, after.counted, after.addresses, after.rows],
      [limits.failedAttempts, calls - limits.failedAttempts, 1, 1],
    );
    assert.ok(after.bytes - before.bytes < 200_000, `${after.bytes - before.bytes} bytes`);
    // No trace of the address itself.
    const rows = await service.app.db.query(
      'select a::text from audit a union all select r::text from refused_calls r',
    );
    assert.doesNotMatch(JSON.stringify(rows), /127\.0\.0\.1|203\.0/);
  });

  test('of many addresses are bounded together, and each is in the log', async () => {
    const service = await withService({
      own: 'Moves the clock.',
      clock,
      settings: { ARS_TRUSTED_PROXIES: '127.0.0.0/8' },
    });
    const calls = 2400;
    const seen = await knock(service, calls, (i) => `2001:db8:${(i % 1200).toString(16)}::${i}`);
    assert.deepEqual(seen, { 401: calls });
    const { listed, counted, addresses } = await totals(service);
    assert.deepEqual(
      [listed, counted, addresses],
      [limits.refusedListed, calls - limits.refusedListed, limits.refusedListed],
    );
  });

  test('behind a proxy that writes ports keep their own addresses: one that is throttled throttles no other', async () => {
    const service = await withService({
      own: 'Moves the clock.',
      clock,
      settings: { ARS_TRUSTED_PROXIES: '127.0.0.0/8' },
    });
    const before = limits.failedAttempts + 5;
    assert.deepEqual(await knock(service, before, (i) => `192.0.2.1:${4000 + i}`), { 401: before - 5, 429: 5 });
    assert.deepEqual(await knock(service, 1, () => '192.0.2.2:4000'), { 401: 1 });
    assert.deepEqual(await knock(service, before, (i) => `[2001:db8::${i}]:${4000 + i}`), { 401: before - 5, 429: 5 });
    assert.deepEqual(await knock(service, 1, () => '[2001:db8:0:1::1]'), { 401: 1 });
  });

  test('of one IPv6 network are those of one address, whatever a spoofed header says before it', async () => {
    const service = await withService({
      own: 'Moves the clock.',
      clock,
      settings: { ARS_TRUSTED_PROXIES: '127.0.0.0/8' },
    });
    const seen = await knock(service, 100, (i) => `198.51.100.${i}, 2001:db8:1:2::${i}`);
    assert.deepEqual(seen, { 401: limits.failedAttempts, 429: 100 - limits.failedAttempts });
    assert.equal((await totals(service)).addresses, 1);
  });

  test('without a valid Host are bounded, too', async () => {
    const service = await withService({ own: 'Moves the clock.', clock });
    for (let i = 0; i < 100; i++) await client(service.url, null).get('/health', { host: 'a b' });
    const { listed, counted } = await totals(service);
    assert.deepEqual([listed, counted], [limits.failedAttempts, 100 - limits.failedAttempts]);
  });

  test('that are old become one row a day, and none is forgotten', async () => {
    const service = await withService({ own: 'Moves the clock.', clock });
    await knock(service, 80);
    clock.advance(120_000);
    await knock(service, 80);
    const before = await totals(service);
    assert.deepEqual([before.listed, before.counted, before.rows], [120, 40, 2]);
    const fold = () => foldRefused(service.app, undefined, 10);
    clock.advance(180_000);
    // Counts of minutes that are over become rows, and nothing goes before it is sealed.
    await fold();
    const { listed, counted } = await totals(service);
    assert.deepEqual([listed, counted], [122, 0]);
    await sealNow(service.app);
    await fold();
    // The newest ten, and the others of their block: the second minute's, with the two counts in a block of their own.
    const after = await totals(service);
    assert.deepEqual([after.listed, after.counted], [62, 60]);
    await fold();
    assert.equal((await totals(service)).counted, 60);
  });
});

suite('refused calls that were folded', () => {
  const fold = (service: Service) => foldRefused(service.app, undefined, 10);
  const faultsOf = async (service: Service) => (await verifyAudit(service.app, 0)).faults.join(' ');

  /** Three minutes of refused calls, and in the second one an operator's act. */
  async function knocked() {
    const service = await withService({ own: 'Moves the clock.', clock });
    for (const minute of [1, 2, 3]) {
      await knock(service, 20);
      if (minute === 2) await note(service.app, null, 'check all', null);
      clock.advance(120_000);
    }
    await sealNow(service.app);
    return service;
  }

  test("are nobody's tampering, and an operator's row stays with all of its block", async () => {
    const service = await knocked();
    await fold(service);
    assert.deepEqual(await totals(service).then(({ listed, counted }) => [listed, counted]), [41, 20]);
    const { faults, dropped, rows } = await verifyAudit(service.app, 0);
    assert.deepEqual({ faults, dropped, rows }, { faults: [], dropped: 1, rows: 41 });
    await fold(service);
    assert.deepEqual((await verifyAudit(service.app, 0)).faults, []);
    const lines = proofLines(service.app, 0, { from: null, to: null });
    assert.deepEqual((await verifyExport(service.app, 0, lines)).faults, []);
  });

  for (const [what, rows] of [
    ["an operator's row", "actor = 'operator'"],
    ['one of its block', `actor = '-' and audit_id < (select audit_id from audit where actor = 'operator')`],
    ['a whole block of later', `audit_id > (select audit_id from audit where actor = 'operator')`],
  ])
    test(`excuse nothing that was taken out otherwise: ${what}`, async () => {
      const service = await knocked();
      await fold(service);
      await service.app.db.query(`delete from audit where organisation_id = 0 and ${rows}`);
      assert.match(await faultsOf(service), /lacks rows that were sealed/);
      await service.app.db.query(
        'update audit_block set ids = null where number = (select max(number) from audit_block)',
      );
      assert.match(await faultsOf(service), /its month was not dropped/);
    });
});

suite('pages without credentials', () => {
  for (const [path, max] of [
    ['/docs/', limits.pagesPerAddress],
    ['/healthz', limits.probesPerAddress],
  ] as const)
    test(`${path}: ${max} a minute for each address, then 429 in the one error shape`, async () => {
      const service = await withService({ own: 'Moves the clock.', clock });
      const get = () => fetch(`${service.url}${path}`);
      for (let done = 0; done < max; done += 100)
        await Promise.all(
          Array.from({ length: 100 }, async () => {
            const reply = await get();
            await reply.arrayBuffer();
            assert.equal(reply.status, 200);
          }),
        );
      const refused = await get();
      assert.equal(refused.status, 429);
      assert.equal(((await refused.json()) as { error: { code: string } }).error.code, 'rate_limited');
      clock.advance(Number(refused.headers.get('retry-after')) * 1000);
      assert.equal((await get()).status, 200);
    });
});
