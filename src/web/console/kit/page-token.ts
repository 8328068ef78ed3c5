import type { Visibility } from '../../../organisations/groups/visibility.ts';
import type { Visit } from './route.ts';

/**
 * Where a list goes on, as its address carries it. A list that looks through what the reader does not see may end at such a
 * row: of whoever does not see everybody, the place is sealed, for this person and list, and tells nothing.
 */
type Reader = Pick<Visit, 'app' | 'path'> & {
  organisation: Pick<Visit['organisation'], 'organisation_id'>;
  session: Pick<Visit['session'], 'user_id'>;
};

const bound = ({ organisation, path, session }: Reader): string =>
  `${organisation.organisation_id} ${session.user_id} ${path} `;

export function placeText(reader: Reader, visibility: Visibility, place: string): string {
  if (visibility === null) return place;
  const { secrets, random } = reader.app;
  return secrets.seal('place', bound(reader) + place, random).toString('base64url');
}

/** @returns empty for what is no place of this person in this list */
export function readPlaceText(reader: Reader, visibility: Visibility, given: string): string {
  if (visibility === null) return given;
  const text = /^[\w-]{1,1000}$/.test(given) ? reader.app.secrets.open('place', Buffer.from(given, 'base64url')) : null;
  return text?.startsWith(bound(reader)) === true ? text.slice(bound(reader).length) : '';
}
