import { statement, type Tx } from '../../platform/db/database.ts';
import type { KeptReply } from '../../api/http/route.ts';
import { isJsonObject } from '../../platform/formats/json.ts';
import type { Secrets } from '../../platform/crypto/secrets.ts';

const kept = statement('idempotency.kept')`
  select key_sha256, reply from idempotency where organisation_id = $1 and reply is not null and key_sha256 > $2
   order by key_sha256 limit $3`;
const empty = statement('idempotency.empty')`
  update idempotency set reply = null, request_sha256 = '' where organisation_id = $1 and key_sha256 = any($2)`;

const rowsAtOnce = 1000;

type Sought = { ids: string[]; refs: string[] };

/**
 * Whether a response shows the learner. Most responses contain the learner's ID, but lists of references do not.
 * References are searched for only in responses with such a list, because elsewhere a reference may be an ordinary
 * word.
 */
function shows(reply: string, { ids, refs }: Sought): boolean {
  if (ids.some((id) => reply.includes(id))) return true;
  // The body is a JSON string inside JSON, so its quotes are escaped.
  return /\\"not_(?:found|members)\\":\[/.test(reply) && refs.some((ref) => reply.includes(`\\"${ref}\\"`));
}

/**
 * The stored responses of the last 24 hours that show a learner. A response that cannot be decrypted may show any
 * learner, so it is included with an empty text.
 */
export async function* keptReplies(
  tx: Tx,
  secrets: Secrets,
  organisationId: number,
  sought: Sought,
): AsyncGenerator<{ key_sha256: Buffer; reply: string }> {
  let after: Buffer = Buffer.alloc(0);
  for (;;) {
    const rows = await tx.query<{ key_sha256: Buffer; reply: Buffer }>(kept, [organisationId, after, rowsAtOnce]);
    for (const { key_sha256, reply } of rows) {
      const opened = secrets.open('idempotency', reply);
      if (opened === null || shows(opened, sought)) yield { key_sha256, reply: opened ?? '' };
    }
    if (rows.length < rowsAtOnce) return;
    after = rows.at(-1)!.key_sha256;
  }
}

const listsOfRefs = new Set(['added', 'already_members', 'not_found', 'removed', 'not_members']);

/** A stored response without references of other learners. */
export function replyFor(reply: string, { refs }: Sought): unknown {
  if (reply === '') return reply;
  const kept = JSON.parse(reply) as KeptReply;
  const body = kept.body === '' ? null : (JSON.parse(kept.body) as unknown);
  if (!isJsonObject(body)) return kept;
  const own = Object.entries(body).map(([name, value]) => [
    name,
    listsOfRefs.has(name) && Array.isArray(value) ? value.filter((ref) => refs.includes(ref as string)) : value,
  ]);
  return { ...kept, body: JSON.stringify(Object.fromEntries(own)) };
}

/**
 * Empties the stored responses that show a learner. Their idempotency keys stay in use for the rest of the 24 hours. A
 * repeated request therefore cannot restore the learner or repeat the change (docs/decisions/0011).
 */
export async function redactStoredResponses(
  tx: Tx,
  secrets: Secrets,
  organisationId: number,
  sought: Sought,
): Promise<void> {
  const found: Buffer[] = [];
  for await (const { key_sha256 } of keptReplies(tx, secrets, organisationId, sought)) found.push(key_sha256);
  if (found.length > 0) await tx.query(empty, [organisationId, found]);
}
