import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { build } from '../../../src/platform/config/version.ts';
import { ars } from '../../support/ars.ts';
import { atPort, freshDatabase, onCitus, withDatabase } from '../../support/postgres.ts';
import { thisServer, withService } from '../../support/service.ts';

/** The command line with these words: its exit code and what it says on standard error. */
function call(...words: string[]): Promise<Called> {
  return callIn({}, ...words);
}

/** What is written to standard output is given only where there is any. */
type Called = { code: number; said: string; out?: string };

async function callIn(environment: Record<string, string>, ...words: string[]): Promise<Called> {
  const { code, said, out } = await ars(words, environment);
  return { code, said, ...(out === '' ? {} : { out }) };
}

const id = '00000000-0000-4000-8000-000000000000';

suite('words of the command line', () => {
  test('a negative number is a value', async () => {
    assert.deepEqual(await call('organisation', 'credits', id, '--add', '-20'), {
      code: 2,
      said: 'ars: --reason is required\n',
    });
  });

  test('misuse is one sentence on one line, with exit code 2', async () => {
    const misuses = [
      ['organisation', 'credits', id, '--add', '--reason'],
      ['key', 'list', '--nope'],
      ['nothing'],
      ['organisation'],
      ['serve', '--role', 'king'],
      ['distribute', '--shards', '0'],
    ];
    for (const { code, said } of await Promise.all(misuses.map((words) => call(...words)))) {
      assert.equal(code, 2, said);
      assert.match(said, /^ars: [^\n]+\n$/);
    }
  });

  test('a database without Citus is not distributed', async () => {
    const { url } = await thisServer();
    const { code, said } = await callIn({ DATABASE_URL: url, ARS_SECRET: 'x'.repeat(32) }, 'distribute', '--dry-run');
    assert.equal(code, 1, said);
    assert.match(said, /^ars: (This PostgreSQL has no Citus|Citus is installed, but not in this database): [^\n]+\n$/);
  });

  test('no word finds what every object has', async () => {
    for (const word of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'])
      assert.deepEqual(await call(word), {
        code: 2,
        said: `ars: unknown command '${word}'. See ars --help.\n`,
      });
    assert.equal((await call('bank', 'constructor')).code, 2);
  });

  test('--version, and -h wherever --help is', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8'));
    assert.equal((await call('--version')).out, `ars ${version} (commit ${build.commit})\n`);
    assert.equal((await call('--version', '--json')).out, `${JSON.stringify({ version, commit: build.commit })}\n`);
    for (const words of [[], ['key'], ['key', 'create'], ['serve']]) {
      const [short, long] = await Promise.all([call(...words, '-h'), call(...words, '--help')]);
      assert.deepEqual(short, long);
      assert.match(short.out!, /Usage: ars/);
    }
  });

  test('a data folder that cannot be made is one sentence, and no endless loop', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ars-words-'));
    after(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, 'file');
    await writeFile(file, '');
    for (const path of ['/proc/x', '/proc/x/y', file, join(file, 'x'), join(folder, 'x'.repeat(300))]) {
      const { code, said } = await callIn({ ARS_DATA_DIR: path }, 'organisation', 'create', '--name', 'Riverside');
      assert.equal(code, 1, said);
      assert.match(said, /^ars: The data folder [^\n]+ can't be used, because [^\n]+: set ARS_DATA_DIR\.\n$/);
    }
  });

  test('a database that refuses is said in words', async () => {
    const { url } = await thisServer();
    const refused = async (change: (address: URL) => void, from = url) => {
      const address = new URL(from);
      change(address);
      const environment = {
        DATABASE_URL: address.href,
        ARS_SECRET: 'a secret of the tests, longer than 32 characters',
      };
      const { code, said } = await callIn(environment, 'organisation', 'list');
      assert.equal(code, 1);
      return said;
    };
    const wrongPassword = await refused((address) => (address.password = 'wrong'));
    assert.match(wrongPassword, /because it refused the user or the password \(28P01\)/);
    const noDatabase = await refused((address) => (address.pathname = '/none'));
    assert.match(noDatabase, /because it has no database of that name \(3D000\)/);
    const noServer = await refused(() => {}, atPort(url, 1));
    assert.match(noServer, /because nothing answers at that host and port \(ECONNREFUSED\)/);
    const noSocket = await refused((address) => address.searchParams.set('host', '/nowhere'));
    assert.match(noSocket, /because there is no socket of PostgreSQL in that folder \(ENOENT\)/);
  });

  test('a node of a cluster that refuses its coordinator is named, with what it says', { skip: onCitus }, async () => {
    const fresh = await freshDatabase(await thisServer());
    after(() => fresh.drop());
    // As Citus says it where the coordinator passes a statement on.
    const said =
      'connection to the remote node ars@db1.internal:5432 failed with the following error: FATAL:  no such role';
    await withDatabase(fresh.url, async (db) => {
      await db.query(`create function refuse() returns trigger language plpgsql as
                        $$begin raise exception '${said}' using errcode = '08006'; end$$`);
      await db.query('create trigger refused before insert on organisation execute function refuse()');
    });
    const environment = { DATABASE_URL: fresh.url, ARS_SECRET: 'a secret of the tests, longer than 32 characters' };
    const called = await callIn(environment, 'organisation', 'create', '--name', 'Riverside');
    assert.equal(called.code, 1);
    assert.match(called.said, /^ars: [^\n]+ does not get through to ars@db1\.internal:5432: no such role\. [^\n]+\n$/);
  });

  test('what there is not is named, whatever it is', async () => {
    const service = await withService({ own: 'Makes an insert fail.' });
    const { publicId } = await service.organisation();
    const within = ['--organisation', publicId];
    const hash = 'ab'.repeat(32);
    const looked: [string[], string][] = [
      [
        ['results', 'withdraw', ...within, id, '--reason', 'a test'],
        `result with the ID ${id} in this organisation, or it was withdrawn already`,
      ],
      [['results', 'history', ...within, id], `result with the ID ${id} in this organisation`],
      [
        ['learner', 'rename', ...within, '--learner-id', id, '--name', 'A'],
        `learner with the ID ${id} in this organisation`,
      ],
      [
        ['key', 'revoke', ...within, 'ak_none'],
        'key with the ID ak_none in this organisation; ars key list shows them',
      ],
      [
        ['key', 'revoke', ...within, 'Ana Silva\nof York'],
        'key with this ID in this organisation; ars key list shows them',
      ],
      [
        ['invitation', 'show', ...within, id],
        `invitation with the ID ${id} in this organisation; POST /learners gives it as invitation_id`,
      ],
      [
        ['evidence', 'edition', ...within, hash, '--out', 'none.pdf'],
        `stored edition with the hash ${hash} in this organisation`,
      ],
      [['organisation', 'show', id], `organisation with the ID ${id}; ars organisation list shows them`],
    ];
    const called = await Promise.all(looked.map(([words]) => callIn(service.environment, ...words)));
    assert.deepEqual(
      called,
      looked.map(([, what]) => ({ code: 1, said: `ars: No ${what}.\n` })),
    );
  });

  test('a port that is taken is said before anything is begun', async () => {
    const service = await withService({ own: 'Makes an insert fail.' });
    const folder = await mkdtemp(join(tmpdir(), 'ars-words-'));
    after(() => rm(folder, { recursive: true, force: true }));
    const environment = { ARS_DATA_DIR: join(folder, 'data'), ARS_PORT: new URL(service.url).port };
    assert.deepEqual(await callIn(environment, 'sandbox'), {
      code: 1,
      said: `ars: Port ${environment.ARS_PORT} of 127.0.0.1 is in use: end what uses it, or set ARS_PORT (EADDRINUSE).\n`,
    });
    assert.deepEqual(await readdir(folder), []);
  });

  test('secret accept: a database whose secret was lost is used with the present one from then on', async () => {
    const service = await withService({ own: 'Makes an insert fail.' });
    const [lost, present] = [service.app.settings.secret!, 'the secret after that one was lost, longer than 32'];
    const withSecret = (secret: string, ...words: string[]) =>
      callIn({ ...service.environment, ARS_SECRET: secret }, ...words);
    const refused = await withSecret(present, 'organisation', 'list');
    assert.equal(refused.code, 1);
    assert.match(
      refused.said,
      /^ars: ARS_SECRET is not the secret of this database.*ars secret accept starts with the new secret\.\n$/,
    );
    assert.deepEqual(await withSecret(present, 'secret', 'accept', '--json'), {
      code: 0,
      said: '',
      out: '{"accepted":true}\n',
    });
    assert.equal((await withSecret(present, 'organisation', 'list')).code, 0);
    assert.equal((await withSecret(lost, 'organisation', 'list')).code, 1);
  });
});
