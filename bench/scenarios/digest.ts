import { digestJson } from '../../src/records/results/pages/digest.ts';
import { fillOrganisation } from '../support/data.ts';
import { figure } from '../support/figures.ts';
import { openBench } from '../support/process.ts';

/**
 * The finest digest of an organisation's results: how long it takes, the first time with nothing in memory.
 * Usage: node bench/scenarios/digest.ts [rounds] [results]
 */
const rounds = Number(process.argv[2] ?? 15);
const results = Number(process.argv[3] ?? 1_000_000);

const { app, close } = await openBench();
const { organisation_id: organisationId } = await fillOrganisation(app, results);
const seconds: number[] = [];
for (let turn = 0; turn <= rounds; turn++) {
  // Another state of the feed each time: a digest is kept for its state.
  const feed = { position: -turn, state: -turn, restoredAt: 0 };
  const begunMs = performance.now();
  const json = await digestJson(
    app.db,
    { organisationId, feed },
    { facets: null, groupIds: null, bits: 16, buckets: undefined },
  );
  seconds.push((performance.now() - begunMs) / 1000);
  if (json === null) throw new Error('The digest is not filled.');
}
figure(`65,536 buckets of ${results.toLocaleString('en-GB')} results, longest`, Math.max(...seconds), 's', {
  atMost: 1,
});
await close();
