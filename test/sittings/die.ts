import { openApp } from '../../src/server/open-app.ts';
import { readSettings } from '../../src/platform/config/settings.ts';
import { answerQuestion } from '../../src/sittings/answer.ts';
import { finishSitting } from '../../src/sittings/finish.ts';

/**
 * A process that ends by SIGKILL in the middle of one verb. Arguments: `answer` or `finish`, organisation, sitting, and
 * after which statement of the transaction it dies (`commit`: all of them, before the commit; `reply`: after the commit).
 */
const [verb, organisation, sittingId, dieAt] = process.argv.slice(2) as [string, string, string, string];
const { app } = await openApp({ ...readSettings(process.env), log: 'none' });
const die = () => process.kill(process.pid, 'SIGKILL');
let statements = 0;
const { transaction } = app.db;
app.db.transaction = async (inside) => {
  const result = await transaction(async (tx) => {
    const done = await inside({
      query: async (sql, values) => {
        if (String(statements++) === dieAt) die();
        return tx.query(sql, values);
      },
    });
    if (dieAt === 'commit') die();
    return done;
  });
  if (dieAt === 'reply') die();
  return result;
};
const key = { organisation_id: Number(organisation), sitting_id: sittingId };
if (verb === 'finish') await finishSitting(app, key, null);
else await answerQuestion(app, key, { position: 1, answer: {}, skip: true });
process.stdout.write(`${statements}\n`);
process.exit(0);
