import { manualClock } from '../../platform/time/manual-clock.ts';
import { openApp } from '../../../src/server/open-app.ts';
import { carryOutRuns } from '../../../src/governance/retention/run.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import { dieIn } from '../../support/dying.ts';

/** A process that carries out runs and ends by SIGKILL. Arguments: its clock, in which transaction it dies, and where in it. */
const [now, nth, at] = process.argv.slice(2) as [string, string, string];
const { app } = await openApp({ ...readSettings(process.env), log: 'none' }, { clock: manualClock(Number(now)) });
dieIn(app, Number(nth), at);
await carryOutRuns(app);
process.exit(0);
