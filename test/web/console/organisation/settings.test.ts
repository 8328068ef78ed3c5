import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { withService } from '../../../support/service.ts';
import type { Person } from '../visitor.ts';
import { fieldsOf, personOf } from '../visitor.ts';

/** What an organisation sets of itself. */

const service = await withService({
  own: 'Sends mail.',
  settings: { ARS_SMTP_URL: 'smtp://127.0.0.1:9', ARS_MAIL_FROM: 'results@example.org' },
});
const org = await service.organisation({ name: 'Northfield College' });
const base = `/console/${org.publicId}`;
const hostile = '"><script>alert(1)</script>';
const owner = await personOf(service, org.id, 'owner');
const admin = await personOf(service, org.id, 'admin');

const fields = (changes: Record<string, string> = {}): [string, string][] =>
  Object.entries({
    name: 'Northfield College',
    timeZone: 'Europe/London',
    contact: '',
    noticesEmail: '',
    subjects: 'digital',
    groupAutocreate: 'on',
    secondFactor: 'some',
    ...changes,
  });
const stored = async () =>
  (
    await service.app.db.query(
      'select name, time_zone, contact, notices_email, default_subjects, group_autocreate, plan, ukprn from organisation where organisation_id = $1',
      [org.id],
    )
  )[0]!;

suite('settings of an organisation', () => {
  test('are saved by an admin, and each saving is in the audit log under the person’s id', async () => {
    const sent = fields({
      name: `Riverside ${hostile}`,
      timeZone: 'Asia/Kathmandu',
      contact: `01632 960 123 ${hostile}`,
      noticesEmail: 'data@college.example',
      subjects: 'maths',
      groupAutocreate: 'off',
    });
    const saved = await admin.follow(await admin.fill(`${base}/settings`, [...sent, ['subjects', 'english']]));
    assert.match(saved.text, /The settings are saved/);
    assert.ok(saved.text.includes(`href="${base}/data-protection/retention"`));
    assert.ok(!saved.text.includes('<script>'));
    assert.deepEqual(await stored(), {
      name: `Riverside ${hostile}`,
      time_zone: 'Asia/Kathmandu',
      contact: `01632 960 123 ${hostile}`,
      notices_email: 'data@college.example',
      default_subjects: ['english', 'maths'],
      group_autocreate: false,
      plan: 'unlimited',
      ukprn: null,
    });
    const acts = await service.app.db.query(
      'select action, resource from audit where organisation_id = $1 and actor = $2',
      [org.id, admin.userId],
    );
    assert.deepEqual(acts, [{ action: 'POST /console/settings', resource: org.publicId }]);
    // They hold at once: for the API, and for every time in the console.
    const refused = await org.post('/learners', {
      full_name: 'Ana Silva',
      ref: 'ana',
      groups: [{ type: 'cohort', ref: 'C1', name: 'C1' }],
    });
    assert.equal(refused.body.error.code, 'group_autocreate_disabled');
    const at = new Date(service.app.clock.nowMs());
    const day = new Intl.DateTimeFormat('en-GB', {
      timeZone: 'Asia/Kathmandu',
      dateStyle: 'medium',
      timeStyle: 'short',
    });
    const shown = (await owner.get(`${base}/log`)).text;
    assert.ok(
      [at.getTime(), at.getTime() - 60_000].some((ms) => shown.includes(day.format(ms))),
      day.format(at),
    );
  });

  test('no mailbox is asked for, and none taken away, where no mail can be sent', async () => {
    const quiet = await service.sibling({ settings: {} });
    const somebody = await personOf(quiet, org.id, 'owner', { email: 'somebody@college.example' });
    assert.doesNotMatch((await somebody.get(`${base}/settings`)).text, /noticesEmail/);
    await somebody.fill(`${base}/settings`, fields());
    assert.equal((await stored()).notices_email, 'data@college.example');
  });

  test('what is wrong stands at its field, and nothing is changed', async () => {
    await owner.fill(`${base}/settings`, fields());
    const before = await stored();
    const wrong: [string, string][] = [
      ['name', ''],
      ['name', 'x'.repeat(201)],
      ['name', 'AB 12 34 56 C'],
      ['timeZone', 'Europe/Atlantis'],
      ['timeZone', ''],
      ['contact', 'x'.repeat(201)],
      ['contact', 'two\nlines'],
      ['noticesEmail', 'not an address'],
      ['noticesEmail', 'a@b.example, c@d.example'],
      ['subjects', 'art'],
      ['groupAutocreate', 'maybe'],
    ];
    for (const [name, value] of wrong) {
      const answer = await owner.fill(`${base}/settings`, fields({ [name]: value }));
      assert.equal(answer.status, 422, `${name} ${value}`);
      assert.match(answer.text, new RegExp(`<a href="#${name}">`));
    }
    assert.deepEqual(await stored(), before);
  });

  test('the lists for funding lead to the provider’s own rules, at an address that begins with https', async () => {
    const wrong = [
      'http://funder.example/',
      'javascript:alert(1)',
      'https://me:secret@funder.example/',
      'funder.example',
    ];
    for (const fundingRules of [...wrong, 'https://x.example/QQ123456C', `https://x.example/${'a'.repeat(500)}`]) {
      const refused = await admin.fill(`${base}/settings`, fields({ fundingRules }));
      assert.equal(refused.status, 422, fundingRules);
      assert.match(refused.text, /begins with https/);
    }
    assert.doesNotMatch((await admin.get(`${base}/results/lists`)).text, /these funding rules/);
    await admin.fill(`${base}/settings`, fields({ fundingRules: 'https://funder.example/rules?a="b' }));
    for (const list of ['', '/digital-below-level-1', '/english-maths-below-level-2'])
      assert.match(
        (await admin.get(`${base}/results/lists${list}`)).text,
        /<a href="https:\/\/funder\.example\/rules\?a=%22b" rel="noreferrer">these funding rules<\/a>/,
      );
  });

  test('two people who save different fields of the page don’t undo each other', async () => {
    const open = async (one: Person) => fieldsOf((await one.get(`${base}/settings`)).text);
    const typed = (of: [string, string][], name: string, value: string): [string, string][] =>
      of.map((one) => (one[0] === name ? [name, value] : one));
    const [mine, theirs] = [await open(owner), await open(admin)];
    assert.equal((await admin.post(`${base}/settings`, typed(theirs, 'contact', '01632 960 999'))).status, 303);
    const late = await owner.post(`${base}/settings`, typed(mine, 'name', `Late ${hostile}`));
    assert.equal(late.status, 409);
    assert.ok(!late.text.includes('<script>'));
    assert.match(late.text, /<span>01632 960 999<\/span>/);
    assert.deepEqual([(await stored()).contact, (await stored()).name], ['01632 960 999', 'Northfield College']);
    const seen = typed(fieldsOf(late.text), 'contact', '01632 960 999');
    assert.equal((await owner.post(`${base}/settings`, seen)).status, 303);
    assert.deepEqual([(await stored()).contact, (await stored()).name], ['01632 960 999', `Late ${hostile}`]);
    await owner.fill(`${base}/settings`, fields());
  });
});
