// Tier: full. Measures times on a quiet machine.
import { request } from 'node:http';
import { Agent } from 'node:http';
import { after, suite, test } from 'node:test';
import { routes } from '../../src/api/route-table.ts';
import { apiBase } from '../../src/platform/config/settings.ts';
import { credentials } from '../contract/support/client.ts';
import { Scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import { tellApart } from './world/interleaved.ts';

/**
 * Law 6 by the clock: another organisation's things take as long as what doesn't exist, on every route that names one,
 * with and without credentials. Run on demand and nightly, on a quiet machine: `ARS_TIMING=1000 npm test -- test/laws/timing.test.ts`.
 *
 * Requests for the foreign id and for an unknown one go in pairs on one connection, in a random order within each pair, so
 * whatever else the machine does hits both alike. The slowest tenth and the fastest tenth of each are dropped, and Welch's t
 * compares the rest. What is beyond the bound is measured once more: chance doesn't repeat itself.
 */
const samples = Number(process.env.ARS_TIMING ?? 0);
const unknown = '00000000-0000-4000-8000-000000000000';

suite('law 6: the same time', { skip: samples === 0 && 'set ARS_TIMING to the number of samples' }, async () => {
  if (samples === 0) return;
  const service = await withService({
    own: 'Logs otherwise.',
    settings: { ARS_RATE_LIMIT: '1000000000', ARS_LOG: 'none' },
  });
  const [own, foreign] = [await service.organisation(), await service.organisation()];
  const scene = new Scenario(service, foreign);
  const learner = await scene.learner('FOREIGN-1', 'Somebody Else');
  const result = await learner.completes();
  const group = await scene.group('FOREIGN-G');
  const { id: webhook } = (
    await foreign.post('/webhooks', { url: 'https://example.org/hook', event_types: ['assessment.completed'] })
  ).body.data;
  const ids: Record<string, [foreign: string, unknown: string]> = {
    '/assessments': [result.id, unknown],
    '/learners': ['FOREIGN-1', 'UNKNOWN-1'],
    '/groups': [group.id, unknown],
    '/webhooks': [webhook, unknown],
  };
  // Read by their own organisation just before, so that whatever is remembered is.
  for (let i = 0; i < 3; i++) await foreign.get(`/assessments/${result.id}/report.pdf`);

  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  after(() => agent.destroy());
  const { hostname, port } = new URL(service.url);
  const once = (method: string, path: string, headers: Record<string, string>, body: string | undefined) =>
    new Promise<number>((resolve, reject) => {
      const began = process.hrtime.bigint();
      request({ hostname, port, method, path: apiBase + path, agent, headers }, (reply) => {
        reply.resume();
        reply.once('end', () => resolve(Number(process.hrtime.bigint() - began) / 1000));
      })
        .once('error', reject)
        .end(body);
    });

  for (const route of routes.filter((one) => one.path.includes('{')))
    for (const [who, headers] of [
      ['with credentials', credentials(own.key)],
      ['without', {}],
    ] as const)
      test(`${route.method} ${route.path} ${who}`, async () => {
        const pair = ids[/^\/\w+/.exec(route.path)![0]]!;
        const body = route.bodyExample === undefined ? undefined : JSON.stringify(route.bodyExample);
        const sent = body === undefined ? headers : { ...headers, 'content-type': 'application/json' };
        await tellApart(samples, route.path, (which) =>
          once(route.method, route.path.replace(/\{\w+\}/, pair[which]!), sent, body),
        );
      });
});
