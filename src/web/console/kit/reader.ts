import { type Content, html } from '../../../platform/html/html.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { teamsOfStaff } from '../../../organisations/teams.ts';
import type { Visit } from './route.ts';
import { labelsOfKeys } from '../../../integrations/access-keys/keys.ts';
import { listMembers } from '../../../organisations/users/members.ts';
import { peopleReaders } from '../../../organisations/users/roles.ts';
import { uuidIn } from './paging.ts';

/** Page tokens are sealed for limited readers, because a token may contain a row that the reader must not see. */
type Reader = Pick<Visit, 'app' | 'path'> & {
  organisation: Pick<Visit['organisation'], 'organisation_id'>;
  session: Pick<Visit['session'], 'user_id'>;
};

const bound = ({ organisation, path, session }: Reader): string =>
  `${organisation.organisation_id} ${session.user_id} ${path} `;

export function sealToken(reader: Reader, visibility: Visibility, token: string): string {
  if (visibility === null) return token;
  const { secrets, random } = reader.app;
  return secrets.seal('place', bound(reader) + token, random).toString('base64url');
}

/** @returns the token; an empty string if it was sealed for another person or list */
export function openToken(reader: Reader, visibility: Visibility, sealed: string): string {
  if (visibility === null) return sealed;
  const isToken = /^[\w-]{1,1000}$/.test(sealed);
  const text = isToken ? reader.app.secrets.open('place', Buffer.from(sealed, 'base64url')) : null;
  return text?.startsWith(bound(reader)) === true ? text.slice(bound(reader).length) : '';
}

/** A tutor sees the learners of their teams; other roles see everyone. */
export async function visibilityOf(visit: Pick<Visit, 'app' | 'organisation' | 'session'>): Promise<Visibility> {
  const { app, organisation, session } = visit;
  if (organisation.role !== 'tutor') return null;
  return teamsOfStaff(app.db, organisation.organisation_id, session.user_id);
}

/** As `visibilityOf`. Roles that see everyone may filter by a tutor, and then see the learners of that tutor. */
export async function filteredVisibility(visit: Visit): Promise<Visibility> {
  const tutor = uuidIn(visit.query, 'tutor');
  const own = await visibilityOf(visit);
  return own === null && tutor !== null ? teamsOfStaff(visit.app.db, visit.organisationId, tutor) : own;
}

/** Says why a tutor without a team sees no learners. */
export const noTeamNote = (visibility: Visibility): Content =>
  visibility?.length === 0 &&
  html`<div class="note"><p>You are in no team, so you see no learners. Ask an admin to add you to a team.</p></div>`;

/** Names the actors of a log: keys by label, and people by name if the reader's role reads names. */
export async function actorNames({ app, organisationId: id, role }: Visit): Promise<(actor: string) => string> {
  const findPeople = peopleReaders.includes(role) ? listMembers(app.db, id) : [];
  const [keys, people] = await Promise.all([labelsOfKeys(app.db, id), findPeople]);
  const names = new Map([
    ...keys.map((key) => [key.key_id, key.label ?? key.key_id] as const),
    ...people.map((one) => [one.user_id, one.full_name] as const),
  ]);
  return (actor) => names.get(actor) ?? actor;
}
