import { type Tx, statement } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';

/** What an organisation has set up, and what its platforms have reached for the first time. */

export type Milestone = 'key' | 'request' | 'walk' | 'not_modified' | 'webhook' | 'received';

type Reached = Partial<Record<Milestone | 'made', Date>>;

const kept = statement('milestone.kept')`select kind, at from milestone where organisation_id = $1`;
const keep = statement('milestone.keep')`
  insert into milestone (organisation_id, kind, at) values ($1, $2, $3) on conflict (organisation_id, kind) do nothing`;
const keepLatest = statement('milestone.keep_latest')`
  insert into milestone (organisation_id, kind, at) values ($1, $2, $3)
  on conflict (organisation_id, kind) do update set at = excluded.at`;
const forget = statement('milestone.forget')`delete from milestone where organisation_id = $1 and kind = $2`;
const keys = statement('milestone.keys')`
  select (select min(created_at) from access_key where organisation_id = $1) as key,
         (select min(first_at) from key_use where organisation_id = $1) as request`;

/** The query reads only this many of the latest rows: a client reaches the milestones with its first calls. */
const latest = 5000;
const walks = statement('milestone.walks')`
  select min(at) filter (where status = 200 and detail like '%"more":false%') as walk,
         min(at) filter (where status = 304) as not_modified,
         min(at) filter (where status = 200 and at > $2) as received
    from (select at, status, action, detail from audit where organisation_id = $1 order by audit_id desc limit ${latest}) a
   where action = 'GET /assessments'`;
const deliveries = statement('milestone.deliveries')`
  select min(d.finished_at) as webhook from webhook_endpoint e,
         lateral (select finished_at, status from delivery d
                   where d.organisation_id = $1 and d.endpoint_id = e.endpoint_id
                   order by created_at limit ${latest}) d
   where e.organisation_id = $1 and d.status = 'succeeded'`;

export async function findMilestones(
  tx: Tx,
  organisationId: number,
): Promise<{ reached: Reached; isNew: Milestone[] }> {
  const known = await tx.query<{ kind: Milestone | 'made'; at: Date }>(kept, [organisationId]);
  const reached: Reached = Object.fromEntries(known.map(({ kind, at }) => [kind, at]));
  const isNew: Milestone[] = [];
  const see = (kind: Milestone, at: Date | null | undefined) => {
    if (reached[kind] !== undefined || at === null || at === undefined) return;
    reached[kind] = at;
    isNew.push(kind);
  };
  const [begun] = await tx.query<{ key: Date | null; request: Date | null }>(keys, [organisationId]);
  if (begun!.key !== null) reached.key = begun!.key;
  if (begun!.request !== null) reached.request = begun!.request;
  const open = reached.walk === undefined || reached.not_modified === undefined || reached.received === undefined;
  if (reached.request !== undefined && open) {
    const [seen] = await tx.query<Record<'walk' | 'not_modified' | 'received', Date | null>>(walks, [
      organisationId,
      reached.made ?? null,
    ]);
    see('walk', seen!.walk);
    see('not_modified', seen!.not_modified);
    see('received', seen!.received);
  }
  if (reached.webhook === undefined)
    see('webhook', (await tx.query<{ webhook: Date | null }>(deliveries, [organisationId]))[0]!.webhook);
  return { reached, isNew };
}

/** Stores reached milestones, because the log rows that prove them are deleted later. */
export async function keepMilestones(
  work: UnitOfWork,
  organisationId: number,
  reached: Reached,
  kinds: readonly Milestone[],
): Promise<void> {
  for (const kind of kinds) await work.tx.query(keep, [organisationId, kind, reached[kind]]);
}

/** Resets the milestone "received", so that it is reached when a client reads the new test result. */
export async function testResultMade(work: UnitOfWork, organisationId: number): Promise<void> {
  await work.tx.query(keepLatest, [organisationId, 'made', new Date(work.nowMs)]);
  await work.tx.query(forget, [organisationId, 'received']);
}

// Every part reads one or two rows.
const state = statement('organisation.getting_started')`
  select (select count(*) from (select from user_membership where organisation_id = $1 limit 2) m) > 1
           or exists (select from user_invitation where organisation_id = $1) as people,
         exists (select from learner_group where organisation_id = $1 and type = 'team') as teams,
         exists (select from organisation where organisation_id = $1 and contact is not null) as contact,
         exists (select from retention_policy where organisation_id = $1) as retention,
         exists (select from invitation where organisation_id = $1) as invited,
         exists (select from access_key where organisation_id = $1) as key`;

type SetUp = Record<'people' | 'teams' | 'contact' | 'retention' | 'invited' | 'key', boolean>;

/** What an owner has set up first. */
export const readSetUp = async (tx: Tx, organisationId: number): Promise<SetUp> =>
  (await tx.query<SetUp>(state, [organisationId]))[0]!;
