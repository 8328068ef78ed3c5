// Restamps until it is killed, right before the commit of the given slice or right after it: for releases.test.ts.
// Arguments: the slice's number, before or after.
import { openApp } from '../../../src/server/open-app.ts';
import { newRestamping, restampNext } from '../../../src/governance/upgrade/restamp.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';

const [slice, when] = process.argv.slice(2) as [string, string];
const { app } = await openApp({ ...readSettings(process.env), log: 'none' });
const { db } = app;
const doing = newRestamping();
for (let n = 1; ; n++) {
  const deadly = n === Number(slice);
  const transaction: typeof db.transaction = (inside) =>
    db.transaction(async (tx) => {
      const result = await inside(tx);
      if (deadly && when === 'before') process.kill(process.pid, 'SIGKILL');
      return result;
    });
  const step = await restampNext({ ...app, db: { ...db, transaction } }, doing);
  if (deadly || step === 'nothing left') process.kill(process.pid, 'SIGKILL');
}
