import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { EvidenceInput } from '../../../../src/records/evidence/document.ts';
import { buildDocument } from '../../../../src/records/evidence/document.ts';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { addToTeam } from '../../../support/teams.ts';
import { seededRandom } from '../../../../src/platform/crypto/random.ts';
import { invited } from '../../../sittings/learner.ts';
import { withService } from '../../../support/service.ts';
import type { Person } from '../visitor.ts';
import { personOf } from '../visitor.ts';

suite('the queue of reviews', async () => {
  const service = await withService({ own: 'Knows the random values.', random: seededRandom('review') });
  const org = await service.organisation({ name: 'Northfield College' });
  const { app } = service;
  const base = `/console/${org.publicId}`;
  const owner = await personOf(service, org.id, 'owner', { name: 'Olu Owner' });
  const admin = await personOf(service, org.id, 'admin', { name: 'Ada Admin' });

  /** A learner who has sat digital; the result waits. */
  async function sits(name: string, ref: string) {
    const learner = await invited(service, org, { name, ref, theta: 0.1 });
    const sitting = await learner.starts();
    while ((await learner.link()).open?.stop === null) await learner.answers();
    assert.equal(await learner.finishes(sitting), 'completed');
    const id = (await learner.link()).last!.assessment_id!;
    await app.db.query("update review set flags = '{needs_review}' where assessment_id = $1", [id]);
    await app.db.query(
      `insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags)
       select organisation_id, assessment_id, 1, learner_id, 'digital', now(), '{needs_review}' from assessment a
        where assessment_id = $1 and not exists (select from review r where r.organisation_id = a.organisation_id and r.assessment_id = a.assessment_id)`,
      [id],
    );
    return { learner, id };
  }
  const versionOn = (text: string) => /name="version" value="([^"]+)"/.exec(text)![1]!;
  const decides = async (person: Person, id: string, what: string, fields: Record<string, string>) => {
    const page = await person.get(`${base}/review/${id}${what === 'confirm' ? '' : `/${what}`}`);
    return person.post(`${base}/review/${id}/${what}`, { version: versionOn(page.text), ...fields });
  };
  const inputOf = async (id: string) => {
    await org.get(`/assessments/${id}/report.pdf`);
    const rows = await app.db.query<{ input: string }>(
      'select input from evidence where assessment_id = $1 order by edition desc limit 1',
      [id],
    );
    return JSON.stringify(buildDocument(JSON.parse(rows[0]!.input) as EvidenceInput).blocks);
  };

  test('a result of a sitting: both engines, the rule, every answer, and each question as it was shown', async () => {
    const { id } = await sits('Ana Silva', 'A-1');
    assert.match((await owner.get(`${base}/review`)).text, new RegExp(`${base}/review/${id}\\?queue=1">.*Ana Silva`));
    const { text } = await owner.get(`${base}/review/${id}`);
    for (const said of [/IRT engine/, /Rule engine/, /The deciding threshold is that of/, /Probability of each level/])
      assert.match(text, said);
    const links = [...text.matchAll(/\/questions\/(\d+)"/g)].map((found) => Number(found[1]));
    assert.ok(links.length >= 20);
    for (const position of links) {
      const page = await owner.get(`${base}/review/${id}/questions/${position}`);
      assert.equal(page.status, 200);
      assert.match(page.text, /The question as the learner saw it/);
    }
    for (const position of ['0', '41', 'x', '1e1', '01'])
      assert.equal((await owner.get(`${base}/review/${id}/questions/${position}`)).status, 404);
  });

  test('a reviewer decides on everyone’s results, but erases no learner, creates no key and invites no person', async () => {
    const reviewer = await personOf(service, org.id, 'reviewer');
    const [{ id, learner }, other] = [await sits('Rev One', 'REV-1'), await sits('Rev Two', 'REV-2')];
    assert.match((await reviewer.get(`${base}/review`)).text, new RegExp(`${base}/review/${id}\\?queue=1">.*Rev One`));
    assert.equal((await decides(reviewer, id, 'confirm', { reason: 'Checked' })).status, 303);
    const changed = await decides(reviewer, other.id, 'place', { level: 'Level 2', reason: 'Answers say more' });
    assert.match(changed.headers.location!, /did=changed$/);
    const { learner_id } = (await org.get(`/assessments/${id}`)).body.data.learner;
    const home = await reviewer.get(base);
    assert.doesNotMatch(home.text, /\/keys"|\/invite"|\/people"|\/log"/);
    for (const path of ['keys', 'keys/create', 'invite', 'people', 'settings', 'log', `learners/${learner_id}/erase`])
      assert.equal((await reviewer.get(`${base}/${path}`)).status, 404, path);
    assert.equal((await reviewer.get(`${base}/learners/${learner_id}`)).status, 200);
    assert.ok(learner);
  });

  test('confirmed: feed, history and evidence say when and why; of two reviewers one decides, the other is told', async () => {
    const { id } = await sits('Ben Okoro', 'B-1');
    const before = (await org.get(`/assessments/${id}`)).body.data;
    const seen = versionOn((await admin.get(`${base}/review/${id}`)).text);
    const first = await decides(owner, id, 'confirm', { reason: 'Talked it through' });
    assert.equal(first.headers.location, `${base}/review/${id}?did=confirmed`);
    const second = await admin.post(`${base}/review/${id}/confirm`, { seen });
    assert.equal(second.status, 409);
    assert.match(second.text, /Your decision was not saved/);
    const { reviewed_at, updated_at, report_sha256, ...after } = (await org.get(`/assessments/${id}`)).body.data;
    assert.ok(updated_at > before.updated_at);
    assert.equal(report_sha256, null);
    const { updated_at: _, report_sha256: __, ...was } = before;
    assert.deepEqual(after, was);
    assert.ok(Math.abs(Date.parse(reviewed_at) - app.clock.nowMs()) < 60_000);
    const page = (await owner.get(`${base}/review/${id}`)).text;
    assert.match(page, /Confirmed.*You/s);
    assert.match(page, /Talked it through/);
    assert.match((await admin.get(`${base}/review/${id}`)).text, /Olu Owner/);
    const evidence = await inputOf(id);
    assert.match(evidence, /A person at the provider looked at this result and decided on it/);
    assert.match(evidence, /Talked it through","Nothing: a person looked at the result and confirmed it/);
    assert.match((await owner.get(`${base}/review?state=decided`)).text, /Ben Okoro/);
  });

  test('another placement: the old result is a tombstone, the new one has its sitting, its history and an event', async () => {
    const { id, learner } = await sits('Cy Young', 'C-1');
    const before = (await org.get(`/assessments/${id}`)).body.data;
    const level = before.working_level === 'Level 2' ? 'Level 1' : 'Level 2';
    const same = await decides(owner, id, 'place', { level: before.working_level, reason: 'x' });
    assert.equal(same.status, 422);
    assert.equal((await decides(owner, id, 'place', { level: 'Level 9', reason: 'x' })).status, 422);
    assert.equal((await decides(owner, id, 'place', { level })).status, 422);
    const done = await decides(owner, id, 'place', { level, reason: 'Shows it in class' });
    const to = /review\/([0-9a-f-]{36})\?did=changed/.exec(done.headers.location ?? '')![1]!;
    assert.equal((await org.get(`/assessments/${id}`)).status, 404);
    const now = (await org.get(`/assessments/${to}`)).body.data;
    assert.deepEqual(
      [now.working_level, now.rqf_level, now.needs_review, now.is_borderline, now.assessed_at],
      [level, level, false, false, before.assessed_at],
    );
    assert.notDeepEqual(now.domains, before.domains);
    assert.match(now.report_sha256, /^[0-9a-f]{64}$/);
    const { data } = (await org.get('/assessments?learner_ref=C-1')).body;
    assert.deepEqual(
      data.map((one: { assessment_id: string; status: string }) => [one.assessment_id, one.status]).toSorted(),
      [
        [id, 'deleted'],
        [to, 'completed'],
      ].toSorted(),
    );
    const page = (await owner.get(`${base}/review/${to}`)).text;
    for (const said of [/Placement changed/, /Shows it in class/, /rqf level: .* → Level/, /Question 1</])
      assert.match(page, said);
    assert.equal((await owner.get(`${base}/review/${id}`)).status, 404);
    const closing = await learner.service.app.db.query('select assessment_id from sitting where assessment_id = $1', [
      to,
    ]);
    assert.equal(closing.length, 1);
    const evidence = await inputOf(to);
    assert.match(evidence, new RegExp(`Result ${id}, which was withdrawn`));
    assert.match(evidence, /A person at the provider has changed the placement: the sitting itself ended at/);
    const events = await app.db.query<{ payload: string }>(
      `select payload from event where payload like '%' || $1 || '%'`,
      [to],
    );
    assert.equal(events.length, 1);
    // A second person had the page of the old one open.
    assert.equal((await admin.post(`${base}/review/${id}/confirm`, { version: 'x' })).status, 404);
    // Amended afterwards, it still says whose place it took.
    const amended = await decides(owner, to, 'amend', {
      framework: 'Another framework',
      working_level: now.working_level,
      recommended_next_level: now.recommended_next_level ?? '',
      is_borderline: 'no',
      needs_review: 'no',
      reason: 'A slip',
    });
    assert.equal(amended.headers.location, `${base}/review/${to}?did=amended`);
    assert.match(await inputOf(to), new RegExp(`Result ${id}, which was withdrawn`));
  });

  test('withdrawn: the page says in numbers what that does, and it needs a reason without a number of a person', async () => {
    const { id } = await sits('Dee Dale', 'D-1');
    const page = (await owner.get(`${base}/review/${id}/withdraw`)).text;
    assert.match(page, /1 result is withdrawn\..*1 key.*1 edition/s);
    for (const reason of ['', 'QQ 12 34 56 C', 'x'.repeat(501), 'a\0b'])
      assert.equal((await decides(owner, id, 'withdraw', { reason })).status, 422);
    const done = await decides(owner, id, 'withdraw', { reason: 'Another person sat it' });
    assert.match(String(done.headers.location), /\/learners\/[0-9a-f-]{36}\?did=withdrawn$/);
    assert.equal((await org.get(`/assessments/${id}`)).status, 404);
  });

  test('a tutor sees the reviews of their teams’ learners and decides on them; the rest isn’t there', async () => {
    const [mine, other] = [await sits('Eve Ekman', 'E-1'), await sits('Flo Flynn', 'F-1')];
    const tutor = await personOf(service, org.id, 'tutor', { name: 'Tia Tutor' });
    const teams = await service.withUnitOfWork(async (work) => {
      const groupId = await ensureTeam(work, org.id, { ref: 'T-1', name: 'Team one' });
      await addToTeam(work, org.id, groupId, ['E-1']);
      await addTeamStaff(work, org.id, groupId, [tutor.userId]);
      return groupId;
    });
    assert.match(teams, /-/);
    for (const query of ['', '?why=needs_review', '?subject=digital']) {
      const { text } = await tutor.get(`${base}/review${query}`);
      assert.match(text, /Eve Ekman/);
      assert.doesNotMatch(text, /Flo Flynn|Ana Silva/);
    }
    assert.match((await tutor.get(`${base}/review`)).text, /Scoring methods a level or more apart \(1\)/);
    const missing = (await tutor.get(`${base}/review/5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d`)).text;
    for (const path of ['', '/place', '/amend', '/withdraw', '/questions/1'])
      assert.equal((await tutor.get(`${base}/review/${other.id}${path}`)).text, missing, path);
    for (const path of ['/confirm', '/place', '/amend', '/withdraw'])
      assert.equal(
        (await tutor.post(`${base}/review/${other.id}${path}`, { version: 'x', reason: 'x' })).text,
        missing,
      );
    assert.equal((await decides(tutor, mine.id, 'confirm', {})).status, 303);
    assert.doesNotMatch((await tutor.get(`${base}/review?state=decided`)).text, /Ben Okoro/);
    const auditor = await personOf(service, org.id, 'auditor');
    const read = await auditor.get(`${base}/review/${other.id}`);
    assert.equal(read.status, 200);
    assert.doesNotMatch(read.text, /<form[^>]*review/);
  });

  test('a long queue is walked page by page, each result once, by what weighs most and the newest first', async () => {
    const many = await service.organisation();
    const person = await personOf(service, many.id, 'owner');
    const lines = await app.db.query<{ id: string }>(
      `with made as (select md5('review' || n)::uuid as id, n from generate_series(1, 120) n),
            l as (insert into learner (organisation_id, learner_id, full_name, created_at) select $1, id, 'Learner ' || n, now() from made),
            a as (insert into assessment (organisation_id, assessment_id, learner_id, source, assessed_at, facet, first_position, learner, body)
                  select $1, id, id, 'imported', 0, 3, n, '{}', '"assessed_at":"2026-01-01T00:00:00.000Z","subject":"digital","working_level":null,"rqf_level":null' from made)
       insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags)
       select $1, id, 1, id, (array['digital', 'english', 'maths'])[1 + n % 3], timestamptz '2026-01-01' + (n / 2) * interval '1 hour',
              case when n % 4 = 0 then '{needs_review}'::text[] when n % 4 = 1 then '{person_fit,borderline}' else '{borderline}' end from made
       returning assessment_id as id`,
      [many.id],
    );
    const walk = async (query: string) => {
      const seen: string[] = [];
      let path: string | undefined = `/console/${many.publicId}/review${query}`;
      while (path !== undefined) {
        const { text } = await person.get(path);
        seen.push(...[...text.matchAll(/review\/([0-9a-f-]{36})\?/g)].map((found) => found[1]!));
        path = /rel="next" href="([^"]+)"/.exec(text)?.[1]!.replaceAll('&amp;', '&');
      }
      return seen;
    };
    const all = await walk('');
    assert.equal(all.length, 120);
    assert.deepEqual(all.toSorted(), lines.map(({ id }) => id).toSorted());
    const [{ ranked }] = (await app.db.query<{ ranked: string[] }>(
      `select array_agg(assessment_id::text order by rank, opened_at desc, assessment_id desc) as ranked from review where organisation_id = $1`,
      [many.id],
    )) as [{ ranked: string[] }];
    assert.deepEqual(all, ranked);
    assert.equal((await walk('?why=borderline')).length, 60);
    assert.equal((await walk('?subject=maths')).length, 40);
    for (const after of [
      'x',
      '1.2.3',
      '9.9999999999999999.x',
      '1.999999999999999.5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d',
    ])
      assert.equal(
        (await person.get(`/console/${many.publicId}/review?after=${after}&why=nope&subject=x&state=y`)).status,
        200,
      );
  });
});
