import { type Content, html } from '../../../platform/html/html.ts';
import { type KeyDescription, type KeyFault, readDescription } from '../../../integrations/access-keys/description.ts';
import { limits } from '../../../platform/config/limits.ts';
import { shortSubjectNames } from '../../../engine/scoring/levels.ts';
import { type Faults, fieldsOf, buttonForm, readonlyField, isFaulty, faultsIn } from '../kit/form.ts';
import { enterButton, groupField, looksForGroups } from '../kit/group-field.ts';
import type { Visit, Answer, ConsoleRoute } from '../kit/route.ts';
import { again, NoSuchPage, formRoutes, post, onceOf } from '../kit/route.ts';
import { lastInstantOf } from '../../../organisations/zone.ts';
import { isEmailAddress } from '../../../platform/validation/email.ts';
import type { KeyLink, LinkStatus } from '../../../integrations/access-keys/link.ts';
import {
  findLink,
  linkStatus,
  linkUrl,
  listLinks,
  mailLink,
  offerKey,
  revokeLink,
} from '../../../integrations/access-keys/link.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { moment, label } from '../kit/blocks.ts';
import { integrators } from '../../../organisations/users/roles.ts';
import { formPage } from '../kit/page.ts';
import { table } from '../kit/table.ts';

/** A vendor opens a set-up link to create the key that the link describes. Only the vendor sees the secret. */
export const keyLinkRoutes: ConsoleRoute[] = [
  ...formRoutes('/key-links/create', integrators, offerPage, offer, { proof: true }),
  post('/key-links/{link_id}/revoke', integrators, revoke, { proof: true }),
];

const words: Record<LinkStatus, string> = { open: 'Open', used: 'Used', revoked: 'Revoked', expired: 'Expired' };

export async function linkTable({ app, base, organisationId: id, zone }: Visit): Promise<Content> {
  const rows = await listLinks(app.db, id, limits.keyLinksShown);
  const statusOf = (link: KeyLink) => linkStatus(link, app.clock.nowMs());
  return [
    rows.length > 0 && html`<h2>Set-up links</h2>`,
    table<KeyLink>({ caption: 'Set-up links, newest first', none: null }, rows, {
      For: (link) => link.description.label ?? link.description.purpose ?? 'Key',
      State: (link) => label(statusOf(link) === 'open' ? 'wait' : 'off', words[statusOf(link)]),
      Created: (link) => moment(link.created_at, zone),
      'Works until': (link) => moment(link.expires_at, zone),
      Key: ({ key_id }) => (key_id === null ? 'None yet' : html`<a href="${base}/keys/${key_id}">${key_id}</a>`),
      Revoke: (link) =>
        statusOf(link) === 'open' && buttonForm(`${base}/key-links/${link.link_id}/revoke`, 'Revoke link'),
    }),
  ];
}

const lengths = { 15: '15 minutes', 30: '30 minutes', 60: '1 hour', 240: '4 hours' };

async function offerPage(visit: Visit): Promise<Answer> {
  const { app, base } = visit;
  const described = await describedFields(visit);
  return formPage(visit, {
    title: 'Create set-up link',
    back: { to: `${base}/keys`, label: 'Keys' },
    intro: html`<p>You describe the key, and the vendor creates it with this link. Only the vendor sees the secret. The vendor needs no account.</p>`,
    button: 'Create set-up link',
    fields: (f) => [
      described,
      f.choose('minutes', 'How long the link works', lengths, { initial: '30' }),
      app.settings.mailServer !== null &&
        f.text('email', 'Vendor’s email address (optional)', {
          hint: 'The service emails the link and does not store the address.',
          type: 'email',
        }),
      f.once(app),
    ],
  });
}

async function offer(visit: Visit) {
  const { app, base, organisation, organisationId: id, zone, userId, form: sent, change } = visit;
  if (looksForGroups(sent)) return again();
  const minutes = sent.raw('minutes');
  const read = await readDescribed(visit);
  const address = app.settings.mailServer === null ? '' : sent.text('email');
  const isWrong = address !== '' && !isEmailAddress(address);
  const faults = {
    ...('faults' in read && read.faults),
    ...faultsIn({
      minutes: !Object.hasOwn(lengths, minutes) && 'Choose how long the link works.',
      email: isWrong && 'This is not an email address. Enter one such as name@example.org, or leave the field empty.',
    }),
  };
  if ('faults' in read || isFaulty(faults)) return again(faults);
  const linkId = onceOf(visit);
  const lastsMs = Number(minutes) * 60_000;
  const { isMailed } = await change(
    async (work) => {
      // The form contains the ID of the link, so a form that is sent twice shows the same link.
      if ((await findLink(work.tx, id, linkId)) !== undefined) return { isMailed: address !== '', isNew: false };
      await offerKey(work, id, read.description, { linkId, createdBy: userId, lastsMs });
      const mail = { linkId, address, organisation: organisation.name, expiresMs: work.nowMs + lastsMs };
      return { isMailed: address !== '' && (await mailLink(work, id, mail)), isNew: true };
    },
    ({ isNew }) => isNew && linkId,
  );
  const link = (await findLink(app.db, id, linkId))!;
  const to = isMailed
    ? `The service is sending the link to ${address}. You can also send it yourself, but only to the vendor.`
    : 'Send the link only to the vendor.';
  return {
    title: 'The set-up link is created',
    back: { to: `${base}/keys`, label: 'Keys' },
    main: [
      html`<p>${to} The first person who uses the link gets the key. The link works once, until ${moment(link.expires_at, zone)}.</p>`,
      readonlyField('link', 'Link', linkUrl(app.settings.baseUrl, app.secrets, id, linkId)),
    ],
  };
}

async function revoke({ base, organisationId, params, change }: Visit): Promise<Answer> {
  const linkId = params.link_id!;
  const isDone = isUuid(linkId) && (await change((work) => revokeLink(work, organisationId, linkId), linkId));
  if (!isDone) throw new NoSuchPage();
  return { to: `${base}/keys?did=link-revoked` };
}

export async function describedFields(visit: Visit): Promise<Content> {
  const f = fieldsOf(visit);
  return [
    enterButton(),
    f.text('label', 'Label', { hint: 'Such as the name of the platform.' }),
    f.text('purpose', 'Purpose (optional)', {
      hint: 'Such as “Sync results to the e-portfolio”. The receipt shows it.',
    }),
    f.text('contact', 'Contact (optional)', { hint: 'Such as the email address of the vendor’s support team.' }),
    f.text('expires', 'Last day (optional)', { hint: 'Empty: until the key is revoked.', type: 'date' }),
    f.lines('networks', 'Networks (optional)', {
      hint: 'One per line, such as 203.0.113.0/24. Empty: any network.',
      rows: 3,
    }),
    f.tick('subjects', 'Restrict to subjects', shortSubjectNames, {
      hint: 'None ticked: all. A restricted key always stays read-only.',
    }),
    await groupField(visit, {
      label: 'Restrict to groups',
      hint: `None ticked: all. At most ${limits.keyGroups}. A restricted key always stays read-only.`,
      chosen: visit.form.all('groups'),
      fault: visit.faults?.groups,
    }),
  ];
}

const sentences: Record<KeyFault['field'], string> = {
  label: 'The label',
  purpose: 'The purpose',
  contact: 'The contact',
  expires: 'The last day',
  networks: 'The networks',
  groups: 'The groups',
  subjects: 'The subjects',
};

export async function readDescribed(visit: Visit): Promise<{ description: KeyDescription } | { faults: Faults }> {
  const { app, organisation, organisationId, zone, form: sent } = visit;
  const lastDay = sent.text('expires');
  const label = sent.text('label');
  const read = await readDescription(
    app.db,
    organisationId,
    {
      label,
      purpose: sent.text('purpose'),
      contact: sent.text('contact'),
      test: organisation.is_test,
      expires: lastDay === '' ? '' : (lastInstantOf(lastDay, zone)?.toISOString() ?? lastDay),
      networks: sent
        .raw('networks')
        .split(/[\s,]+/)
        .filter((one) => one !== ''),
      groups: sent.all('groups'),
      subjects: sent.all('subjects'),
    },
    app.clock.nowMs(),
  );
  const faults: Faults = label === '' ? { label: 'Enter a label, such as the name of the platform.' } : {};
  if ('faults' in read) for (const one of read.faults) faults[one.field] ??= `${sentences[one.field]} ${one.expected}.`;
  return 'description' in read && label !== '' ? read : { faults };
}
