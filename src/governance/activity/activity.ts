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

// Only acts have no status. Each of the two statements has its own index, audit_acts or audit_learner_acts.
const actsOf = (who: 'staff' | 'learners') =>
  statement(`audit.acts_of_${who}`)`
  select audit_id, at, actor, action, resource from audit
   where organisation_id = $1 and status is null and actor ${who === 'staff' ? '<>' : '='} 'learner'
     and at >= $2 and (at, audit_id) < ($3, $4::int8)
     and ($5::text is null or actor = $5) and ($6::text[] is null or action = any($6))
     and ($7::text is null or resource = $7 or starts_with(resource, $7 || ':'))
   order by at desc, audit_id desc limit $8`;

const acts = { staff: actsOf('staff'), learners: actsOf('learners') };

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
  return tx.query<Act>(acts[actor === 'learner' ? 'learners' : 'staff'], [
    organisationId,
    from,
    place.at,
    place.id,
    actor,
    actions,
    object,
    limit,
  ]);
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
