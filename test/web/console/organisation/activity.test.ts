import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ensureTeam } from '../../../../src/organisations/teams.ts';
import { sealNow } from '../../../platform/audit/sealed.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const base = `/console/${org.publicId}`;

/** The text that a page shows, on one line. */
const visibleText = (html: string): string =>
  html
    .replace(/<[^>]*>/g, ' ')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/\s+/g, ' ')
    .trim();

suite('activity', () => {
  test('who did what to which object, from where, in a sentence; filters; auditors read names', async () => {
    const owner = await personOf(service, org.id, 'owner', { name: 'Olu <Owner>' });
    const admin = await personOf(service, org.id, 'admin', { name: 'Ada Admin' });
    const auditor = await personOf(service, org.id, 'auditor');
    const ana = await scene.learner('ana');
    const { learner_id: learnerId } = await ana.read();
    const group = await owner.post(`${base}/groups/create`, { type: 'cohort', ref: 'Y10', group_name: 'Year 10' });
    const groupId = /groups\/([0-9a-f-]{36})/.exec(group.headers.location!)![1]!;
    const team = await service.withUnitOfWork((work) => ensureTeam(work, org.id, { ref: 'T', name: 'North' }));
    await admin.post(`${base}/teams/${team}/staff`, { staff: admin.userId });
    await admin.post(`${base}/learners/${learnerId}/name`, { name: 'Ana Nova', full_name: 'Ana Nova' });
    await service.withUnitOfWork((work) =>
      work.tx.query(
        `insert into audit (organisation_id, at, request_id, actor, action, resource)
         values ($1, now() - interval '1 hour', gen_random_uuid(), 'operator', 'learner invite', $2),
                ($1, now() - interval '1 hour', gen_random_uuid(), $3, 'POST /console/keys/create', 'ARSX')`,
        [org.id, `${groupId}: 3 invited, 0 again, 1 refused`, service.app.random.uuid()],
      ),
    );
    for (const reader of [owner, auditor]) {
      const page = visibleText((await reader.get(`${base}/activity`)).text);
      assert.match(page, /Olu <Owner> created the group Year 10/);
      assert.match(page, /Ada Admin added staff to the team North/);
      assert.match(
        page,
        /The operator invited learners from the table .*Command line\W+Done 3 invited, 0 again, 1 refused/s,
      );
      assert.doesNotMatch(page, /GET \/|POST \/|Ana Nova/);
    }
    const rows = async (query: string) =>
      [
        ...(await auditor.get(`${base}/activity?${query}`)).text.matchAll(
          /<td class="plain sentence" data-head="Action">[^]*?<\/td>/g,
        ),
      ].map(([row]) => visibleText(row));
    assert.deepEqual(await rows(`person=${owner.userId}`), ['Olu <Owner> created the group Year 10']);
    assert.ok((await rows('kind=team')).every((row) => row.includes('team North')));
    assert.deepEqual(await rows(`object=${team}`), ['Ada Admin added staff to the team North']);
    assert.equal((await rows(`object=${groupId}`)).length, 2, 'the result of a run may follow the ID');
    assert.deepEqual(await rows('to=1999-01-01'), []);
    await service.app.db.query(
      `insert into audit (organisation_id, at, request_id, actor, action, resource)
       values ($1, now(), gen_random_uuid(), 'learner', 'sitting start', $2)`,
      [org.id, team],
    );
    assert.ok(!(await rows('')).some((row) => row.includes('A learner')), 'sittings would hide what people did');
    assert.deepEqual((await rows('person=learner')).length, 1);
    const text = (await auditor.get(`${base}/activity`)).text;
    assert.ok(text.includes(`href="${base}/groups/${groupId}"`));
    assert.ok(!text.includes(`href="${base}/keys/`), 'an auditor may not open keys');
    for (const role of ['developer', 'reviewer', 'tutor'] as const)
      assert.equal((await (await personOf(service, org.id, role)).get(`${base}/activity`)).status, 404);
  });

  for (const state of ['not sealed', 'sealed'] as const)
    test(`${state}: requests and actions are apart, each page by page`, async () => {
      const auditor = await personOf(service, org.id, 'auditor');
      for (let i = 0; i < 60; i++) await org.get('/groups');
      await service.app.db.query(
        `insert into audit (organisation_id, at, request_id, actor, action)
         select $1, date_trunc('milliseconds', now()), gen_random_uuid(), 'operator', 'key list' from generate_series(1, 60)`,
        [org.id],
      );
      if (state === 'sealed') await sealNow(service.app);
      const count = (text: string, words: RegExp) => text.match(words)?.length ?? 0;
      const first = (await auditor.get(`${base}/activity?kind=key`)).text;
      assert.deepEqual([count(first, /listed keys/g), count(first, /GET/g)], [50, 0]);
      const next = /rel="next" href="([^"]+)"/.exec(first)![1]!.replaceAll('&amp;', '&');
      assert.ok(count((await auditor.get(next)).text, /listed keys/g) >= 10);
      assert.equal(count((await auditor.get(`${base}/log`)).text, /key list/g), 0);
    });
});
