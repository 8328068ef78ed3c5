import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { editionBytes, inspect, vouch } from '../../../src/records/evidence/verify.ts';
import { withdrawAssessment } from '../../../src/governance/erasure/withdraw.ts';
import { ask } from '../../contract/support/client.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

suite('the public page that checks a file', async () => {
  const service = await withService();
  const scene = await scenario(service);
  const ana = await scene.learner('ana-ref-77', 'Ana Personal-Name');
  const result = await ana.completes();
  const old = (await result.readReport()).headers['x-report-sha256']!;
  await result.isAmended({ framework: 'Framework of the second edition' });
  const current = (await result.readReport()).headers['x-report-sha256']!;
  const page = (query: string, method = 'GET') => ask(service.url, method, `/verify${query}`);
  const state = async () =>
    service.app.db.query(
      'select (select count(*) from audit) as audited, position from feed where organisation_id = $1',
      [scene.org.id],
    );

  test('each verdict, with its edition', async () => {
    const none = 'f'.repeat(64);
    for (const [hash, head, edition] of [
      [current, 'This file is genuine and current', '<dd>2, made on '],
      [old, 'This file is genuine, but not the latest', '<dd>1, made on '],
      [none, 'The service does not vouch for this file', null],
    ] as const) {
      const answer = await page(`?sha256=${hash}`);
      assert.equal(answer.status, 200);
      assert.ok(answer.text.includes(head));
      assert.match(answer.text, new RegExp(`<title>${head}`), 'the title says it first');
      assert.equal(answer.text.includes(edition ?? 'made on '), edition !== null);
    }
  });

  test('a file of a sandbox is a test, whatever its organisation calls itself', async () => {
    const another = await ana.completes();
    const hash = (await another.readReport()).headers['x-report-sha256']!;
    const mark = (sandbox: boolean) =>
      service.app.db.query('update organisation set sandbox = $2 where organisation_id = $1', [scene.org.id, sandbox]);
    await mark(true);
    assert.equal((await vouch(service.app, hash)).verdict, 'test');
    const answer = await page(`?sha256=${hash}`);
    assert.match(answer.text, /<title>This file is a test, and evidence of nothing/);
    await mark(false);
    assert.equal((await vouch(service.app, hash)).verdict, 'current');
  });

  test('a file that a sandbox has made as well is what the live organisation’s is, whichever came first', async () => {
    const id = service.app.random.uuid();
    const scenes = [scene, await scenario(service)];
    const hashes = [];
    for (const one of scenes) {
      const learner = await one.learner('same', 'Same Name');
      hashes.push((await (await learner.completes({ assessment_id: id })).readReport()).headers['x-report-sha256']!);
    }
    const [hash] = hashes;
    assert.equal(hashes[1], hash, 'the same bytes');
    for (const sandbox of scenes) {
      const mark = (is: boolean) =>
        service.app.db.query('update organisation set sandbox = $2 where organisation_id = $1', [sandbox.org.id, is]);
      await mark(true);
      assert.equal((await vouch(service.app, hash!)).verdict, 'current');
      assert.match((await page(`?sha256=${hash}`)).text, /<title>This file is genuine and current/);
      assert.notEqual((await inspect(service.app, hash!)).holder!.organisationId, sandbox.org.id);
      await mark(false);
    }
    // What the live one says counts, though the sandbox's is current.
    await service.app.db.query('update organisation set sandbox = true where organisation_id = $1', [
      scenes[1]!.org.id,
    ]);
    await service.withUnitOfWork((work) =>
      withdrawAssessment(work, scene.org.id, id, { actor: 'operator', reason: 'It was a mistake' }),
    );
    assert.equal((await vouch(service.app, hash!)).verdict, 'withdrawn');
  });

  test('an amended result vouches for no file as current until its new edition is made', async () => {
    const another = await ana.completes();
    const hash = (await another.readReport()).headers['x-report-sha256']!;
    await another.isAmended({ framework: 'Not yet printed' });
    assert.equal((await vouch(service.app, hash)).verdict, 'superseded');
  });

  test('a withdrawn result: every edition is genuine, withdrawn on a day; nothing personal stays', async () => {
    const another = await ana.completes();
    const first = (await another.readReport()).headers['x-report-sha256']!;
    await another.isAmended({ framework: 'Printed twice' });
    const second = (await another.readReport()).headers['x-report-sha256']!;
    await another.isWithdrawn();
    for (const [edition, hash] of [first, second].entries()) {
      const { withdrawn_at, made_at, ...rest } = await vouch(service.app, hash);
      assert.deepEqual(rest, { verdict: 'withdrawn', edition: edition + 1 });
      assert.ok(made_at! <= withdrawn_at!);
      const { text } = await page(`?sha256=${hash}`);
      assert.ok(text.includes('This file is genuine, but its result was withdrawn'));
      assert.match(text, /<dt>Withdrawn<\/dt><dd>\d+ [A-Z][a-z]+ \d{4}<\/dd>/);
      assert.ok(!text.includes('Personal-Name') && !text.includes(another.id));
      const inspected = await inspect(service.app, hash);
      assert.deepEqual([inspected.holder?.assessmentId, inspected.reproducible], [another.id, null]);
      assert.equal(await editionBytes(service.app, scene.org.id, hash), undefined);
    }
    await another.readReport(404);
    const [left] = await service.app.db.query<{ row: string }>(
      'select e::text as row from evidence e where assessment_id = $1 limit 1',
      [another.id],
    );
    assert.ok(!left!.row.includes('Personal-Name') && !left!.row.includes('Printed'));
  });

  test('nothing of the learner, the result or the organisation is shown', async () => {
    for (const hash of [current, old]) {
      const { text } = await page(`?sha256=${hash}`);
      for (const personal of [
        'Personal-Name',
        'ana-ref-77',
        result.id,
        'Test College',
        scene.org.publicId,
        'Framework of',
        'maths',
        'Level',
      ])
        assert.ok(!text.includes(personal), personal);
    }
    assert.ok(!service.logged.join('').includes(current), 'not even the hash is logged');
  });

  test('a hash is taken as people paste it', async () => {
    for (const given of [
      current.toUpperCase(),
      `%20${current}%0A`,
      `${current.slice(0, 32)}+${current.slice(32)}`,
      current.replace(/(..)(?=.)/g, '$1%20'),
      encodeURIComponent(`${current}  evidence-${result.id}.pdf`),
      encodeURIComponent(`SHA256: ${current}`),
    ]) {
      const answer = await page(`?sha256=${given}`);
      assert.ok(answer.status === 200 && answer.text.includes('genuine and current'), given);
    }
  });

  test('400 with an error that the field names, and what was entered kept for correction', async () => {
    for (const given of [
      '',
      'abc',
      `${current}0`,
      current.slice(1),
      'x'.repeat(64),
      '%3Cscript%3Ealert(1)%3C/script%3E',
      '%22%20onfocus%3D%22alert(1)',
      '%zz',
      '%00',
      `${current}&sha256=${old}`,
      'z'.repeat(9000),
    ]) {
      const answer = await page(`?sha256=${given}`);
      assert.equal(answer.status, 400, given);
      assert.match(answer.text, /<title>Error: /);
      assert.match(answer.text, /aria-invalid="true" aria-describedby="fault"/);
      assert.match(answer.text, /id="fault"/);
      assert.ok(!answer.text.includes('<script>alert') && !answer.text.includes('" onfocus'));
    }
    assert.match((await page('?sha256=abc%22')).text, /value="abc&quot;"/);
  });

  test('headers: no script but its own, nothing kept, nothing told to other sites', async () => {
    const { headers } = await page(`?sha256=${current}`);
    assert.match(
      headers['content-security-policy']!,
      /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    assert.deepEqual(
      [
        headers['cache-control'],
        headers['referrer-policy'],
        headers['x-content-type-options'],
        headers['x-robots-tag'],
      ],
      ['no-store', 'no-referrer', 'nosniff', 'noindex'],
    );
    assert.equal(headers['set-cookie'], undefined);
  });

  test('HEAD is answered; it takes no file', async () => {
    assert.deepEqual([(await page('', 'HEAD')).status, (await page('', 'HEAD')).bytes.length], [200, 0]);
    assert.notEqual((await page('', 'POST')).status, 200);
  });

  test('checking changes nothing', async () => {
    const before = await state();
    await page(`?sha256=${current}`);
    await page('?sha256=abc');
    assert.deepEqual(await state(), before);
  });

  test('the operator learns whose file it is and that its bytes can be made again', async () => {
    const { made_at: madeAt, ...found } = await inspect(service.app, old);
    assert.match(madeAt!, /^\d{4}-\d\d-\d\dT/);
    assert.deepEqual(found, {
      verdict: 'superseded',
      edition: 1,
      withdrawn_at: null,
      holder: { organisationId: scene.org.id, assessmentId: result.id },
      reproducible: true,
      sameRenderer: true,
      redacted: false,
    });
  });

  test("content that today's renderer can't read is told apart from other bytes", async () => {
    const another = await ana.completes();
    const hash = (await another.readReport()).headers['x-report-sha256']!;
    const store = (input: string) =>
      service.app.db.query('update evidence set input = $2 where sha256 = $1', [hash, input]);
    const [{ input }] = (await service.app.db.query<{ input: string }>('select input from evidence where sha256 = $1', [
      hash,
    ])) as [{ input: string }];
    await store(JSON.stringify({ ...JSON.parse(input), framework: 'Another' }));
    assert.equal((await inspect(service.app, hash)).reproducible, false);
    await store('{"version":99}');
    assert.equal((await inspect(service.app, hash)).reproducible, null);
  });
});
