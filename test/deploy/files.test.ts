import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { settingsTable } from '../../src/platform/config/settings.ts';
import { projectFiles, read, root } from '../support/structure/source-tree.ts';
import { isSent, lineOf, shipped, stages } from './image.ts';

suite('the image', () => {
  test('has the Node that the tests run on', () => {
    for (const stage of stages) assert.match(stage, new RegExp(`^node:${manifest.dependencies.node}-`));
  });

  test('starts the service without npm or a shell, not as root', () => {
    const last = stages.at(-1)!;
    for (const word of ['ENTRYPOINT', 'CMD']) assert.ok(Array.isArray(JSON.parse(lineOf(last, word)!)), word);
    assert.equal(lineOf(last, 'USER'), 'node');
  });
});

test('Compose waits for a PostgreSQL that answers by TCP: by the socket it does while its database is being made', () => {
  const { services } = parse(read('deploy/docker-compose.yml')) as {
    services: { postgres: { healthcheck: { test: string[] } }; ars: { depends_on: object } };
  };
  const words = services.postgres.healthcheck.test;
  assert.equal(words[words.indexOf('-h') + 1], '127.0.0.1');
  assert.deepEqual(services.ars.depends_on, { postgres: { condition: 'service_healthy' } });
});

test('what is secret or is data gets neither into the image nor into the repository', () => {
  const [ofCompose, ...elsewhere] = ['deploy/secrets/ars_secret', 'data/secret', '.env', 'x.rejected.csv'];
  const inside = [
    'src/data/x',
    'examples/sync/.env',
    'docs/secrets/x',
    'client/node_modules/x',
    'cli/x.rejected.ndjson',
  ];
  for (const path of [ofCompose!, ...elsewhere, ...inside, '.git/config', 'deploy/ars.service', 'ars.dump'])
    assert.ok(!isSent(path), path);
  for (const path of projectFiles().filter((file) => shipped.includes(file.split('/')[0]!)))
    assert.ok(isSent(path), path);
  const compose = parse(read('deploy/docker-compose.yml')) as { secrets: Record<string, { file: string }> };
  for (const { file } of Object.values(compose.secrets)) assert.match(file, /^\.\/secrets\//);
  const ignored = read('.gitignore').split('\n');
  for (const line of ['/data/', '.env', 'deploy/secrets/', '*.rejected.csv']) assert.ok(ignored.includes(line), line);
});

suite('every setting', () => {
  const known = settingsTable.flatMap(({ name, secret }) => (secret === true ? [name, `${name}_FILE`] : [name]));
  const files = projectFiles().filter((file) => file.startsWith('deploy/') && !file.endsWith('.json'));
  for (const file of files)
    test(`that ${file} names is one`, () => {
      const named = [...read(file).matchAll(/\b(?:ARS_[A-Z_]+|DATABASE_URL(?:_FILE)?)\b/g)].map(([name]) => name);
      assert.deepEqual(
        named.filter((name) => !known.includes(name)),
        [],
      );
    });
});

test('the systemd unit is one, and is closed', (t) => {
  const unit = join(root, 'deploy/ars.service');
  const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
  if ((verified.error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT')
    return t.skip('systemd is not installed');
  assert.equal(verified.signal, null);
  const said = verified.stderr.split('\n').filter((line) => line.includes('ars.service') && !line.includes('/opt/ars'));
  assert.deepEqual(said, []);
  const rated = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', unit]);
  assert.equal(rated.status, 0, String(rated.stdout));
  const command = /^ExecStart=(.*)$/m.exec(read('deploy/ars.service'))![1]!;
  assert.equal(command, '/opt/ars/node_modules/.bin/node /opt/ars/cli/ars.ts serve');
});

test("commands under systemd have the unit's user, secrets and folder", () => {
  const script = read('deploy/ars-command');
  assert.equal(spawnSync('bash', ['-n', join(root, 'deploy/ars-command')]).status, 0);
  const unit = read('deploy/ars.service').split('\n');
  const properties = [...script.matchAll(/ -p (\S+)/g)].map(([, one]) => one!);
  assert.ok(properties.length > 10);
  for (const one of properties.filter((property) => !property.startsWith('WorkingDirectory=')))
    assert.ok(unit.includes(one), one);
  for (const line of unit.filter((one) =>
    /^(?:LoadCredential|StateDirectory|User|DynamicUser|EnvironmentFile)=/.test(one),
  ))
    assert.ok(properties.includes(line), line);
  const named = [...script.matchAll(/ -E (\w+)=/g)].map(([, name]) => name);
  assert.deepEqual(named.sort(), unit.flatMap((line) => /^Environment=(\w+)=/.exec(line)?.[1] ?? []).sort());
});
