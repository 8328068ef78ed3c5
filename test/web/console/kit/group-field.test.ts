import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { limits } from '../../../../src/platform/config/limits.ts';
import { withService } from '../../../support/service.ts';
import type { Person } from '../visitor.ts';
import { fieldsOf, personOf } from '../visitor.ts';

/** Groups are chosen from thousands, without script: looked for, ticked, kept from search to search, and never in an address. */

const service = await withService();
const org = await service.organisation();
const base = `/console/${org.publicId}`;
const person = await personOf(service, org.id, 'developer');
await service.app.db.query(
  `insert into learner_group (organisation_id, group_id, type, ref, name, active, created_at, position)
   select $1, gen_random_uuid(), case when n % 2 = 0 then 'cohort' else 'class' end, 'REF-' || n,
          case when n = 7 then '"><script>alert(1)</script> 100% sure' else 'Group ' || n end, n % 5 <> 0, now(), n
     from generate_series(1, 5000) n`,
  [org.id],
);

const set = (fields: [string, string][], changes: Record<string, string>): [string, string][] => [
  ...fields.filter(([name]) => !(name in changes)),
  ...Object.entries(changes),
];
const offered = (text: string) => [...text.matchAll(/<input[^>]* name="groups"[^>]*value="([^"]+)"( checked)?/g)];
const chosen = (text: string) => offered(text).flatMap(([, id, ticked]) => (ticked === undefined ? [] : [id!]));
const open = (text: string) => offered(text).flatMap(([, id, ticked]) => (ticked === undefined ? [id!] : []));
const light = (text: string) => assert.ok(gzipSync(text).length < 30_000);
const idOf = async (ref: string) =>
  (
    await service.app.db.query<{ group_id: string }>(
      'select group_id from learner_group where organisation_id = $1 and ref = $2',
      [org.id, ref],
    )
  )[0]!.group_id;

/** Looks for two groups one after the other and ticks both. @returns the form with both */
async function choosesTwo(who: Person, path: string, fields: Record<string, string>): Promise<[string, string][]> {
  const empty = await who.get(path);
  assert.equal(open(empty.text).length, 0, 'nothing is listed before it is looked for');
  light(empty.text);
  const first = await who.post(path, set(fieldsOf(empty.text), { ...fields, group_search: 'ref-4711', press: 'find' }));
  assert.equal(first.status, 200);
  assert.deepEqual(open(first.text), [await idOf('REF-4711')]);
  const ticked: [string, string][] = [...fieldsOf(first.text), ['groups', await idOf('REF-4711')]];
  const second = await who.post(path, set(ticked, { group_type: 'cohort', group_search: 'Group 12', press: 'enter' }));
  assert.deepEqual(chosen(second.text), [await idOf('REF-4711')], 'what was chosen stays');
  assert.equal(open(second.text).length, limits.groupsListed);
  assert.match(second.text, /25 found, and \d+ more: enter more/);
  light(second.text);
  for (const [name, value] of Object.entries(fields))
    assert.deepEqual(
      fieldsOf(second.text).find(([one]) => one === name),
      [name, value],
    );
  return [...fieldsOf(second.text), ['groups', await idOf('REF-12')]];
}

suite('groups to choose from', () => {
  test('a key is bounded to two of 5,000', async () => {
    const path = `${base}/keys/create`;
    const count = async () =>
      (await service.app.db.query('select from access_key where organisation_id = $1', [org.id])).length;
    const before = await count();
    const form = await choosesTwo(person, path, { label: 'Platform', purpose: 'Kept while I look' });
    assert.equal(await count(), before, 'looking makes nothing');
    // Enter anywhere else, with the search as it was, does what the form is for.
    const made = await person.post(path, set(form, { press: 'enter' }));
    assert.match(made.text, /The key is created/);
    const [key] = await service.app.db.query<{ group_ids: string[] }>(
      'select group_ids from access_key where organisation_id = $1 order by created_at desc limit 1',
      [org.id],
    );
    assert.deepEqual(key!.group_ids.toSorted(), [await idOf('REF-4711'), await idOf('REF-12')].sort());
  });

  test('unticked goes, what nothing is like says so, and a text is no pattern', async () => {
    const path = `${base}/keys/create`;
    const empty = fieldsOf((await person.get(path)).text);
    const none = await person.post(path, set(empty, { group_search: '%', group_type: 'cohort', press: 'find' }));
    assert.match(none.text, /No other group matches/);
    const one = await person.post(path, set(empty, { group_search: '100%', press: 'find' }));
    assert.deepEqual(open(one.text), [await idOf('REF-7')]);
    assert.ok(!one.text.includes('<script>'));
    const ticked: [string, string][] = [...fieldsOf(one.text), ['groups', await idOf('REF-7')]];
    const kept = await person.post(path, set(ticked, { press: 'find' }));
    assert.deepEqual(chosen(kept.text), [await idOf('REF-7')]);
    const gone = await person.post(
      path,
      set(
        fieldsOf(kept.text).filter(([name]) => name !== 'groups'),
        { press: 'find' },
      ),
    );
    assert.deepEqual(chosen(gone.text), []);
    for (const text of ['\0', '\ud800', 'x'.repeat(5000)])
      assert.equal((await person.post(path, set(empty, { group_search: text, press: 'find' }))).status, 200);
    const theirs = await service.organisation();
    const foreign = (await theirs.post('/groups', { type: 'cohort', ref: 'X', name: 'X' })).body.data.id;
    const refused = await person.post(path, [...set(empty, { label: 'Platform' }), ['groups', foreign]]);
    assert.equal(refused.status, 422);
    assert.match(refused.text, /href="#groups"/);
    assert.ok(!refused.text.includes(`value="${foreign}"`));
  });

  test('a vendor’s link and a webhook endpoint take them the same way, and an endpoint is edited so', async () => {
    const link = await person.post(
      `${base}/key-links/create`,
      await choosesTwo(person, `${base}/key-links/create`, { label: 'Vendor' }),
    );
    assert.match(link.text, /The set-up link is created/);
    const url = 'https://platform.example/hook';
    const form = await choosesTwo(person, `${base}/webhooks/create`, { url });
    const made = await person.post(`${base}/webhooks/create`, form);
    assert.match(made.text, /The webhook endpoint is registered/);
    const [endpoint] = (await org.get('/webhooks')).body.data;
    assert.equal(endpoint.group_ids.length, 2);
    const at = `${base}/webhooks/${endpoint.id}`;
    assert.match((await person.get(at)).text, /Group 12; Group 4711/);
    const edit = await person.get(`${at}/edit`);
    assert.equal(chosen(edit.text).length, 2);
    const more = await person.post(`${at}/edit`, set(fieldsOf(edit.text), { group_search: 'REF-4999', press: 'find' }));
    assert.equal((await org.get('/webhooks')).body.data[0].group_ids.length, 2);
    await person.post(`${at}/edit`, [...fieldsOf(more.text), ['groups', await idOf('REF-4999')]]);
    assert.equal((await org.get('/webhooks')).body.data[0].group_ids.length, 3);
  });

  test('a few are all listed at once', async () => {
    const few = await service.organisation();
    for (const ref of ['A', 'B']) await few.post('/groups', { type: 'cohort', ref, name: ref });
    const owner = await personOf(service, few.id, 'owner');
    const { text } = await owner.get(`/console/${few.publicId}/keys/create`);
    assert.equal(open(text).length, 2);
    assert.doesNotMatch(text, /Search groups/);
  });
});
