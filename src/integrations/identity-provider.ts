import type * as OpenId from 'openid-client';
import type { App } from '../platform/app.ts';
import { limits } from '../platform/config/limits.ts';
import type { Provider } from '../organisations/users/single-sign-on.ts';
import { checkUrl } from '../platform/validation/networks.ts';
import { createResolver } from './webhooks/http/resolve.ts';
import { openAgent } from './webhooks/http/send.ts';

/** The service calls an organisation's identity provider only during a sign-in or when its settings are saved. */

/** The URL to which every identity provider redirects the browser after sign-in. */
export const callbackOf = (baseUrl: string): string => `${baseUrl}/console/sso/callback`;

/** The state of a sign-in at the provider, sealed in a cookie of the browser. */
export type Journey = { state: string; nonce: string; verifier: string };

/** `seenMs`: when the person last entered the password at the provider (`auth_time`); null if unknown. */
export type Claims = { subject: string; name: string | null; seenMs: number | null };

/** Raised if the provider cannot be reached or its answer is not valid. */
export class ProviderFailed extends Error {}

/** Raised if a fresh proof was asked for, but the answer does not say when the person entered the password. */
export class NoAuthTime extends ProviderFailed {
  readonly code = 'no_auth_time';
}

/** Raised if the person entered the password too long ago for a fresh proof, or a clock is wrong. */
export class StaleProof extends ProviderFailed {
  readonly code = 'stale_proof';
}

/** The organisation chooses this URL, so requests follow the rules of webhook URLs, with time and size limits. */
function boundedFetch(app: App): OpenId.CustomFetch {
  const allowNetworks = app.settings.webhookAllowNetworks;
  return async (url, options) => {
    const verdict = checkUrl(url, { allowNetworks });
    if (!verdict.ok) throw new ProviderFailed(verdict.reason);
    const { fetch } = await import('undici');
    const agent = openAgent(createResolver(), allowNetworks, limits.providerMs);
    try {
      const reply = await fetch(verdict.url, {
        ...(options as object),
        redirect: 'manual',
        dispatcher: agent,
        signal: AbortSignal.timeout(limits.providerMs),
      });
      const parts: Uint8Array[] = [];
      let bytes = 0;
      for await (const part of reply.body ?? []) {
        bytes += (part as Uint8Array).length;
        if (bytes > limits.providerBytes) throw new ProviderFailed('the answer is too large');
        parts.push(part as Uint8Array);
      }
      const empty = [101, 204, 205, 304].includes(reply.status);
      const headers = Object.fromEntries(reply.headers);
      // The body has been decoded already, so this header would describe it wrongly.
      delete headers['content-encoding'];
      return new Response(empty ? null : Buffer.concat(parts), { status: reply.status, headers });
    } finally {
      await agent.destroy();
    }
  };
}

/** The library is loaded at the first sign-in, because few processes need it. */
const openId = () => import('openid-client');

type Kept = { configuration: Promise<OpenId.Configuration>; sinceMs: number; forMs: number };

const keptOf = new WeakMap<App['db'], Map<string, Kept>>();

/** Returns the provider's discovered configuration. Sign-ins at the same time share one discovery. */
function configurationOf(app: App, provider: Provider): Promise<OpenId.Configuration> {
  const kept = keptOf.get(app.db) ?? new Map<string, Kept>();
  keptOf.set(app.db, kept);
  const key = JSON.stringify([provider.issuer, provider.client_id, provider.client_secret]);
  const known = kept.get(key);
  const agedMs = app.clock.nowMs() - (known?.sinceMs ?? 0);
  if (known !== undefined && agedMs >= 0 && agedMs < known.forMs) return known.configuration;
  const sinceMs = app.clock.nowMs();
  const asked: Kept = { configuration: discover(app, provider), sinceMs, forMs: limits.providerKeptMs };
  asked.configuration.catch(() => {
    asked.sinceMs = app.clock.nowMs();
    asked.forMs = limits.providerFailedMs;
  });
  kept.delete(key);
  kept.set(key, asked);
  if (kept.size > limits.providersKept) kept.delete(kept.keys().next().value!);
  return asked.configuration;
}

async function discover(app: App, provider: Provider): Promise<OpenId.Configuration> {
  const oidc = await openId();
  return oidc.discovery(
    new URL(provider.issuer),
    provider.client_id,
    { client_secret: provider.client_secret },
    undefined,
    {
      [oidc.customFetch]: boundedFetch(app),
      timeout: limits.providerMs / 1000,
      // Without this the library trusts the connection to the provider, and checks no signature of an ID token.
      execute: [oidc.enableNonRepudiationChecks],
    },
  );
}

/** Turns any failure into ProviderFailed, whose text is safe to log. The provider's text may contain personal data. */
async function orFailed<T>(app: App, event: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    app.log.error(event, { code: (error as { code?: string }).code ?? (error as Error).name });
    throw error instanceof NoAuthTime || error instanceof StaleProof
      ? error
      : new ProviderFailed('the provider failed', { cause: error });
  }
}

/** Starts a sign-in. @param fresh true if the provider must ask for the password again */
export function leaveFor(app: App, provider: Provider, fresh: boolean): Promise<{ to: string; journey: Journey }> {
  return orFailed(app, 'sso.discovery_failed', async () => {
    const configuration = await configurationOf(app, provider);
    const text = () => app.random.bytes(32).toString('base64url');
    const journey = { state: text(), nonce: text(), verifier: text() };
    const oidc = await openId();
    const to = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: callbackOf(app.settings.baseUrl),
      scope: 'openid profile',
      state: journey.state,
      nonce: journey.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(journey.verifier),
      code_challenge_method: 'S256',
      ...(fresh ? { prompt: 'login', max_age: '0' } : {}),
    });
    return { to: to.href, journey };
  });
}

/** The error codes for an unknown client or a wrong client secret (RFC 6749, 5.2). */
const unknownClient = ['invalid_client', 'unauthorized_client'];

/** Tests settings with an invented code, because a provider checks the client first. @returns the wrong setting */
export async function tryProvider(app: App, provider: Provider): Promise<'issuer' | 'client_secret' | null> {
  const oidc = await openId();
  try {
    const configuration = await discover(app, provider);
    const redirect = { redirect_uri: callbackOf(app.settings.baseUrl) };
    oidc.buildAuthorizationUrl(configuration, redirect);
    const made = { code: app.random.uuid(), code_verifier: app.random.bytes(32).toString('base64url') };
    await oidc.genericGrantRequest(configuration, 'authorization_code', { ...redirect, ...made });
  } catch (error) {
    app.log.error('sso.test_failed', { code: (error as { code?: string }).code ?? (error as Error).name });
    if (error instanceof oidc.WWWAuthenticateChallengeError) return 'client_secret';
    if (error instanceof oidc.ResponseBodyError) return unknownClient.includes(error.error) ? 'client_secret' : null;
    return 'issuer';
  }
  return null;
}

/** For a fresh proof, the person must have entered the password within this time. */
const freshMs = 120_000;

/**
 * Completes a sign-in when the browser returns.
 * @param fresh whether a sign-in is refused if the password was entered too long ago
 * @throws ProviderFailed
 */
export function comeBack(app: App, provider: Provider, journey: Journey, query: URLSearchParams, fresh: boolean) {
  return orFailed(app, 'sso.failed', async () => {
    const configuration = await configurationOf(app, provider);
    const here = new URL(callbackOf(app.settings.baseUrl));
    here.search = query.toString();
    const { authorizationCodeGrant } = await openId();
    const tokens = await authorizationCodeGrant(configuration, here, {
      expectedState: journey.state,
      expectedNonce: journey.nonce,
      pkceCodeVerifier: journey.verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims()!;
    // openid-client compares the issuer only with the discovered one, so we compare it with the settings.
    if (claims.iss.replace(/\/$/, '') !== provider.issuer.replace(/\/$/, ''))
      throw new ProviderFailed('another issuer');
    if (provider.tenant !== null && claims.tid !== provider.tenant && claims.hd !== provider.tenant)
      throw new ProviderFailed('another tenant');
    if (typeof claims.sub !== 'string' || claims.sub === '' || claims.sub.length > 255)
      throw new ProviderFailed('no subject');
    const nowMs = app.clock.nowMs();
    const seenMs = typeof claims.auth_time === 'number' ? Math.min(claims.auth_time * 1000, nowMs) : null;
    if (fresh && seenMs === null) throw new NoAuthTime('no auth_time');
    if (fresh && nowMs - seenMs! > freshMs) throw new StaleProof('the password was given too long ago');
    return { subject: claims.sub, name: typeof claims.name === 'string' ? claims.name : null, seenMs };
  });
}
