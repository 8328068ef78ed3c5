import { html } from '../html.ts';
import { roleMeanings, roleNames, roles } from '../users/roles.ts';
import { empty, facts } from './blocks.ts';
import { name } from './frame.ts';
import type { Answer, ConsoleRoute, PersonVisit, Visit } from './route.ts';

export const homeRoutes: ConsoleRoute[] = [
  { for: roles, method: 'GET', path: '', menu: 'Start', handle: start },
  { for: 'person', method: 'GET', path: '/console', handle: entrance },
  { for: 'person', method: 'GET', path: '/console/organisations', handle: organisations },
];

/** Straight into the organisation where there is one only. */
async function entrance(visit: PersonVisit): Promise<Answer> {
  const { memberships } = visit.session;
  return memberships.length === 1 ? { to: `/console/${memberships[0]!.public_id}` } : organisations(visit);
}

async function organisations({ session: { memberships } }: PersonVisit): Promise<Answer> {
  return {
    page: {
      title: 'Your organisations',
      main:
        memberships.length === 0
          ? empty('You belong to no organisation any more. Ask an owner of yours for an invitation.')
          : html`<ul class="choices">${memberships.map(
              (one) =>
                html`<li><a href="/console/${one.public_id}">${name(one.name)}</a> <span class="hint">${roleNames[one.role]}</span></li>`,
            )}</ul>`,
    },
  };
}

async function start({ organisation }: Visit): Promise<Answer> {
  return {
    page: {
      title: organisation.name,
      main: facts([
        ['Your role', roleNames[organisation.role]],
        ['What it may', roleMeanings[organisation.role]],
        ['Organisation id', html`<code>${organisation.public_id}</code>`],
      ]),
    },
  };
}
