import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { readSettings, SettingsError, settingsTable } from '../../../src/platform/config/settings.ts';

const secret = 'a secret of the tests, longer than 32 characters';

const refused = (environment: Record<string, string>, message: string | RegExp) =>
  assert.throws(
    () => readSettings(environment),
    (error: Error) => {
      assert.ok(error instanceof SettingsError);
      if (typeof message === 'string') assert.equal(error.message, message);
      else assert.match(error.message, message);
      return true;
    },
  );

suite('a setting that there is not', () => {
  for (const given of ['ARS_PROT', 'ARS_DATADIR', 'ARS_SECRET_FIEL', 'ARS_DATABASE_URL', 'ARS_COLOUR_SCHEME'])
    test(`${given} is refused`, () =>
      refused(
        { [given]: 'x' },
        `There is no setting ${given}. Remove it, or use a name from docs/operate/configure.md.`,
      ));

  test('that begins otherwise, or is of the tests or of Kubernetes, is not ours', () => {
    readSettings({
      ARSENAL: 'x',
      PORT: '1',
      DATABASE_URLS: 'x',
      DATABASE_URI: 'x',
      DATABASES_URL: 'x',
      DATABASE_URL_TEST: 'x',
      DATABASE_URL_2: 'x',
      ARS_TEST_DATABASE_URL: 'x',
      ARS_SERVICE_HOST: '10.0.0.1',
      ARS_SERVICE_PORT_HTTP: '80',
      ARS_PORT_8080_TCP_ADDR: '10.0.0.1',
    });
  });

  test('every setting of the table is known', () => {
    for (const row of settingsTable) readSettings({ [row.name]: '' });
  });
});

suite('a setting in a file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ars-settings-'));
  after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'secret');
  const empty = join(folder, 'empty');
  const written = join(folder, 'written');
  await writeFile(file, `${secret}\n`);
  await writeFile(empty, '\n');

  test('is read without the line ends behind it, whoever wrote it', async () => {
    for (const text of [secret, `${secret}\n`, `${secret}\r\n`, `${secret}\n\n`, `\uFEFF${secret}\r\n\r\n`]) {
      await writeFile(written, text);
      assert.equal(readSettings({ ARS_SECRET_FILE: written }).secret, secret);
    }
    assert.deepEqual(readSettings({ ARS_PREVIOUS_SECRETS_FILE: file }).previousSecrets, [secret]);
    for (const bytes of [
      Buffer.from(`\uFEFF${secret}`, 'utf16le'),
      Buffer.from(secret, 'utf16le'),
      Buffer.from(`${secret}é`, 'latin1'),
    ]) {
      await writeFile(written, bytes);
      refused({ ARS_SECRET_FILE: written }, 'ARS_SECRET_FILE must name a file of UTF-8 text.');
    }
  });

  test('is refused beside its value, missing or empty, and for what is no secret', () => {
    refused({ ARS_SECRET: secret, ARS_SECRET_FILE: file }, 'Only one of ARS_SECRET and ARS_SECRET_FILE may be set.');
    refused({ ARS_SECRET_FILE: join(folder, 'none') }, 'ARS_SECRET_FILE must name a file that can be read (ENOENT).');
    refused({ DATABASE_URL_FILE: folder }, 'DATABASE_URL_FILE must name a file that can be read (EISDIR).');
    for (const url of ['postgres://ars:a#b/c@db:5432/ars', 'postgres://ars:x@[::1/ars'])
      refused(
        { DATABASE_URL: url },
        'DATABASE_URL must look like postgres://user:password@host:5432/ars. Write #, /, ? and @ in the password as %23, %2F, %3F and %40.',
      );
    const bySocket = 'postgres://ars@/ars?host=/run/postgresql';
    assert.equal(readSettings({ DATABASE_URL: bySocket, ARS_SECRET: 'x'.repeat(32) }).databaseUrl, bySocket);
    refused({ ARS_SECRET_FILE: empty }, 'ARS_SECRET_FILE must name a file that is not empty.');
    refused({ ARS_PORT_FILE: file }, /^There is no setting ARS_PORT_FILE\./);
  });
});

test('earlier secrets are separated by commas or lines, and each is as long as a secret', () => {
  const [one, two] = ['1'.repeat(32), '2'.repeat(32)];
  assert.deepEqual(readSettings({ ARS_PREVIOUS_SECRETS: `${one}\n ${two}\n` }).previousSecrets, [one, two]);
  assert.deepEqual(readSettings({ ARS_PREVIOUS_SECRETS: `${one}, ${two}` }).previousSecrets.slice(0, 2), [one, two]);
  // A secret that holds a comma itself.
  assert.deepEqual(readSettings({ ARS_PREVIOUS_SECRETS: secret }).previousSecrets, [secret]);
  const long = 'f'.repeat(64);
  assert.deepEqual(readSettings({ ARS_PREVIOUS_SECRETS: `${long}\n${one}` }).previousSecrets.slice(0, 2), [long, one]);
  for (const list of ['short\n', `${one}\nshort`, `${long}\nshort`, `${long}\n${one}\n${'2'.repeat(24)}`])
    refused(
      { ARS_PREVIOUS_SECRETS: list },
      'ARS_PREVIOUS_SECRETS must have at least 32 characters in each of its values.',
    );
});

test('a secret with line ends, or with spaces at its ends, is refused', () => {
  refused({ ARS_SECRET: `${'1'.repeat(64)}\n${'2'.repeat(24)}` }, 'ARS_SECRET must be on one line.');
  refused({ ARS_SECRET: ` ${secret}` }, 'ARS_SECRET must have no spaces at its ends.');
  assert.equal(readSettings({ ARS_SECRET: secret }).secret, secret);
});

test('a host, folder or file with a line end is refused', () => {
  for (const name of ['ARS_HOST', 'ARS_METRICS_HOST', 'ARS_DATA_DIR', 'ARS_ERASURES_FILE'])
    refused({ [name]: '/srv/ars\n' }, `${name} must be on one line.`);
});

suite('mail', () => {
  const from = { ARS_MAIL_FROM: 'Results <results@example.org>' };
  const serverOf = (url: string) => readSettings({ ...from, ARS_SMTP_URL: url }).mailServer;

  test('is off without a server', () => assert.equal(readSettings(from).mailServer, null));

  test('the server is read with its port, its login and how it is secured', () => {
    const host = 'mail.example.org';
    assert.deepEqual(serverOf(`smtps://${host}`), { host, port: 465, tls: 'always', login: null });
    assert.deepEqual(serverOf(`smtp://${host}`), { host, port: 587, tls: 'starttls', login: null });
    assert.deepEqual(serverOf('smtp://[::1]:25/?starttls=off'), { host: '::1', port: 25, tls: 'off', login: null });
    const login = { user: 'results@example.org', password: 'a:b/@%' };
    const written = `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}`;
    assert.deepEqual(serverOf(`smtp://${written}@${host}:2525`), { host, port: 2525, tls: 'starttls', login });
  });

  test('anything else stops the start, without repeating a password', () => {
    for (const url of [
      'mail.example.org',
      'https://mail.example.org',
      'smtp://',
      'smtp://user@mail.example.org',
      'smtp://user:100%@mail.example.org',
      'smtp://mail.example.org/queue',
      'smtp://mail.example.org?starttls=maybe',
      'smtps://mail.example.org?starttls=off',
      'smtp://mail.example.org:0',
      'smtp://mail example.org',
      'smtp://mail.example.org#x',
    ])
      refused({ ...from, ARS_SMTP_URL: url }, /^ARS_SMTP_URL must be such as smtps:[^%]*$/);
    refused({ ARS_SMTP_URL: 'smtp://mail.example.org' }, /^ARS_MAIL_FROM must be set/);
    for (const wrong of [
      'results',
      'a@b',
      'Name results@example.org',
      'A "B" <a@b.example>',
      'a@b.example\r\nBcc: c@d.example',
    ])
      refused({ ARS_MAIL_FROM: wrong }, /^ARS_MAIL_FROM must be an email address/);
  });
});
