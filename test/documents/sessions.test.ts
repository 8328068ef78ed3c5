// Tier: full. Runs the shell blocks and programs of every page.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, extname, join } from 'node:path';
import { text as collect } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { planSandbox } from '../../src/sandbox/data/plan.ts';
import { seedOrganisation } from '../../src/sandbox/seed.ts';
import { program } from '../support/ars.ts';
import { type Block, blocksOf, misfit, valuesIn } from '../support/documents/blocks.ts';
import { userPages } from '../support/documents/documents.ts';
import { read, root, sources } from '../support/structure/source-tree.ts';
import { withService } from '../support/service.ts';

const run = promisify(execFile);

/** The command that runs a program, by the end of its name. */
const interpreters: Record<string, string[]> = {
  '.ts': [process.execPath],
  '.py': ['python3'],
  '.php': ['php'],
  '.java': ['java'],
  '.cs': ['dotnet', 'run'],
};

const isThere = (command: string) =>
  run('which', [command]).then(
    () => true,
    () => false,
  );

async function digestOf({
  API,
  ACCESS_KEY_ID,
  SECRET_ACCESS_KEY,
}: Record<'API' | 'ACCESS_KEY_ID' | 'SECRET_ACCESS_KEY', string>) {
  const headers = { 'X-Access-Key-Id': ACCESS_KEY_ID, 'X-Secret-Access-Key': SECRET_ACCESS_KEY };
  const { headers: answered } = await fetch(`${API}/assessments?since=2100-01-01T00:00:00Z`, { headers });
  return answered.get('X-Sync-Digest');
}

suite('the shell blocks and programs of each page', async () => {
  const service = await withService({
    own: 'Delivers webhooks.',
    role: 'all',
    settings: { ARS_RATE_LIMIT: '1000000', ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' },
  });
  const folder = await mkdtemp(join(tmpdir(), 'ars-pages-'));
  after(() => rm(folder, { recursive: true, force: true }));
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'ars'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
  await chmod(join(bin, 'ars'), 0o755);
  const client = join(folder, 'node_modules/@ars/client');
  await mkdir(client, { recursive: true });
  await copyFile(join(root, 'client/package.json'), join(client, 'package.json'));
  await run(process.execPath, [join(root, 'client/build.ts'), join(client, 'dist')]);
  const pages = new Map(userPages.map((page) => [page, blocksOf(page)]));
  const isShell = ({ language, file }: Block) => language === 'sh' && file === null;
  /** What runs programs: their own tests, and the shell blocks. */
  const runners = [
    ...(await sources('test/examples', 'test/integrations')).map(read),
    ...[...pages.values()]
      .flat()
      .filter(isShell)
      .map(({ text }) => text),
  ].join('\n');

  /** An empty folder with the examples, and an organisation with data. */
  const begin = async (page: string) => {
    const cwd = join(folder, page.replaceAll('/', '-'));
    await mkdir(cwd);
    await cp(join(root, 'examples'), join(cwd, 'examples'), { recursive: true });
    const { id, publicId, key } = await service.organisation();
    const plan = planSandbox({ seed: page, learners: 120, nowMs: service.app.clock.nowMs() });
    for await (const _ of seedOrganisation(service.app, { organisation_id: id, public_id: publicId }, plan, 0));
    const env = {
      ...process.env,
      NODE_TEST_CONTEXT: undefined,
      PATH: `${bin}:${dirname(process.execPath)}:${process.env.PATH}`,
      API: `${service.url}/api/v1`,
      ACCESS_KEY_ID: key.access_key_id,
      SECRET_ACCESS_KEY: key.secret_access_key,
    };
    return { cwd, env };
  };

  const session = async (shell: Block[], { cwd, env }: Awaited<ReturnType<typeof begin>>) => {
    const mark = '--- a block of the page begins ---';
    const script = shell.map(({ text }) => `printf '\\n%s\\n' '${mark}'\n${text}\n`).join('');
    const child = spawn('bash', ['-eu'], { cwd, env, stdio: 'pipe', detached: true });
    const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), 90_000);
    // What the session left running holds its output open.
    child.once('exit', () => {
      try {
        process.kill(-child.pid!, 'SIGKILL');
      } catch {}
    });
    child.stdin.end(script);
    const [out, said, [code]] = await Promise.all([collect(child.stdout), collect(child.stderr), once(child, 'exit')]);
    clearTimeout(timer);
    const outputs = out.split(`\n${mark}\n`).slice(1);
    const last = shell[outputs.length - 1];
    assert.equal(
      code,
      0,
      `${last?.page}:${last?.line} ended with ${code}: ${said.slice(-2000)}\n${outputs.at(-1)?.slice(-1000)}`,
    );
    return outputs;
  };

  for (const [page, blocks] of pages) {
    const shell = blocks.filter(isShell);
    const programs = blocks.filter(({ file }) => file !== null && !runners.includes(basename(file)));
    if (shell.length + programs.length === 0) continue;
    test(page, async (t) => {
      const place = await begin(page);
      const outputs = shell.length === 0 ? [] : await session(shell, place);
      for (const { outputOf, text, line } of blocks) {
        if (outputOf === null) continue;
        const values = valuesIn(outputs[shell.indexOf(outputOf)]!);
        const misfits = values.map((value) => misfit(JSON.parse(text), value));
        assert.ok(misfits.includes(null), `${page}:${line}: ${misfits[0] ?? 'the block prints no JSON'}`);
      }
      if (programs.length === 0) return;
      // Some programs read a copy that another program has made.
      await run(process.execPath, ['examples/sync/sync.ts', 'results.json'], place);
      const digest = await digestOf(place.env);
      for (const { file } of programs) {
        const [command, ...words] = interpreters[extname(file!)]!;
        await t.test(file!, { skip: (await isThere(command!)) ? false : `no ${command} on this machine` }, async () => {
          const { stdout } = await run(command!, [...words, file!, 'results.json'], { ...place, timeout: 60_000 });
          if (basename(file!).startsWith('digest')) assert.equal(stdout.trim(), digest);
          else assert.match(stdout, /\w/);
        });
      }
    });
  }
});
