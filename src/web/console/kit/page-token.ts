import type { Visibility } from '../../../organisations/groups/visibility.ts';
import type { Visit } from './route.ts';

/** A page token may point at a row that a tutor must not see. It is sealed for everyone with limited visibility. */
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

/** @returns an empty string if the token is not of this person and list */
export function readPlaceText(reader: Reader, visibility: Visibility, given: string): string {
  if (visibility === null) return given;
  const text = /^[\w-]{1,1000}$/.test(given) ? reader.app.secrets.open('place', Buffer.from(given, 'base64url')) : null;
  return text?.startsWith(bound(reader)) === true ? text.slice(bound(reader).length) : '';
}
