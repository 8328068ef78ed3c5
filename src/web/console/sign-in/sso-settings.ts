import type { App } from '../../../platform/app.ts';
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
import { facts, moment, notice, code } from '../kit/blocks.ts';
import { type Faults, isFaulty, faultsIn } from '../kit/form.ts';
import { callbackOf, tryProvider } from '../../../integrations/identity-provider.ts';
import { type Answer, type ConsoleRoute, type Visit, get, post, formRoutes } from '../kit/route.ts';
import { type FormVersion, overtakenNote, versionOf, sentVersion } from '../kit/form-version.ts';
import { formPage, confirmPage } from '../kit/page.ts';

/** Only owners may set the identity provider, because a provider can sign in as any person. */
export const ssoSettingsRoutes: ConsoleRoute[] = [
  get('/sso', ['owner'], settings, { live: true, proof: true, menu: 'Single sign-on', section: 'organisation' }),
  post('/sso', ['owner'], change, { live: true, proof: true }),
  ...formRoutes('/sso/off', ['owner'], (visit) => showOff(visit), off, { live: true, proof: true }),
];

/** Microsoft's shared issuers accept people of every tenant, so the settings refuse them. */
const shared = /^https:\/\/login\.microsoftonline\.com\/(common|organizations|consumers)\b/;
const needsTenant = /^https:\/\/(accounts\.google\.com|login\.microsoftonline\.com)\b/;

/** The form's version is the time of the last change, because the page's fields do not contain the secret. */
const storedVersion = (provider: StoredProvider | undefined): string => versionOf(provider?.changed_at ?? null);

/** Whether the settings are unchanged. Saving them again would end the sessions of all people. */
const isSame = (stored: Provider, sent: Provider): boolean =>
  (['issuer', 'client_id', 'client_secret', 'tenant'] as const).every((name) => stored[name] === sent[name]);

function settingsPage(
  visit: Visit,
  provider: StoredProvider | undefined,
  { version, connected, faults = {}, overtaken }: FormVersion & { connected?: number },
): Answer {
  const { app, base, organisation, zone, form: sent, query } = visit;
  const isSent = isFaulty(faults) || overtaken !== undefined;
  const value = (field: keyof Provider) => (isSent ? sent.text(field) : (provider?.[field] ?? ''));
  const { baseUrl } = app.settings;
  const page = formPage(visit, {
    title: 'Single sign-on',
    faults,
    intro: [
      notice(query, {
        changed:
          'The settings are saved. The identity provider accepted the client. Test the sign-in in another browser.',
        required: 'Single sign-on is required. Passwords of this organisation no longer work.',
        lifted: 'Single sign-on is not required any more. People who need a password need a new link.',
        off: 'Single sign-on is off. Sessions that began there have ended.',
      }),
      overtaken,
      html`<p>Invited people sign in through your identity provider (OpenID Connect). They need no password and no second factor here. Turn on the claim <code>auth_time</code> at the identity provider. Without it, people who sign in there can’t open pages that need a new proof of identity, such as keys and exports.</p>`,
      facts({
        'Redirect URL to register there': code(callbackOf(baseUrl)),
        'People sign in at': code(`${baseUrl}/console/sso/sign-in/${organisation.public_id}`),
        State: provider === undefined ? 'Off' : html`On. <a href="${base}/sso/off">Turn off single sign-on</a>`,
        Required:
          provider &&
          html`${provider.required ? 'Yes' : 'No'}. <a href="${base}/sso/require">${provider.required ? 'Stop requiring' : 'Require'} single sign-on</a>`,
        Tested: provider && html`The identity provider answered at ${moment(provider.changed_at, zone)}`,
        'People who sign in there': connected === 0 ? 'None yet' : connected,
      }),
    ],
    button: 'Save',
    fields: (f) => [
      f.version(version),
      f.text('issuer', 'Issuer', {
        hint: 'Such as https://login.microsoftonline.com/TENANT/v2.0.',
        type: 'url',
        value: value('issuer'),
      }),
      f.text('client_id', 'Client ID', { value: value('client_id') }),
      f.text('client_secret', 'Client secret', { hint: 'The console does not show it again.', type: 'password' }),
      f.text('tenant', 'Tenant (needed for Microsoft and Google)', {
        hint: 'The tenant ID or the domain, such as college.example.',
        value: value('tenant'),
      }),
    ],
  });
  return { ...page, status: overtaken && 409 };
}

async function settings(visit: Visit): Promise<Answer> {
  const { app, organisationId: id } = visit;
  const provider = await findProvider(app.db, app.keyring, id);
  const connected = provider && (await countIdentities(app.db, id, provider.issuer));
  return settingsPage(visit, provider, { version: storedVersion(provider), connected });
}

const refusals = {
  issuer: 'No identity provider answers at this URL. Nothing was saved. Check the URL.',
  client_secret: 'The identity provider does not accept this client ID and secret. Nothing was saved. Check both.',
};

async function change(visit: Visit): Promise<Answer> {
  const { app, base, organisation, organisationId: id, form: sent } = visit;
  const provider: Provider = {
    issuer: sent.text('issuer'),
    client_id: sent.text('client_id'),
    client_secret: sent.raw('client_secret'),
    tenant: sent.text('tenant') || null,
  };
  const faults = faultsOf(app, provider);
  const version = sentVersion(visit);
  const wrong = isFaulty(faults) ? null : await tryProvider(app, provider);
  if (wrong !== null) faults[wrong] = refusals[wrong];
  const before = await findProvider(app.db, app.keyring, id);
  if (before?.required === true && before.issuer !== provider.issuer)
    faults.issuer = 'At another issuer, no person could sign in. Stop requiring single sign-on first.';
  if (isFaulty(faults)) return settingsPage(visit, before, { version, faults });
  const outcome = await visit.change(
    async (work): Promise<'saved' | 'same' | { stored: StoredProvider | undefined }> => {
      await lockFeed(work, id);
      const stored = await findProvider(work.tx, work.keyring, id);
      if (stored !== undefined && isSame(stored, provider)) return 'same';
      if (storedVersion(stored) !== version) return { stored };
      await setProvider(work, id, provider);
      return 'saved';
    },
    (result) => result === 'saved' && organisation.public_id,
  );
  if (typeof outcome === 'string') return { to: `${base}/sso?did=changed` };
  const { stored } = outcome;
  const overtaken = overtakenNote([
    ['State', stored === undefined ? 'Off' : 'On', 'On'],
    ['Issuer', stored?.issuer ?? 'None', provider.issuer],
    ['Client ID', stored?.client_id ?? 'None', provider.client_id],
    ['Tenant', stored?.tenant ?? 'None', provider.tenant ?? 'None'],
  ]);
  return settingsPage(visit, stored, { version: storedVersion(stored), overtaken });
}

function faultsOf({ settings: { webhookAllowNetworks: allowNetworks } }: App, provider: Provider): Faults {
  const { issuer, client_id, client_secret, tenant } = provider;
  const verdict = checkUrl(issuer, { allowNetworks });
  const isText = (text: string) => isPlainText(text, limits.clientSecretChars);
  const isTenant = tenant === null ? !needsTenant.test(issuer) : isText(tenant);
  return faultsIn({
    issuer: !verdict.ok
      ? `Enter an https URL: ${verdict.reason}.`
      : shared.test(issuer) && 'This issuer accepts people of every tenant. Enter the issuer of your tenant.',
    client_id: !isText(client_id) && 'Enter the client ID.',
    client_secret: !isText(client_secret) && 'Enter the client secret.',
    tenant: !isTenant && 'Enter the tenant.',
  });
}

const showOff = (visit: Visit): Answer =>
  confirmPage(visit, {
    title: 'Turn off single sign-on?',
    back: { to: `${visit.base}/sso` },
    says: [
      'Sessions through your identity provider end now. People without a password here need a new link from the page People. You can turn single sign-on on again.',
    ],
    button: 'Turn off single sign-on',
  });

async function off({ base, organisation, organisationId: id, change: save }: Visit): Promise<Answer> {
  await save(
    async (work) => {
      await lockFeed(work, id);
      await dropProvider(work, id);
    },
    () => organisation.public_id,
  );
  return { to: `${base}/sso?did=off` };
}
