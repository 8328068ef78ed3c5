import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { connectIdentity } from '../../../../src/organisations/users/single-sign-on.ts';
import { withService } from '../../../support/service.ts';
import { trustTestAuthority } from '../../../integrations/webhooks/receiver.ts';
import { startProvider } from './provider.ts';
import { personOf } from '../visitor.ts';

/** Setting up single sign-on against a real provider. */

trustTestAuthority();
const service = await withService({
  own: 'Calls addresses of this machine.',
  settings: { ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8, ::1/128' },
});
const issuer = await startProvider(`${service.url}/console/sso/callback`);
const settings = { issuer, client_id: 'console', client_secret: 'secret-of-the-console', tenant: '' };

suite('single sign-on', () => {
  test('is saved only where the provider answers, and accepts the client and its secret', async () => {
    const other = await service.organisation();
    const theirs = `/console/${other.publicId}/sso`;
    const chief = await personOf(service, other.id, 'owner');
    const isOff = async () => assert.match((await chief.get(theirs)).text, /State<\/dt><dd>Off/);
    for (const [wrong, says] of [
      [{ issuer: 'https://nobody.invalid' }, /No identity provider answers at this URL\. Nothing was saved/],
      [{ issuer: `${issuer}/none` }, /No identity provider answers at this URL/],
      [{ issuer: 'https://localhost:1443' }, /No identity provider answers at this URL/],
      [{ client_id: 'unknown' }, /does not accept this client ID and secret\. Nothing was saved/],
      [{ client_secret: 'wrong' }, /does not accept this client ID and secret/],
    ] as const) {
      const refused = await chief.fill(theirs, { ...settings, ...wrong });
      assert.equal(refused.status, 422, JSON.stringify(wrong));
      assert.match(refused.text, says);
      assert.ok(!refused.text.includes('value="wrong"') && !refused.text.includes(settings.client_secret));
      await isOff();
    }
    const saved = await chief.follow(await chief.fill(theirs, settings));
    assert.match(saved.text, /The identity provider accepted the client/);
    const { text } = await chief.get(theirs);
    assert.match(text, /State<\/dt><dd>On\./);
    assert.match(text, /The identity provider answered at /);
    assert.match(text, /People who sign in there<\/dt><dd>None yet/);
    // What was set stays where the next settings don't hold.
    assert.equal((await chief.fill(theirs, { ...settings, client_secret: 'wrong' })).status, 422);
    assert.match((await chief.get(theirs)).text, /State<\/dt><dd>On\./);
    await service.withUnitOfWork((work) =>
      connectIdentity(work, other.id, { issuer, subject: 'chief', userId: chief.userId }),
    );
    assert.match((await chief.get(theirs)).text, /People who sign in there<\/dt><dd>1/);
  });
});
