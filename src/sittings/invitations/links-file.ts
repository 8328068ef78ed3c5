import { csvLine } from '../../platform/formats/csv.ts';
import type { ListedInvitation } from './browse.ts';
import { assessmentUrl } from './invitations.ts';
import type { App } from '../../platform/app.ts';
import { dayOf } from '../../organisations/zone.ts';

/** The links of invitations as a file for a spreadsheet. */

export const linksAtOnce = 2000;

type LinkReader = { app: App; zone: string };

const columns = ['name', 'reference', 'link', 'until'];

function lineOf({ app, zone }: LinkReader, one: ListedInvitation): string[] {
  const { baseUrl } = app.settings;
  return [one.full_name, one.ref ?? '', assessmentUrl(baseUrl, app.secrets, one), dayOf(one.expires_at, zone)];
}

export const headLine = csvLine(columns, '\t');

export const linkLines = (reader: LinkReader, rows: readonly ListedInvitation[]): string =>
  rows.map((one) => csvLine(lineOf(reader, one), '\t')).join('');
