import type { MenuSection } from './frame.ts';
import type { Membership } from '../../../organisations/users/sessions.ts';
import { type Section, isFor } from './route.ts';
import { consoleRoutes } from '../routes.ts';

const sections: Record<Section, string> = {
  day: 'Day to day',
  integration: 'Integration',
  organisation: 'Organisation',
};

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
