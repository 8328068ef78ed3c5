import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { seededRandom, systemRandom } from '../../../src/platform/crypto/random.ts';
import { createKeyring, SecretUnreadableError } from '../../../src/platform/crypto/keyring.ts';
import { newSecret } from '../../../src/integrations/webhooks/http/signing.ts';

const random = seededRandom('secret.test');
const keyring = createKeyring(['service secret'], random);

suite('a new signing secret', () => {
  test('is whsec_ and 32 bytes, another each time', () => {
    const made = newSecret(systemRandom);
    assert.match(made, /^whsec_[\w-]{43}$/);
    assert.equal(Buffer.from(made.slice(6), 'base64url').length, 32);
    assert.notEqual(newSecret(systemRandom), made);
  });
});

suite('encryption at rest', () => {
  test('gives back what was encrypted, for any text and context', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (plain, context) => {
        assert.equal(keyring.decrypt(keyring.encrypt(plain, context), context), plain);
      }),
    );
  });

  test('never shows the secret, nor twice the same text', () => {
    const secret = newSecret(random);
    const [one, other] = [keyring.encrypt(secret, 'a'), keyring.encrypt(secret, 'a')];
    assert.notEqual(one, other);
    assert.ok(!one.includes(secret.slice(6)));
  });

  test('refuses the text in another row', () => {
    assert.throws(
      () => keyring.decrypt(keyring.encrypt('x', 'organisation/endpoint-1'), 'organisation/endpoint-2'),
      SecretUnreadableError,
    );
  });

  test('refuses the text if any character is altered or cut', () => {
    const encrypted = keyring.encrypt('whsec_x', 'a');
    for (let at = 0; at < encrypted.length; at++) {
      const altered = `${encrypted.slice(0, at)}${encrypted[at] === 'A' ? 'B' : 'A'}${encrypted.slice(at + 1)}`;
      // The last characters of base64url hold spare bits, which decode to the same bytes.
      const same = Buffer.from(altered.split('.').at(-1)!, 'base64url').equals(
        Buffer.from(encrypted.split('.').at(-1)!, 'base64url'),
      );
      if (at < encrypted.lastIndexOf('.') || !same)
        assert.throws(() => keyring.decrypt(altered, 'a'), SecretUnreadableError, String(at));
    }
    assert.throws(() => keyring.decrypt(encrypted.slice(0, -2), 'a'), SecretUnreadableError);
    assert.throws(() => keyring.decrypt('whsec_plain', 'a'), SecretUnreadableError);
  });

  test('reads with the older service secret after a rotation, and encrypts with the newer one', () => {
    const older = keyring.encrypt('whsec_x', 'a');
    const rotated = createKeyring(['newer service secret', 'service secret'], random);
    assert.equal(rotated.decrypt(older, 'a'), 'whsec_x');
    assert.equal(rotated.isCurrent(older), false);
    const newer = rotated.encrypt('whsec_x', 'a');
    assert.equal(rotated.isCurrent(newer), true);
    assert.throws(() => keyring.decrypt(newer, 'a'), /another service secret.*ARS_SECRET/);
  });

  test('derives the same key from the same service secret, in every process', () => {
    assert.equal(
      keyring.decrypt('1.75c_s3eb.06RR0yDVLvi9bTa-.ngpoxQi2qvogptu8h-r8mebSToxhC2TPv_znTA', 'organisation/endpoint'),
      'whsec_stored',
    );
  });

  test('needs a service secret', () => {
    assert.throws(() => createKeyring([], random), RangeError);
    assert.throws(() => createKeyring(['a', ''], random), RangeError);
  });
});
