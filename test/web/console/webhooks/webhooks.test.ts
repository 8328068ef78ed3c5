import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Answer } from '../../../contract/support/client.ts';
import { Scenario } from '../../../support/scenario.ts';
import { answer } from '../../../integrations/webhooks/receiver.ts';
import { withScene } from '../../../integrations/webhooks/scene.ts';
import { fieldsOf, personOf } from '../visitor.ts';

/** The pages of webhooks and deliveries, as an integration developer and an admin use them. */

const scene = await withScene({ ARS_WEBHOOK_RETRY_SCHEDULE: '1s' });
const { service, organisation: org } = scene;
const base = `/console/${org.publicId}`;
const worker = scene.worker();
const developer = await personOf(service, org.id, 'developer');
const admin = await personOf(service, org.id, 'admin');
const hostile = '"><script>alert(1)</script>';

const onceOf = ({ text }: Answer) => /name="once" value="([\w-]+)"/.exec(text)![1]!;
const idOf = ({ headers }: Answer) => headers.location!.split(/[/?]/).at(-1)!;

suite('webhooks in the console', () => {
  test('deliveries offer to be sent again only where one can be chosen', async () => {
    const endpoint = await scene.endpoint({ behaviour: answer(204) });
    const here = `${base}/webhooks/${endpoint.id}`;
    await developer.post(`${here}/pause`);
    await scene.emit(['ana']);
    const list = async () => (await developer.get(`${base}/deliveries?endpoint=${endpoint.id}`)).text;
    const waiting = await list();
    assert.match(waiting, /<span class="label wait">Waiting<\/span>/);
    assert.doesNotMatch(waiting, /Send again|Send selected/);
    await developer.post(`${here}/resume`);
    await scene.settle(worker);
    assert.match(await list(), /name="delivery"[^]*Send selected deliveries again/);
    await service.app.db.query('delete from webhook_endpoint where endpoint_id = $1', [endpoint.id]);
  });

  test('health says no more than is known', async () => {
    // The worker may deliver before the pages are looked at.
    const seenWaiting = Promise.withResolvers<void>();
    const endpoint = await scene.endpoint({
      behaviour: (...request) => void seenWaiting.promise.then(() => answer(204)(...request)),
    });
    const here = `${base}/webhooks/${endpoint.id}`;
    const says = async (pattern: RegExp) => {
      for (const path of [here, `${base}/webhooks`]) {
        const { text } = await developer.get(path);
        assert.match(text, pattern, path);
        assert.doesNotMatch(text, />Well</);
      }
    };
    await says(/Nothing delivered yet/);
    await scene.emit(['ana']);
    await says(/Nothing delivered, deliveries wait/);
    seenWaiting.resolve();
    await scene.settle(worker);
    await says(/Last delivered <time|Last delivered \d/);
    // Another address has taken nothing.
    await service.app.db.query('update webhook_endpoint set url = $2 where endpoint_id = $1', [
      endpoint.id,
      'https://elsewhere.example/hook',
    ]);
    await says(/Nothing delivered yet/);
    // What was delivered long ago is kept no longer.
    await service.app.db.query(
      "update webhook_endpoint set created_at = created_at - interval '31 days' where endpoint_id = $1",
      [endpoint.id],
    );
    await says(/Nothing delivered in 30 days/);
    // What is held back, or has ended, is tried again by nobody.
    const fails = (status: string) =>
      service.app.db.query('update webhook_endpoint set failing_since = now(), status = $2 where endpoint_id = $1', [
        endpoint.id,
        status,
      ]);
    await fails('active');
    await says(/Failed at (?!.*deliveries are retried)/);
    await fails('paused');
    await scene.emit(['ana']);
    await says(/Failed at (?!.*deliveries are retried)/);
    await fails('active');
    await says(/Failed at .*; deliveries are retried/);
    await service.app.db.query('delete from webhook_endpoint where endpoint_id = $1', [endpoint.id]);
  });

  test('one is registered, edited, tried out, paused, resumed, rotated and removed', async () => {
    const endpoint = await scene.endpoint();
    const fields = {
      once: onceOf(await developer.get(`${base}/webhooks/create`)),
      url: endpoint.receiver.url,
      eventTypes: 'learner.groups.updated',
    };
    const made = await developer.post(`${base}/webhooks/create`, fields);
    const secret = /whsec_[\w-]+/.exec(made.text)![0];
    const again = await developer.post(`${base}/webhooks/create`, fields);
    assert.doesNotMatch(again.text, /whsec_/);
    const here = `${base}/webhooks/${fields.once}`;
    const tested = await developer.post(`${here}/test`);
    assert.match(tested.text, /The test event is delivered/);
    assert.match((await developer.follow(await developer.post(`${here}/pause`))).text, /Paused/);
    await scene.emit(['ana']);
    await scene.settle(worker);
    // Disabled since the page was opened: it isn't paused, and isn't said to be.
    const state = (status: string) =>
      service.app.db.query('update webhook_endpoint set status = $2 where endpoint_id = $1', [fields.once, status]);
    await state('disabled');
    assert.equal((await developer.post(`${here}/pause`)).headers.location, here);
    await state('paused');
    assert.match((await developer.follow(await developer.post(`${here}/resume`))).text, /is active/);
    const edited = await developer.fill(`${here}/edit`, {
      url: 'https://elsewhere.example/x?y=1',
      eventTypes: 'assessment.completed',
    });
    assert.match((await developer.follow(edited)).text, /https:\/\/elsewhere\.example\/x\?y=1/);
    // Another person's page from before is not saved over it.
    const [mine, theirs] = [await developer.get(`${here}/edit`), await admin.get(`${here}/edit`)];
    const named = ({ text }: Answer, url: string) => [
      ...fieldsOf(text).filter(([name]) => name !== 'url'),
      ['url', url],
    ];
    const sent = named(theirs, 'https://elsewhere.example/second') as [string, string][];
    assert.equal((await admin.post(`${here}/edit`, sent)).status, 303);
    const late = await developer.post(`${here}/edit`, [
      ...fieldsOf(mine.text),
      ['eventTypes', 'learner.groups.updated'],
    ]);
    assert.equal(late.status, 409);
    assert.match(late.text, /A result is completed; A learner joins/);
    assert.match((await developer.get(here)).text, /elsewhere\.example\/second/);
    assert.equal((await developer.post(`${here}/edit`, fieldsOf(late.text))).status, 303);
    assert.match((await developer.get(here)).text, /elsewhere\.example\/x\?y=1[^]*A learner joins/);
    const rotated = await developer.post(`${here}/rotate`);
    assert.notEqual(/whsec_[\w-]+/.exec(rotated.text)![0], secret);
    const page = await developer.get(here);
    assert.match(page.text, /<span>Current<.*<span>Earlier</s);
    assert.doesNotMatch(page.text, /whsec_/);
    for (let i = 0; i < 3; i++) await developer.post(`${here}/rotate`);
    assert.equal((await developer.post(`${here}/rotate`)).status, 422);
    assert.match((await developer.get(`${here}/remove`)).text, /Waiting deliveries that are dropped: \d/);
    await developer.post(`${here}/remove`);
    assert.equal((await developer.get(here)).status, 404);
  });

  test('what is wrong with a form stands at its fields', async () => {
    const once = onceOf(await developer.get(`${base}/webhooks/create`));
    const wrong = await developer.post(`${base}/webhooks/create`, {
      once,
      url: `http://10.0.0.1/${hostile}`,
      eventTypes: 'no.such',
      groups: org.publicId,
    });
    assert.equal(wrong.status, 422);
    for (const field of ['url', 'eventTypes', 'groups']) assert.match(wrong.text, new RegExp(`<a href="#${field}">`));
    assert.ok(!wrong.text.includes('<script>'));
  });

  test('a delivery that finally failed is found, read as it was sent, and sent again', async () => {
    const endpoint = await scene.endpoint({ behaviour: answer(500) });
    const story = new Scenario(service, org);
    const ana = await story.learner('ana', 'Ana Silva');
    await ana.completes();
    for (let i = 0; i < 2; i++) {
      await scene.settle(worker);
      scene.clock.advance(60_000);
    }
    const list = await developer.get(`${base}/deliveries?status=dead&endpoint=${endpoint.id}`);
    const id = new RegExp(`${base}/deliveries/([0-9a-f-]{36})"`).exec(list.text)![1]!;
    const shown = await admin.get(`${base}/deliveries/${id}`);
    const [received] = endpoint.receiver.received;
    assert.ok(shown.text.includes(received!.headers['x-svc-signature-256']!));
    assert.ok(shown.text.includes('Ana Silva'));
    const masked = await developer.get(`${base}/deliveries/${id}`);
    for (const personal of ['Ana Silva', 'Level 1', '&quot;score_pct&quot;: 60'])
      assert.ok(!masked.text.includes(personal));
    assert.match(masked.text, /are not shown to your role/);
    for (const { text } of [shown, masked]) assert.ok(!text.includes(endpoint.secret));
    endpoint.receiver.behave(answer(204));
    await developer.post(`${base}/deliveries/${id}/resend`);
    await scene.settle(worker);
    assert.match((await developer.get(`${base}/deliveries/${id}`)).text, /Delivered/);
  });

  test('all that failed since a day is counted, confirmed, and sent again in the background', async () => {
    const endpoint = await scene.endpoint({ behaviour: answer(500) });
    await scene.emit(['a', 'b', 'c']);
    for (let i = 0; i < 2; i++) {
      await scene.settle(worker);
      scene.clock.advance(60_000);
    }
    const since = new Date(scene.clock.nowMs()).toISOString().slice(0, 10);
    const counted = await developer.post(`${base}/resends/failed`, { since, endpoint: endpoint.id });
    assert.match(counted.text, /Send 3 deliveries again\?/);
    const fields = { since, endpoint: endpoint.id, once: onceOf(counted) };
    // The worker may be at it before the page is there.
    endpoint.receiver.behave(answer(204));
    const ordered = await developer.post(`${base}/resends/create`, fields);
    assert.equal(ordered.status, 303);
    assert.equal(idOf(await developer.post(`${base}/resends/create`, fields)), idOf(ordered));
    let text = '';
    while (!text.includes('3 of 3')) ({ text } = await developer.get(ordered.headers.location!));
    await scene.settle(worker);
    assert.equal((await scene.deliveries(endpoint)).filter(({ status }) => status === 'succeeded').length, 3);
    assert.match(
      (await developer.post(`${base}/resends/failed`, { since, endpoint: endpoint.id })).text,
      /nothing to send again/,
    );
    // A selection may hold what has succeeded, too.
    const [one] = await scene.deliveries(endpoint);
    assert.match(
      (await developer.post(`${base}/resends/chosen`, { delivery: one!.id })).text,
      /Send 1 delivery again\?/,
    );
    assert.equal((await developer.post(`${base}/resends/chosen`)).status, 422);
  });

  test('the day of a change of clocks is whole in the list and in what is sent again', async () => {
    const endpoint = await scene.endpoint({ behaviour: answer(500) });
    await scene.emit(['ana']);
    for (let i = 0; i < 2; i++) {
      await scene.settle(worker);
      scene.clock.advance(60_000);
    }
    // British Summer Time ended on 26 October 2025: that day began at 23:00Z.
    await service.app.db.query(
      'update delivery set created_at = $2, finished_at = $2 where organisation_id = $1 and endpoint_id = $3',
      [org.id, new Date('2025-10-25T23:30:00Z'), endpoint.id],
    );
    const { id } = (await scene.deliveries(endpoint))[0]!;
    const isOn = async (day: string) =>
      (await developer.get(`${base}/deliveries?endpoint=${endpoint.id}&from=${day}&to=${day}`)).text.includes(id);
    assert.deepEqual(
      [await isOn('2025-10-25'), await isOn('2025-10-26'), await isOn('2025-10-27')],
      [false, true, false],
    );
    const counted = async (since: string) =>
      (await developer.post(`${base}/resends/failed`, { since, endpoint: endpoint.id })).text;
    assert.match(await counted('2025-10-26'), /Send 1 delivery again\?/);
    assert.match(await counted('2025-10-27'), /nothing to send again/);
  });

  test('another organisation’s endpoints, deliveries and orders are not there', async () => {
    const theirs = await service.organisation();
    const stranger = await personOf(service, theirs.id, 'owner');
    const at = `/console/${theirs.publicId}`;
    const missing = (await stranger.get(`${at}/no-such-page`)).text;
    const endpoint = await scene.endpoint();
    await scene.emit(['ana']);
    await scene.settle(worker);
    const [delivery] = await scene.deliveries(endpoint);
    assert.match((await developer.get(`${base}/deliveries/${delivery!.id}`)).text, /Delivered/);
    for (const path of [`webhooks/${endpoint.id}`, `webhooks/${endpoint.id}/edit`, `deliveries/${delivery!.id}`])
      assert.equal((await stranger.get(`${at}/${path}`)).text, missing);
    for (const path of ['test', 'pause', 'rotate', 'remove'])
      assert.equal((await stranger.post(`${at}/webhooks/${endpoint.id}/${path}`)).text, missing);
    assert.equal((await stranger.post(`${at}/deliveries/${delivery!.id}/resend`)).text, missing);
    assert.match(
      (await stranger.post(`${at}/resends/chosen`, { delivery: delivery!.id })).text,
      /nothing to send again/,
    );
    assert.equal((await scene.row(endpoint)).status, 'active');
  });
});
