import type { Content } from '../html.ts';
import { html } from '../html.ts';
import { isEmailAddress } from '../email.ts';
import type { KeyLink, LinkStatus } from '../keys/link.ts';
import { findLink, linkStatus, linkUrl, listLinks, mailLink, offerKey, revokeLink } from '../keys/link.ts';
import { limits } from '../limits.ts';
import { isUuid } from '../uuid.ts';
import { moment, table } from './blocks.ts';
import type { Faults } from './form.ts';
import { buttonForm, choiceField, form, hiddenField, textField } from './form.ts';
import { looksForGroups } from './group-field.ts';
import { describedFields, readDescribed } from './key-form.ts';
import type { Answer, ConsoleRoute, Visit } from './route.ts';
import { NoSuchPage, formRoutes, post } from './route.ts';
import { integrators } from '../users/roles.ts';

/** Set-up links: a vendor makes the one key that is described here, and alone sees its secret. */
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

/** The latest links, where there are any. */
export async function linkTable({ app, base, organisationId: id, zone }: Visit): Promise<Content> {
  const rows = await listLinks(app.db, id, limits.keyLinksShown);
  if (rows.length === 0) return null;
  const statusOf = (link: KeyLink) => linkStatus(link, app.clock.nowMs());
  return html`<h2>Set-up links</h2>${table<KeyLink>({
    caption: 'The newest first',
    rows,
    columns: [
      { head: 'For', cell: (link) => link.description.label ?? link.description.purpose ?? 'A key' },
      { head: 'State', cell: (link) => words[statusOf(link)] },
      { head: 'Made', cell: (link) => moment(link.created_at, zone) },
      { head: 'Works until', cell: (link) => moment(link.expires_at, zone) },
      {
        head: 'Key',
        cell: (link) =>
          link.key_id === null ? 'None yet' : html`<a href="${base}/keys/${link.key_id}">${link.key_id}</a>`,
      },
      {
        head: 'Take back',
        cell: (link) =>
          statusOf(link) === 'open' ? buttonForm(`${base}/key-links/${link.link_id}/revoke`, 'Take back') : '',
      },
    ],
  })}`;
}

const lengths = [
  { value: '15', label: '15 minutes' },
  { value: '30', label: '30 minutes' },
  { value: '60', label: '1 hour' },
  { value: '240', label: '4 hours' },
];

async function offerPage(visit: Visit, faults: Faults = {}): Promise<Answer> {
  const { app, base, form: sent } = visit;
  return {
    title: 'Let a vendor make its key',
    back: { to: `${base}/keys`, label: 'Access keys' },
    faults,
    main: html`<p>You describe the key; whoever opens the link makes it, once, and alone sees its secret. They need no account.</p>${form(
      `${base}/key-links/create`,
      [
        await describedFields(visit, faults),
        choiceField({
          name: 'minutes',
          label: 'How long the link works',
          choices: lengths,
          chosen: [sent.raw('minutes') || '30'],
          fault: faults.minutes,
        }),
        app.settings.mailServer === null
          ? null
          : textField({
              name: 'email',
              label: 'Vendor’s e-mail address (optional)',
              hint: 'The link is mailed there, and the address is then forgotten.',
              type: 'email',
              value: sent.text('email'),
              width: 40,
              fault: faults.email,
            }),
        hiddenField('once', sent.text('once') || app.random.uuid()),
      ],
      'Make the link',
      { faults, cancel: `${base}/keys` },
    )}`,
  };
}

async function offer(visit: Visit): Promise<Answer> {
  const { app, base, organisation, organisationId: id, zone, session, form: sent, change } = visit;

  if (looksForGroups(sent)) return offerPage(visit, {});
  const length = lengths.find((one) => one.value === sent.raw('minutes'));
  const read = await readDescribed(visit);
  const faults: Faults = 'faults' in read ? read.faults : {};
  if (length === undefined) faults.minutes = 'Choose how long the link works.';
  const address = app.settings.mailServer === null ? '' : sent.text('email');
  if (address !== '' && !isEmailAddress(address))
    faults.email = 'Enter an e-mail address, such as name@example.org, or leave it out.';
  if ('faults' in read || length === undefined || faults.email !== undefined) return offerPage(visit, faults);
  const once = sent.text('once').toLowerCase();
  if (!isUuid(once)) throw new NoSuchPage();
  const mailed = await change(async (work) => {
    // The form names its link: sent again, it shows the same one.
    if ((await findLink(work.tx, id, once)) !== undefined) return { result: address !== '' };
    const lastsMs = Number(length.value) * 60_000;
    await offerKey(work, id, read.description, { linkId: once, createdBy: session.user_id, lastsMs });
    const given = { linkId: once, address, organisation: organisation.name, expiresMs: work.nowMs + lastsMs };
    return { result: address !== '' && (await mailLink(work, id, given)), resource: once };
  });
  const link = (await findLink(app.db, id, once))!;
  return {
    title: 'The link is ready',
    back: { to: `${base}/keys`, label: 'Access keys' },
    main: html`<p>${mailed ? `It is on its way to ${address} by e-mail. You can hand it over yourself as well, but to nobody else` : 'Send it to the vendor, and to nobody else'}: whoever opens it first gets the key. It works once, until ${moment(link.expires_at, zone)}.</p>${textField(
      {
        name: 'link',
        label: 'Link',
        value: linkUrl(app.settings.baseUrl, app.secrets, id, once),
        readonly: true,
        width: 40,
      },
    )}`,
  };
}

async function revoke({ base, organisationId, params, change }: Visit): Promise<Answer> {
  const linkId = params.link_id!;
  if (!isUuid(linkId)) throw new NoSuchPage();
  const done = await change(async (work) => {
    const result = await revokeLink(work, organisationId, linkId);
    return result ? { result, resource: linkId } : { result };
  });
  if (!done) throw new NoSuchPage();
  return { to: `${base}/keys?did=link-revoked` };
}
