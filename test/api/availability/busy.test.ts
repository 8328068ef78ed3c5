import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { TestOrganisation, TestService } from '../../support/service.ts';
import { withService } from '../../support/service.ts';
import { waitForLocks, withDatabase } from '../../support/postgres.ts';
import { invited } from '../../sittings/learner.ts';

/** Another process that holds the feeds of organisations, as a writer does, until it is told to let go. */
async function holdFeeds(service: TestService, organisations: TestOrganisation[]): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>();
  const letGo = Promise.withResolvers<void>();
  const ended = withDatabase(service.databaseUrl, (db) =>
    db.transaction(async (tx) => {
      const ids = organisations.map(({ id }) => id);
      await tx.query('select from feed where organisation_id = any($1) for update', [ids]);
      held.resolve();
      await letGo.promise;
    }),
  );
  await Promise.race([held.promise, ended]);
  return () => {
    letGo.resolve();
    return ended;
  };
}

const group = (ref: string) => ({ type: 'cohort', ref, name: 'A group' });
const write = (org: TestOrganisation, ref: string, headers: Record<string, string> = {}) =>
  org.post('/groups', group(ref), headers);

/** The same over a connection of its own: the tests' client has only so many. */
const writeBeside = (
  org: TestOrganisation,
  url: string,
  ref: string,
  more: { key?: string; signal?: AbortSignal } = {},
) =>
  fetch(`${url}/api/v1/groups`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-access-key-id': org.key.access_key_id,
      'x-secret-access-key': org.key.secret_access_key,
      ...(more.key === undefined ? {} : { 'idempotency-key': more.key }),
    },
    body: JSON.stringify(group(ref)),
    ...(more.signal === undefined ? {} : { signal: more.signal }),
  });

suite("one organisation's changes keep no other waiting", async () => {
  const service = await withService({
    own: 'Waits for changes for another time.',
    settings: { ARS_RATE_LIMIT: '100000', ARS_CHANGE_WAIT_SECONDS: '45' },
  });
  const [quiet, ...busy] = await Promise.all(Array.from({ length: 25 }, () => service.organisation()));
  const works = async () => {
    for (let i = 0; i < 3; i++) {
      assert.equal((await quiet!.get('/assessments')).status, 200);
      assert.equal((await quiet!.get('/learners')).status, 200);
      assert.ok([200, 201].includes((await write(quiet!, `Q${i}`)).status));
    }
  };

  test('with many writers of one whose feed another process holds', async () => {
    const letGo = await holdFeeds(service, [busy[0]!]);
    const waiting = Array.from({ length: 40 }, (_, i) => write(busy[0]!, `W${i}`));
    await works();
    await letGo();
    for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 201);
  });

  test('with more organisations at a standstill than there are connections', async () => {
    const letGo = await holdFeeds(service, busy);
    const waiting = busy.flatMap((org) => [write(org, 'X1'), write(org, 'X2')]);
    await works();
    await letGo();
    for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 201);
  });

  test('and one that has too many waiting is refused at once, alone, with a time to come back', async () => {
    const letGo = await holdFeeds(service, [busy[1]!]);
    const refused = Promise.withResolvers<Response>();
    const asked = Array.from({ length: 310 }, (_, i) =>
      writeBeside(busy[1]!, service.url, `F${i}`, { key: `full ${i}` }).then((answer) => {
        if (answer.status === 503) refused.resolve(answer);
        return { i, answer };
      }),
    );
    const first = await refused.promise;
    assert.equal(first.headers.get('retry-after'), '5');
    assert.equal(((await first.json()) as { error: { code: string } }).error.code, 'service_unavailable');
    await works();
    await letGo();
    const answers = await Promise.all(asked);
    const left = answers.filter(({ answer }) => answer.status === 503);
    // On a busy machine, others are refused because they waited for 45 s.
    const full = service.logged.join('').split('"why":"full"').length - 1;
    assert.ok(full >= 1 && full <= 10, `${full} refused because the queue was full`);
    for (const { answer } of answers) assert.ok([201, 503].includes(answer.status));
    const inLog = await service.app.db.query(
      `select from audit where organisation_id = $1 and status = 503 and request_id = any($2)`,
      [busy[1]!.id, left.map(({ answer }) => answer.headers.get('x-request-id'))],
    );
    assert.equal(inLog.length, left.length, 'refused, and in the log');
    // Nothing was kept under their keys: repeated, they are done.
    for (const { i } of left)
      assert.equal((await write(busy[1]!, `F${i}`, { 'idempotency-key': `full ${i}` })).status, 201);
  });

  test('nor its learners: their answers wait for none of it', async () => {
    const learner = await invited(service, busy[3]!);
    await learner.starts();
    const letGo = await holdFeeds(service, [busy[3]!]);
    const waiting = Array.from({ length: 10 }, (_, i) => write(busy[3]!, `S${i}`));
    for (let i = 0; i < 3; i++) assert.equal(await learner.answers('right'), 'taken');
    await letGo();
    for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 201);
  });

  test('a client that left while it waited has changed nothing', async () => {
    const letGo = await holdFeeds(service, [busy[2]!]);
    const leaving = new AbortController();
    const asked = writeBeside(busy[2]!, service.url, 'LEFT', { signal: leaving.signal });
    while ((await service.app.db.query(waitForLocks)).length === 0);
    leaving.abort();
    await assert.rejects(asked, { name: 'AbortError' });
    while (!service.logged.join('').includes('"why":"left"')) await new Promise((resolve) => setImmediate(resolve));
    await letGo();
    const { data } = (await busy[2]!.get('/groups')).body as { data: { ref: string }[] };
    assert.ok(data.every(({ ref }) => ref !== 'LEFT'));
  });
});

test('a change that has waited for as long as it may is refused, and can be repeated', async () => {
  const service = await withService({
    own: 'Waits for changes for another time.',
    settings: { ARS_CHANGE_WAIT_SECONDS: '1' },
  });
  const org = await service.organisation();
  const letGo = await holdFeeds(service, [org]);
  const answers = await Promise.all(['a', 'b', 'c'].map((ref) => write(org, ref, { 'idempotency-key': ref })));
  for (const { status, headers, body } of answers) {
    assert.equal(status, 503);
    assert.equal(headers['retry-after'], '5');
    assert.equal(
      body.error.message,
      'Other changes of the organisation are still being made. Repeat this change after a few seconds.',
    );
  }
  const refusals = () =>
    service.logged.flatMap((text) => text.split('\n').filter((line) => line.includes('"change.refused"')));
  while (refusals().length < answers.length) await delay(10);
  for (const line of refusals()) assert.equal(JSON.parse(line).organisation_id, org.publicId);
  await letGo();
  for (const ref of ['a', 'b', 'c']) assert.equal((await write(org, ref, { 'idempotency-key': ref })).status, 201);
});

test('a service that stops refuses the changes that wait, within the drain time, and cuts none off', async () => {
  const service = await withService({
    own: 'Is stopped while it answers.',
    settings: { ARS_DRAIN_SECONDS: '4', ARS_CHANGE_WAIT_SECONDS: '45', ARS_RATE_LIMIT: '1000' },
  });
  const org = await service.organisation();
  const letGo = await holdFeeds(service, [org]);
  // More than fit into the lane; all of them have come when the stop begins.
  const asked = Array.from({ length: 310 }, (_, i) => writeBeside(org, service.url, `S${i}`));
  const come = 'select total from rate_window where key_id = $1';
  while ((await service.app.db.query(come, [org.key.access_key_id]))[0]?.total !== asked.length);
  const stopped = service.stop();
  for (const answer of await Promise.all(asked)) {
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('retry-after'), '5');
    assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'service_unavailable');
  }
  await stopped;
  await letGo();
});
