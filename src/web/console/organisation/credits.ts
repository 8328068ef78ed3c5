import { actorNames } from '../kit/actors.ts';
import { facts, instant, pager, table, number, numeric, pageOf } from '../kit/blocks.ts';
import type { CreditEntry } from '../../../organisations/credits.ts';
import { listCreditEntries } from '../../../organisations/credits.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { html } from '../../../platform/html/html.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { get } from '../kit/route.ts';
import { auditReaders } from '../../../organisations/users/roles.ts';

export const creditRoutes: ConsoleRoute[] = [
  get('/credits', auditReaders, credits, { menu: 'Credits', section: 'organisation' }),
];

const rowsOnPage = 50;

const kinds: Record<CreditEntry['kind'], string> = {
  opening: 'Opening balance',
  grant: 'Granted',
  use: 'Used for an invitation',
  return: 'Returned with an invitation that nobody began',
  correction: 'Correction',
};

const signed = (amount: number) => `${amount > 0 ? '+' : '−'}${number(Math.abs(amount))}`;

async function credits(visit: Visit): Promise<Answer> {
  const { app, organisationId: id, zone, query } = visit;
  const given = query.get('before') ?? '';
  const before = /^[1-9]\d{0,14}$/.test(given) ? Number(given) : null;
  const [{ plan, credits: balance }, found, by] = await Promise.all([
    readOrganisation(app.db, id),
    listCreditEntries(app.db, id, { before, limit: rowsOnPage + 1 }),
    actorNames(visit),
  ]);
  const { rows, last } = pageOf(found, rowsOnPage);
  return {
    title: 'Credits',
    main: html`<p>Each invitation costs one credit. Whoever runs the service grants them.</p>${facts({
      Balance: plan === 'standard' ? number(balance) : `Not counted: the plan is “${plan}”`,
    })}${table<CreditEntry>(
      {
        caption: 'Every change, the newest first: the amounts add up to the balance',
        none: 'No credits have come or gone.',
      },
      rows,
      {
        'No.': (one) => String(one.entry_no),
        Time: (one) => instant(one.at, zone),
        What: (one) => kinds[one.kind],
        Amount: numeric((one) => signed(one.amount)),
        Balance: numeric((one) => one.balance),
        By: (one) => by(one.actor),
        Invitation: (one) => one.invitation_id && html`<code>${one.invitation_id}</code>`,
        Reason: (one) => one.reason,
      },
    )}${pager(visit, last && String(last.entry_no), 'before')}`,
  };
}
