import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { withService } from '../../../support/service.ts';
import { codeNow, fieldsOf, password, type Person, personOf, visitor } from '../visitor.ts';

/** A session that ends while a person fills in a form: after signing in, the form is filled as before. */

const service = await withService();
const org = await service.organisation();
const base = `/console/${org.publicId}`;

const ends = (person: Person, what = 'last_seen_at = last_seen_at') =>
  service.app.db.query(`update user_session set ${what} - interval '3 hours' where user_id = $1`, [person.userId]);

const valueOf = (text: string, name: string) => fieldsOf(text).findLast(([one]) => one === name)?.[1];

/** Signs in with the fields of the page that kept the form. */
async function signsIn(person: Person, kept: string, as: Person = person) {
  const fields = fieldsOf(kept).filter(([name]) => name === 'to' || name === 'kept');
  const asked = await person.post('/console/sign-in', [...fields, ['email', as.email], ['password', password]]);
  if (as.totp === null) return asked;
  const again = fieldsOf(asked.text).filter(([name]) => name === 'to' || name === 'kept');
  await service.app.db.query('delete from sign_in_attempt').catch(() => {});
  return person.post('/console/sign-in/code', [...again, ['code', codeNow(service, as.totp)]]);
}

suite('a form whose session has ended', () => {
  test('is filled again after signing in, and nothing is carried out', async () => {
    const owner = await personOf(service, org.id, 'owner');
    await ends(owner);
    const sent = { type: 'cohort', ref: 'KEPT-1', group_name: 'Zoë’s “evening” class' };
    const asked = await owner.post(`${base}/groups/create`, sent);
    assert.equal(asked.status, 401);
    assert.match(asked.text, /<h1>Sign in<\/h1>/);
    assert.doesNotMatch(asked.text, /KEPT-1|evening/);
    const filled = await signsIn(owner, asked.text);
    assert.equal(filled.status, 200);
    assert.match(filled.text, /<h1>Create group<\/h1>[^]*nothing was sent/);
    for (const [name, value] of Object.entries(sent)) assert.equal(valueOf(filled.text, name), value);
    const rows = () =>
      service.app.db.query(`select from learner_group where organisation_id = $1 and ref = 'KEPT-1'`, [org.id]);
    assert.equal((await rows()).length, 0);
    assert.equal(
      (
        await owner.post(
          `${base}/groups/create`,
          fieldsOf(filled.text).filter(([name]) => name in sent),
        )
      ).status,
      303,
    );
    assert.equal((await rows()).length, 1);
  });

  test('shows the entries in place of stored values, with the version that the person saw', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const before = valueOf((await owner.get(`${base}/settings`)).text, 'version');
    await owner.fill(`${base}/settings`, { retakeGap: '91' });
    await ends(owner);
    const fields = {
      name: 'Mine',
      timeZone: 'Europe/London',
      retakeGap: '',
      subjects: 'maths',
      groupAutocreate: 'off',
      version: before!,
    };
    const filled = await signsIn(owner, (await owner.post(`${base}/settings`, fields)).text);
    assert.match(filled.text, /<h1>Settings<\/h1>/);
    for (const [name, value] of Object.entries(fields)) assert.equal(valueOf(filled.text, name), value, name);
    assert.equal((await owner.post(`${base}/settings`, fieldsOf(filled.text))).status, 409);
  });

  test('of a page above, and of a proof that is too old', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const member = await personOf(service, org.id, 'tutor');
    await ends(owner);
    const asked = await owner.post(`${base}/people/${member.userId}/role`, { role: 'auditor' });
    const filled = await signsIn(owner, asked.text);
    assert.match(filled.text, /<h1><bdi>/);
    assert.equal(valueOf(filled.text, 'role'), 'auditor');
    await ends(owner, 'proved_at = proved_at');
    const proof = await owner.post(`${base}/people/invite`, { email: 'kept@college.example', role: 'auditor' });
    assert.match(proof.text, /<h1>Confirm that it is you<\/h1>/);
    const fields = fieldsOf(proof.text).filter(([name]) => name === 'to' || name === 'kept');
    const again = await owner.post('/console/confirm', [...fields, ['code', '000000']]);
    assert.equal(valueOf(again.text, 'kept'), valueOf(proof.text, 'kept'));
  });

  test('is given to the same person only, never after signing out, and not if it is long', async () => {
    const ana = await personOf(service, org.id, 'owner', { secondFactor: false });
    const tutor = await personOf(service, org.id, 'tutor', { secondFactor: false });
    await ends(ana);
    const asked = await tutor
      .get('/console/sign-in')
      .then(() => ana.post(`${base}/search`, { reference: 'Typed text' }));
    assert.equal(asked.status, 401);
    const other = visitor(service);
    const fields = fieldsOf(asked.text).filter(([name]) => name === 'to' || name === 'kept');
    const wrong = await other.post('/console/sign-in', [...fields, ['email', tutor.email], ['password', password]]);
    assert.deepEqual([wrong.status, wrong.text.includes('Typed text')], [303, false]);
    const changed = fields.map(([name, value]): [string, string] => [
      name,
      name === 'kept' ? `A${value.slice(1)}` : value,
    ]);
    assert.equal(
      (await other.post('/console/sign-in', [...changed, ['email', ana.email], ['password', password]])).status,
      303,
    );
    assert.equal((await ana.post(`${base}/groups/create`, { group_name: 'x'.repeat(11_000) })).status, 303);
    const out = await personOf(service, org.id, 'owner');
    const { cookie } = out;
    await out.post('/console/sign-out');
    assert.equal((await visitor(service, cookie).post(`${base}/search`, { reference: 'x' })).status, 303);
  });

  test('leaves passwords out', async () => {
    const ana = await personOf(service, org.id, 'tutor', { secondFactor: false });
    await ends(ana);
    const asked = await ana.post('/console/account/password', { present: 'secret-1', password: 'secret-2' });
    assert.equal(asked.status, 303);
  });
});
