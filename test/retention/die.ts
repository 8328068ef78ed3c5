import { manualClock } from '../../src/clock.ts';
import { openApp } from '../../src/main.ts';
import { carryOutRuns } from '../../src/retention/run.ts';
import { readSettings } from '../../src/settings.ts';

/**
 * A process that carries out runs and ends by SIGKILL. Arguments: its clock, in which transaction it dies, and where in it
 * (`inside`: after ten statements; `commit`: after all of them, before the commit).
 */
const [now, dieIn, where] = process.argv.slice(2) as [string, string, string];
const { app } = await openApp({ ...readSettings(process.env), log: 'none' }, { clock: manualClock(Number(now)) });
const die = () => process.kill(process.pid, 'SIGKILL');
let transactions = 0;
const { transaction } = app.db;
app.db.transaction = (inside, turn) =>
  transaction(async (tx) => {
    const isLast = ++transactions === Number(dieIn);
    let statements = 0;
    const done = await inside({
      query: async (sql, values) => {
        if (isLast && where === 'inside' && ++statements === 10) die();
        return tx.query(sql, values);
      },
    });
    if (isLast) die();
    return done;
  }, turn);
await carryOutRuns(app);
process.exit(0);
