import type { App } from '../app.ts';
import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { Keyring } from '../keyring.ts';
import { SecretUnreadableError } from '../keyring.ts';
import { nilUuid } from '../uuid.ts';
import type { EndpointRow } from './store.ts';

/** What an endpoint's secret is encrypted for: it opens nowhere else. */
export function secretContext(organisationId: number, endpointId: string): string {
  return `${organisationId}/${endpointId}`;
}

/** An endpoint with its secrets, which the keyring encrypts for this endpoint alone. */
export type EndpointSecrets = Pick<
  EndpointRow,
  'organisation_id' | 'endpoint_id' | 'secret' | 'previous_secret' | 'previous_secret_until' | 'earlier_secrets'
>;
type Opened = { newest: string; earlier: { secret: string; untilMs: number }[] };

/** To decrypt costs more than to sign, and an endpoint's attempts need the same secrets. */
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
      // The secret was rotated because this one was lost with the service's secret: the new one signs alone.
      if (error instanceof SecretUnreadableError) return [];
      throw error;
    }
  });
  return { newest: app.keyring.decrypt(endpoint.secret, context), earlier };
}

/**
 * The secrets that sign now, the newest first: each earlier one signs too until its time is over.
 * @throws SecretUnreadableError when the service's secret is not the one that encrypted the newest
 */
export function signingSecrets(app: App, endpoint: EndpointSecrets, nowMs: number): string[] {
  const secrets = opened.get(endpoint) ?? open(app, endpoint);
  opened.set(endpoint, secrets);
  return [secrets.newest, ...secrets.earlier.filter(({ untilMs }) => untilMs > nowMs).map(({ secret }) => secret)];
}

const endpointsAtOnce = 500;
const secrets = statement(
  'prune.secrets',
  `
  select organisation_id, endpoint_id, secret, previous_secret, previous_secret_until, earlier_secrets from webhook_endpoint
   where organisation_id > $1 or organisation_id = $1 and endpoint_id > $2 order by organisation_id, endpoint_id limit ${endpointsAtOnce}`,
);
const putSecrets = statement(
  'prune.put_secrets',
  `
  update webhook_endpoint set secret = $4, previous_secret = $5, earlier_secrets = $6, previous_secret_until = case when $5::text is not null then previous_secret_until end
   where organisation_id = $1 and endpoint_id = $2 and secret = $3`,
);

/**
 * Encrypts again, under the service's current secret, what an earlier one encrypted, and forgets rotated secrets whose time is over.
 * @returns how many endpoints were changed
 */
export async function renewEncryption(app: App): Promise<number> {
  let changed = 0;
  let last = { organisation_id: 0, endpoint_id: nilUuid };
  for (;;) {
    const rows = await app.db.query<EndpointSecrets>(secrets, [last.organisation_id, last.endpoint_id]);
    for (const row of rows) {
      const context = secretContext(row.organisation_id, row.endpoint_id);
      const current = (text: string) => {
        try {
          return app.keyring.isCurrent(text) ? text : app.keyring.encrypt(app.keyring.decrypt(text, context), context);
        } catch (error) {
          // Its deliveries say so; the other endpoints' secrets need not wait for it.
          if (error instanceof SecretUnreadableError) return text;
          throw error;
        }
      };
      const over = row.previous_secret_until === null || row.previous_secret_until.getTime() <= app.clock.nowMs();
      const secret = current(row.secret);
      const previous = row.previous_secret === null || over ? null : current(row.previous_secret);
      const before = JSON.stringify(row.earlier_secrets);
      const earlier = JSON.stringify(
        row.earlier_secrets
          .filter(({ until }) => Date.parse(until) > app.clock.nowMs())
          .map((one) => ({ ...one, secret: current(one.secret) })),
      );
      if (secret === row.secret && previous === row.previous_secret && earlier === before) continue;
      await app.db.query(putSecrets, [row.organisation_id, row.endpoint_id, row.secret, secret, previous, earlier]);
      changed += 1;
    }
    if (rows.length < endpointsAtOnce) return changed;
    last = rows.at(-1)!;
  }
}

const byKey = statement(
  'webhook.secrets_by_key',
  "select split_part(secret, '.', 2) as key_id, count(*) as endpoints from webhook_endpoint group by 1",
);

/**
 * How many endpoints there are, and of how many the signing secret can't be decrypted with any listed service secret.
 */
export async function countLostSecrets(tx: Tx, keyring: Keyring): Promise<{ endpoints: number; lost: number }> {
  const rows = await tx.query<{ key_id: string; endpoints: number }>(byKey);
  const sum = (some: typeof rows) => some.reduce((total, row) => total + row.endpoints, 0);
  return { endpoints: sum(rows), lost: sum(rows.filter((row) => !keyring.knows(row.key_id))) };
}
