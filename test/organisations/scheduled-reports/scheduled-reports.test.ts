import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  type ReportPage,
  listScheduledReports,
  nextTime,
  reportPages,
  scheduleReport,
  stopReport,
} from '../../../src/organisations/scheduled-reports/scheduled-reports.ts';
import { writeScheduledReports } from '../../../src/organisations/scheduled-reports/worker.ts';
import { resumeOrganisation, suspendOrganisation } from '../../../src/governance/offboarding/suspend.ts';
import { readOrganisation } from '../../../src/organisations/organisations.ts';
import { addTeamStaff, createTeam } from '../../../src/organisations/teams.ts';
import { changeMember, removeEverybody } from '../../../src/organisations/users/members.ts';
import { startMailer } from '../../../src/platform/mail/worker.ts';
import { consoleRoutes } from '../../../src/web/console/routes.ts';
import { withService } from '../../support/service.ts';
import { trustTestAuthority } from '../../integrations/webhooks/receiver.ts';
import { readMessage, startMailServer } from '../../platform/mail/mail-server.ts';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { fieldsOf, personOf } from '../../web/console/visitor.ts';

trustTestAuthority();
const hourMs = 3600_000;
const zone = 'Europe/London';
const at = (text: string) => new Date(text).getTime();

suite('the next time of a report', () => {
  const next = (every: 'week' | 'month', day: number, hour: number, from: string) =>
    nextTime({ every, day, hour }, at(from), zone).toISOString();

  test('is on the weekday or the day of the month, at the hour of the zone, in summer and in winter', () => {
    assert.equal(next('week', 1, 8, '2026-01-05T07:59:59Z'), '2026-01-05T08:00:00.000Z');
    assert.equal(next('week', 1, 8, '2026-01-05T08:00:00Z'), '2026-01-12T08:00:00.000Z');
    assert.equal(next('week', 7, 8, '2026-03-27T00:00:00Z'), '2026-03-29T07:00:00.000Z');
    assert.equal(next('month', 28, 23, '2026-02-28T23:00:00Z'), '2026-03-28T23:00:00.000Z');
    assert.equal(next('month', 1, 0, '2026-06-30T22:59:00Z'), '2026-06-30T23:00:00.000Z');
  });

  test('exists once where the clocks change', () => {
    assert.equal(next('week', 7, 1, '2026-03-28T12:00:00Z'), '2026-03-29T01:00:00.000Z');
    assert.equal(next('week', 7, 1, '2026-03-29T01:00:00Z'), '2026-04-05T00:00:00.000Z');
    const autumn = next('week', 7, 1, '2026-10-24T12:00:00Z');
    assert.match(autumn, /^2026-10-25T0[01]:00/);
    assert.match(next('week', 7, 1, autumn), /^2026-11-01T01:00/);
  });
});

test('the readers of each report are the roles of its page', () => {
  for (const { path, readers } of Object.values(reportPages)) {
    const route = consoleRoutes.find((one) => one.method === 'GET' && one.path === path && Array.isArray(one.for));
    assert.deepEqual(route?.for, readers);
  }
});

suite('scheduled reports', async () => {
  const clock = manualClock(at('2026-01-05T07:00:00Z'));
  const server = await startMailServer();
  const service = await withService({
    own: 'Moves the clock and sends mail.',
    clock,
    settings: { ARS_SMTP_URL: server.url, ARS_MAIL_FROM: 'results@example.org', ARS_RATE_LIMIT: '1000000' },
  });
  const { app } = service;
  const mailer = startMailer(app);
  const round = (one = app) => writeScheduledReports(one, new AbortController().signal);

  async function organisation(name = 'Northfield College') {
    const org = await service.organisation({ name });
    const group = (await org.post('/groups', { type: 'cohort', ref: 'SECRET-1', name: 'Anas group' })).body.data
      .id as string;
    const schedule = (userId: string, page: ReportPage = 'gaps', query = `group=${group}&subject=maths`) =>
      service.withUnitOfWork((work) =>
        scheduleReport(work, org.id, { ...{ every: 'week', day: 1, hour: 8 }, userId, page, query, zone }),
      );
    const causes = async () =>
      (
        await app.db.query<{ cause: string }>(
          `select cause from mail where organisation_id = $1 and starts_with(cause, 'scheduled_report') order by cause`,
          [org.id],
        )
      ).map(({ cause }) => cause.split(' ')[1]);
    return { org, group, schedule, causes };
  }
  /** The next Monday at the hour, for a report at 8:00. */
  const monday = () => {
    const due = nextTime({ every: 'week', day: 1, hour: 8 }, clock.nowMs(), zone).getTime();
    clock.set(due);
    return due;
  };
  const change = (id: number, userId: string, to: 'auditor' | 'developer' | null) =>
    service.withUnitOfWork((work) => changeMember(work, id, userId, { to, by: 'owner' }));

  test('arrive at their hour with a link, and without names or references', async () => {
    const { org, group, schedule } = await organisation();
    const { userId, email } = await personOf(service, org.id, 'auditor', { name: 'Zoe Auditor' });
    await schedule(userId);
    await round();
    await mailer.round();
    assert.equal(server.received.length, 0);
    monday();
    await round();
    await mailer.round();
    const [one, ...others] = [...server.received];
    assert.deepEqual([others, one!.to], [[], [email]]);
    const { headers, text } = readMessage(one!.raw);
    assert.equal(headers.subject, 'Weekly report of Northfield College: Gaps by domain');
    assert.ok(text.includes(`${service.url}/console/${org.publicId}/results/gaps?group=${group}&subject=maths`));
    assert.ok(text.includes(`${service.url}/console/${org.publicId}/reports`));
    for (const personal of ['Anas', 'SECRET', 'Zoe'])
      assert.ok(!text.includes(personal) && !headers.subject!.includes(personal));
    await round();
    await mailer.round();
    assert.equal(server.received.length, 1);
    monday();
    await round();
    await mailer.round();
    assert.equal(server.received.length, 2);
  });

  test('are written once by several workers together, and after a worker is killed', async () => {
    const { org, schedule, causes } = await organisation();
    const people = await Promise.all([1, 2, 3].map(() => personOf(service, org.id, 'auditor')));
    for (const { userId } of people) await schedule(userId);
    const sibling = await service.sibling({
      clock,
      settings: { ARS_SMTP_URL: server.url, ARS_MAIL_FROM: 'a@example.org' },
    });
    const due = monday();
    // A worker that ends before its transaction leaves nothing.
    await assert.rejects(
      service.withUnitOfWork(async (work) => {
        await work.tx.query('update scheduled_report set next_at = $2 where organisation_id = $1', [
          org.id,
          new Date(due + hourMs),
        ]);
        throw new Error('The process ends.');
      }),
    );
    await Promise.all([round(), round(sibling.app), round(), round(sibling.app)]);
    assert.deepEqual(await causes(), people.map((one) => one.userId).toSorted());
    await app.db.query(`delete from mail where organisation_id = $1`, [org.id]);
    await Promise.all([round(), round(sibling.app)]);
    assert.deepEqual(await causes(), [], 'the emails were sent and are forgotten');
  });

  test('go to no person who was removed, whose role or team does not show the page, and not while suspended', async () => {
    const { org, group, schedule, causes } = await organisation();
    const [removed, other, tutor, kept] = [
      await personOf(service, org.id, 'auditor'),
      await personOf(service, org.id, 'auditor'),
      await personOf(service, org.id, 'tutor'),
      await personOf(service, org.id, 'tutor'),
    ];
    const team = (await service.withUnitOfWork((work) => createTeam(work, org.id, { ref: 'T', name: 'North' })))!;
    await service.withUnitOfWork((work) => addTeamStaff(work, org.id, team, [kept.userId]));
    for (const { userId } of [removed, other, tutor]) await schedule(userId);
    await schedule(kept.userId, 'results', `team=${team}`);
    await schedule(tutor.userId, 'distance', `group=${group}`);
    await change(org.id, removed.userId, null);
    await change(org.id, other.userId, 'developer');
    monday();
    await round();
    assert.deepEqual(await causes(), [kept.userId]);
    await service.withUnitOfWork((work) => suspendOrganisation(work, org.id, 'The end'));
    monday();
    await round();
    assert.equal((await causes()).length, 1);
    clock.advance(48 * hourMs);
    await service.withUnitOfWork(async (work) => resumeOrganisation(work, await readOrganisation(work.tx, org.id)));
    await round();
    assert.equal((await causes()).length, 1, 'a report of two days ago is not sent late');
    monday();
    await round();
    assert.equal((await causes()).length, 2);
  });

  test('that wait for the mail server are cancelled with the person, the role and the report', async () => {
    const { org, schedule, causes } = await organisation();
    const people = [];
    for (let i = 0; i < 4; i++) people.push(await personOf(service, org.id, 'auditor'));
    const ids: (string | null)[] = [];
    for (const { userId } of people) ids.push(await schedule(userId));
    monday();
    await round();
    assert.equal((await causes()).length, 4);
    await change(org.id, people[0]!.userId, null);
    await change(org.id, people[1]!.userId, 'developer');
    const stop = (by: string) => service.withUnitOfWork((work) => stopReport(work, org.id, ids[2]!, by));
    assert.equal(await stop(people[3]!.userId), false, 'a report of another person');
    assert.equal(await stop(people[2]!.userId), true);
    assert.deepEqual(await causes(), [people[3]!.userId]);
    await service.withUnitOfWork((work) => removeEverybody(work, org.id));
    assert.deepEqual(await causes(), []);
    assert.deepEqual(await app.db.query('select from scheduled_report where organisation_id = $1', [org.id]), []);
  });

  test('are scheduled by a manager for people who may see the page, and each can stop their own', async () => {
    const { org, group } = await organisation();
    const base = `/console/${org.publicId}`;
    const owner = await personOf(service, org.id, 'owner');
    const auditor = await personOf(service, org.id, 'auditor');
    const developer = await personOf(service, org.id, 'developer');
    const tutor = await personOf(service, org.id, 'tutor');
    const gaps = await owner.get(`${base}/results/gaps?group=${group}&subject=maths`);
    const to = /href="([^"]+\/reports\/create[^"]*)"/.exec(gaps.text)![1]!.replaceAll('&amp;', '&');
    const form = await owner.get(to);
    assert.match(form.text, /Gaps by domain/);
    for (const [one, isOffered] of [
      [auditor, true],
      [developer, false],
      [tutor, false],
    ] as const)
      assert.equal(form.text.includes(`value="${one.userId}"`), isOffered);
    const sent = (people: string[], more: Record<string, string> = {}) =>
      owner.post(to, [
        ...Object.entries({ day: 'month-3', hour: '9', ...more }),
        ...people.map((one): [string, string] => ['people', one]),
      ]);
    for (const [people, more] of [
      [[], {}],
      [[tutor.userId], {}],
      [[auditor.userId], { day: 'week-8' }],
      [[auditor.userId], { hour: '24' }],
    ] as const)
      assert.equal((await sent([...people], more)).status, 422);
    assert.equal((await sent([auditor.userId, owner.userId])).headers.location, `${base}/reports?did=scheduled`);
    assert.equal((await sent([auditor.userId], { hour: '10' })).status, 303, 'again: another hour');
    const rows = await listScheduledReports(app.db, org.id, null);
    assert.deepEqual(
      rows.map((one) => [one.page, one.query, one.every, one.day]),
      Array(2).fill(['gaps', `group=${group}&subject=maths`, 'month', 3]),
    );
    assert.deepEqual(rows.map((one) => one.hour).toSorted(), [10, 9]);
    const shown = (await owner.get(`${base}/reports`)).text;
    assert.match(shown, /Every month, on day 3 at 10:00/);
    assert.equal(shown.match(/>Stop report</g)!.length, 2);
    const own = (await auditor.get(`${base}/reports`)).text;
    assert.equal(own.match(/>Stop report</g)!.length, 1);
    const idOf = (userId: string) => rows.find((one) => one.user_id === userId)!.report_id;
    assert.equal((await auditor.post(`${base}/reports/${idOf(owner.userId)}/stop`)).status, 404);
    assert.equal((await auditor.post(`${base}/reports/${idOf(auditor.userId)}/stop`)).status, 303);
    assert.equal((await owner.post(`${base}/reports/${idOf(owner.userId)}/stop`)).status, 303);
    assert.deepEqual(await listScheduledReports(app.db, org.id, null), []);
    const acts = await app.db.query<{ action: string }>(
      `select action from audit where organisation_id = $1 and action like '%/reports%' order by audit_id`,
      [org.id],
    );
    assert.deepEqual(
      acts.map((one) => one.action.split('/').at(-1)),
      ['create', 'create', 'create', 'stop', 'stop'],
    );
  });

  test('of a group need one that exists; the form without a report offers all four', async () => {
    const { org, group } = await organisation();
    const base = `/console/${org.publicId}/reports/create`;
    const owner = await personOf(service, org.id, 'owner');
    const auditor = await personOf(service, org.id, 'auditor');
    assert.equal((await auditor.get(base)).status, 404);
    assert.match((await owner.get(base)).text, /<option value="distance">/);
    assert.match((await owner.get(`${base}?page=gaps`)).text, /needs a team or group/);
    assert.equal((await owner.get(`${base}?page=gaps&group=${org.publicId}`)).status, 404);
    assert.equal((await owner.get(`${base}?page=dashboard&group=${group}`)).status, 200);
    assert.ok(fieldsOf((await owner.get(`${base}?page=distance`)).text).some(([name]) => name === 'hour'));
    const sent = await owner.post(`${base}?page=gaps`, { day: 'week-1', hour: '8', people: owner.userId });
    assert.equal(sent.status, 200);
    assert.deepEqual(await listScheduledReports(app.db, org.id, null), []);
  });
});
