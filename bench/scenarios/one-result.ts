import { fillNumbered, idOf, makeOrganisation } from '../support/data.ts';
import { figure } from '../support/figures.ts';
import { getRequest, load, median, openBench, startBenchService, startServer, stop } from '../support/process.ts';

/**
 * One result by its ID, many in turn, beside a bare node:http server that makes one prepared lookup through a pool.
 * Usage: node bench/scenarios/one-result.ts [rounds] [seconds] [results]
 */
const rounds = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 4);
const count = Number(process.argv[4] ?? 20_000);

const { app, close } = await openBench();
const organisation = await makeOrganisation(app);
await fillNumbered(app, organisation, count);
await close();
const bare = await startServer('bare-lookup.ts', String(organisation.organisation_id));
const service = await startBenchService(organisation.public_id);
const id = idOf('############');
try {
  for (const connections of [64, 1]) {
    const [ratios, rates]: number[][] = [[], []];
    for (let round = 0; round < rounds; round++) {
      const options = { connections, seconds, count };
      const ceiling = await load(bare, { ...options, request: getRequest(`/${id}`) });
      const ours = await load(service, { ...options, request: service.get(`/api/v1/assessments/${id}`) });
      rates!.push(ours.per_second);
      ratios!.push(ours.per_second / ceiling.per_second);
    }
    const name = `${connections} connection${connections === 1 ? '' : 's'}`;
    figure(name, median(rates!), 'a second');
    figure(`${name}, of a bare lookup`, 100 * median(ratios!), '%', { atLeast: 50 });
  }
} finally {
  await Promise.all([stop(bare.child), stop(service.child)]);
}
