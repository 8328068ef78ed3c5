import { currentPayloadVersion } from '../../../src/platform/db/payload-version.ts';
import type { TestService } from '../../support/service.ts';
import { withService } from '../../support/service.ts';
import type { Learner } from '../../support/scenario.ts';
import { recordResults, Result, scenario } from '../../support/scenario.ts';

export const people = 40;
export const resultsEach = 3;
export const settings = { ARS_BASE_URL: 'http://results.test', ARS_RATE_LIMIT: '1000000' };

/**
 * An organisation whose learners have results each, of which one in seven is withdrawn; half of the learners are in one group.
 */
export async function filled(service: TestService) {
  const scene = await scenario(service);
  const group = await scene.group('cohort');
  const learners: Learner[] = [];
  for (let n = 1; n <= people; n++) learners.push(await scene.learner(`L-${n}`));
  await group.adds(...learners.filter((_, i) => i % 2 === 0));
  const ids = await service.withUnitOfWork((work) =>
    recordResults(
      work,
      scene.org.id,
      learners.flatMap(({ ref }) => Array.from({ length: resultsEach }, () => ({ ref }))),
    ),
  );
  for (const [i, id] of ids.entries())
    if (i % 7 === 0) await new Result(scene, id, learners[Math.floor(i / resultsEach)]!, 'maths').isWithdrawn();
  return { scene, group };
}

/** This release on a database of one before, whose payloads were older. */
export async function previousRelease() {
  const service = await withService({ own: 'Is left to a later release.', settings });
  const { scene, group } = await filled(service);
  await service.app.db.query('update feed set shape = $1', [currentPayloadVersion - 1]);
  return { service, scene, group };
}
