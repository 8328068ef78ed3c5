import { makeOrganisation } from '../support/data.ts';
import { figure } from '../support/figures.ts';
import type { CostedLoad } from '../support/process.ts';
import { costedLoad, load, median, openBench, startBenchService, startServer, stop } from '../support/process.ts';

/**
 * A conditional poll that ends in 304, with sign-in, rate limit and audit, beside a bare node:http server that answers 304
 * to everything, in turns. Usage: node bench/scenarios/poll.ts [rounds] [seconds]
 */
const rounds = Number(process.argv[2] ?? 9);
const seconds = Number(process.argv[3] ?? 4);

const { app, close } = await openBench();
const organisation = await makeOrganisation(app);
const bare = await startServer('bare-http.ts');
const service = await startBenchService(organisation.public_id);
const path = '/api/v1/assessments?since=2026-01-01T00:00:00Z&limit=500';
const first = await fetch(`http://127.0.0.1:${service.port}${path}`, { headers: service.headers });
const request = service.get(path, { 'If-None-Match': first.headers.get('etag')! });
try {
  for (const connections of [64, 1]) {
    const options = { connections, seconds, request, status: '304' };
    const ratios: number[] = [];
    const polls: CostedLoad[] = [];
    for (let round = 0; round < rounds; round++) {
      const ceiling = await load(bare, options);
      const ours = await costedLoad(service, app.db, options);
      polls.push(ours);
      ratios.push(ours.per_second / ceiling.per_second);
    }
    const name = `${connections} connection${connections === 1 ? '' : 's'}`;
    const of = (read: (one: CostedLoad) => number) => median(polls.map(read));
    if (connections === 1) {
      figure(
        `${name}, p50`,
        of((one) => one.p50_ms),
        'ms',
        { atMost: 1 },
      );
      continue;
    }
    figure(
      name,
      of((one) => one.per_second),
      'a second',
    );
    figure(`${name}, of bare node:http`, 100 * median(ratios), '%', { atLeast: 40 });
    figure(
      'each poll, Node',
      of((one) => one.node),
      'µs',
      { atMost: 23 },
    );
    figure(
      'each poll, PostgreSQL',
      of((one) => one.postgres),
      'µs',
      { atMost: 14 },
    );
  }
} finally {
  await Promise.all([stop(bare.child), stop(service.child)]);
  await close();
}
