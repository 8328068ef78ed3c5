import { lockFeed } from '../feed/position.ts';
import type { Content } from '../html.ts';
import { html } from '../html.ts';
import { limits } from '../limits.ts';
import { isPlainText } from '../personal-data.ts';
import type { Provider, StoredProvider } from '../users/single-sign-on.ts';
import { countIdentities, dropProvider, findProvider, setProvider } from '../users/single-sign-on.ts';
import { checkUrl } from '../webhooks/address.ts';
import { confirmPage, facts, moment, notice } from './blocks.ts';
import type { Faults } from './form.ts';
import { form, textField } from './form.ts';
import { callbackOf, tryProvider } from './provider.ts';
import type { Acted, Answer, ConsoleRoute, Visit } from './route.ts';
import { markOf, overtakenNote, seenBy, seenField } from './seen.ts';
import { get, post, formRoutes } from './route.ts';

/** Setting up sign-in at an organisation's own provider. It is for owners: whoever says who is who, is everybody. */
export const ssoSettingsRoutes: ConsoleRoute[] = [
  get('/sso', ['owner'], settings, { live: true, proof: true, menu: 'Single sign-on', section: 'organisation' }),
  post('/sso', ['owner'], change, { live: true, proof: true }),
  ...formRoutes('/sso/off', ['owner'], showOff, off, { live: true, proof: true }),
];

/** Multi-tenant issuers name no tenant of their own. */
const shared = /^https:\/\/login\.microsoftonline\.com\/(common|organizations|consumers)\b/;
const needsTenant = /^https:\/\/(accounts\.google\.com|login\.microsoftonline\.com)\b/;

/** What was stored when the page was opened. Its secret stands on no page, and a change of it alone counts, too. */
const markOfStored = (provider: StoredProvider | undefined): string => markOf(provider?.changed_at ?? null);

/** A form that is sent twice is one: saving again would end everybody's sessions. */
const isSame = (stored: Provider, sent: Provider): boolean =>
  (['issuer', 'client_id', 'client_secret', 'tenant'] as const).every((name) => stored[name] === sent[name]);

function settingsPage(
  visit: Visit,
  provider: StoredProvider | undefined,
  {
    seen,
    connected,
    faults = {},
    overtaken = null,
  }: { seen: string; connected?: number; faults?: Faults; overtaken?: Content },
): Answer {
  const { app, base, organisation, zone, form: sent, query } = visit;
  const isFaulty = Object.keys(faults).length > 0;
  const value = (name: keyof Provider) => (isFaulty || overtaken !== null ? sent.text(name) : (provider?.[name] ?? ''));
  const { baseUrl } = app.settings;
  return {
    title: 'Single sign-on',
    main: html`${notice(query, { changed: 'It is set. The provider answered and accepted the client. Sign in there in another browser before you rely on it.', off: 'Single sign-on is off. Sessions that began there have ended.' })}${overtaken}<p>People sign in at your own provider (OpenID Connect), by invitation. Whoever it vouches for needs no password and no second factor here. Switch on its claim <code>auth_time</code>: without it nobody who signs in there can open the pages that need a fresh proof, such as keys and exports.</p>${facts(
      [
        ['Register this redirect address there', html`<code>${callbackOf(baseUrl)}</code>`],
        ['People sign in at', html`<code>${`${baseUrl}/console/sso/sign-in/${organisation.public_id}`}</code>`],
        ['State', provider === undefined ? 'Off' : html`On. <a href="${base}/sso/off">Turn it off</a>`],
        ...(provider === undefined
          ? []
          : [['Tried', html`The provider answered at ${moment(provider.changed_at, zone)}`] as const]),
        ...(connected === undefined
          ? []
          : [['People who sign in there', connected === 0 ? 'Nobody yet' : String(connected)] as const]),
      ],
    )}${form(
      `${base}/sso`,
      [
        seenField(seen),
        textField({
          name: 'issuer',
          label: 'Issuer',
          hint: 'The provider’s address, such as https://login.microsoftonline.com/TENANT/v2.0.',
          type: 'url',
          value: value('issuer'),
          width: 40,
          fault: faults.issuer,
        }),
        textField({
          name: 'client_id',
          label: 'Client id',
          value: value('client_id'),
          width: 40,
          fault: faults.client_id,
        }),
        textField({
          name: 'client_secret',
          label: 'Client secret',
          hint: 'It is not shown again.',
          type: 'password',
          width: 40,
          fault: faults.client_secret,
        }),
        textField({
          name: 'tenant',
          label: 'Tenant (needed for Microsoft and Google)',
          hint: 'The tenant’s id, or the domain: people of others are refused.',
          value: value('tenant'),
          width: 40,
          fault: faults.tenant,
        }),
      ],
      'Set',
      { faults },
    )}`,
    status: overtaken !== null ? 409 : isFaulty ? 422 : 200,
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
  const faults: Faults = {};
  const verdict = checkUrl(provider.issuer, { allowNetworks: app.settings.webhookAllowNetworks });
  if (!verdict.ok) faults.issuer = `Enter an address with https: ${verdict.reason}.`;
  else if (shared.test(provider.issuer)) faults.issuer = 'Enter your own tenant’s issuer: this one lets anybody in.';
  for (const [name, label] of [
    ['client_id', 'client id'],
    ['client_secret', 'client secret'],
  ] as const)
    if (!isPlainText(provider[name], limits.clientSecretChars)) faults[name] = `Enter the ${label}.`;
  if (needsTenant.test(provider.issuer) && provider.tenant === null) faults.tenant = 'Enter the tenant.';
  if (provider.tenant !== null && !isPlainText(provider.tenant, limits.clientSecretChars))
    faults.tenant = 'Enter the tenant.';
  const seen = seenBy(visit);
  if (Object.keys(faults).length === 0) {
    const wrong = await tryProvider(app, provider);
    if (wrong !== null) faults[wrong] = refusals[wrong];
  }
  if (Object.keys(faults).length > 0)
    return settingsPage(visit, await findProvider(app.db, app.keyring, id), { seen, faults });
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

async function showOff({ base }: Visit): Promise<Answer> {
  return confirmPage({
    title: 'Turn single sign-on off?',
    says: [
      'Sessions that began at your provider end at once. People who have no password here need a new link from the page People.',
    ],
    action: `${base}/sso/off`,
    button: 'Turn it off',
    cancel: `${base}/sso`,
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
