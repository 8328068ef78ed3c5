// Loaded before everything else in a process of a release that doesn't exist: the next one. It has a second migration, in the
// folder that ARS_TEST_MIGRATIONS names, and a second payload version, in which results have an `edition`.
import { registerHooks } from 'node:module';
import { replaced } from '../mutations/mutate-text.ts';

const changes = [
  { file: 'src/platform/db/payload-version.ts', from: 'currentPayloadVersion = 1', to: 'currentPayloadVersion = 2' },
  {
    file: 'src/platform/db/migrate.ts',
    from: "new URL('./migrations/', import.meta.url)",
    to: 'new URL(process.env.ARS_TEST_MIGRATIONS)',
  },
  {
    file: 'src/records/results/body.ts',
    from: '"status":"completed","updated_at"',
    to: '"status":"completed",${row.shape >= 2 ? \'"edition":2,\' : ""}"updated_at"',
  },
  // So that nobody waits for a minute.
  { file: 'src/platform/config/limits.ts', from: 'upgradeAloneMs: 45_000', to: 'upgradeAloneMs: 500' },
  { file: 'src/platform/config/limits.ts', from: 'upgradeLookMs: 5000', to: 'upgradeLookMs: 100' },
];
const root = new URL('../../../', import.meta.url).href;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const own = changes.filter(({ file }) => url === root + file);
    return own.length === 0 ? loaded : { ...loaded, source: replaced(loaded.source, own, 'the next release') };
  },
});
