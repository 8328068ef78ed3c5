import { runImports } from '../../src/imports/run.ts';
import { openApp } from '../../src/main.ts';
import { readSettings } from '../../src/settings.ts';

/**
 * A process that ends by SIGKILL in the middle of imports. Argument: after which statement of its second batch it dies
 * (`commit`: all of them, before the commit; `reply`: after the commit).
 */
const [dieAt] = process.argv.slice(2) as [string];
const { app } = await openApp({ ...readSettings(process.env), log: 'none' });
const die = () => process.kill(process.pid, 'SIGKILL');
let batches = 0;
let statements = 0;
const { transaction } = app.db;
app.db.transaction = async (inside, turn) => {
  const isSecond = ++batches === 2;
  const result = await transaction(async (tx) => {
    const done = await inside({
      query: async (sql, values) => {
        if (isSecond && String(statements++) === dieAt) die();
        return tx.query(sql, values);
      },
    });
    if (isSecond && dieAt === 'commit') die();
    return done;
  }, turn);
  if (isSecond && dieAt === 'reply') die();
  return result;
};
await runImports(app);
process.exit(0);
