import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { sealNow } from '../../../platform/audit/sealed.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';

/** The request log and the tracer, as an integration developer uses them. */

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const base = `/console/${org.publicId}`;
const hostile = '"><script>alert(1)</script>';
const ana = await scene.learner('ana');
const result = await ana.completes();

suite('the request log', async () => {
  const person = await personOf(service, org.id, 'developer');
  await org.get('/assessments?subject=maths&learner_ref=ana');
  await org.get('/assessments?foo=1');
  const etag = (await org.get('/groups')).headers.etag!;
  for (let i = 0; i < 60; i++) await org.get('/groups', { 'if-none-match': etag });

  for (const state of ['not sealed', 'sealed'] as const)
    test(`${state}: calls by filter, page by page, and one whole with its command line`, async () => {
      if (state === 'sealed') await sealNow(service.app);
      const all = await person.get(`${base}/log`);
      assert.equal(all.text.match(/<tr>/g)!.length, 51);
      const next = /rel="next" href="([^"]+)"/.exec(all.text)![1]!;
      assert.match((await person.get(next.replaceAll('&amp;', '&'))).text, /First page/);
      const refused = await person.get(`${base}/log?status=4xx&key=${org.key.access_key_id}&route=GET+%2Fassessments`);
      assert.equal(refused.text.match(/<tr>/g)!.length, 2);
      assert.match(refused.text, /unknown_parameter/);
      const sent = await person.get(`${base}/log?status=2xx&route=GET+%2Fassessments`);
      const [, row] = /href="[^"]*\/log\/(\d+)"/.exec(sent.text)!;
      const one = await person.get(`${base}/log/${row}`);
      assert.match(one.text, /learner_id=[0-9a-f-]{36}&amp;subject=maths/);
      assert.match(one.text, /curl &#39;|curl '/);
      assert.match(one.text, /learner_ref=LEARNER_REF/);
      assert.match(one.text, /\$SECRET_ACCESS_KEY/);
      assert.doesNotMatch(one.text, /learner_ref=ana|ars_(live|test)_/);
      assert.match(
        (await person.get(`${base}/log?code=x&day=1999-01-01`)).text,
        /No request in the last 90 days matches/,
      );
    });

  test('what people did is no request, and its row is there only for those who see activity', async () => {
    const admin = await personOf(service, org.id, 'admin', { name: 'Carol Colleague' });
    const { userId: id } = admin;
    await service.app.db.query(
      `insert into audit (organisation_id, at, request_id, actor, action) values ($1, $2, $3, $4, 'POST /console/sign-in')`,
      [org.id, new Date(service.app.clock.nowMs()), service.app.random.uuid(), id],
    );
    for (const one of [admin, person])
      assert.doesNotMatch((await one.get(`${base}/log`)).text, new RegExp(`${id}|sign-in</code>`));
    const [act] = await service.app.db.query<{ id: number }>('select max(audit_id) as id from audit where actor = $1', [
      id,
    ]);
    assert.match((await admin.get(`${base}/log/${act!.id}`)).text, /<h1>Action \d+<\/h1>[^]*Carol Colleague/);
    assert.equal((await person.get(`${base}/log/${act!.id}`)).status, 404);
  });

  test('a day of a change of clocks begins where the one before ends', async () => {
    const at = new Date('2025-10-25T23:30:00Z');
    await service.app.db.query(
      `insert into audit (organisation_id, at, request_id, actor, action, status) values ($1, $2, $3, $4, 'GET /groups', 200)`,
      [org.id, at, service.app.random.uuid(), org.key.access_key_id],
    );
    const isOn = async (day: string) =>
      (await person.get(`${base}/log?day=${day}`)).text.includes(at.toISOString().slice(0, 16));
    // British Summer Time ended on 26 October 2025: that day had 25 hours, and began at 23:00Z.
    assert.deepEqual(
      [await isOn('2025-10-25'), await isOn('2025-10-26'), await isOn('2025-10-27')],
      [false, true, false],
    );
  });

  test('errors are grouped with what to do, and hours counted', async () => {
    const { text } = await person.get(`${base}/log/errors`);
    assert.match(
      text,
      /The query has a parameter that this endpoint does not know[^<]*<a href="\/docs\/reference\/errors\.html#unknown_parameter"/,
    );
    assert.match(text, /Unchanged \(304\)/);
  });

  test('what an address holds beside filters shows nothing and runs nowhere', async () => {
    const given = encodeURIComponent(hostile);
    for (const path of [
      `log?key=${given}&route=${given}&status=${given}&code=${given}&day=${given}&after=${given}`,
      `log/errors?key=${given}`,
      `trace?assessment_id=${given}`,
    ]) {
      const { status, text } = await person.get(`${base}/${path}`);
      assert.equal(status, 200, path);
      assert.doesNotMatch(text, /<script>alert/, path);
    }
    for (const path of ['log/0', 'log/99999999999999', 'log/x'])
      assert.equal((await person.get(`${base}/${path}`)).status, 404);
    const other = await service.organisation();
    await other.get('/health');
    const [theirs] = await service.app.db.query<{ id: number }>(
      'select max(audit_id) as id from audit where organisation_id = $1',
      [other.id],
    );
    assert.equal((await person.get(`${base}/log/${theirs!.id}`)).status, 404);
  });

  test('where a result is: one sentence, and the call that proves it', async () => {
    assert.match(
      (await person.get(`${base}/trace?assessment_id=${scene.org.publicId}`)).text,
      /no result with this ID/,
    );
    const { text } = await person.get(`${base}/trace?assessment_id=${result.id}`);
    assert.match(text, /<h2>Fetched at <time [^>]*>[^<]*<\/time> by test;/);
    const [, proof] = /href="([^"]*\/log\/\d+)">Request/.exec(text)!;
    assert.equal((await person.get(proof!)).status, 200);
    // A developer sees references and ids, no names.
    assert.doesNotMatch(text, /Learner ana/);
  });
});
