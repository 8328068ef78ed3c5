// Reads a result's report for the first time and kills itself right before the statement of the given name: for
// store.test.ts. Arguments: organisation, assessment, statement.
import { openApp } from '../../../src/server/open-app.ts';
import { readReport } from '../../../src/records/evidence/store.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';

const [organisation, assessment, deadly] = process.argv.slice(2) as [string, string, string];
const { app } = await openApp({ ...readSettings(process.env), log: 'none' });
const { db } = app;
await readReport(
  {
    ...app,
    db: {
      ...db,
      transaction: (inside) =>
        db.transaction((tx) =>
          inside({
            query(sql, values) {
              if (typeof sql !== 'string' && sql.name === deadly) process.kill(process.pid, 'SIGKILL');
              return tx.query(sql, values);
            },
          }),
        ),
    },
  },
  Number(organisation),
  assessment,
);
process.exit(0);
