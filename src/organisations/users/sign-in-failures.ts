import type { App } from '../../platform/app.ts';
import { auditInside } from '../../platform/audit/audit.ts';
import { type SignInFailure, signInFailures } from '../../platform/observability/metric-definitions.ts';
import { plainEmail } from './accounts.ts';

const statuses: Partial<Record<SignInFailure, number>> = { too_many_attempts: 429, identity_provider: 403 };

/** A request that failed to prove a person. `email` is null if an identity provider did not say who it was. */
type Attempt = { app: App; requestId: string; address: string; action: string; email: string | null };

/**
 * Records a failed sign-in in the log of requests without valid credentials (organisation 0), before the response. The
 * row contains keyed hashes of the account and the IP address, the hash of the account also if it does not exist.
 */
export async function auditFailure(
  { app, requestId, address, action, email }: Attempt,
  code: SignInFailure,
): Promise<void> {
  signInFailures.count(code);
  const hash = (purpose: 'address' | 'sign-in', text: string) => app.secrets.mac(purpose, text, 16);
  const account = email === null ? undefined : hash('sign-in', `account ${plainEmail(email)}`).toString('hex');
  await auditInside(app.db, {
    organisationId: 0,
    atMs: app.clock.nowMs(),
    requestId,
    actor: '-',
    action,
    resource: null,
    status: statuses[code] ?? 422,
    detail: JSON.stringify({ code, account }),
    address: hash('address', address),
  });
}
