import assert from 'node:assert/strict';
import { request } from 'node:http';
import { suite, test } from 'node:test';
import { statement } from '../../src/platform/db/database.ts';
import { sealAudit } from '../../src/platform/audit/seal.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { registerEndpoint } from '../../src/integrations/webhooks/endpoints/endpoints.ts';
import type { OrganisationStatus, Status } from '../../src/server/status/status.ts';
import { manualClock } from '../platform/time/manual-clock.ts';
import { ars } from '../support/ars.ts';
import { type TestOrganisation, withService } from '../support/service.ts';

const hourMs = 3600_000;

suite('the state of all organisations', async () => {
  // The command reads the state by the clock of the machine, so the history is in the past.
  const clock = manualClock(systemClock.nowMs() - 30 * hourMs);
  const service = await withService({
    own: 'Moves the clock.',
    clock,
    settings: { ARS_METRICS_PORT: '0', ARS_METRICS_ORGANISATIONS: '2' },
  });
  const { db } = service.app;
  const named = (name: string) => service.organisation({ name, credits: 5 });
  const well = await named('A Well College');
  const broken = await named('Broken Endpoint College');
  const quiet = await named('Quiet Platform College');
  const nightly = await named('Nightly College');
  const ending = await service.organisation({ name: 'Ending Key College' });
  const tillSoon = await ending.another({
    expiresAt: new Date(systemClock.nowMs() + 5 * 24 * hourMs),
    label: 'Ana Silva',
  });
  const endpoint = async (org: TestOrganisation, url: string) =>
    service.withUnitOfWork((work) =>
      registerEndpoint(work, org.id, { url, eventTypes: ['assessment.completed'], groupIds: null }),
    );
  await endpoint(well, 'https://hooks.well.example/a?token=SECRET');
  await endpoint(broken, 'https://hooks.broken.example/SECRETPATH');
  const poll = (org: TestOrganisation) => org.get('/assessments');
  for (let hour = 0; hour < 30; hour++) {
    await poll(well);
    if (hour < 20) await poll(quiet);
    if (hour % 6 === 0) await poll(nightly);
    clock.advance(hourMs);
  }
  await poll(well);
  await sealAudit(service.app, undefined, 0);
  await db.query(statement('test.fail')`update webhook_endpoint set failing_since = $2 where organisation_id = $1`, [
    broken.id,
    new Date(clock.nowMs() - 3 * hourMs),
  ]);
  const read = async (path: string) => {
    const reply = await fetch(`${service.metricsUrl}${path}`);
    return { status: reply.status, headers: reply.headers, text: await reply.text() };
  };

  test('the first rows answer who has a broken webhook endpoint, and which key has stopped polling', async () => {
    const { status, headers, text } = await read('/status');
    assert.equal(status, 200);
    assert.match(headers.get('content-security-policy')!, /^default-src 'none'; style-src 'sha256-/);
    assert.match(text, /<h1>3 of 5 organisations need attention<\/h1>/);
    const rows = [...text.matchAll(/<tr><th scope="row"><a href="\/status\/([0-9a-f-]+)">([^<]+)<\/a>.*?<\/tr>/g)];
    assert.deepEqual(
      rows.map(([, , name]) => name),
      ['Broken Endpoint College', 'Quiet Platform College', 'Ending Key College', 'A Well College', 'Nightly College'],
    );
    assert.match(rows[0]![0], /Webhook endpoint hooks\.broken\.example has failed for 3 hours/);
    assert.match(
      rows[1]![0],
      new RegExp(`Key ${quiet.key.access_key_id} has been silent for 11 hours, usually at most 1 hour`),
    );
    assert.match(rows[2]![0], new RegExp(`Key ${tillSoon.key.access_key_id} ends in [45] days`));
    for (const part of ['SECRET', 'Ana Silva', '<script']) assert.ok(!text.includes(part), part);
  });

  test('one organisation has a page with its keys and webhook endpoints', async () => {
    const { status, text } = await read(`/status/${broken.publicId}`);
    assert.equal(status, 200);
    assert.match(text, /<h1>Broken Endpoint College<\/h1>/);
    assert.match(text, /hooks\.broken\.example/);
    assert.ok(text.includes(broken.key.access_key_id));
    assert.ok(!text.includes('SECRET') && !text.includes('Quiet'));
    for (const id of [service.app.random.uuid(), '00000000-0000-0000-0000-000000000000'])
      assert.equal((await read(`/status/${id}`)).status, 404);
    for (const path of ['/status/', '/status/x', '/statuses', '/__proto__'])
      assert.equal((await read(path)).status, 404);
    assert.equal((await fetch(`${service.metricsUrl}/status`, { method: 'POST' })).status, 405);
    // The public port has no such page.
    assert.equal((await fetch(`${service.url}/status`)).status, 404);
  });

  test('programs read the same as JSON, from the port and from the command', async () => {
    const { hostname, port } = new URL(service.metricsUrl!);
    const answered = async (host: string) => {
      const { promise, resolve } = Promise.withResolvers<number>();
      request({ hostname, port, path: '/status.json', headers: { host } }, (reply) => {
        reply.resume();
        resolve(reply.statusCode!);
      }).end();
      return promise;
    };
    for (const host of [`127.0.0.1:${port}`, 'localhost', '[::1]:9464', 'node7:9464'])
      assert.equal(await answered(host), 200, host);
    for (const host of ['rebound.example', `rebound.example:${port}`, '127.0.0.1.rebound.example', 'localhost.'])
      assert.equal(await answered(host), 421, host);
    const json = JSON.parse((await read('/status.json')).text) as Status;
    const [first, second] = json.organisations;
    assert.deepEqual([first!.organisation_id, first!.endpoints[0]!.status], [broken.publicId, 'failing']);
    const [key] = second!.keys;
    assert.deepEqual([key!.key_id, key!.is_silent, key!.usual_ms], [quiet.key.access_key_id, true, hourMs]);
    const nights = json.organisations.find(({ name }) => name === 'Nightly College')!.keys[0]!;
    assert.deepEqual([nights.usual_ms, nights.is_silent], [6 * hourMs, false]);
    assert.deepEqual([first!.credits, first!.refused, first!.failed], [5, 0, 0]);
    const all = await ars(['status', '--json'], service.environment);
    const ids = (all.json as Status).organisations.map((one) => one.organisation_id);
    assert.deepEqual(
      ids,
      json.organisations.map((one) => one.organisation_id),
    );
    const one = await ars(['status', broken.publicId, '--json'], service.environment);
    assert.equal((one.json as OrganisationStatus).endpoints[0]!.host, 'hooks.broken.example');
    const text = await ars(['status'], service.environment);
    // The rows of 300 organisations would push the first lines out of the terminal.
    assert.doesNotMatch(text.out, /A Well College/);
    assert.match(
      text.out,
      /^3 of 5 organisations need attention\.\n\nBroken Endpoint College \([0-9a-f-]{36}\)\n {2}✗ Webhook/,
    );
  });

  test('metrics name the organisations that need attention most, up to the limit, and put all others together', async () => {
    const { text } = await read('/metrics');
    assert.match(text, /^ars_keys_silent 1$/m);
    const seriesOf = (name: string) =>
      [...text.matchAll(new RegExp(`^ars_organisation_${name}\\{organisation="([^"]+)"\\} (\\d+)`, 'gm'))].map(
        ([, label, value]) => [label, value],
      );
    assert.deepEqual(seriesOf('endpoints_broken'), [
      [broken.publicId, '1'],
      [quiet.publicId, '0'],
      ['other', '0'],
    ]);
    assert.deepEqual(seriesOf('keys_silent'), [
      [broken.publicId, '0'],
      [quiet.publicId, '1'],
      ['other', '0'],
    ]);
    const off = await service.sibling({ settings: { ARS_METRICS_PORT: '0', ARS_METRICS_ORGANISATIONS: '' } });
    const without = await (await fetch(`${off.metricsUrl}/metrics`)).text();
    assert.match(without, /^ars_keys_silent 1$/m);
    assert.doesNotMatch(without, new RegExp(quiet.publicId));
  });

  test('dead letters, late deliveries and failed responses need attention; a suspended organisation does not', async () => {
    const org = await named('Dead Letters College');
    const made = await endpoint(org, 'https://dead.example/');
    const insert = statement('test.deliveries')`
      insert into delivery (organisation_id, delivery_id, endpoint_id, event_id, created_at, status, next_attempt_at)
      select $1, gen.id, $2, gen.id, $3::timestamptz, gen.status, case when gen.status = 'pending' then $3::timestamptz end from unnest($4::uuid[], $5::text[]) gen(id, status)`;
    const ids = Array.from({ length: 3 }, () => service.app.random.uuid());
    const at = new Date(clock.nowMs() - 2 * hourMs);
    await db.query(insert, [org.id, made.row.endpoint_id, at, ids, ['dead', 'dead', 'pending']]);
    const texts = async () => {
      const { json } = await ars(['status', org.publicId, '--json'], service.environment);
      return (json as OrganisationStatus).attention.map((one) => one.text);
    };
    assert.deepEqual(await texts(), [
      'Webhook endpoint dead.example is late: a delivery has waited for 2 hours',
      'Webhook endpoint dead.example has 2 dead letters',
    ]);
    await db.query(
      statement(
        'test.disable',
      )`update webhook_endpoint set status = 'disabled', disabled_reason = 'gone' where organisation_id = $1`,
      [org.id],
    );
    assert.equal((await texts())[0], 'Webhook endpoint dead.example is disabled: gone');
    await db.query(statement('test.suspend')`update organisation set suspended_at = $2 where organisation_id = $1`, [
      org.id,
      at,
    ]);
    assert.deepEqual(await texts(), []);
  });
});
