import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { feedQueue, withUnitOfWork } from '../../../../src/platform/db/unit-of-work.ts';
import { invitationRuns } from '../../../../src/sittings/invitations/runs/run.ts';
import { markSandbox } from '../../../../src/organisations/sandboxes.ts';
import { addTeamStaff, ensureTeam, removeTeamStaff } from '../../../../src/organisations/teams.ts';
import { eraseLearner } from '../../../../src/governance/erasure/erase.ts';
import { withService } from '../../../support/service.ts';
import { personOf, visitor } from '../visitor.ts';

const service = await withService();
const { app } = service;
const org = await service.organisation({ name: 'Northfield College', plan: 'standard', credits: 50 });
const base = `/console/${org.publicId}`;
const counted = async (table: string) =>
  (
    await app.db.query<{ count: number }>(`select count(*) as count from ${table} where organisation_id = $1`, [org.id])
  )[0]!.count;
const fresh = () => app.random.uuid();

suite('a table of learners in the console', () => {
  test('sent twice it is one table, begun twice it is one run', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const fields = { rows: 'D-1\tDee\nD-2\tEve', once: fresh() };
    const sent = await Promise.all([1, 2].map(() => owner.post(`${base}/invite`, fields)));
    const to = `${base}/invite/${fields.once}`;
    assert.deepEqual(
      sent.map((answer) => answer.headers.location),
      [to, to],
    );
    assert.equal(await counted('background_job'), 1);
    assert.equal(await counted('learner'), 0);
    await Promise.all([1, 2, 3].map(() => owner.post(`${to}/start`)));
    await invitationRuns.goOn(app, org.id, fields.once);
    assert.match((await owner.get(to)).text, /2 learners are invited/);
    assert.equal(await counted('invitation'), 2);
    const file = await owner.get(`${to}/links.tsv`);
    assert.equal(file.text.split('\r\n').length, 4);
    assert.match(file.headers['content-disposition']!, /attachment/);
    const [taken] = await app.db.query<{ resource: string }>(
      "select resource from audit where organisation_id = $1 and action = 'GET /console/invite/{run_id}/links.tsv'",
      [org.id],
    );
    assert.equal(taken?.resource, fields.once, 'who took away the links stands in the log');
    assert.equal((await owner.get(`${to}/cancel`)).headers.location, to, 'what is done can’t be stopped');
  });

  test('one that waits for credits says until when, and afterwards why it ended', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const once = fresh();
    const to = `${base}/invite/${once}`;
    await owner.post(`${base}/invite`, { rows: 'W-1\tWim', once });
    const begun = (status: string, at: Date) =>
      app.db.query('update background_job set status = $2, started_at = $3 where job_id = $1', [once, status, at]);
    await begun('waiting', new Date('2026-01-01T12:00:00Z'));
    assert.match((await owner.get(to)).text, /The service deletes the waiting rows on <time[^>]*>31 January 2026/);
    await invitationRuns.goOn(app, org.id, once);
    assert.match((await owner.get(to)).text, /The service cancelled it 30 days after the start/);
  });

  test('one that waits ends with the standing of who began it, and follows their teams until then', async () => {
    const poor = await service.organisation({ plan: 'standard', credits: 1 });
    const here = `/console/${poor.publicId}`;
    const owner = await personOf(service, poor.id, 'owner');
    const began = async (role: 'admin' | 'tutor') => {
      const one = await personOf(service, poor.id, role);
      const [once, ref] = [fresh(), `team-${one.userId}`];
      const team = await withUnitOfWork(app, feedQueue(poor.id), async (work) => {
        const id = await ensureTeam(work, poor.id, { ref, name: 'Team' });
        await addTeamStaff(work, poor.id, id, [one.userId]);
        return id;
      });
      await one.post(`${here}/invite`, { rows: `${ref}-1\tNed`, once, team });
      await one.post(`${here}/invite/${once}/start`);
      await invitationRuns.goOn(app, poor.id, once);
      await app.db.query(
        `update background_job set status = 'waiting', progress = progress || '{"reached":0}' where job_id = $1`,
        [once],
      );
      const state = async () => (await invitationRuns.find(app.db, poor.id, once))!.status;
      return { ...one, once, team, state };
    };
    await app.db.query('update organisation set credits = 5 where organisation_id = $1', [poor.id]);
    const [removed, lowered, off] = [await began('tutor'), await began('admin'), await began('tutor')];
    const [replaced, stays] = [await began('tutor'), await began('tutor')];
    await app.db.query('update organisation set credits = 0 where organisation_id = $1', [poor.id]);
    await owner.post(`${here}/people/${removed.userId}/remove`);
    await owner.post(`${here}/people/${lowered.userId}/role`, { role: 'auditor' });
    const anew = await owner.post(`${here}/people/${replaced.userId}/link`);
    const link = /\/console\/invitation\/[\w-]{43}/.exec(anew.text)![0];
    await visitor(service).post(link, { full_name: 'Ana', password: 'a wholly new password 1' });
    await withUnitOfWork(app, feedQueue(poor.id), (work) => removeTeamStaff(work, poor.id, off.team, [off.userId]));
    const states = () => Promise.all([removed, lowered, off, replaced, stays].map((one) => one.state()));
    // Also where no credits come: rows hold names.
    await invitationRuns.run(app);
    assert.deepEqual(await states(), ['cancelled', 'cancelled', 'cancelled', 'waiting', 'waiting']);
    await app.db.query('update organisation set credits = 5 where organisation_id = $1', [poor.id]);
    await invitationRuns.run(app);
    assert.deepEqual(await states(), ['cancelled', 'cancelled', 'cancelled', 'finished', 'finished']);
    assert.match(
      (await owner.get(`${here}/invite/${off.once}`)).text,
      /the person who started it may no longer invite these learners/,
    );
    const told = await app.db.query<{ actor: string }>(
      "select actor from audit where organisation_id = $1 and action = 'learner invite stopped'",
      [poor.id],
    );
    assert.deepEqual(told, [{ actor: 'service' }, { actor: 'service' }, { actor: 'service' }]);
  });

  test('a new account in the place of an old one has what that began, also in the sandbox', async () => {
    const [parent, sandbox] = [await service.organisation(), await service.organisation()];
    await service.withUnitOfWork((work) => markSandbox(work, sandbox.id, parent.id));
    const owner = await personOf(service, parent.id, 'owner');
    const admin = await personOf(service, parent.id, 'admin');
    const begun = await Promise.all(
      [parent, sandbox].map(async ({ id, publicId }) => {
        const once = fresh();
        await admin.post(`/console/${publicId}/invite`, { rows: 'S-1\tNed', once });
        return async () => (await invitationRuns.find(app.db, id, once))!.created_by;
      }),
    );
    const makers = () => Promise.all(begun.map((maker) => maker()));
    assert.deepEqual(await makers(), [admin.userId, admin.userId]);
    const anew = await owner.post(`/console/${parent.publicId}/people/${admin.userId}/link`);
    const link = /\/console\/invitation\/[\w-]{43}/.exec(anew.text)![0];
    await visitor(service).post(link, { full_name: 'Ana', password: 'a wholly new password 1' });
    const [{ user_id: now }] = (await app.db.query<{ user_id: string }>(
      "select user_id from user_membership where organisation_id = $1 and role = 'admin'",
      [parent.id],
    )) as [{ user_id: string }];
    assert.notEqual(now, admin.userId);
    assert.deepEqual(await makers(), [now, now]);
  });

  test('whatever is sent as a correction is read or refused, and never fails', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const once = fresh();
    const to = `${base}/invite/${once}`;
    await owner.post(`${base}/invite`, { rows: 'a b\tAna\nA-2\tBen\n\tCy\n\tCy', once });
    assert.match((await owner.get(to)).text, /2 rows need correcting/);
    for (const rows of ['\0', 'x', '{}', '\t\t\t', 'row\tref\tname\n1\ta b\tAna', 'row\tname\n999999\tX\n999999\tY'])
      for (const replaced of ['NaN', '-1', '1e9', '99999999999', '1']) {
        const answer = await owner.post(`${to}/rows`, { rows, replaced });
        assert.ok(
          answer.status === 303 || answer.status === 422,
          `${JSON.stringify(rows)} ${replaced}: ${answer.status}`,
        );
      }
    assert.equal((await owner.get(`${to}?after=-1`)).status, 200);
    assert.equal((await owner.post(`${to}/start`)).status, 303);
    assert.match((await owner.get(to)).text, /need/, 'what is wrong is not begun');
    await owner.post(`${to}/cancel`);
    const [{ count }] = (await app.db.query(
      'select count(*) as count from invitation_run_row where run_id = $1 and cells is not null',
      [once],
    )) as [{ count: number }];
    assert.equal(count, 0);
  });

  test('whoever is erased is gone from tables that wait, by reference, name or address; others of the name or the address stay', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const given = { ref: 'E-1', full_name: 'Una Quill', email: 'una@quill.example' };
    const { learner_id: id } = (await org.post('/learners', given)).body.data;
    const once = fresh();
    const rows = 'E-1\tUna\n\tUNA QUILL\n\tMs Quill\tUna@quill.example\nE-2\tUna Quill\n\tQuill b\nx y\tBad';
    const more =
      '\nE-3\tUna’s Brother\tuna@quill.example\nE-4\tUna Quill\tno address\nu q\tUna Quill\nUnaQuill\tUna Quill';
    await owner.post(`${base}/invite`, { rows: rows + more, once });
    await withUnitOfWork(app, feedQueue(org.id), (work) => eraseLearner(work, org.id, id, { actor: 'operator' }));
    const left = await app.db.query<{ name: string }>(
      "select concat_ws(' ', cells ->> 'ref', cells ->> 'full_name', cells ->> 'email') as name from invitation_run_row where run_id = $1 order by row_no",
      [once],
    );
    assert.deepEqual(
      left.map((row) => row.name),
      ['E-2 Una Quill', 'Quill b', 'x y Bad', 'E-3 Una’s Brother', 'E-4 Una Quill no address'],
    );
    const page = (await owner.get(`${base}/invite/${once}`)).text;
    assert.match(page, /<dt>Rows<\/dt><dd>5<\/dd>/);
    assert.match(page, /2 rows need correcting/);
    await owner.post(`${base}/invite/${once}/cancel`);
  });

  test('another tutor’s table is not there', async () => {
    const [one, two] = [await personOf(service, org.id, 'tutor'), await personOf(service, org.id, 'tutor')];
    const teamId = await withUnitOfWork(app, feedQueue(org.id), async (work) => {
      const id = await ensureTeam(work, org.id, { ref: 'T1', name: 'Team one' });
      await addTeamStaff(work, org.id, id, [one.userId, two.userId]);
      return id;
    });
    const once = fresh();
    assert.equal((await one.post(`${base}/invite`, { rows: 'T-1\tTom', once, team: teamId })).status, 303);
    assert.equal((await one.get(`${base}/invite/${once}`)).status, 200);
    const missing = await two.get(`${base}/invite/${fresh()}`);
    for (const path of ['', '/cancel', '/links', '/links.tsv']) {
      const answer = await two.get(`${base}/invite/${once}${path}`);
      assert.deepEqual([answer.status, answer.text], [404, missing.text], path);
    }
    for (const act of ['start', 'rows', 'cancel'])
      assert.equal((await two.post(`${base}/invite/${once}/${act}`, { rows: 'x' })).status, 404, act);
    const stolen = await two.post(`${base}/invite`, { rows: 'T-2\tTim', once, team: teamId });
    assert.equal((await two.follow(stolen)).status, 404, 'an id that is taken opens nothing');
    const other = await two.post(`${base}/invite`, { rows: 'T-2\tTim', once: fresh(), team: fresh() });
    assert.equal(other.status, 422);
  });
});
