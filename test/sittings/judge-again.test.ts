import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { amendAssessment } from '../../src/records/results/amend.ts';
import type { EvidenceInput } from '../../src/records/evidence/document.ts';
import { buildDocument } from '../../src/records/evidence/document.ts';
import { readReport } from '../../src/records/evidence/evidence.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { recordAgain } from '../../src/governance/result-reviews/record-again.ts';
import { placementsOf, prepareReplacement } from '../../src/governance/result-reviews/replacement.ts';
import { engineVersions } from '../../src/engine/scoring/score.ts';
import { withService } from '../support/service.ts';
import { invited } from './learner.ts';

type Domain = { name: string; score_pct: number | null; status: string | null };

suite('a result whose level a person sets has its domains at that level', async () => {
  const service = await withService({ own: 'Knows the random values.', random: seededRandom('judged again') });
  const org = await service.organisation();
  const read = async (id: string) =>
    (await org.get(`/assessments/${id}`)).body.data as {
      working_level: string;
      domains: Domain[];
      level_probabilities: object | null;
    };

  async function places(id: string, level: string): Promise<string> {
    const placement = placementsOf('digital').get(level)!;
    const made = await prepareReplacement(service.app, org.id, id, placement, 'Seen in class');
    assert.ok(typeof made === 'object');
    const decision = { actor: 'operator', reason: 'Seen in class', answer: null, version: null };
    assert.equal(await service.withUnitOfWork((work) => recordAgain(work, org.id, made, decision)), null);
    return made.to.assessment_id;
  }
  const amends = (id: string, changes: Parameters<typeof amendAssessment>[3]) =>
    service.withUnitOfWork((work) =>
      amendAssessment(work, org.id, id, changes, { actor: 'operator', reason: 'Looked at again' }),
    );

  async function newestOf(id: string): Promise<EvidenceInput> {
    await readReport(service.app, org.id, id);
    const [row] = await service.app.db.query<{ input: string }>(
      'select input from evidence where assessment_id = $1 order by edition desc limit 1',
      [id],
    );
    return JSON.parse(row!.input) as EvidenceInput;
  }
  /** What the newest edition says below the table of domains. */
  const caption = async (id: string): Promise<string> =>
    buildDocument(await newestOf(id)).blocks.find((block) => block.kind === 'bars')!.caption;
  const versions = async (id: string) => (await newestOf(id)).sitting!.versions;

  test('up and back again, after amendments of the level and of the domains', async () => {
    const learner = await invited(service, org, { theta: 0.6 });
    const { assessment_id: first } = await learner.sits();
    const { working_level: found, domains } = await read(first!);
    assert.equal(found, 'Level 1');
    assert.match(await caption(first!), /questions at Level 1, the level of this result, that/);

    const before = await versions(first!);
    const up = await places(first!, 'Level 2');
    const { domains: above, level_probabilities } = await read(up);
    assert.equal(level_probabilities, null, 'of the engines, and not of the level that a person set');
    assert.deepEqual(
      above.map(({ name }) => name),
      domains.map(({ name }) => name),
    );
    for (const [i, { score_pct }] of above.entries())
      assert.ok(score_pct! < domains[i]!.score_pct!, 'less is right of what is harder');
    assert.match(await caption(up), /questions at Level 2, the level of this result, that/);
    const judgedBy = { name: 'Domains', version: `judged by IRT engine ${engineVersions.irt}` };
    assert.deepEqual(await versions(up), [...before, judgedBy]);

    await amends(up, { working_level: 'Level 1' });
    assert.match(await caption(up), /questions at Level 2, the level before the placement was changed, that/);
    await amends(up, { working_level: 'Level 2' });
    const back = await places(up, 'Level 1');
    assert.deepEqual((await read(back)).domains, domains);
    assert.equal((await versions(back)).filter(({ name }) => name === 'Domains').length, 1);

    const set = [{ name: domains[0]!.name, score_pct: 50, status: 'developing' }];
    await amends(back, { domains: set });
    const again = await places(back, 'Level 2');
    assert.deepEqual((await read(again)).domains, set);
    assert.match(await caption(again), /questions at Level 1, the level before the placement was changed, that/);
  });
});
