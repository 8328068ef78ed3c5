// Tier: full. Kills the service in the middle of a history.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import type { Answer, Client } from '../contract/support/client.ts';
import { client } from '../contract/support/client.ts';
import { withService } from '../support/service.ts';
import type { MirrorOptions } from './world/mirror.ts';
import { Mirror, Shown } from './world/mirror.ts';
import type { ServiceProcess } from './world/processes.ts';
import { secret, serviceProcess } from './world/processes.ts';

const seed = process.env.LAW_SEED ?? String(process.hrtime.bigint());
const rounds = Number(process.env.LAW_ROUNDS ?? 12);
const writers = 6;

/** What one writer was told is done: its own learner, whom nobody else touches. */
type Told = { ref: string; name: string; groups: Set<string> };

test('law 1 and 4: the service is killed in the middle of a history; mirrors converge, nothing acknowledged is lost', async (context) => {
  context.diagnostic(`LAW_SEED=${seed}`);
  const settings = { ARS_SECRET: secret, ARS_RATE_LIMIT: '1000000', ARS_BASE_URL: 'http://results.test' };
  const service = await withService({ own: 'Has a public address.', settings });
  const org = await service.organisation({ plan: 'standard', credits: 10_000 });
  const environment = { ...settings, DATABASE_URL: service.databaseUrl };
  let running: ServiceProcess | null = await serviceProcess(environment);
  let kills = 0;

  /** Asks again until the service, whichever process it is by then, has answered: every request of this history may be repeated. */
  const persistent = (): Client => ({
    ...client('', org.key),
    async get(path, headers) {
      return this.api('GET', path, { headers });
    },
    async post(path, body, headers) {
      return this.api('POST', path, { body, headers });
    },
    async api(method, path, ask): Promise<Answer> {
      for (;;) {
        const { url } = await up();
        try {
          const answer = await client(url, org.key).api(method, path, ask);
          if (answer.status !== 503) return answer;
        } catch {
          /* The process was killed. */
        }
      }
    },
  });
  let restarting: Promise<ServiceProcess> | null = null;
  const up = async (): Promise<ServiceProcess> => restarting ?? running!;
  const kill = () => {
    restarting ??= (async () => {
      await running!.kill();
      kills++;
      running = await serviceProcess(environment);
      restarting = null;
      return running;
    })();
  };

  const consumer = persistent();
  const groups: string[] = [];
  for (const ref of ['K-1', 'K-2', 'K-3', 'K-4'])
    groups.push((await consumer.post('/groups', { type: 'cohort', ref, name: `Cohort ${ref}` })).body.data.id);
  const shown = new Shown();
  const consumers: MirrorOptions[] = [
    { path: '/learners', limit: 1, manner: 'linger' },
    { path: '/learners', limit: 7, manner: 'follow' },
    { path: '/learners', limit: 100, manner: 'since only' },
    { path: '/groups', limit: 1, manner: 'follow' },
    { path: '/assessments', limit: 7, manner: 'follow', query: `group_id=${groups[0]}` },
  ];
  const mirrors = consumers.map(
    (options, n) => new Mirror([consumer], seededRandom(`${seed} mirror ${n}`), shown, options),
  );
  const told: Told[] = [];
  let requests = 0;
  let over = false;

  const writing = Promise.all(
    Array.from({ length: writers }, async (_, n) => {
      const random = seededRandom(`${seed} writer ${n}`);
      for (let round = 0; round < rounds; round++) {
        const learner = told[n] ?? { ref: `K-${n}/${n}`, name: '', groups: new Set<string>() };
        const group = groups[Math.floor(random.float() * groups.length)]!;
        const way = round === 0 ? 0 : Math.floor(random.float() * 3);
        if (way === 0) {
          learner.name = `Somebody ${n} ${round}`;
          const answer = await consumer.post('/learners', { ref: learner.ref, full_name: learner.name });
          assert.ok(answer.status === 200 || answer.status === 201, answer.text);
        } else {
          const answer = await consumer.post(`/groups/${group}/members${way === 1 ? '' : '/remove'}`, {
            learner_refs: [learner.ref],
          });
          assert.equal(answer.status, 200, answer.text);
          if (way === 1) learner.groups.add(group);
          else learner.groups.delete(group);
        }
        told[n] = learner;
        if (++requests === Math.floor((writers * rounds) / 3) || requests === Math.floor((writers * rounds * 2) / 3))
          kill();
      }
    }),
  ).finally(() => {
    over = true;
  });
  await Promise.all([
    writing,
    ...mirrors.map(async (mirror) => {
      while (!over) await mirror.poll();
    }),
  ]);
  await restarting;

  assert.equal(kills, 2);
  for (const mirror of mirrors) await mirror.assertConverged();
  for (const learner of told) {
    const now = (await consumer.get(`/learners/${learner.ref}`)).body.data;
    assert.equal(now.full_name, learner.name, 'an acknowledged name was lost');
    assert.deepEqual(
      new Set(now.groups.map((group: { id: string }) => group.id)),
      learner.groups,
      'an acknowledged membership was lost',
    );
  }
  const [counts] = await service.app.db.query<Record<string, number>>(
    `
    select (select count(*) from event where organisation_id = $1 and payload like '%"added":["%') as added,
           (select count(*) from membership where organisation_id = $1) as joined,
           (select count(*) from event where organisation_id = $1 and payload like '%"removed":["%') as removed,
           (select count(*) from membership where organisation_id = $1 and left_position is not null) as gone,
           (select count(*) from invitation where organisation_id = $1) as invitations,
           (select 10000 - credits from organisation where organisation_id = $1) as spent`,
    [org.id],
  );
  assert.deepEqual(
    [counts!.added, counts!.removed, counts!.spent],
    [counts!.joined, counts!.gone, counts!.invitations],
    'law 4: a cause without its event or credit',
  );
  assert.equal(counts!.invitations, writers);
  await running.kill();
});
