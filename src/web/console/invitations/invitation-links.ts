import { setImmediate } from 'node:timers/promises';
import { csvLine } from '../../../platform/formats/csv.ts';
import type { Content, Markup } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import type { ListedInvitation } from '../../../sittings/invitations/browse.ts';
import { findInvitationsOfRun, findListedInvitations } from '../../../sittings/invitations/browse.ts';
import { assessmentUrl } from '../../../sittings/invitations/invitations.ts';
import { mailInvitations } from '../../../sittings/invitations/email-templates.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { inviters } from '../../../organisations/users/roles.ts';
import { day, messagePage, notice, pager, readCount, pageOf } from '../kit/blocks.ts';
import { buttonForm, hiddenField, fieldsOf } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { runOf } from './invite.ts';
import { qrCode } from '../kit/qr.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { visibilityOf } from '../kit/visibility.ts';
import { dayOf } from '../../../organisations/zone.ts';
import { get, post } from '../kit/route.ts';

/** Pages to hand links out: to copy, to print on cards, or by email. The URL of no page contains a link. */
export const invitationLinkRoutes: ConsoleRoute[] = [
  get('/invite/{run_id}/links', inviters, ofRun),
  get('/invite/{run_id}/links.tsv', inviters, fileOfRun),
  post('/invitations/links', inviters, ofChosen),
  post('/invitations/mail', inviters, mail),
];

/** Two printed sheets of cards. A page with more QR codes would load slowly. */
const linksOnPage = 16;
const linksAtOnce = 2000;

const columns = ['name', 'reference', 'link', 'until'];

function lineOf({ app, zone }: Visit, one: ListedInvitation): string[] {
  const { baseUrl } = app.settings;
  return [one.full_name, one.ref ?? '', assessmentUrl(baseUrl, app.secrets, one), dayOf(one.expires_at, zone)];
}

const tsv = (visit: Visit, rows: readonly ListedInvitation[]): string =>
  [columns, ...rows.map((one) => lineOf(visit, one))].map((cells) => csvLine(cells, '\t')).join('');

async function card({ app, zone }: Visit, one: ListedInvitation): Promise<Markup> {
  const url = assessmentUrl(app.settings.baseUrl, app.secrets, one);
  // A QR code takes some milliseconds of CPU: other requests run between two of them.
  await setImmediate();
  return html`<li class="card"><p class="who">${name(one.full_name)}</p>${qrCode(url, `The link of ${one.full_name}`)}<p>Scan this with a phone’s camera, or type the address. It works until ${day(one.expires_at, zone)}.</p><p class="address">${url}</p></li>`;
}

async function linksPage(
  visit: Visit,
  rows: readonly ListedInvitation[],
  back: { to: string; label: string },
  more: Content,
): Promise<Answer> {
  const { app, base, query } = visit;
  if (rows.length === 0)
    return { ...messagePage('There is no link to hand out', 'Nothing that was chosen is an open invitation.'), back };
  const cards: Markup[] = [];
  for (const one of rows) cards.push(await card(visit, one));
  const writable = rows.filter((one) => one.has_email).length;
  return {
    title: 'Links to hand out',
    back,
    main: html`${notice(query, { mailed: 'The mails are on their way.' })}<p>Each link is one learner’s alone: whoever has it can sit in that learner’s name. Copy them, or print this page: eight cards a sheet.</p>${more}${
      app.settings.mailServer !== null &&
      writable > 0 &&
      buttonForm(
        `${base}/invitations/mail`,
        writable === 1 ? 'Send one learner the link by e-mail' : `Send ${writable} learners their links by e-mail`,
        rows.map((one) => hiddenField('invitation', one.invitation_id)),
      )
    }${fieldsOf(visit).lines('links', 'To copy into a spreadsheet', { value: tsv(visit, rows), rows: 5, readonly: true })}<ul class="cards">${cards}</ul>`,
  };
}

async function ofRun(visit: Visit): Promise<Answer> {
  const { base, organisationId, path, query } = visit;
  const run = await runOf(visit);
  const given = await givenOf(visit, run.run_id, linksOnPage + 1);
  const after = readCount(query, 'after');
  const found = await findInvitationsOfRun(visit.app.db, organisationId, { ...given, after });
  const { rows, last } = pageOf(found, linksOnPage);
  const file = html`<p><a href="${path}.tsv">All of them as a file</a></p>${pager(visit, last && String(last.row_no))}`;
  return linksPage(visit, rows, { to: `${base}/invite/${run.run_id}`, label: 'The table' }, file);
}

const givenOf = async (visit: Visit, runId: string, limit: number) => ({
  runId,
  limit,
  visibility: await visibilityOf(visit),
  now: new Date(visit.app.clock.nowMs()),
});

async function fileOfRun(visit: Visit): Promise<Answer> {
  const { app, organisationId, change } = visit;
  const run = await runOf(visit);
  const given = await givenOf(visit, run.run_id, linksAtOnce);
  // The audit log records each download of all names and links.
  await change(async () => ({ result: null, resource: run.run_id }));
  const parts = [csvLine(columns, '\t')];
  for (let after = 0, rows; rows === undefined || rows.length === linksAtOnce; after = rows.at(-1)?.row_no ?? 0) {
    rows = await findInvitationsOfRun(app.db, organisationId, { ...given, after });
    parts.push(...rows.map((one) => csvLine(lineOf(visit, one), '\t')));
  }
  const body = `\uFEFF${parts.join('')}`;
  return { file: { type: 'text/tab-separated-values; charset=utf-8', name: 'links.tsv', body } };
}

async function chosen(visit: Visit): Promise<ListedInvitation[]> {
  const { app, organisationId, form: sent } = visit;
  const ids = [...new Set(sent.all('invitation').map((id) => id.toLowerCase()))].filter(isUuid).slice(0, linksOnPage);
  const now = new Date(app.clock.nowMs());
  const found = await findListedInvitations(app.db, organisationId, ids, await visibilityOf(visit), now);
  return found.filter((one) => one.status === 'open' && one.state !== 'expired');
}

async function ofChosen(visit: Visit): Promise<Answer> {
  return linksPage(visit, await chosen(visit), { to: `${visit.base}/invitations`, label: 'Invitations' }, null);
}

async function mail(visit: Visit): Promise<Answer> {
  const { app, base, organisationId, change } = visit;
  const rows = await chosen(visit);
  const row = await readOrganisation(app.db, organisationId);
  const sent = await change(async (work) => {
    const result = await mailInvitations(work, row, rows);
    return result === 0 ? { result } : { result, resource: `${result} by mail` };
  });
  return { to: `${base}/invitations?did=${sent === 0 ? 'none' : 'mailed'}` };
}
