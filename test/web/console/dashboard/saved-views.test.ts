import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { limits } from '../../../../src/platform/config/limits.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';

suite('views of a list', async () => {
  const service = await withService();
  const org = await service.organisation({ name: 'Northfield College' });
  await org.post('/groups', { type: 'cohort', ref: 'A', name: 'Autumn' });
  await org.post('/groups', { type: 'campus', ref: 'N', name: 'North' });
  const base = `/console/${org.publicId}`;
  const owner = await personOf(service, org.id, 'owner');
  const heads = (text: string) => [...text.matchAll(/<th scope="col"[^>]*>(?:<a[^>]*>)?([^<]+)/g)].map((one) => one[1]);
  const links = (text: string) => [...text.matchAll(/<li><a href="([^"]+)"[^>]*>([^<]+)<\/a><\/li>/g)];
  const viewsIn = (text: string) =>
    links(/<ul aria-label="Views">.*?<\/ul>/.exec(text)?.[0] ?? '').map(([, to, words]) => ({ to, words }));
  const save = (list: string, view: string, name: string, who = owner) =>
    who.post(`${base}/views/save`, { list, view, view_name: name });

  test('the columns in the URL are shown, the first always; unknown ones are passed over', async () => {
    const all = await owner.get(`${base}/groups`);
    assert.deepEqual(heads(all.text), ['Name', 'Type', 'State', 'Reference', 'Learners']);
    const some = await owner.get(`${base}/groups?column=Learners&column=Type&column=%3Cb%3E`);
    assert.deepEqual(heads(some.text), ['Name', 'Type', 'Learners']);
    assert.ok(some.text.includes('name="column" value="Type"'), 'the filters keep the columns');
  });

  test('a view keeps filters and columns, opens with one click, and is replaced under the same name', async () => {
    const view = 'type=cohort&column=Type&after=x&did=created';
    const saved = await save('/groups', view, 'Cohorts');
    assert.equal(saved.headers.location, `${base}/groups?type=cohort&column=Type`);
    const shown = await owner.get(saved.headers.location as string);
    assert.deepEqual(viewsIn(shown.text), [
      { to: `${base}/groups`, words: 'All' },
      { to: `${base}/groups?type=cohort&amp;column=Type`, words: 'Cohorts' },
    ]);
    assert.match(shown.text, /Delete view/);
    await save('/groups', 'type=campus', 'Cohorts');
    assert.equal(viewsIn((await owner.get(`${base}/groups`)).text)[1]!.to, `${base}/groups?type=campus`);
  });

  test('a view keeps the first day of a filter', async () => {
    const saved = await save('/results', 'from=2026-09-01&to=2026-12-31', 'Autumn');
    assert.equal(saved.headers.location, `${base}/results?from=2026-09-01&to=2026-12-31`);
  });

  test('only the person sees a view, can delete it, and loses it with the membership', async () => {
    const other = await personOf(service, org.id, 'admin');
    assert.deepEqual(viewsIn((await other.get(`${base}/groups`)).text), []);
    const [view] = await service.app.db.query<{ view_id: string }>(
      "select view_id from saved_view where organisation_id = $1 and path = '/groups'",
      [org.id],
    );
    await other.post(`${base}/views/${view!.view_id}/delete`, {});
    assert.equal(viewsIn((await owner.get(`${base}/groups`)).text).length, 2);
    const removed = await owner.post(`${base}/views/${view!.view_id}/delete`, {});
    assert.equal(removed.headers.location, `${base}/groups`);
    assert.equal(viewsIn((await owner.get(`${base}/groups`)).text).length, 0);
  });

  test('refuses an empty, long or personal name, another site, and more views than the maximum', async () => {
    for (const name of ['', 'x'.repeat(limits.viewNameChars + 1), 'AB123456C'])
      assert.equal((await save('/groups', '', name)).status, 422, name);
    for (const list of ['//evil.example', '/../../x', 'https://evil.example', `/${'x'.repeat(2000)}`])
      assert.equal((await save(list, '', 'v')).headers.location, base, list);
    await service.app.db.query('delete from saved_view where organisation_id = $1', [org.id]);
    for (let i = 0; i < limits.viewsOfList; i++) await save('/groups', `type=cohort&n=${i}`, `View ${i}`);
    const refused = await save('/groups', 'type=campus', 'One more');
    assert.equal(refused.status, 422);
    assert.match(refused.text, /which is the maximum/);
  });
});
