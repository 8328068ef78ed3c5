import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { limits } from '../../../src/platform/config/limits.ts';
import { read } from '../../support/structure/source-tree.ts';
import { systemRandom } from '../../../src/platform/crypto/random.ts';
import { hashPassword, matching, passwordFault } from '../../../src/organisations/users/password.ts';
import { base32, makeRecoveryCodes, recoveryHash, totpCode, totpStep } from '../../../src/organisations/users/totp.ts';

suite('passwords', () => {
  test('are kept as argon2id with their parameters, and match however letters are composed', async () => {
    const stored = await hashPassword('Zürich im späten Mai', systemRandom);
    assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    assert.deepEqual(await matching('Zürich im späten Mai'.normalize('NFD'), [stored, null]), [true, false]);
    assert.deepEqual(await matching('zürich im späten Mai', [stored]), [false]);
    assert.deepEqual(await matching('anything', []), []);
  });

  test('an old hash goes on with its own parameters', async () => {
    const other = '$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$';
    const { argon2Sync } = await import('node:crypto');
    const hash = argon2Sync('argon2id', {
      message: 'old words are good',
      nonce: Buffer.alloc(16),
      memory: 8,
      passes: 1,
      parallelism: 1,
      tagLength: 32,
    });
    assert.deepEqual(await matching('old words are good', [other + hash.toString('base64url')]), [true]);
  });

  test('are refused if they are among the 3,000 commonest that are long enough', () => {
    const common = read('src/organisations/users/common-passwords.txt').trimEnd().split('\n');
    const long = common.filter((one) => one.length >= limits.passwordLeastChars);
    assert.ok(long.length >= 3000);
    for (const one of long) assert.match(passwordFault(one.toUpperCase(), []) ?? '', /guessed first/);
  });

  const refused = [
    'short',
    'elevenchars',
    'password1234',
    'Password2026!!',
    '123456789012',
    'qwertyuiopas',
    'zzzzzzzzzzzzzz',
    'letmeinletmein',
    'ana.silva@college',
    'Northfield99',
    'x'.repeat(1001),
  ];
  for (const one of refused)
    test(`${one.slice(0, 20)} is refused`, () =>
      assert.notEqual(passwordFault(one, ['ana.silva@college.example', 'Northfield College']), null));

  for (const one of [
    'correct horse battery staple',
    '839 working umbrellas',
    'пять коротких слов',
    '730174926591',
    'x7#'.repeat(5) + 'more',
  ])
    test(`${one} is taken`, () => assert.equal(passwordFault(one, ['ana@college.example']), null));
});

suite('codes', () => {
  // RFC 6238, appendix B, the last six of eight digits.
  const secret = base32(Buffer.from('12345678901234567890'));
  for (const [seconds, code] of [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_234_567_890, '005924'],
    [20_000_000_000, '353130'],
  ] as const)
    test(`the RFC's vector at ${seconds}`, () => assert.equal(totpCode(secret, seconds * 1000), code));

  test('a neighbour counts, what was used and what came before it does not', () => {
    const at = 1_111_111_109_000;
    const step = Math.floor(at / 30_000);
    assert.equal(totpStep(secret, totpCode(secret, at - 30_000), at, 0), step - 1);
    assert.equal(totpStep(secret, totpCode(secret, at + 30_000), at, 0), step + 1);
    assert.equal(totpStep(secret, totpCode(secret, at - 60_000), at, 0), null);
    assert.equal(totpStep(secret, totpCode(secret, at), at, step), null);
    assert.equal(totpStep(secret, totpCode(secret, at - 30_000), at, step), null);
  });

  test('for recovery have at least 112 random bits, and those of release 1.0.0 still count', () => {
    const codes = makeRecoveryCodes(systemRandom);
    for (const code of codes) {
      assert.match(code, /^([a-z2-7]{4}-){5}[a-z2-7]{4}$/);
      assert.ok(code.replaceAll('-', '').length * 5 >= 112);
      assert.deepEqual(recoveryHash(code.toUpperCase().replaceAll('-', ' ')), recoveryHash(code));
    }
    assert.equal(new Set(codes).size, codes.length);
    assert.notEqual(recoveryHash('abcd-efgh-ijkl-mnop'), null);
    assert.equal(recoveryHash(codes[0]!.slice(0, -1)), null);
  });
});
