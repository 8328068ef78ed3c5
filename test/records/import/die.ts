import { importRuns } from '../../../src/records/import/run.ts';
import { openApp } from '../../../src/server/open-app.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import { dieIn } from '../../support/dying.ts';

/** A process that ends by SIGKILL in the second batch of its imports. Argument: where in it. */
const [at] = process.argv.slice(2) as [string];
const { app } = await openApp({ ...readSettings(process.env), log: 'none' });
dieIn(app, 2, at);
await importRuns.run(app);
process.exit(0);
