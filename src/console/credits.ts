import { actorNames } from './actors.ts';
import { empty, facts, instant, pager, table, withQuery, number } from './blocks.ts';
import type { CreditEntry } from '../organisations/credits.ts';
import { listCreditEntries } from '../organisations/credits.ts';
import { readOrganisation } from '../organisations/organisations.ts';
import { html } from '../html.ts';
import type { Answer, ConsoleRoute, Visit } from './route.ts';
import { get } from './route.ts';
import { auditReaders } from '../users/roles.ts';

/** The ledger of the organisation's credits: what came, what went, and who did it. */
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
  const { app, base, organisationId: id, zone, query } = visit;

  const path = `${base}/credits`;
  const given = query.get('before') ?? '';
  const before = /^[1-9]\d{0,14}$/.test(given) ? Number(given) : null;
  const [{ plan, credits: balance }, found, names] = await Promise.all([
    readOrganisation(app.db, id),
    listCreditEntries(app.db, id, { before, limit: rowsOnPage + 1 }),
    actorNames(visit),
  ]);
  const entries = found.slice(0, rowsOnPage);
  const more = found.length > rowsOnPage;
  return {
    title: 'Credits',
    main: html`<p>Each invitation costs one credit. Whoever runs the service grants them.</p>${facts([
      ['Balance', plan === 'standard' ? number(balance) : `Not counted: the plan is “${plan}”`],
    ])}${
      entries.length === 0
        ? empty('No credits have come or gone.')
        : table<CreditEntry>({
            caption: 'Every change, the newest first: the amounts add up to the balance',
            rows: entries,
            columns: [
              { head: 'No.', cell: (one) => String(one.entry_no) },
              { head: 'Time', cell: (one) => instant(one.at, zone) },
              { head: 'What', cell: (one) => kinds[one.kind] },
              { head: 'Amount', number: true, cell: (one) => signed(one.amount) },
              { head: 'Balance', number: true, cell: (one) => number(one.balance) },
              { head: 'By', cell: (one) => names.get(one.actor) ?? one.actor },
              { head: 'Invitation', cell: (one) => one.invitation_id && html`<code>${one.invitation_id}</code>` },
              { head: 'Reason', cell: (one) => one.reason },
            ],
          })
    }${pager({
      first: before === null ? null : path,
      next: more ? withQuery(path, query, { before: String(entries.at(-1)!.entry_no) }) : null,
    })}`,
  };
}
