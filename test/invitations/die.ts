import { goOn } from '../../src/invitations/run.ts';
import { openApp } from '../../src/main.ts';
import { readSettings } from '../../src/settings.ts';

/**
 * A process that ends by SIGKILL in the middle of a run of invitations. Arguments: organisation, run, and after which
 * statement of its first transaction it dies (`commit`: all of them, before the commit; `reply`: after the commit).
 */
const [organisation, runId, dieAt] = process.argv.slice(2) as [string, string, string];
const { app } = await openApp({ ...readSettings(process.env), log: 'none' });
const die = () => process.kill(process.pid, 'SIGKILL');
let statements = 0;
const { transaction } = app.db;
app.db.transaction = async (inside, turn) => {
  const result = await transaction(async (tx) => {
    const done = await inside({
      query: async (sql, values) => {
        if (String(statements++) === dieAt) die();
        return tx.query(sql, values);
      },
    });
    if (dieAt === 'commit') die();
    return done;
  }, turn);
  if (dieAt === 'reply') die();
  return result;
};
await goOn(app, Number(organisation), runId);
process.exit(0);
