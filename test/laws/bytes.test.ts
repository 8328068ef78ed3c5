import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Answer } from '../contract/support/client.ts';
import { client } from '../contract/support/client.ts';
import { scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import { secret, serviceProcess } from './world/processes.ts';

/** Law 7: the same result has the same bytes; which process, zone, language or place made them doesn't show. */

suite('law 7: same result, same bytes', () => {
  test('law 7: two processes with other zones and languages send the same pages, cursors, ETags, evidence and OpenAPI document', async () => {
    const settings = { ARS_SECRET: secret, ARS_RATE_LIMIT: '1000000', ARS_BASE_URL: 'https://results.example' };
    const service = await withService({ own: 'Has a public address.', settings });
    const scene = await scenario(service);
    const cohort = await scene.group('C1');
    for (const [n, name] of ['Ana Silva', 'İlker Işık', 'Nguyễn Thị Ánh', '王小明', 'عمر العلي'].entries()) {
      const learner = await scene.learner(`L-${n}`, name);
      await learner.joins(cohort);
      await learner.completes({ subject: 'maths', level: n });
    }
    const results = (await scene.org.get('/assessments')).body.data.map(
      (one: { assessment_id: string }) => one.assessment_id,
    ) as string[];
    // Generated once by either process; the bytes that the other would have made are compared in test/records/evidence.
    for (const id of results.slice(0, 1)) await scene.org.get(`/assessments/${id}/report.pdf`);

    const far = await serviceProcess({
      ...settings,
      DATABASE_URL: service.databaseUrl,
      TZ: 'Pacific/Kiritimati',
      LANG: 'tr_TR.UTF-8',
      LC_ALL: 'tr_TR.UTF-8',
    });
    const other = client(far.url, scene.org.key);
    const shown = ({ status, headers, bytes }: Answer) => {
      const { date: _, ratelimit: __, 'x-request-id': _id, ...rest } = headers;
      return { status, headers: rest, body: bytes.toString('base64') };
    };
    const since = '2026-01-01T00:00:00%2B14:00';
    const paths = [
      '/assessments?limit=2',
      `/assessments?limit=2&since=${since}`,
      `/assessments?limit=1&group_id=${cohort.id}&since=${since}`,
      '/assessments?sort=-assessed_at&limit=2',
      '/assessments?assessed_from=2026-01-15T00:00:00Z&subject=maths&limit=2',
      '/learners?limit=2',
      '/groups',
      `/groups/${cohort.id}`,
      '/learners/L-1',
      `/assessments/${results[0]}`,
      `/assessments/${results[0]}/report.pdf`,
      '/health',
      '/nowhere',
      '/assessments?sort=x',
    ];
    for (const path of paths) {
      let [here, there] = await Promise.all([scene.org.get(path), other.get(path)]);
      for (;;) {
        assert.deepEqual(shown(here), shown(there), `law 7: ${path}`);
        const next: string | null = here.body?.pagination?.next ?? null;
        if (next === null) break;
        // A cursor that one process wrote is read by the other.
        const address = new URL(next).pathname.slice('/api/v1'.length) + new URL(next).search;
        [there, here] = await Promise.all([other.get(address), scene.org.get(address)]);
      }
      if (here.headers.etag !== undefined)
        assert.equal(
          (await other.get(path, { 'if-none-match': (await scene.org.get(path)).headers.etag! })).status,
          304,
        );
    }
    for (const path of ['/openapi.json', '/docs/reference.html', '/docs/search-index.js']) {
      const [here, there] = await Promise.all(
        [service.url, far.url].map(async (url) => {
          const answer = await fetch(url + path);
          return { status: answer.status, text: await answer.text() };
        }),
      );
      assert.deepEqual(here, there, `law 7: ${path}`);
    }
    await far.kill();
  });
});
