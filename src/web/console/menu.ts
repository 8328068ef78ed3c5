import type { MenuSection } from './kit/frame.ts';
import type { Membership } from '../../organisations/users/sessions.ts';
import { type Section, isFor } from './kit/route.ts';
import { consoleRoutes } from './routes.ts';

const sections: Record<Section, string> = {
  day: 'Day to day',
  integration: 'Integration',
  organisation: 'Organisation',
};

/** Pages without an entry in the menu that search finds by name. */
export const otherPages: Readonly<Record<string, string>> = {
  '/invite/one': 'Invite one learner',
  '/results/import': 'Import results',
  '/results/export': 'Export results',
  '/results/lists': 'Funding lists',
  '/reports': 'Scheduled reports',
  '/results/spread': 'Distribution of placements',
  '/results/progress': 'Starting points and progress',
  '/groups/create': 'Create group',
  '/teams/create': 'Create team',
  '/people/invite': 'Invite person',
  '/keys/create': 'Create key',
  '/webhooks/create': 'Register webhook endpoint',
  '/deliveries': 'Deliveries',
  '/log/errors': 'Errors and traffic',
  '/data-protection/holds': 'Legal holds',
  '/data-protection/retention': 'Retention',
  '/mails': 'Emails',
};

/** The pages that search finds by name. */
export const pagesFor = (base: string, organisation: Membership): { to: string; label: string }[] =>
  consoleRoutes.flatMap((route) => {
    if (typeof route.for === 'string' || route.method !== 'GET' || !isFor(route, organisation)) return [];
    const label = route.menu ?? otherPages[route.path];
    return label === undefined ? [] : [{ to: base + route.path, label }];
  });

/** The menu entries that the person may open. The entry with the longest matching URL is marked as the current one. */
export function menuFor(base: string, path: string, organisation: Membership): MenuSection[] {
  const entries = consoleRoutes.flatMap((route) => {
    if (typeof route.for === 'string' || route.menu === undefined || !isFor(route, organisation)) return [];
    return [{ to: base + route.path, label: route.menu, section: route.section ?? 'day' }];
  });
  const around = entries
    .filter(({ to }) => path === to || (to !== base && path.startsWith(`${to}/`)))
    .reduce((longest, { to }) => (to.length > longest.length ? to : longest), '');
  return (Object.keys(sections) as Section[]).flatMap((section) => {
    const pages = entries
      .filter((entry) => entry.section === section)
      .map(({ to, label }): MenuSection['pages'][number] => ({
        to,
        label,
        here: to !== around ? null : path === to ? 'page' : 'true',
      }));
    return pages.length === 0 ? [] : [{ label: sections[section], pages }];
  });
}
