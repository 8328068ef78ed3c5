import { setTimeout } from 'node:timers/promises';
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { importRecords } from '../../../../src/records/import/import.ts';
import { readyRecord } from '../../../../src/records/import/record.ts';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { addToTeam } from '../../../support/teams.ts';
import { roles } from '../../../../src/organisations/users/roles.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';

suite('what needs somebody today', async () => {
  const service = await withService();
  const { app } = service;
  const org = await service.organisation({ name: 'Northfield College', plan: 'standard', credits: 3 });
  const base = `/console/${org.publicId}`;
  const result = (n: number) => ({
    learner: { ref: `L-${n}`, full_name: `Learner ${n}` },
    assessed_at: '2026-01-31T09:00:00Z',
    subject: 'maths',
    framework: 'F',
    rqf_level: 'Level 1',
    rqf_level_code: 2,
    below_level_1: false,
    needs_review: n < 2,
    is_borderline: true,
  });
  await service.withUnitOfWork((work) =>
    importRecords(
      work,
      org.id,
      Array.from({ length: 120 }, (_, n) => readyRecord(result(n), org.publicId, work.nowMs)),
      { events: false, actor: 'operator' },
    ),
  );
  for (const ref of ['I-1', 'I-2', 'L-1'])
    assert.equal((await org.post('/learners', { ref, full_name: 'Invited' })).status, 201);
  const fromNow = (days: number) => new Date(app.clock.nowMs() + days * 24 * 3600_000);
  await app.db.query('update invitation set created_at = $2, expires_at = $3 where organisation_id = $1', [
    org.id,
    fromNow(-26),
    fromNow(2),
  ]);
  await app.db.query('update review set requested_at = $2, due_at = $3 where organisation_id = $1 and rank = 1', [
    org.id,
    fromNow(0),
    fromNow(-1),
  ]);
  const linesOf = (text: string) =>
    [...text.matchAll(/<li><a href="([^"]+)"><strong class="[a-z]+">([^<]+) <\/strong>([^<]+)<\/a><\/li>/g)].map(
      ([, to, count, says]) => ({ to: to!.replaceAll('&amp;', '&'), says: `${count} ${says}` }),
    );

  test('an owner sees what waits, counted to a hundred, and each line leads to a page', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const lines = linesOf((await owner.get(base)).text);
    assert.deepEqual(
      lines.map(({ says }) => says),
      [
        '2 answers to learners are overdue',
        '2 learners ask for a human review',
        '2 results to review: scoring methods a level or more apart',
        '100+ placements close to a boundary',
        '3 invitations end within 3 days, not started',
        '3 invitations not started for 7 days',
        '0 credits are left for invitations',
      ],
    );
    for (const { to, says } of lines) {
      const { status, text } = await owner.get(to);
      assert.equal(status, 200, to);
      if (to.includes('/invitations?'))
        assert.equal(text.match(/<th scope="row"/g)!.length, Number.parseInt(says, 10), to);
    }
  });

  test('everybody sees what they can mend, and no line leads where they may not go', async () => {
    for (const role of roles) {
      const person = await personOf(service, org.id, role);
      const lines = linesOf((await person.get(base)).text);
      for (const { to } of lines) assert.equal((await person.get(to)).status, 200, `${role}: ${to}`);
      if (role === 'developer') assert.ok(lines.every(({ to }) => !/review|invitations|credits/.test(to)));
      if (role === 'tutor') assert.deepEqual(lines, [], 'a tutor without a team has nobody');
    }
  });

  test('a tutor counts the learners of their teams', async () => {
    const tutor = await personOf(service, org.id, 'tutor');
    await service.withUnitOfWork(async (work) => {
      const team = await ensureTeam(work, org.id, { ref: 'T', name: 'Team' });
      await addToTeam(work, org.id, team, ['L-1', 'L-5']);
      await addTeamStaff(work, org.id, team, [tutor.userId]);
    });
    const lines = linesOf((await tutor.get(base)).text);
    for (const { to } of lines.filter((line) => line.to.includes('/invitations?')))
      assert.equal((await tutor.get(to)).text.match(/<th scope="row"/g)!.length, 1, to);
    assert.deepEqual(
      lines.map(({ says }) => says),
      [
        '1 answer to a learner is overdue',
        '1 learner asks for a human review',
        '1 result to review: scoring methods a level or more apart',
        '1 placement close to a boundary',
        '1 invitation ends within 3 days, not started',
        '1 invitation not started for 7 days',
      ],
    );
  });

  test('learners whom no platform can tell are counted, for those who can mend it', async () => {
    const { learner, ...rest } = result(500);
    const unknown = { ...rest, learner: { full_name: learner.full_name } };
    await service.withUnitOfWork((work) =>
      importRecords(work, org.id, [readyRecord(unknown, org.publicId, work.nowMs)], {
        events: false,
        actor: 'operator',
      }),
    );
    const line = { to: `${base}/matching`, says: '1 learner has no reference, so platforms can’t match them' };
    const admin = await personOf(service, org.id, 'admin');
    assert.deepEqual(
      linesOf((await admin.get(base)).text).filter(({ to }) => to === line.to),
      [line],
    );
    assert.equal((await admin.get(line.to)).status, 200);
    const auditor = await personOf(service, org.id, 'auditor');
    assert.ok(!(await auditor.get(base)).text.includes('no reference'));
  });

  test('platforms: dead deliveries, failing and disabled endpoints, keys unused or used from elsewhere', async () => {
    const other = await service.organisation({ name: 'Elsewhere College' });
    const developer = await personOf(service, other.id, 'developer');
    assert.match((await developer.get(`/console/${other.publicId}`)).text, /Nothing needs attention now/);
    const { id: endpoint } = (await other.post('/webhooks', { url: 'https://elsewhere.example/hook' })).body.data;
    await app.db.query(`update webhook_endpoint set failing_since = now() where endpoint_id = $1`, [endpoint]);
    await app.db.query(
      `insert into delivery (organisation_id, delivery_id, endpoint_id, event_id, created_at, status)
       select $1, gen_random_uuid(), $2, gen_random_uuid(), now(), 'dead' from generate_series(1, 150)`,
      [other.id, endpoint],
    );
    await app.db.query(`update access_key set created_at = now() - interval '60 days' where organisation_id = $1`, [
      other.id,
    ]);
    // The use of the key is recorded after the response.
    const uses = () => app.db.query('delete from key_use where organisation_id = $1 returning 1', [other.id]);
    while ((await uses()).length === 0) await setTimeout(20);
    const says = async () => linesOf((await developer.get(`/console/${other.publicId}`)).text).map((line) => line.says);
    assert.deepEqual(await says(), ['1 webhook endpoint is failing', '100+ dead letters', '1 key unused for 30 days']);
    await app.db.query(
      `insert into key_use (organisation_id, key_id, network, client, first_at, last_at)
       select organisation_id, key_id, n, 'c', now() - interval '1 day', now() from access_key, unnest(array['198.51.100.0/24', '203.0.113.0/24']) n where organisation_id = $1`,
      [other.id],
    );
    await app.db.query(
      `update key_use set first_at = now() - interval '50 days' where network = '198.51.100.0/24' and organisation_id = $1`,
      [other.id],
    );
    await app.db.query(`update webhook_endpoint set status = 'disabled' where endpoint_id = $1`, [endpoint]);
    assert.deepEqual(await says(), [
      '1 webhook endpoint is disabled and gets no events',
      '100+ dead letters',
      '1 key was used from a new network',
    ]);
  });
});

suite('the overview of a dashboard', async () => {
  const service = await withService();
  const { app } = service;
  const org = await service.organisation({ name: 'Overview College', plan: 'standard', credits: 30 });
  const base = `/console/${org.publicId}`;
  const dayMs = 24 * 3600_000;
  const daysAgo = (days: number) => new Date(app.clock.nowMs() - days * dayMs);
  const group = { type: 'cohort', ref: 'A', name: 'Autumn' };
  const result = (n: number) => ({
    learner: { ref: `O-${n}`, full_name: `Learner ${n}` },
    assessed_at: daysAgo(n < 3 ? 2 : 40).toISOString(),
    ...{ subject: 'digital', framework: 'F', groups: [group] },
    ...{ rqf_level: 'Level 1', rqf_level_code: 2, below_level_1: false, needs_review: n === 0 },
  });
  await service.withUnitOfWork(async (work) => {
    const records = Array.from({ length: 5 }, (_, n) => readyRecord(result(n), org.publicId, work.nowMs));
    await importRecords(work, org.id, records, { events: false, actor: 'operator' });
  });
  await app.db.query('update review set opened_at = $2 where organisation_id = $1', [org.id, daysAgo(9)]);
  for (const n of [1, 2, 8, 9])
    assert.equal((await org.post('/learners', { ref: `O-${n}`, full_name: `Learner ${n}` })).status, 201);
  await app.db.query(
    `update invitation set status = 'used' where organisation_id = $1
        and learner_id = (select learner_id from learner where organisation_id = $1 and ref = 'O-1')`,
    [org.id],
  );
  const { id: endpoint } = (await org.post('/webhooks', { url: 'https://overview.example/hook' })).body.data;
  await app.db.query(
    `insert into delivery (organisation_id, delivery_id, endpoint_id, event_id, created_at, status)
     select $1, gen_random_uuid(), $2, gen_random_uuid(), now() - n * interval '1 minute', case when n < 10 then 'dead' else 'succeeded' end
       from generate_series(1, 150) n`,
    [org.id, endpoint],
  );
  const figuresOf = (text: string) =>
    [...text.matchAll(/<li><span>([^<]+)<\/span><strong>(.+?)<\/strong><span>(.+?)<\/span>/g)].map(([, ...parts]) =>
      parts.map((part) => part!.replaceAll(/<[^>]+>/g, '')).join('|'),
    );

  test('an owner sees every figure, and each link of a chart leads to a page', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const { text } = await owner.get(base);
    assert.deepEqual(figuresOf(text), [
      'Results in 28 days|3|2 in the 28 days before',
      'Finished of those invited|25 %|25 % started',
      'Reviews waiting|1|0 for over 28 days',
      'Credits left|26|No estimate yet',
      'Deliveries succeeded|91 %|9 dead letters',
    ]);
    assert.match(text, /8 to 28 days<\/a>.*?>1</);
    assert.match(text, /Autumn.*?<td[^>]*><span>0<\/span><\/td><td[^>]*><span>5<\/span>/);
    assert.ok(text.indexOf('<h2>Needs attention') < text.indexOf('<h2>Overview'));
    const overview = text.slice(text.indexOf('<h2>Overview'), text.indexOf('Getting started'));
    const links = new Set([...overview.matchAll(/href="([^"#]+)/g)].map(([, to]) => to!.replaceAll('&amp;', '&')));
    assert.ok(links.size > 20);
    for (const to of links) assert.equal((await owner.get(to)).status, 200, to);
    const [month] = [...links].filter((to) => to.includes('/results?from=')).slice(-1);
    const listed = (await owner.get(month!)).text.match(/<th scope="row"/g) ?? [];
    assert.match(
      overview,
      new RegExp(`${month!.replaceAll(/[?]/g, '\\?').replace('&', '&amp;')}">.*?>${listed.length}<`),
    );
  });

  test('each role sees its own parts, and a tutor the own teams', async () => {
    const titles = async (role: (typeof roles)[number]) => {
      const person = await personOf(service, org.id, role);
      return figuresOf((await person.get(base)).text).map((one) => one.split('|')[0]);
    };
    const learners = ['Results in 28 days', 'Finished of those invited', 'Reviews waiting'];
    assert.deepEqual(await titles('developer'), ['Deliveries succeeded']);
    assert.deepEqual(await titles('auditor'), [...learners, 'Credits left']);
    assert.deepEqual(await titles('tutor'), ['Reviews waiting'], 'a tutor without a team');
    const tutor = await personOf(service, org.id, 'tutor');
    await service.withUnitOfWork(async (work) => {
      const team = await ensureTeam(work, org.id, { ref: 'T', name: 'Team' });
      await addToTeam(work, org.id, team, ['O-0', 'O-1', 'O-4']);
      await addTeamStaff(work, org.id, team, [tutor.userId]);
    });
    const { text } = await tutor.get(base);
    assert.deepEqual(figuresOf(text), [
      'Results in 28 days|2|1 in the 28 days before',
      'Finished of those invited|100 %|100 % started',
      'Reviews waiting|1|0 for over 28 days',
    ]);
    assert.match(text, /Autumn.*?<td[^>]*><span>0<\/span><\/td><td[^>]*><span>3<\/span>/);
  });
});
