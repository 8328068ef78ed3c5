import type { App } from '../../../platform/app.ts';
import { type Tx, statement } from '../../../platform/db/database.ts';
import { type Keyring, SecretUnreadableError } from '../../../platform/crypto/keyring.ts';

/** Binds an encrypted secret to its endpoint, so that the secret cannot be decrypted for another endpoint. */
export const secretContext = (organisationId: number, endpointId: string) => `${organisationId}/${endpointId}`;

/** A rotated secret, encrypted. `until`: when the secret stops signing (ISO 8601). */
export type EarlierSecret = { secret: string; until: string };

export type EndpointSecrets = {
  organisation_id: number;
  endpoint_id: string;
  secret: string;
  previous_secret: string | null;
  previous_secret_until: Date | null;
  /** Secrets that are older than `previous_secret`, the newest first. */
  earlier_secrets: EarlierSecret[];
};
type Opened = { newest: string; earlier: { secret: string; untilMs: number }[] };

/** Decrypted secrets are cached, because decrypting costs more than signing. */
const opened = new WeakMap<EndpointSecrets, Opened>();

function open(app: App, endpoint: EndpointSecrets): Opened {
  const context = secretContext(endpoint.organisation_id, endpoint.endpoint_id);
  const { previous_secret: previous, previous_secret_until: until, earlier_secrets } = endpoint;
  const rotated = earlier_secrets.map((one) => ({ secret: one.secret, untilMs: Date.parse(one.until) }));
  if (previous !== null && until !== null) rotated.unshift({ secret: previous, untilMs: until.getTime() });
  const earlier = rotated.flatMap(({ secret, untilMs }) => {
    try {
      return [{ secret: app.keyring.decrypt(secret, context), untilMs }];
    } catch (error) {
      // If an earlier secret cannot be decrypted, that secret is left out and the newest secret still signs.
      if (error instanceof SecretUnreadableError) return [];
      throw error;
    }
  });
  return { newest: app.keyring.decrypt(endpoint.secret, context), earlier };
}

/**
 * The secrets that sign now, the newest first.
 * @throws SecretUnreadableError when the newest secret was encrypted with another service secret
 */
export function signingSecrets(app: App, endpoint: EndpointSecrets, nowMs: number): string[] {
  const secrets = opened.get(endpoint) ?? open(app, endpoint);
  opened.set(endpoint, secrets);
  return [secrets.newest, ...secrets.earlier.filter(({ untilMs }) => untilMs > nowMs).map(({ secret }) => secret)];
}

const all = statement('webhook.all_secrets')`
  select organisation_id, endpoint_id, secret, previous_secret, previous_secret_until, earlier_secrets from webhook_endpoint
   order by organisation_id, endpoint_id`;
const putSecrets = statement('webhook.put_secrets')`
  update webhook_endpoint set secret = $4, previous_secret = $5, earlier_secrets = $6, previous_secret_until = case when $5::text is not null then previous_secret_until end
   where organisation_id = $1 and endpoint_id = $2 and secret = $3`;

/**
 * Encrypts all secrets with the current service secret, and deletes rotated secrets that no longer sign.
 * @returns the number of changed endpoints
 */
export async function renewEncryption({ db, keyring, clock }: App): Promise<number> {
  let changed = 0;
  const nowMs = clock.nowMs();
  for (const row of await db.query<EndpointSecrets>(all)) {
    const context = secretContext(row.organisation_id, row.endpoint_id);
    const current = (text: string) => {
      try {
        return keyring.isCurrent(text) ? text : keyring.encrypt(keyring.decrypt(text, context), context);
      } catch (error) {
        // If a secret can't be decrypted, it is kept, and deliveries to its endpoint report the error. The secrets of
        // other endpoints are still encrypted again.
        if (error instanceof SecretUnreadableError) return text;
        throw error;
      }
    };
    const { previous_secret: previous, previous_secret_until: until, earlier_secrets: earlier } = row;
    const isOver = until === null || until.getTime() <= nowMs;
    const renewed = [
      current(row.secret),
      previous === null || isOver ? null : current(previous),
      JSON.stringify(
        earlier.filter((one) => Date.parse(one.until) > nowMs).map((one) => ({ ...one, secret: current(one.secret) })),
      ),
    ];
    if (JSON.stringify(renewed) === JSON.stringify([row.secret, previous, JSON.stringify(earlier)])) continue;
    await db.query(putSecrets, [row.organisation_id, row.endpoint_id, row.secret, ...renewed]);
    changed += 1;
  }
  return changed;
}

const byKey = statement('webhook.secrets_by_key')`
  select split_part(secret, '.', 2) as key_id, count(*) as endpoints from webhook_endpoint group by 1`;

/** The number of endpoints, and how many have a signing secret that none of the listed service secrets can decrypt. */
export async function countLostSecrets(tx: Tx, keyring: Keyring): Promise<{ endpoints: number; lost: number }> {
  const rows = await tx.query<{ key_id: string; endpoints: number }>(byKey);
  const sum = (some: typeof rows) => some.reduce((total, row) => total + row.endpoints, 0);
  return { endpoints: sum(rows), lost: sum(rows.filter((row) => !keyring.knows(row.key_id))) };
}
