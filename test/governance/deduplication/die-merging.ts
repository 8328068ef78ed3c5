// Merges two learners and is killed, right before the commit or right after it: for merge.test.ts.
// Arguments: the organisation's number, who is lost, who stays, before or after.
import { feedQueue, withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { openApp } from '../../../src/server/open-app.ts';
import { mergeLearners } from '../../../src/governance/deduplication/merge.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';

const [organisation, from, into, when] = process.argv.slice(2) as [string, string, string, string];
const { app } = await openApp({ ...readSettings(process.env), log: 'none' });
const id = Number(organisation);
await withUnitOfWork(app, feedQueue(id), async (work) => {
  await mergeLearners(work, id, { from, into }, { actor: 'operator', reason: null });
  if (when === 'before')
    work.beforeCommit(async () => {
      process.kill(process.pid, 'SIGKILL');
      await new Promise(() => {});
    });
});
process.kill(process.pid, 'SIGKILL');
