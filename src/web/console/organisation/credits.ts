import { actorNames } from '../kit/reader.ts';
import { facts, instant, number, code } from '../kit/blocks.ts';
import { type CreditEntry, listCreditEntries, hasCountedCredits } from '../../../organisations/credits.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { html } from '../../../platform/html/html.ts';
import { type Answer, type ConsoleRoute, type Visit, get } from '../kit/route.ts';
import { auditReaders } from '../../../organisations/users/roles.ts';
import { listPage } from '../kit/page.ts';
import { name } from '../kit/frame.ts';
import { findListedInvitations } from '../../../sittings/invitations/browse.ts';
import { readToken, readPage } from '../kit/paging.ts';
import { numeric, plain, wideOnly } from '../kit/table.ts';

export const creditRoutes: ConsoleRoute[] = [
  get('/credits', auditReaders, credits, { menu: 'Credits', section: 'organisation' }),
];

const rowsOnPage = 50;

const kinds: Record<CreditEntry['kind'], string> = {
  opening: 'Opening balance',
  grant: 'Granted',
  use: 'Used for an invitation',
  return: 'Returned with an invitation that was not started',
  correction: 'Correction',
};

const signed = (amount: number) => `${amount > 0 ? '+' : '−'}${number(Math.abs(amount))}`;

/** A person who has left the organisation has no name here. */
function actorWords(actor: string): string {
  if (actor === 'operator' || actor === 'service') return 'The operator';
  return isUuid(actor) ? 'A colleague' : actor;
}

async function credits(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, query } = visit;
  const [before] = readToken(query.get('after'), 'int8') ?? [];
  const [{ plan, credits: balance, public_id: publicId }, { rows, last }, by] = await Promise.all([
    readOrganisation(app.db, id),
    readPage((limit) => listCreditEntries(app.db, id, { before: before ? Number(before) : null, limit }), rowsOnPage),
    actorNames(visit),
  ]);
  const ids = rows.flatMap((one) => one.invitation_id ?? []);
  const found = await findListedInvitations(app.db, id, ids, null, new Date(app.clock.nowMs()));
  const names = new Map(found.map((one) => [one.invitation_id, one.full_name]));
  return listPage<CreditEntry>(visit, {
    title: 'Credits',
    intro: [
      html`<p>Each invitation costs 1 credit. To get more, ask the operator of the service. Name the organisation ID and the number of credits.</p>`,
      facts({
        Balance: hasCountedCredits(plan) ? number(balance) : `Not counted: the plan is “${plan}”`,
        'Organisation ID': code(publicId),
      }),
    ],
    caption: 'Every change, newest first. The amounts add up to the balance.',
    none: 'No credit has been granted or used yet. Ask the operator for credits.',
    rows,
    columns: {
      Time: (one) => instant(one.at, zone),
      'No.': wideOnly((one) => String(one.entry_no)),
      Amount: { ...numeric((one) => signed(one.amount)), phone: 'plain' },
      Balance: numeric((one) => one.balance),
      Change: plain((one) => kinds[one.kind]),
      By: plain((one) => actorWords(by(one.actor))),
      Invitation: plain(
        ({ invitation_id }) =>
          invitation_id &&
          html`<a href="${base}/invitations/${invitation_id}">${name(names.get(invitation_id) || 'Erased')}</a>`,
      ),
      Reason: plain((one) => one.reason),
    },
    next: last && String(last.entry_no),
  });
}
