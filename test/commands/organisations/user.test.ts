import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ars } from '../../support/ars.ts';
import { password, personOf, visitor } from '../../web/console/visitor.ts';
import { withService } from '../../support/service.ts';

const service = await withService();
const org = await service.organisation({ name: 'Northfield College' });

const run = (...words: string[]) => runWith({}, ...words);
const runWith = (more: Record<string, string>, ...words: string[]) =>
  ars([...words, '--organisation', org.publicId, '--json'], { ...service.environment, ...more });

suite('ars user', () => {
  test('invites the first owner, whose link opens the console; lists and removes, but never the last owner', async () => {
    const { json } = await run('user', 'invite', '--email', 'ana@college.example', '--role', 'owner');
    assert.ok(json.url.startsWith(`${service.url}/console/invitation/`));
    const ana = visitor(service);
    await ana.post(new URL(json.url).pathname, { full_name: 'Ana Silva', password });
    assert.match((await ana.follow(await ana.get('/console'))).text, /Set up second factor/);
    const tutor = await personOf(service, org.id, 'tutor');
    const listed = (await run('user', 'list')).json.data;
    assert.deepEqual(listed.map((one: any) => one.role).sort(), ['owner', 'tutor']);
    const owner = listed.find((one: any) => one.role === 'owner').user_id;
    const kept = await run('user', 'remove', owner);
    assert.equal(kept.code, 1);
    assert.match(kept.said, /keeps at least one owner/);
    assert.match((await run('user', 'role', owner, '--role', 'tutor')).said, /keeps at least one owner/);
    assert.equal((await run('user', 'role', tutor.userId, '--role', 'auditor')).json.role, 'auditor');
    assert.equal((await run('user', 'remove', tutor.userId)).code, 0);
    assert.equal((await tutor.get(`/console/${org.publicId}`)).status, 303);
    const audited = await service.app.db.query<{ actor: string; action: string }>(
      `select actor, action from audit where organisation_id = $1 and action like 'user %' order by audit_id`,
      [org.id],
    );
    assert.deepEqual(audited, [
      { actor: 'operator', action: 'user invite' },
      { actor: 'operator', action: 'user role' },
      { actor: 'operator', action: 'user remove' },
    ]);
  });

  test('mails an invitation and a set-up link where that is asked for and a mail server is set', async () => {
    const key = ['key', 'link', '--label', 'Portal', '--email', 'vendor@portal.example'];
    const invite = ['user', 'invite', '--email', 'di@college.example', '--role', 'tutor', '--mail'];
    for (const words of [key, invite]) {
      const refused = await run(...words);
      assert.equal(refused.code, 1);
      assert.match(refused.said, /no mail server is set/);
      // Nobody listens there: what is mailed waits in the outbox.
      const mailed = await runWith(
        { ARS_SMTP_URL: 'smtp://127.0.0.1:1', ARS_MAIL_FROM: 'results@example.org' },
        ...words,
      );
      assert.equal(mailed.json.mailed, true, mailed.said);
    }
    const admin = await personOf(service, org.id, 'admin');
    const { text } = await admin.get(`/console/${org.publicId}/mails`);
    assert.match(text, />Invitation<[^]*Set-up link for a vendor/);
    assert.equal(text.match(/Waiting/g)?.length, 2);
    assert.doesNotMatch(text, /portal\.example|di@college/);
  });

  test('refuses what it can not use, in a sentence', async () => {
    for (const [words, code] of [
      [['invite', '--email', 'nobody', '--role', 'owner'], 2],
      [['invite', '--email', 'a@college.example', '--role', 'king'], 2],
      [['invite', '--email', 'ana@college.example', '--role', 'tutor'], 1],
      [['remove', org.publicId], 1],
    ] as const) {
      const refused = await run('user', ...words);
      assert.equal(refused.code, code, words.join(' '));
      assert.match(refused.said, /^ars: [^\n]+\n$/);
    }
  });
});
