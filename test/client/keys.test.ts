import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Filters } from '../../client/src/index.ts';
import { recordResults } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import { assertSame, clientOf, heldBy, mirrorScene, truth } from './support/mirrors.ts';

suite('a mirror that gets another key pair', async () => {
  const service = await withService({
    own: 'Has a public address.',
    settings: { ARS_RATE_LIMIT: '1000000', ARS_BASE_URL: 'http://results.test' },
  });

  for (const filters of [{ learner_ref: 'ana-1' }, { assessed_from: '2020-01-01T00:00:00.000Z' }, {}] as Filters[])
    test(`holds what that pair shows: ${JSON.stringify(filters)}`, async () => {
      const { scene, ana, front, store, polled, clock } = await mirrorScene(service, 10);
      await service.withUnitOfWork((work) =>
        recordResults(
          work,
          scene.org.id,
          Array.from({ length: 8 }, () => ({ ref: 'ana-1', subject: 'english' as const })),
        ),
      );
      const isDigest = Object.keys(filters).length === 0;
      const bound = (subjects?: string[]) => scene.org.another(subjects === undefined ? {} : { subjects });
      for (const [what, subjects, pageSize, wholeWalks] of [
        ['the first', ['english'], 3, 1],
        ['wider', undefined, 3, 1],
        ['rolled, without bounds', undefined, 3, 0],
        ['narrower', ['maths'], 3, 1],
        ['rolled, with the same bounds', ['maths'], 3, 0],
        ['for one page, which shows no bounds', ['maths', 'english'], 500, 1],
        ['rolled, for one page', ['maths', 'english'], 500, 1],
      ] as [string, string[] | undefined, number, number][]) {
        const { key } = await bound(subjects);
        const client = clientOf(front.url, key, { nowMs: () => clock.ms });
        const report = await polled({ client, filters, pageSize });
        assertSame(heldBy(store), await truth(client, filters), what);
        if (!isDigest) assert.equal(report.wholeWalks, wholeWalks, what);
        await ana.completes({ subject: 'english' });
        assert.equal((await polled({ client, filters, pageSize })).wholeWalks, 0, what);
        assertSame(heldBy(store), await truth(client, filters), `${what}, afterwards`);
      }
    });
});
