import { lockFeed } from '../../../feed/position.ts';
import { html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isPlainText } from '../../../platform/validation/personal-data.ts';
import type { Provider, StoredProvider } from '../../../organisations/users/single-sign-on.ts';
import {
  countIdentities,
  dropProvider,
  findProvider,
  setProvider,
} from '../../../organisations/users/single-sign-on.ts';
import { checkUrl } from '../../../platform/validation/networks.ts';
import { confirmPage, facts, moment, notice } from '../kit/blocks.ts';
import { fieldsOf, isFaulty, faultsIn } from '../kit/form.ts';
import { callbackOf, tryProvider } from './identity-provider.ts';
import type { Acted, Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import type { Seen } from '../kit/form-version.ts';
import { markOf, overtakenNote, seenBy, seenField } from '../kit/form-version.ts';
import { get, post, formRoutes } from '../kit/route.ts';

/** Only owners set the identity provider, because it can sign in as anyone. */
export const ssoSettingsRoutes: ConsoleRoute[] = [
  get('/sso', ['owner'], settings, { live: true, proof: true, menu: 'Single sign-on', section: 'organisation' }),
  post('/sso', ['owner'], change, { live: true, proof: true }),
  ...formRoutes('/sso/off', ['owner'], showOff, off, { live: true, proof: true }),
];

/** The shared issuers of Microsoft accept people of every tenant. */
const shared = /^https:\/\/login\.microsoftonline\.com\/(common|organizations|consumers)\b/;
const needsTenant = /^https:\/\/(accounts\.google\.com|login\.microsoftonline\.com)\b/;

/** The secret is on no page, so the time of the last change is the version. */
const markOfStored = (provider: StoredProvider | undefined): string => markOf(provider?.changed_at ?? null);

/** Saving the same settings again would end everyone's sessions. */
const isSame = (stored: Provider, sent: Provider): boolean =>
  (['issuer', 'client_id', 'client_secret', 'tenant'] as const).every((name) => stored[name] === sent[name]);

function settingsPage(
  visit: Visit,
  provider: StoredProvider | undefined,
  { seen, connected, faults = {}, overtaken }: Seen & { connected?: number },
): Answer {
  const { app, base, organisation, zone, form: sent, query } = visit;
  const f = fieldsOf(visit, faults);
  const isSent = isFaulty(faults) || overtaken !== undefined;
  const value = (name: keyof Provider) => (isSent ? sent.text(name) : (provider?.[name] ?? ''));
  const { baseUrl } = app.settings;
  return {
    title: 'Single sign-on',
    main: html`${notice(query, { changed: 'It is set. The provider answered and accepted the client. Sign in there in another browser before you rely on it.', off: 'Single sign-on is off. Sessions that began there have ended.' })}${overtaken}<p>People sign in at your own provider (OpenID Connect), by invitation. Whoever it vouches for needs no password and no second factor here. Switch on its claim <code>auth_time</code>: without it nobody who signs in there can open the pages that need a fresh proof, such as keys and exports.</p>${facts(
      {
        'Register this redirect address there': html`<code>${callbackOf(baseUrl)}</code>`,
        'People sign in at': html`<code>${`${baseUrl}/console/sso/sign-in/${organisation.public_id}`}</code>`,
        State: provider === undefined ? 'Off' : html`On. <a href="${base}/sso/off">Turn it off</a>`,
        Tried: provider === undefined ? null : html`The provider answered at ${moment(provider.changed_at, zone)}`,
        'People who sign in there': connected === undefined ? null : connected === 0 ? 'Nobody yet' : String(connected),
      },
    )}${f.form('Set', {}, [
      seenField(seen),
      f.text('issuer', 'Issuer', {
        hint: 'The provider’s address, such as https://login.microsoftonline.com/TENANT/v2.0.',
        type: 'url',
        value: value('issuer'),
      }),
      f.text('client_id', 'Client id', { value: value('client_id') }),
      f.text('client_secret', 'Client secret', { hint: 'It is not shown again.', type: 'password' }),
      f.text('tenant', 'Tenant (needed for Microsoft and Google)', {
        hint: 'The tenant’s id, or the domain: people of others are refused.',
        value: value('tenant'),
      }),
    ])}`,
    faults,
    status: overtaken && 409,
  };
}

async function settings(visit: Visit): Promise<Answer> {
  const { app, organisationId: id } = visit;
  const provider = await findProvider(app.db, app.keyring, id);
  const connected = provider === undefined ? undefined : await countIdentities(app.db, id, provider.issuer);
  return settingsPage(visit, provider, { seen: markOfStored(provider), connected });
}

const refusals = {
  issuer: 'No provider answers as this issuer. Nothing was saved: check the address, and whether it can be reached.',
  client_secret: 'The provider does not accept this client id with this secret. Nothing was saved: check both.',
};

async function change(visit: Visit): Promise<Answer> {
  const { app, base, organisation, organisationId: id, form: sent } = visit;
  const provider: Provider = {
    issuer: sent.text('issuer'),
    client_id: sent.text('client_id'),
    client_secret: sent.raw('client_secret'),
    tenant: sent.text('tenant') || null,
  };
  const verdict = checkUrl(provider.issuer, { allowNetworks: app.settings.webhookAllowNetworks });
  const isText = (text: string) => isPlainText(text, limits.clientSecretChars);
  const isTenant = provider.tenant === null ? !needsTenant.test(provider.issuer) : isText(provider.tenant);
  const faults = faultsIn({
    issuer: !verdict.ok
      ? `Enter an address with https: ${verdict.reason}.`
      : shared.test(provider.issuer) && 'Enter your own tenant’s issuer: this one lets anybody in.',
    client_id: !isText(provider.client_id) && 'Enter the client id.',
    client_secret: !isText(provider.client_secret) && 'Enter the client secret.',
    tenant: !isTenant && 'Enter the tenant.',
  });
  const seen = seenBy(visit);
  if (!isFaulty(faults)) {
    const wrong = await tryProvider(app, provider);
    if (wrong !== null) faults[wrong] = refusals[wrong];
  }
  if (isFaulty(faults)) return settingsPage(visit, await findProvider(app.db, app.keyring, id), { seen, faults });
  const instead = await visit.change(async (work): Promise<Acted<{ stored: StoredProvider | undefined } | null>> => {
    await lockFeed(work, id);
    const stored = await findProvider(work.tx, work.keyring, id);
    if (stored !== undefined && isSame(stored, provider)) return { result: null };
    if (markOfStored(stored) !== seen) return { result: { stored } };
    await setProvider(work, id, provider);
    return { result: null, resource: organisation.public_id };
  });
  if (instead === null) return { to: `${base}/sso?did=changed` };
  const { stored } = instead;
  const overtaken = overtakenNote([
    ['State', stored === undefined ? 'Off' : 'On', 'On'],
    ['Issuer', stored?.issuer ?? 'None', provider.issuer],
    ['Client id', stored?.client_id ?? 'None', provider.client_id],
    ['Tenant', stored?.tenant ?? 'None', provider.tenant ?? 'None'],
  ]);
  return settingsPage(visit, stored, { seen: markOfStored(stored), overtaken });
}

function showOff(visit: Visit): Answer {
  return confirmPage(visit, {
    title: 'Turn single sign-on off?',
    says: [
      'Sessions that began at your provider end at once. People who have no password here need a new link from the page People.',
    ],
    button: 'Turn it off',
    cancel: `${visit.base}/sso`,
  });
}

async function off(visit: Visit): Promise<Answer> {
  await visit.change(async (work) => {
    await lockFeed(work, visit.organisationId);
    await dropProvider(work, visit.organisationId);
    return { result: null, resource: visit.organisation.public_id };
  });
  return { to: `${visit.base}/sso?did=off` };
}
