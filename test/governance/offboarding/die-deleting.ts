// Deletes an organisation until it is killed, after so many batches: for leaving.test.ts.
// Arguments: the organisation's public id, the number of batches.
import { deleteOrganisation } from '../../../src/governance/offboarding/delete.ts';
import { openApp } from '../../../src/server/open-app.ts';
import { findOrganisation } from '../../../src/organisations/organisations.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';

const [publicId, batches] = process.argv.slice(2) as [string, string];
const { app } = await openApp({ ...readSettings(process.env), log: 'none' });
const organisation = (await findOrganisation(app.db, publicId))!;
let done = 0;
await deleteOrganisation(
  app,
  organisation,
  { actor: 'operator', requestId: app.random.uuid() },
  () => {
    if (++done === Number(batches)) process.kill(process.pid, 'SIGKILL');
  },
  new AbortController().signal,
);
