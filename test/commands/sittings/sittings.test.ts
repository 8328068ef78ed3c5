import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { extendInvitation } from '../../../src/sittings/invitations/extend.ts';
import { adjustInvitation, findInvitation } from '../../../src/sittings/invitations/invitations.ts';
import { banksOf } from '../../../src/sittings/scoring/banks.ts';
import { findSittings, insertSitting } from '../../../src/sittings/store.ts';
import { ars } from '../../support/ars.ts';
import { waitForLocks } from '../../support/postgres.ts';
import { withService } from '../../support/service.ts';
import { invited } from '../../sittings/learner.ts';

suite('ars invitation and ars sittings', async () => {
  const service = await withService();
  const org = await service.organisation();
  const ana = await invited(service, org, { ref: 'ana', name: 'Ana Silva' });
  const run = (...words: string[]) => ars([...words, '--json'], service.environment);
  const invitation = ['--organisation', org.publicId, ana.invitationId];

  test('an invitation: shown with the link that the learner got, adjusted, and the adjustment is in the audit log', async () => {
    const { json } = await run('invitation', 'show', ...invitation);
    assert.deepEqual(
      [json.status, json.subjects, json.extra_time_pct, json.supervision, json.supervisor],
      ['open', ['digital', 'english', 'maths'], 0, 'Not supervised', null],
    );
    assert.equal(json.assessment_url, `${service.url}/a/${ana.token}`);
    const changed = (
      await run(
        'invitation',
        'update',
        ...invitation,
        ...['--extra-time', '25', '--supervision', 'By a tutor, in the room', '--supervisor', 'Zuzana Novak'],
      )
    ).json;
    assert.deepEqual(
      [changed.extra_time_pct, changed.supervision, changed.supervisor],
      [25, 'By a tutor, in the room', 'Zuzana Novak'],
    );
    const [row] = await service.app.db.query<{ resource: string }>(
      "select resource from audit where organisation_id = $1 and actor = 'operator' and action = 'invitation update'",
      [org.id],
    );
    assert.equal(row!.resource, ana.invitationId);
    // What is not named stays as it is by then, whoever changed it since it was read.
    const end = new Date(service.app.clock.nowMs() + 30 * 86_400_000);
    const [, adjusted] = await Promise.all([
      service.withUnitOfWork((work) => extendInvitation(work, org.id, ana.invitationId, { end, retakeReason: null })),
      service.withUnitOfWork((work) => adjustInvitation(work, org.id, ana.invitationId, { extra_time_pct: 25 })),
    ]);
    const now = await findInvitation(service.app.db, org.id, ana.invitationId);
    assert.deepEqual(
      [now!.expires_at, now!.extra_time_pct, now!.supervisor, adjusted!.purpose],
      [end, 25, 'Zuzana Novak', null],
    );
  });

  test('an invitation: a sitting that begins just now is corrected, too', async () => {
    const bo = await invited(service, org, { ref: 'bo', name: 'Bo Berg' });
    const { app } = service;
    const gives = () =>
      run('invitation', 'update', '--organisation', org.publicId, bo.invitationId, '--supervisor', 'Zuzana Novak');
    const [begun, waits] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const begins = service.withUnitOfWork(async (work) => {
      const { learner_id } = (await findInvitation(work.tx, org.id, bo.invitationId))!;
      const { bank } = await banksOf(app).currentStored(work.tx, work.nowMs);
      await insertSitting(work.tx, {
        ...{ organisation_id: org.id, invitation_id: bo.invitationId, learner_id, sitting_id: work.uuid() },
        ...{ subject: 'digital', bank_version: bank.version, settings: '{}', time_limit_ms: 1, withheld: [] },
        ...{ started_at: new Date(work.nowMs), released_by: null, released_at: null },
      });
      begun.resolve();
      await waits.promise;
    });
    await begun.promise;
    const running = gives();
    while ((await app.db.query(waitForLocks)).length === 0) await delay(20);
    waits.resolve();
    await begins;
    assert.equal((await running).code, 0);
    const [sitting] = await findSittings(app.db, org.id, bo.invitationId);
    assert.equal(sitting!.supervisor, 'Zuzana Novak');
  });

  test('an invitation: listed, extended, cancelled with its credit, and the ledger shows it', async () => {
    const poor = await service.organisation({ plan: 'standard', credits: 3 });
    const of = ['--organisation', poor.publicId];
    const made = await invited(service, poor);
    const here = [...of, made.invitationId];
    assert.deepEqual(
      (await run('invitation', 'list', ...of)).json.data.map((row: any) => [row.invitation_id, row.status, row.begun]),
      [[made.invitationId, 'open', false]],
    );
    assert.equal(
      (await run('invitation', 'extend', ...here, '--until', '2099-01-01')).json.expires_at,
      '2099-01-01T00:00:00.000Z',
    );
    assert.equal((await run('invitation', 'extend', ...here, '--until', '2020-01-01')).code, 2);
    assert.deepEqual((await run('invitation', 'cancel', ...here, '--reason', 'Left')).json, {
      invitation_id: made.invitationId,
      status: 'withdrawn',
      credit_returned: true,
    });
    assert.equal((await run('invitation', 'cancel', ...here, '--reason', 'Left')).code, 1);
    assert.equal((await run('invitation', 'extend', ...here, '--until', '2099-01-01')).code, 1);
    const { credits, entries } = (await run('organisation', 'credits', poor.publicId)).json;
    assert.deepEqual(
      [credits, ...entries.map((one: any) => [one.kind, one.amount, one.actor, one.reason])],
      [
        3,
        ['return', 1, 'operator', 'Left'],
        ['use', -1, poor.key.access_key_id, null],
        ['opening', 3, 'service', null],
      ],
    );
  });

  test('a learner is erased: first said, then done, then unknown', async () => {
    const gone = await service.organisation();
    const zoe = await invited(service, gone, { ref: 'zoe-1' });
    await zoe.sits();
    const who = ['--organisation', gone.publicId, 'zoe-1'];
    const said = await run('learner', 'erase', ...who);
    assert.deepEqual([said.json.erased, said.json.results], [false, 1]);
    assert.equal((await gone.get('/learners/zoe-1')).status, 200);
    const done = await run('learner', 'erase', ...who, '--confirm');
    const id = said.json.learner_id as string;
    assert.deepEqual(done.json, { learner_id: id, erased: true, results: 1, open_sittings: 0, credits_returned: 0 });
    assert.equal((await run('learner', 'erase', ...who, '--confirm')).code, 1);
    assert.equal((await run('learner', 'erase', '--organisation', gone.publicId, '--learner-id', id)).code, 1);
    const rows = await service.app.db.query<{ actor: string; resource: string }>(
      "select actor, resource from audit where organisation_id = $1 and action = 'learner erase'",
      [gone.id],
    );
    assert.deepEqual(rows, [{ actor: 'operator', resource: id }]);
  });

  test("the provider's UKPRN: given, refused in another form, shown, taken away", async () => {
    const made = await run('organisation', 'create', '--name', 'North', '--ukprn', '10004321');
    const id = made.json.organisation_id as string;
    assert.equal((await run('organisation', 'show', id)).json.ukprn, '10004321');
    for (const wrong of ['20004321', '1000432', '100043210', 'abc'])
      assert.equal((await run('organisation', 'update', id, '--ukprn', wrong)).code, 2, wrong);
    assert.equal((await run('organisation', 'update', id, '--ukprn', '')).json.ukprn, null);
    assert.equal((await run('organisation', 'update', org.publicId, '--ukprn', '10007654')).json.ukprn, '10007654');
  });

  test('misuse and unknown ids', async () => {
    const calls = [
      ['update', ...invitation],
      ['update', ...invitation, '--extra-time', '101'],
      ['update', ...invitation, '--supervision', 'QQ 12 34 56 C'],
      ['update', ...invitation, '--supervisor', 'Zuzana QQ 12 34 56 C'],
      ['show', '--organisation', org.publicId, 'x'],
    ];
    const codes = await Promise.all(calls.map(async (words) => (await run('invitation', ...words)).code));
    assert.deepEqual(codes, [2, 2, 2, 2, 1]);
  });

  test('the evidence of a sitting shows the adjustments, and can be made again byte for byte', async () => {
    const sitting = await ana.sits();
    assert.equal(sitting.time_limit_ms, 75 * 60_000);
    const report = await org.get(`/assessments/${sitting.assessment_id}/report.pdf`);
    const [row] = await service.app.db.query<{ input: string }>('select input from evidence where assessment_id = $1', [
      sitting.assessment_id,
    ]);
    const { ukprn, sitting: input } = JSON.parse(row!.input);
    assert.deepEqual(
      [ukprn, input.adjustments, input.supervision, input.supervisor],
      ['10007654', ['25% extra time'], 'By a tutor, in the room', 'Zuzana Novak'],
    );
    await run('organisation', 'update', org.publicId, '--ukprn', '');
    const again = await org.get(`/assessments/${sitting.assessment_id}/report.pdf`);
    assert.ok(again.bytes.equals(report.bytes), 'a stored report stays what it was');
    const folder = await mkdtemp(join(tmpdir(), 'ars-sittings-'));
    after(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, 'report.pdf'), report.bytes);
    const { code, json } = await run('evidence', 'verify', join(folder, 'report.pdf'));
    assert.deepEqual([code, json.verdict, json.reproducible], [0, 'current', true]);
  });

  test('sittings report: what was shown how often', async () => {
    const { code, json } = await run('sittings', 'report', '--organisation', org.publicId, '--all');
    assert.equal(code, 0);
    assert.deepEqual(
      json.sittings.map((one: { subject: string; completed: number }) => [one.subject, one.completed]),
      [['digital', 1]],
    );
    assert.ok(json.items.some((item: { shown: number; exposure: number }) => item.shown === 1 && item.exposure === 1));
    assert.deepEqual((await run('sittings', 'report')).json.items, []);
  });
});
