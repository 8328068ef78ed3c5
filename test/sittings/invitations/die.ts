import { invitationRuns } from '../../../src/sittings/invitations/runs/run.ts';
import { openApp } from '../../../src/server/open-app.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import { dieIn } from '../../support/dying.ts';

/** A process that ends by SIGKILL in the first batch of a run of invitations. Arguments: organisation, run, where in it. */
const [organisation, runId, at] = process.argv.slice(2) as [string, string, string];
const { app } = await openApp({ ...readSettings(process.env), log: 'none' });
dieIn(app, 1, at);
await invitationRuns.goOn(app, Number(organisation), runId);
process.exit(0);
