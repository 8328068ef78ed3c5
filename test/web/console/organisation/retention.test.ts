import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { manualClock } from '../../../platform/time/manual-clock.ts';
import { readPolicy } from '../../../../src/governance/retention/policy.ts';
import { carryOutRuns } from '../../../../src/governance/retention/run.ts';
import { withService } from '../../../support/service.ts';
import { fieldsOf, personOf } from '../visitor.ts';

/** Retention and legal holds in the console. */

const clock = manualClock(Date.UTC(2016, 0, 31, 9));
const service = await withService({ own: 'Moves the clock.', clock });
const org = await service.organisation();
const base = `/console/${org.publicId}`;
const path = `${base}/data-protection/retention`;
const { learner_id: old } = (await org.post('/learners', { ref: 'old', full_name: 'Ana Silva' })).body.data;
const { learner_id: held } = (await org.post('/learners', { ref: 'held', full_name: 'Ben Okafor' })).body.data;
clock.advance(8 * 366 * 86_400_000);
const owner = await personOf(service, org.id, 'owner');
const auditor = await personOf(service, org.id, 'auditor');

const settings = { learners: '84', invited: '12', results: '', answers: '24', reasons: '84', automatic: 'off' };

suite('retention in the console', () => {
  test('months are set by kind; what is no number of months is refused beside its field', async () => {
    assert.match((await owner.get(path)).text, /Not yet: the months below are proposals/);
    const refused = await owner.fill(path, { ...settings, answers: 'two years' });
    assert.equal(refused.status, 422);
    assert.match(refused.text, /value="two years"/);
    const saved = await owner.follow(await owner.fill(path, settings));
    assert.match(saved.text, /The retention periods are saved. Nothing was deleted/);
    assert.match(saved.text, /name="results"[^>]*value=""/);
    const read = await auditor.get(path);
    assert.match(read.text, /<dt>Results with their evidence<\/dt><dd>For ever<\/dd>/);
    assert.doesNotMatch(read.text, />Count due data</);
    assert.equal((await auditor.post(path, settings)).status, 404);
  });

  test('who saves other months than they saw is told so, with what was typed kept; nothing is undone unseen', async () => {
    const admin = await personOf(service, org.id, 'admin');
    const [mine, theirs] = [fieldsOf((await owner.get(path)).text), fieldsOf((await admin.get(path)).text)];
    const typed = (fields: [string, string][], name: string, value: string): [string, string][] =>
      fields.map((one) => (one[0] === name ? [name, value] : one));
    assert.equal((await admin.post(path, typed(theirs, 'learners', ''))).status, 303);
    // The same form twice is one.
    assert.equal((await admin.post(path, typed(theirs, 'learners', ''))).status, 303);
    const late = await owner.post(path, typed(mine, 'answers', '36'));
    assert.equal(late.status, 409);
    assert.match(late.text, /For ever<\/span><\/td><td[^>]*><span>84 months/);
    const kept = fieldsOf(late.text);
    const value = (name: string) => kept.find(([one]) => one === name)![1];
    assert.deepEqual([value('learners'), value('answers')], ['84', '36']);
    const stored = async () => (await readPolicy(service.app.db, org.id)).months;
    assert.deepEqual([(await stored()).learners, (await stored()).answers], [null, 24]);
    // A fault in between doesn't count as having seen it, and a form that says nothing hasn't.
    const faulty = fieldsOf((await owner.post(path, typed(mine, 'answers', 'x'))).text);
    assert.equal((await owner.post(path, typed(faulty, 'answers', '36'))).status, 409);
    assert.equal((await owner.post(path, settings)).status, 409);
    // Whoever has seen it decides.
    assert.equal((await owner.post(path, typed(kept, 'learners', '60'))).status, 303);
    assert.deepEqual([(await stored()).learners, (await stored()).answers], [60, 36]);
    assert.equal((await owner.fill(path, settings)).status, 303);
  });

  test('a hold by a page of its own; erasing the learner is refused with its sentence', async () => {
    const form = `${base}/learners/${held}/hold`;
    const wrong = await owner.post(form, { reason: 'About AB 12 34 56 C', once: service.app.random.uuid() });
    assert.equal(wrong.status, 422);
    assert.match(wrong.text, /National Insurance number/);
    const past = await owner.post(form, { reason: 'Claim', until: '2016-01-01', once: service.app.random.uuid() });
    assert.match(past.text, /Choose today or a later day/);
    const once = service.app.random.uuid();
    for (let i = 0; i < 2; i++)
      assert.equal(
        (await owner.post(form, { reason: 'Claim <17>', once })).headers.location,
        `${base}/data-protection/holds?did=placed`,
      );
    const list = (await auditor.get(`${base}/data-protection/holds`)).text;
    assert.equal(list.split('Claim &lt;17&gt;').length, 2);
    const refused = await owner.post(`${base}/learners/${held}/erase`);
    assert.deepEqual([refused.status, /The learner is under a legal hold/.test(refused.text)], [409, true]);
    assert.equal((await org.get('/learners/held')).status, 200);
  });

  test('what is due is counted first, then deleted once by a page of its own; the hold is released', async () => {
    const counted = await owner.post(`${path}/preview`, { once: service.app.random.uuid() });
    await carryOutRuns(service.app);
    const dryRun = await owner.follow(counted);
    assert.match(dryRun.text, /<h1>Due data/);
    assert.ok(dryRun.text.includes(old) && !dryRun.text.includes(held));
    const here = counted.headers.location!;
    assert.match((await owner.get(`${here}/carry-out`)).text, /Delete due data\?/);
    await owner.fill(path, { ...settings, answers: '1' });
    const others = await owner.follow(await owner.post(`${here}/carry-out`));
    assert.match(others.text, /Nothing was deleted\. The months have changed/, 'other months than were counted by');
    await owner.fill(path, settings);
    assert.equal((await org.get('/learners/old')).status, 200);
    const [first, second] = await Promise.all([owner.post(`${here}/carry-out`), owner.post(`${here}/carry-out`)]);
    assert.equal(first.headers.location, second.headers.location, 'one run');
    await carryOutRuns(service.app);
    const done = await owner.follow(first);
    assert.match(done.text, /Deleted data/);
    assert.equal((await org.get('/learners/old')).status, 404);
    assert.equal((await org.get('/learners/held')).status, 200);
    assert.match((await owner.get(path)).text, /Deleted/);

    const [, holdId] = /holds\/([0-9a-f-]{36})\/release/.exec((await owner.get(`${base}/data-protection/holds`)).text)!;
    const release = `${base}/data-protection/holds/${holdId}/release`;
    assert.match((await owner.get(release)).text, /Release legal hold\?/);
    await owner.post(release);
    assert.equal((await owner.post(release)).status, 404, 'once');
    assert.equal((await owner.post(`${base}/learners/${held}/erase`)).status, 303);
  });

  test('nothing is deleted by numbers of the day before yesterday, nor by some that were stopped', async () => {
    const counted = await owner.post(`${path}/preview`, { once: service.app.random.uuid() });
    await carryOutRuns(service.app);
    const here = counted.headers.location!;
    await service.app.db.query(
      "update background_job set progress = progress || jsonb_build_object('stopped_by', $2::text) where job_id = $1",
      [here.slice(-36), 'x'],
    );
    assert.match((await owner.follow(await owner.get(`${here}/carry-out`))).text, /Count due data again/);
    await service.app.db.query(
      `update background_job set progress = progress || '{"stopped_by":null}' where job_id = $1`,
      [here.slice(-36)],
    );
    assert.match((await owner.get(`${here}/carry-out`)).text, /Delete due data\?/);
    clock.advance(2 * 86_400_000);
    const late = await personOf(service, org.id, 'owner');
    for (const answer of [await late.get(`${here}/carry-out`), await late.post(`${here}/carry-out`)])
      assert.match((await late.follow(answer)).text, /Count due data again/);
  });
});
