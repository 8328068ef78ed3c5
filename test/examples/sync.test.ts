// Tier: full. Runs the examples in other languages.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { Backup } from '../../src/sandbox/chaos/backup.ts';
import { digestService, refusesCursors, restoresWithinWalk } from '../client/support/digest-service.ts';
import { under } from '../contract/support/expect.ts';
import type { Scenario } from '../support/scenario.ts';
import { recordResults, scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';

const run = promisify(execFile);
const portOf = (server: Server) => (server.address() as { port: number }).port;
const folder = new URL('../../examples/sync/', import.meta.url).pathname;

async function lacks(...programs: string[]): Promise<string | false> {
  for (const program of programs) {
    if (
      !(await run(program, ['--version']).then(
        () => true,
        () => false,
      ))
    )
      return `no ${program} on this machine`;
  }
  return false;
}

const held = async (path: string): Promise<object> =>
  (JSON.parse(await readFile(path, 'utf8')) as { results: object }).results;

const variants = [
  { name: 'sync.ts', command: [process.execPath, join(folder, 'sync.ts')], skip: false as string | false },
  { name: 'sync.py', command: ['python3', join(folder, 'sync.py')], skip: await lacks('python3') },
  { name: 'sync.php', command: ['php', join(folder, 'sync.php')], skip: await lacks('php') },
  { name: 'sync.sh', command: ['sh', join(folder, 'sync.sh')], skip: await lacks('curl', 'jq') },
];

/** What a consumer must hold: every completed result, as a walk from the beginning shows it. */
async function truth(scene: Scenario): Promise<object> {
  const found: Record<string, object> = {};
  for (let path: string | null = '/assessments?limit=500&status=completed'; path !== null;) {
    const { body } = (await scene.org.get(path)) as {
      body: { data: { assessment_id: string }[]; pagination: { next: string | null } };
    };
    for (const record of body.data) found[record.assessment_id] = record;
    path = body.pagination.next === null ? null : under(body.pagination.next);
  }
  return found;
}

suite('the examples that sync', async () => {
  const front = await digestService('');
  const service = await withService({ own: 'Has a public address.', settings: { ARS_BASE_URL: front.url } });
  front.behind = service.url;
  const work = await mkdtemp(join(tmpdir(), 'ars-sync-'));
  after(() => rm(work, { recursive: true, force: true }));

  const elsewhere: string[] = [];
  const stranger = createServer((request, response) => {
    elsewhere.push(request.url!);
    response.end('{"data":[{"assessment_id":"x","status":"completed"}],"pagination":{"next":null}}');
  });
  const mover = createServer((request, response) =>
    response.writeHead(302, { location: `http://localhost:${portOf(stranger)}${request.url}` }).end(),
  );
  for (const one of [stranger, mover]) {
    await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
    after(() => one.close());
  }

  for (const { name, command, skip } of variants) {
    test(`${name} takes its key pair to no other host`, { skip }, async () => {
      const [program, script] = command as [string, string];
      const api = `http://127.0.0.1:${portOf(mover)}/api/v1`;
      const env = { ...process.env, API: api, ACCESS_KEY_ID: 'id', SECRET_ACCESS_KEY: 'secret' };
      const place = join(work, `moved-${name}`);
      await assert.rejects(run(program, [script, place], { env }), { code: 1 });
      assert.deepEqual(elsewhere, []);
      const stored = await readFile(place, 'utf8').catch(() => '{}');
      assert.ok(!('x' in (JSON.parse(stored).results ?? {})), 'what a stranger answered was stored');
    });

    test(`${name} holds what a sweep shows, after every kind of change`, { skip }, async () => {
      const scene = await scenario(service);
      const place = join(work, name);
      const scratch = await mkdtemp(join(work, 'scratch-'));
      const env = {
        ...process.env,
        TMPDIR: scratch,
        API: `${front.url}/api/v1`,
        ACCESS_KEY_ID: scene.org.key.access_key_id,
        SECRET_ACCESS_KEY: scene.org.key.secret_access_key,
      };
      const sync = async (into = place) => (await run(command[0]!, [...command.slice(1), into], { env })).stdout;
      const cohort = await scene.group('C-1');
      const ana = await scene.learner('ana-1');
      const ben = await scene.learner('ben-1');
      await service.withUnitOfWork((unit) =>
        recordResults(
          unit,
          scene.org.id,
          Array.from({ length: 600 }, () => ({ ref: 'ben-1' })),
        ),
      );
      const first = await ana.completes();
      const second = await ben.completes();
      await sync();
      assert.deepEqual(await held(place), await truth(scene));

      await first.isAmended();
      await second.isWithdrawn();
      await ana.completes({ subject: 'english' });
      await ana.joins(cohort);
      await cohort.isRenamed('Another name');
      await sync();
      assert.deepEqual(await held(place), await truth(scene));
      assert.equal(Object.keys(await held(place)).length, 602);

      // The first poll after a walk has another since; from then on nothing new is a 304.
      await sync();
      const said = await sync();
      assert.match(said, /nothing has changed/);
      assert.deepEqual(await held(place), await truth(scene));

      // What curl and jq leave on the way is nobody else's, and goes with them.
      if (name === 'sync.sh') {
        assert.equal((await stat(place)).mode & 0o777, 0o600);
        assert.deepEqual(await readdir(scratch), []);
      }

      const backup = new Backup(service.app, scene.org.id);
      await backup.keep();
      const lost = await ana.completes();
      await sync();
      assert.ok(lost.id in (await held(place)));
      await backup.restore();
      await backup.close();
      await sync();
      assert.deepEqual(await held(place), await truth(scene), 'what is lost with a backup goes here, too');

      // Within a walk, the walk starts again: what it has shown by then may be lost.
      for (const hasWalked of [false, true]) {
        const within = new Backup(service.app, scene.org.id);
        after(() => within.close());
        await within.keep();
        await ana.completes();
        const another = `${place}-${hasWalked}`;
        if (hasWalked) {
          await sync(another);
          await service.withUnitOfWork((unit) => recordResults(unit, scene.org.id, Array(600).fill({ ref: 'ben-1' })));
        }
        restoresWithinWalk(front, () => within.restore());
        await sync(another);
        assert.equal(front.before, null, 'its walk had a second page');
        assert.deepEqual(await held(another), await truth(scene));
      }

      // After a lost connection, the copy is as before, and the next run completes it.
      await ana.completes();
      for (const fault of ['lost', 'cut'] as const) {
        front.interfere = () => fault;
        const stored = await readFile(place, 'utf8');
        const failure = await sync().catch((error: { code: number; stderr: string }) => error);
        front.interfere = null;
        assert.ok(typeof failure !== 'string' && failure.code > 0, 'the run ends with an error');
        if (/py|php/.test(name))
          assert.match(failure.stderr, /^The .* Nothing was stored\. Run the program again\.\n$/);
        assert.equal(await readFile(place, 'utf8'), stored);
      }
      await sync();
      assert.deepEqual(await held(place), await truth(scene));

      // It does not start again for ever.
      front.interfere = refusesCursors;
      front.passed.length = 0;
      await assert.rejects(sync(`${place}-never`), /again and again/);
      assert.equal(front.passed.filter((one) => one.includes('cursor=')).length, 4);
      front.interfere = null;
    });
  }
});
