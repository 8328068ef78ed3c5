import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readyRecord } from '../../../src/records/import/record.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { nameKey, nearKey, refKey } from '../../../src/records/learners/keys.ts';
import { correctName } from '../../../src/records/learners/rename.ts';
import { keepApart, listAlike, listWithoutRef } from '../../../src/governance/deduplication/matching.ts';
import { mergeLearners } from '../../../src/governance/deduplication/merge.ts';
import { personOf } from '../../web/console/visitor.ts';
import type { TestOrganisation } from '../../support/service.ts';
import { withService } from '../../support/service.ts';

const service = await withService({ own: 'Makes an update fail.', settings: { ARS_RATE_LIMIT: '1000000' } });
const { app } = service;
const by = { actor: 'operator', reason: null };

const imports = (org: TestOrganisation, ...people: [ref: string | null, name: string][]) =>
  service.withUnitOfWork((work) =>
    importRecords(
      work,
      org.id,
      people.map(([ref, full_name]) =>
        readyRecord(
          {
            assessment_id: app.random.uuid(),
            learner: { ref, full_name },
            assessed_at: '2026-01-10T09:00:00Z',
            subject: 'maths',
            framework: 'F',
            rqf_level: 'Level 1',
            rqf_level_code: 2,
            below_level_1: false,
          },
          org.publicId,
          work.nowMs,
        ),
      ),
      { events: false, actor: 'operator' },
    ),
  );
const without = (org: TestOrganisation) => listWithoutRef(app.db, org.id, { after: null, limit: 50 });
const alike = async (org: TestOrganisation, kind: 'name' | 'reference') =>
  (await listAlike(app.db, org.id, kind, { after: null, limit: 50 })).groups.map((members) =>
    members.map((one) => one.ref).sort(),
  );

suite('matching', () => {
  test('names are the same in any order, case, marks and punctuation, and alike where they sound so', () => {
    const same = ['Ana Silva', 'SILVA, Ana', 'Aña  silva', 'ana-silva', 'Silva Ana'];
    assert.equal(new Set(same.map(nameKey)).size, 1);
    for (const alike of [
      ["Sean O'Brien", 'Sean O’Brien', 'SEAN OBRIEN', 'O`Brien, Sean', 'Seán Oʼbrien', 'Sean O´Brien'],
      ['Łukasz Żółć', 'lukasz zolc'],
      ['Søren Strauß', 'Soren Strauss'],
    ])
      for (const key of [nameKey, nearKey]) assert.equal(new Set(alike.map(key)).size, 1, alike[0]!);
    assert.notEqual(nameKey('Ana Silva'), nameKey('Ana Silvas'));
    const near: [string, string][] = [
      ['Ana Silva', 'Anna Sylva'],
      ['Ana Silva', 'Ana Maria Silva'],
      ['Silva, Ana Maria', 'Anna Silva'],
      ['Catherine Smith', 'Katharine Smyth'],
      ['Mohammed Ali', 'Muhammad Aly'],
      ['Stephen Philips', 'Stefen Phillips'],
    ];
    for (const [one, other] of near) assert.equal(nearKey(one), nearKey(other), `${one}, ${other}`);
    for (const [one, other] of [
      ['Ana Silva', 'Bo Silva'],
      ['John Smith', 'Jane Smart'],
      ['王 芳', '王 伟'],
    ] as const)
      assert.notEqual(nearKey(one), nearKey(other), `${one}, ${other}`);
    for (const odd of ['!', '0', 'X', 'A B', '\u0301', ',', 'a, ,b'])
      for (const key of [nameKey(odd), nearKey(odd)]) assert.ok(key >= 0);
    assert.equal(new Set(['LRN-000017', 'lrn17', 'LRN/017', 'Lrn 17'].map(refKey)).size, 1);
    assert.notEqual(refKey('LRN-17'), refKey('LRN-170'));
    assert.notEqual(refKey('LRN-0'), refKey('LRN'));
  });

  test('who has no reference is listed with whom they may be; what is said to differ is remembered, also by a merge', async () => {
    const org = await service.organisation();
    await imports(org, [null, 'Ana Silva'], ['a-1', 'Silva, Ana'], ['a-2', 'Anna Sylva'], ['b-1', 'Bo Berg']);
    const [ana] = await without(org);
    const twin = async (ref: string) => (await org.get(`/learners/${ref}`)).body.data.learner_id as string;
    const shown = async () => (await without(org))[0]!.twins.map((one) => [one.ref, one.same]);
    assert.deepEqual(await shown(), [
      ['a-1', true],
      ['a-2', false],
    ]);
    assert.equal(ana!.results, 1);
    await service.withUnitOfWork(async (work) => keepApart(work, org.id, [ana!.learner_id, await twin('a-2')], by));
    assert.deepEqual(await shown(), [['a-1', true]]);
    // Whom somebody isn't, whoever they turn out to be isn't either.
    await imports(org, ['a-3', 'Anna Sylva']);
    await service.withUnitOfWork(async (work) =>
      mergeLearners(work, org.id, { from: await twin('a-2'), into: await twin('a-3') }, by),
    );
    assert.deepEqual(await shown(), [['a-1', true]]);
    await service.withUnitOfWork(async (work) =>
      mergeLearners(work, org.id, { from: ana!.learner_id, into: await twin('a-1') }, by),
    );
    assert.deepEqual(await without(org), []);
    const other = await service.organisation();
    const kept = service.withUnitOfWork(async (work) =>
      keepApart(work, other.id, [ana!.learner_id, await twin('a-1')], by),
    );
    assert.equal(await kept, false);
  });

  test('the same name, and references that differ in writing, in groups without those who are told apart', async () => {
    const org = await service.organisation();
    await imports(
      org,
      ['LRN-017', 'Cy Cole'],
      ['lrn17', 'Di Dane'],
      ['x-1', 'Cole, Cy'],
      ['x-2', 'CY COLE'],
      ['y-1', 'Ed East'],
    );
    assert.deepEqual(await alike(org, 'name'), [['LRN-017', 'x-1', 'x-2']]);
    assert.deepEqual(await alike(org, 'reference'), [['LRN-017', 'lrn17']]);
    await service.withUnitOfWork((work) => correctName(work, org.id, { ref: 'x-2' }, 'Somebody Else', by));
    assert.deepEqual(await alike(org, 'name'), [['LRN-017', 'x-1']]);
    const ids = await Promise.all(
      ['LRN-017', 'x-1'].map(async (ref) => (await org.get(`/learners/${ref}`)).body.data.learner_id),
    );
    await service.withUnitOfWork((work) => keepApart(work, org.id, ids as [string, string], by));
    assert.deepEqual(await alike(org, 'name'), []);
    // Pages go on after the last group, and end.
    await imports(org, ['p-1', 'Fay Field'], ['p-2', 'Fay Field'], ['q-1', 'Gil Green'], ['q-2', 'Gil Green']);
    // So they do where a page looks through few, whoever stands at its end.
    for (const maxRead of [200, 2, 3, 5]) {
      const seen: string[] = [];
      for (let after: number | null = null, last: number | null = -1; last !== null; after = last) {
        const page = await listAlike(app.db, org.id, 'name', { after, limit: 1, maxRead });
        seen.push(...page.groups.flatMap((members) => members.map((one) => one.ref!)));
        last = page.last;
      }
      assert.deepEqual(seen.sort(), ['p-1', 'p-2', 'q-1', 'q-2'], `${maxRead}`);
    }
  });

  test('in the console: a reference is given, two are compared, merged after a proof, and told apart', async () => {
    const org = await service.organisation();
    const admin = await personOf(service, org.id, 'admin');
    const base = `/console/${org.publicId}`;
    await imports(org, [null, 'Ivy & Ash'], [null, 'Joe June'], ['i-1', 'Ivy & Ash'], ['j-1', 'Joe June']);
    assert.equal((await org.get('/learners/nobody-here')).status, 404);
    const list = await admin.get(`${base}/matching`);
    // Which platforms ask for a reference that nobody has is in the log, without the reference.
    const to = / href="([^"]*\/log\?[^"]*)"/.exec(list.text)![1]!.replaceAll('&amp;', '&');
    const calls = (await admin.get(to)).text;
    assert.equal(calls.match(/<th scope="row"/g)?.length, 1);
    assert.ok(!calls.includes('nobody-here'));
    assert.match(list.text, /Ivy &amp; Ash/);
    assert.match(list.text, /equal name/);
    const rows = await without(org);
    const [ivy, joe] = ['Ivy & Ash', 'Joe June'].map((name) => rows.find((row) => row.full_name === name)!.learner_id);
    const idOf = async (ref: string) => (await org.get(`/learners/${ref}`)).body.data?.learner_id as string;

    const reference = `${base}/learners/${ivy}/reference`;
    for (const [given, says] of [
      ['Ivy Ash', /Enter an opaque reference/],
      ['QQ123456C', /Enter an opaque reference/],
      ['i-1', /belongs to another learner/],
    ] as const) {
      const refused = await admin.post(reference, { reference: given });
      assert.deepEqual([refused.status, says.test(refused.text)], [422, true], given);
      assert.ok(given === 'i-1' || !refused.text.includes(`value="${given}"`));
    }
    assert.equal((await admin.post(reference, { reference: 'i-2', reason: 'AB 12 34 56 C' })).status, 422);
    const given = await admin.post(reference, { reference: 'i-2', reason: 'From the register' });
    assert.equal(given.headers.location, `${base}/matching?did=referenced`);
    assert.equal(await idOf('i-2'), ivy);

    const found = await admin.post(`${base}/learners/${joe}/merge`, { reference: 'j-1' });
    const compare = `${base}/learners/${joe}/merge/${await idOf('j-1')}`;
    assert.equal(found.headers.location, compare);
    assert.equal((await admin.post(`${base}/learners/${joe}/merge`, { reference: 'nobody' })).status, 422);
    assert.equal((await admin.post(`${base}/learners/${joe}/merge`, { reference: joe! })).status, 422);
    const shown = await admin.get(compare);
    assert.match(shown.text, /1 result with 0 evidence packs/);
    assert.match(shown.text, /The learner then has 2 results/);
    assert.match(shown.text, /Both learners have 1 result with the same subject and time/);
    const merged = await admin.post(compare, { reason: 'Twice' });
    assert.equal(merged.headers.location, `${base}/matching?did=merged`);
    assert.equal((await org.get('/learners/j-1')).body.data.assessments.length, 2);
    assert.equal((await admin.post(compare, { reason: 'Twice' })).status, 404);

    const names = await admin.get(`${base}/matching?kind=name`);
    assert.match(names.text, /Compare with the first/);
    assert.match(names.text, /<caption><bdi>Ivy &amp; Ash<\/bdi>: equal names<\/caption>/);
    const fields = { one: ivy!, other: await idOf('i-1'), kind: 'name' };
    assert.match(
      (await admin.follow(await admin.post(`${base}/matching/distinct`, fields))).text,
      /marked as different people/,
    );
    assert.doesNotMatch((await admin.get(`${base}/matching?kind=name`)).text, /Ivy/);
    const acts = await app.db.query<{ action: string }>(
      'select action from audit where organisation_id = $1 and actor = $2 order by audit_id',
      [org.id, admin.userId],
    );
    assert.deepEqual(
      acts.map((one) => one.action),
      [
        'POST /console/learners/{learner_id}/reference',
        'POST /console/learners/{learner_id}/merge/{other_id}',
        'POST /console/matching/distinct',
      ],
    );
  });
});
