import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { recordResults, scenario } from '../scenario.ts';
import { withService } from '../service.ts';
import { personOf } from './visitor.ts';

/** The page of what a key receives next, as each role sees it. */

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const base = `/console/${org.publicId}`;
const hostile = '"><script>alert(1)</script>';
const ana = await scene.learner('ana-17', `Ana ${hostile}`);
const client = await org.another({ label: hostile });
const path = `${base}/keys/${client.key.access_key_id}/view`;

suite('the page of what a key receives next', () => {
  test('shows references and ids to a developer, names and levels to those who see results', async () => {
    const result = await ana.completes();
    for (const role of ['owner', 'admin', 'developer', 'auditor'] as const) {
      const { status, text } = await (await personOf(service, org.id, role)).get(path);
      assert.equal(status, 200);
      assert.ok(text.includes(result.id) && text.includes('ana-17'));
      assert.ok(!text.includes('<script>'), 'stored script');
      const asked = (await client.get('/assessments')).body.data.map(
        (one: { assessment_id: string }) => one.assessment_id,
      );
      const listed = [...text.matchAll(/trace\?assessment_id=([0-9a-f-]{36})"><code>/g)].map(([, id]) => id);
      assert.deepEqual(listed, asked, 'what the page lists is what the key is sent');
      const named = role !== 'developer';
      assert.equal(text.includes('Ana &quot;'), named, role);
      assert.equal(text.includes('maths: Level 1'), named, role);
      // Auditors have no page of the key itself to go back to.
      assert.equal(text.includes(`href="${path.slice(0, -5)}"`), role !== 'auditor');
    }
  });

  test('says times by the clocks of the organisation', async () => {
    const person = await personOf(service, org.id, 'developer');
    await service.app.db.query(`update organisation set time_zone = 'Asia/Kathmandu' where organisation_id = $1`, [
      org.id,
    ]);
    await client.get('/assessments');
    await ana.completes({ subject: 'english' });
    const { text } = await person.get(path);
    assert.match(text, /is 1 change behind, the oldest of <time datetime="[^"]+">/);
    assert.doesNotMatch(text.replace(/<[^>]*>/g, ''), / UTC/);
  });

  test('is not there for other organisations’ keys, calls that are none of its lists, and keys that nobody has', async () => {
    const person = await personOf(service, org.id, 'developer');
    const missing = (await person.get(`${base}/no-such-page`)).text;
    const other = await service.organisation();
    for (const address of [
      `${base}/keys/${other.key.access_key_id}/view`,
      `${base}/keys/ARSKNONE/view`,
      `${path}?call=1`,
      `${path}?call=${'9'.repeat(15)}`,
      `${path}?call=x`,
    ])
      assert.equal((await person.get(address)).text, missing, address);
  });

  test('weighs less than 30 kB, however much is waiting', async () => {
    const person = await personOf(service, org.id, 'owner');
    await service.inWork((work) =>
      recordResults(
        work,
        org.id,
        Array.from({ length: 700 }, () => ({ ref: 'ana-17' })),
      ),
    );
    const fresh = await org.another({ label: 'Fresh' });
    await fresh.get('/assessments?limit=500');
    const page = await person.get(`${base}/keys/${fresh.key.access_key_id}/view`);
    assert.match(page.text, /is in the middle of a walk: its next page holds 20\d, and 20\d changes are left/);
    const next = /rel="next" href="([^"]+)"/.exec(page.text)![1]!.replaceAll('&amp;', '&');
    assert.match((await person.get(next)).text, /51 to 100 of 20\d on the page/);
    for (const { text } of [page, await person.get(path)]) {
      const bytes = gzipSync(text).length;
      assert.ok(bytes < 30_000, `${bytes} bytes`);
    }
  });
});
