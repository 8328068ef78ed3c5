// Tier: full. Starts several processes and kills one.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, suite, test } from 'node:test';
import type { Readiness } from '../../../src/server/probes.ts';
import { program } from '../../support/ars.ts';
import { credentials } from '../../contract/support/client.ts';
import { openingTests, scrape } from '../../support/metrics/scrape.ts';
import { withService } from '../../support/service.ts';

suite('before several processes serve anything', () => openingTests(['--processes', '2']));

suite('several processes', () => {
  test('are one to whoever reads, and nothing falls when one of them is killed', async () => {
    const { databaseUrl, organisation } = await withService();
    const org = await organisation();
    const child = spawn(process.execPath, [program, 'serve', '--processes', '2'], {
      env: {
        ...process.env,
        DATABASE_URL: databaseUrl,
        ARS_SECRET: 'a secret of the tests, longer than 32 characters',
        ARS_PORT: '0',
        ARS_METRICS_PORT: '0',
        ARS_DRAIN_DELAY_SECONDS: '0',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    after(() => child.kill('SIGKILL'));
    const { url, metrics } = await bothStarted(child);
    const call = async () =>
      assert.equal(
        (await fetch(`${url}/api/v1/groups`, { headers: { ...credentials(org.key), connection: 'close' } })).status,
        200,
      );
    for (let i = 0; i < 6; i++) await call();
    const counted = (of: Awaited<ReturnType<typeof scrape>>) =>
      of.value('ars_http_requests_total', { route: 'GET /groups', status: '2xx' });
    // A process that a busy machine keeps from answering in time is left out, and counts as it did last.
    const scrapeBoth = async () => {
      for (;;) {
        const all = await scrape(metrics);
        if (all.value('ars_processes', {}) === 2) return all;
      }
    };
    let now = await scrapeBoth();
    assert.equal(counted(now), 6);
    assert.equal(now.value('ars_opening', {}), 0);
    assert.equal(now.value('ars_http_request_duration_seconds_count', { route: 'GET /groups' }), 6);
    let ready: Readiness;
    do ready = (await (await fetch(`${metrics}/readyz`)).json()) as Readiness;
    while (ready.processes?.ready !== 2);
    assert.deepEqual([ready.status, ready.processes], ['ready', { ready: 2, started: 2 }]);

    const { stdout } = spawnSync('pgrep', ['-P', String(child.pid)], { encoding: 'utf8' });
    process.kill(Number(stdout.trim().split('\n')[0]), 'SIGKILL');
    do {
      now = await scrape(metrics);
      assert.equal(counted(now), 6);
    } while (now.value('ars_process_restarts_total', {}) !== 1 || now.value('ars_processes', {}) !== 2);
    await call();
    assert.equal(counted(await scrapeBoth()), 7);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  });

  async function bothStarted(child: ChildProcess): Promise<{ url: string; metrics: string }> {
    let url = '';
    let metrics = '';
    let started = 0;
    for await (const line of createInterface({ input: child.stderr! })) {
      const found = /^Probes and metrics at (\S+)$/.exec(line);
      if (found !== null) metrics = found[1]!;
      url = /"event":"service.started".*"url":"([^"]+)"/.exec(line)?.[1] ?? url;
      if (line.includes('"service.started"')) started++;
      if (started === 2 && metrics !== '') break;
    }
    child.stderr!.resume();
    return { url, metrics };
  }
});
