import { type Tx, statement } from '../../platform/db/database.ts';
import { isUuid } from '../../platform/crypto/random.ts';
import declared from './sentences.json' with { type: 'json' };

/**
 * The audit log as sentences: what people, the operator and the service did. Requests of platforms are in the request
 * log. sentences.json declares the sentence of each action; `{}` marks the object.
 */

const sentences: Record<string, Record<string, string>> = declared;

/** The kinds of objects, by which the page filters. */
export const actKinds: readonly string[] = Object.keys(sentences);

export const actSentences: ReadonlyMap<string, { kind: string; sentence: string }> = new Map(
  Object.entries(sentences).flatMap(([kind, of]) =>
    Object.entries(of).map(([action, sentence]) => [action, { kind, sentence }] as const),
  ),
);

export type Act = {
  audit_id: number;
  at: Date;
  actor: string;
  action: string;
  resource: string | null;
};

export type ActFilter = {
  actor: string | null;
  kind: string | null;
  /** The ID of an object. */
  object: string | null;
  from: Date;
  /** Exclusive. */
  to: Date;
};

const columns = 'audit_id, at, actor, action, resource';
// Only acts have no status.
const within = `organisation_id = $1 and status is null and at >= $2 and (at, audit_id) < ($3, $4::int8)`;
const fits = `($5::text is null or actor = $5) and ($6::text[] is null or action = any($6))
     and ($7::text is null or resource = $7 or starts_with(resource, $7 || ':'))`;
const byWhom = `(actor = 'learner') = ($5 is not distinct from 'learner')`;
const newest = 'order by at desc, audit_id desc limit $8';

/** Each statement has its own index, so that a filter that matches few acts does not read all of them. */
const acts = {
  staff: statement('audit.acts_of_staff')`
  select ${columns} from audit where ${within} and actor <> 'learner' and ${fits} ${newest}`,
  learners: statement('audit.acts_of_learners')`
  select ${columns} from audit where ${within} and actor = 'learner' and ${fits} ${newest}`,
  person: statement('audit.acts_of_person')`
  select ${columns} from audit where ${within} and actor <> 'learner' and actor = $5 and ${fits} ${newest}`,
  kind: statement('audit.acts_of_kind')`
  select a.* from unnest($6::text[]) as k(action) cross join lateral (
    select ${columns} from audit where ${within} and action = k.action and ${byWhom} and ${fits} ${newest}) a ${newest}`,
  object: statement('audit.acts_on_object')`
  select ${columns} from audit
   where ${within} and resource collate "C" >= $7 and resource collate "C" < $7 || ';' and ${byWhom} and ${fits} ${newest}`,
};

/** Acts of learners are found only by the actor `learner`. @returns the newest acts first, from the place `after` on */
export function findActs(
  tx: Tx,
  organisationId: number,
  { actor, kind, object, from, to }: ActFilter,
  after: { at: Date; id: number } | null,
  limit: number,
): Promise<Act[]> {
  const actions = kind === null ? null : Object.keys(sentences[kind] ?? {});
  const place = after ?? { at: to, id: 0 };
  const ofActor = actor === null ? 'staff' : actor === 'learner' ? 'learners' : 'person';
  const by = object !== null ? 'object' : kind !== null && ofActor !== 'person' ? 'kind' : ofActor;
  return tx.query<Act>(acts[by], [organisationId, from, place.at, place.id, actor, actions, object, limit]);
}

/** The object of an act, and what the audit row says of its result, such as `3 invited, 0 again, 1 refused`. */
export function objectOf({ resource }: Pick<Act, 'resource'>): { id: string | null; result: string } {
  const [, id = '', result = ''] = /^(\S+?)(?:: (.*))?$/.exec(resource ?? '') ?? [];
  const isId = isUuid(id) || /^ARS\w+$/.test(id);
  return isId ? { id, result } : { id: null, result: resource ?? '' };
}

/** From where an act came. */
export function originOf({ actor, action }: Pick<Act, 'actor' | 'action'>): string {
  if (action.includes(' /console')) return 'Console';
  if (actor === 'learner') return 'Learner’s page';
  return actor === 'operator' ? 'Command line' : 'Background job';
}
