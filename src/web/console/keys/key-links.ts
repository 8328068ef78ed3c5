import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
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
import { limits } from '../../../platform/config/limits.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { moment, table } from '../kit/blocks.ts';
import type { Faults } from '../kit/form.ts';
import { buttonForm, readonlyField, fieldsOf, isFaulty } from '../kit/form.ts';
import { looksForGroups } from '../kit/group-field.ts';
import { describedFields, readDescribed } from './key-form.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { NoSuchPage, formRoutes, post, onceOf, ifDone } from '../kit/route.ts';
import { integrators } from '../../../organisations/users/roles.ts';

/** A vendor opens a set-up link to make the one key that it describes, and only the vendor sees the secret. */
export const keyLinkRoutes: ConsoleRoute[] = [
  ...formRoutes('/key-links/create', integrators, offerPage, offer, { proof: true }),
  post('/key-links/{link_id}/revoke', integrators, revoke, { proof: true }),
];

const words: Record<LinkStatus, string> = {
  open: 'Open',
  used: 'Used',
  revoked: 'Taken back',
  expired: 'Over',
};

export async function linkTable({ app, base, organisationId: id, zone }: Visit): Promise<Content> {
  const rows = await listLinks(app.db, id, limits.keyLinksShown);
  if (rows.length === 0) return null;
  const statusOf = (link: KeyLink) => linkStatus(link, app.clock.nowMs());
  return html`<h2>Set-up links</h2>${table<KeyLink>('The newest first', rows, {
    For: (link) => link.description.label ?? link.description.purpose ?? 'A key',
    State: (link) => words[statusOf(link)],
    Made: (link) => moment(link.created_at, zone),
    'Works until': (link) => moment(link.expires_at, zone),
    Key: (link) => (link.key_id === null ? 'None yet' : html`<a href="${base}/keys/${link.key_id}">${link.key_id}</a>`),
    'Take back': (link) =>
      statusOf(link) === 'open' ? buttonForm(`${base}/key-links/${link.link_id}/revoke`, 'Take back') : '',
  })}`;
}

const lengths = { 15: '15 minutes', 30: '30 minutes', 60: '1 hour', 240: '4 hours' };

async function offerPage(visit: Visit, faults: Faults = {}): Promise<Answer> {
  const { app, base } = visit;
  const f = fieldsOf(visit, faults);
  return {
    title: 'Let a vendor make its key',
    back: { to: `${base}/keys`, label: 'Access keys' },
    faults,
    main: html`<p>You describe the key; whoever opens the link makes it, once, and alone sees its secret. They need no account.</p>${f.form(
      'Make the link',
      { cancel: `${base}/keys` },
      [
        await describedFields(visit, faults),
        f.choose('minutes', 'How long the link works', lengths, { initial: '30' }),
        app.settings.mailServer === null
          ? null
          : f.text('email', 'Vendor’s e-mail address (optional)', {
              hint: 'The link is mailed there, and the address is then forgotten.',
              type: 'email',
            }),
        f.once(app),
      ],
    )}`,
  };
}

async function offer(visit: Visit): Promise<Answer> {
  const { app, base, organisation, organisationId: id, zone, userId, form: sent, change } = visit;
  if (looksForGroups(sent)) return offerPage(visit);
  const minutes = sent.raw('minutes');
  const read = await readDescribed(visit);
  const faults: Faults = 'faults' in read ? read.faults : {};
  if (!Object.hasOwn(lengths, minutes)) faults.minutes = 'Choose how long the link works.';
  const address = app.settings.mailServer === null ? '' : sent.text('email');
  if (address !== '' && !isEmailAddress(address))
    faults.email = 'Enter an e-mail address, such as name@example.org, or leave it out.';
  if ('faults' in read || isFaulty(faults)) return offerPage(visit, faults);
  const once = onceOf(visit);
  if (once === null) throw new NoSuchPage();
  const mailed = await change(async (work) => {
    // The form carries the ID of the link: sent twice, it shows the same link.
    if ((await findLink(work.tx, id, once)) !== undefined) return { result: address !== '' };
    const lastsMs = Number(minutes) * 60_000;
    await offerKey(work, id, read.description, { linkId: once, createdBy: userId, lastsMs });
    const given = { linkId: once, address, organisation: organisation.name, expiresMs: work.nowMs + lastsMs };
    return { result: address !== '' && (await mailLink(work, id, given)), resource: once };
  });
  const link = (await findLink(app.db, id, once))!;
  return {
    title: 'The link is ready',
    back: { to: `${base}/keys`, label: 'Access keys' },
    main: html`<p>${mailed ? `It is on its way to ${address} by e-mail. You can hand it over yourself as well, but to nobody else` : 'Send it to the vendor, and to nobody else'}: whoever opens it first gets the key. It works once, until ${moment(link.expires_at, zone)}.</p>${readonlyField('link', 'Link', linkUrl(app.settings.baseUrl, app.secrets, id, once))}`,
  };
}

async function revoke({ base, organisationId, params, change }: Visit): Promise<Answer> {
  const linkId = params.link_id!;
  if (!isUuid(linkId)) throw new NoSuchPage();
  if (!(await change(async (work) => ifDone(await revokeLink(work, organisationId, linkId), linkId))))
    throw new NoSuchPage();
  return { to: `${base}/keys?did=link-revoked` };
}
