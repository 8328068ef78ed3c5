import { request } from 'undici';
import { refPrefix, type Stage, stageGroup } from './stage.ts';

/** Records written through the API, as texts. The texts have no IDs, because a restored record gets a new ID. */
export type Facts = ReadonlySet<string>;

/** `made`: facts that the consumer has added. `ended`: facts from before the consumer began that it has removed. */
export type Written = { made: string[]; ended: string[] };

type Group = { type: string; ref: string; name: string; active: boolean };
type Learner = { ref: string | null; groups: Group[] };
type Endpoint = { url: string; event_types: string[] };

const nameOf = ({ type, ref }: Pick<Group, 'type' | 'ref'>) => `${type} ${ref}`;

export function factsAt(api: string, stage: Stage): () => Promise<Facts> {
  const headers = {
    'x-access-key-id': stage.ownKey.access_key_id,
    'x-secret-access-key': stage.ownKey.secret_access_key,
  };
  async function* listed<Entry>(path: string): AsyncGenerator<Entry> {
    for (let next: string | null = `${api}${path}`; next !== null;) {
      const reply = await request(next, { headers });
      const text = await reply.body.text();
      if (reply.statusCode !== 200) throw new Error(`the service answered ${reply.statusCode}`);
      const body = JSON.parse(text) as { data: Entry[]; pagination: { next: string | null } };
      yield* body.data;
      ({ next } = body.pagination);
    }
  }
  return async () => {
    const facts = new Set<string>();
    for await (const group of listed<Group>('/groups?limit=500'))
      if (nameOf(group) !== nameOf(stageGroup))
        facts.add(`group ${nameOf(group)}: ${group.name}${group.active ? '' : ', archived'}`);
    for await (const { ref, groups = [] } of listed<Learner>('/learners?limit=500')) {
      if (ref === null || ref === undefined) continue;
      if (!ref.startsWith(refPrefix)) facts.add(`learner ${ref}`);
      for (const group of groups) facts.add(`membership of ${ref} in ${nameOf(group)}`);
    }
    for await (const { url, event_types } of listed<Endpoint>('/webhooks'))
      facts.add(`webhook endpoint ${url}: ${[...event_types].sort().join(', ')}`);
    return facts;
  };
}

export function writtenBy(stage: Stage, before: Facts, now: Facts): Written {
  const end = ` in ${nameOf(stageGroup)}`;
  // The scenarios themselves add learners to the group and remove some, so these memberships do not count.
  const isOfStage = (fact: string) => fact.startsWith(`membership of ${refPrefix}`) && fact.endsWith(end);
  const left = new Set(stage.left.map((ref) => `membership of ${ref}${end}`));
  return {
    made: [...now].filter((fact) => !before.has(fact) && !isOfStage(fact)),
    ended: [...before].filter((fact) => !now.has(fact) && !left.has(fact)),
  };
}

export function lacking({ made, ended }: Written, now: Facts): string[] {
  return [...made.filter((fact) => !now.has(fact)), ...ended.filter((fact) => now.has(fact))];
}
