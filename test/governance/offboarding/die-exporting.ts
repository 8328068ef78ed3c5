// Exports an organisation until it is killed, at a line of progress: for returned-again.test.ts.
// Arguments: the organisation's public id, the folder, the line.
import { exportOrganisation } from '../../../src/governance/offboarding/export.ts';
import { openApp } from '../../../src/server/open-app.ts';
import { findOrganisation } from '../../../src/organisations/organisations.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';

const [publicId, folder, last] = process.argv.slice(2) as [string, string, string];
const { app } = await openApp({ ...readSettings(process.env), log: 'none' });
const organisation = (await findOrganisation(app.db, publicId))!;
await exportOrganisation(
  app,
  organisation,
  folder,
  (line) => {
    if (line === last) process.kill(process.pid, 'SIGKILL');
  },
  new AbortController().signal,
);
