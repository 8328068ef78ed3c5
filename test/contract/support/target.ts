import { after } from 'node:test';
import { createGroup } from '../../../src/organisations/groups/create.ts';
import { addMembers } from '../../../src/organisations/groups/members.ts';
import { systemRandom } from '../../../src/platform/crypto/random.ts';
import type { Group, Learner } from '../../support/scenario.ts';
import { Scenario } from '../../support/scenario.ts';
import type { TestOrganisation, TestService } from '../../support/service.ts';
import { withService } from '../../support/service.ts';
import type { Ask, Client, Key } from './client.ts';
import { client, hangUp } from './client.ts';

/**
 * What the contract suite runs against: the service at ARS_CONTRACT_BASE_URL with ARS_CONTRACT_KEY and
 * ARS_CONTRACT_SECRET (test/contract/support/run.ts sets them), or one of its own, which also has an operator.
 */
export type Target = Client & {
  key: Key;
  /** Null for a service that is only reached by its address; what needs an operator is then left out. */
  local: Local | null;
  /** A group of type team with a member; null when the organisation has none. */
  teamId: string | null;
};

export type Local = {
  service: TestService;
  org: TestOrganisation;
  scene: Scenario;
  /** Another organisation of the same service. */
  foreign: TestOrganisation;
  learners: Learner[];
  cohort: Group;
};

/** Asks again after a 429, which a suite that runs against a limited service meets. */
function patient(inner: Client): Client {
  const api = async (method: string, path: string, given: Ask = {}) => {
    for (;;) {
      const answer = await inner.api(method, path, given);
      if (answer.status !== 429) return answer;
      await new Promise((done) => {
        setTimeout(done, Number(answer.headers['retry-after'] ?? 1) * 1000);
      });
    }
  };
  return {
    ...inner,
    api,
    get: (path, headers) => api('GET', path, { headers }),
    post: (path, body, headers) => api('POST', path, { body, headers }),
    patch: (path, body) => api('PATCH', path, { body }),
    delete: (path) => api('DELETE', path),
  };
}

async function localTarget(): Promise<Target> {
  const service = await withService();
  const org = await service.organisation();
  const foreign = await service.organisation({ name: 'Another College' });
  const scene = new Scenario(service, org);
  const cohort = await scene.group('SEED-C1');
  const course = await scene.group('SEED-COURSE', 'course');
  const learners: Learner[] = [];
  for (let i = 0; i < 6; i++) {
    const learner = await scene.learner(`seed-${i}`, `Seed Learner ${'ABCDEF'[i]}`);
    learners.push(learner);
    await learner.completes({ subject: 'maths', level: i, assessed_at: `2026-01-0${i + 1}T09:30:00Z` });
    await learner.completes({ subject: 'digital', level: 5 - i, assessed_at: `2026-02-0${i + 1}T09:30:00.123Z` });
  }
  await (await learners[0]!.completes({ subject: 'english' })).isWithdrawn();
  await cohort.adds(...learners.slice(0, 4));
  await course.adds(...learners.slice(2));
  const { row: team } = await service.withUnitOfWork((work) =>
    createGroup(work, org.id, { type: 'team', ref: 'SEED-T1', name: 'Team one' }),
  );
  await service.withUnitOfWork((work) => addMembers(work, org.id, team.group_id, ['seed-0'], { managingTeams: true }));
  return { ...org, local: { service, org, scene, foreign, learners, cohort }, teamId: team.group_id };
}

/** The target of this process's tests; call it once in a file. */
export async function contractTarget(): Promise<Target> {
  const { ARS_CONTRACT_BASE_URL: baseUrl, ARS_CONTRACT_KEY: keyId, ARS_CONTRACT_SECRET: secret } = process.env;
  if (baseUrl === undefined || keyId === undefined || secret === undefined) return localTarget();
  after(() => hangUp());
  const key = { access_key_id: keyId, secret_access_key: secret };
  const remote = patient(client(baseUrl, key));
  const teams = await remote.get('/groups?type=team&limit=1');
  return { ...remote, key, local: null, teamId: teams.body?.data?.[0]?.id ?? null };
}

/** A reference that no other run has used. */
export function freshRef(prefix: string): string {
  return `${prefix}-${systemRandom.bytes(5).toString('hex')}`;
}
