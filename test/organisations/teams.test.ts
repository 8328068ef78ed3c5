import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Visit } from '../../src/web/console/kit/route.ts';
import { visibilityOf } from '../../src/web/console/kit/reader.ts';
import { statement } from '../../src/platform/db/database.ts';
import { isVisibleLearner } from '../../src/organisations/groups/visibility.ts';
import type { Visibility } from '../../src/organisations/groups/visibility.ts';
import { addTeamStaff, ensureTeam, removeTeamStaff } from '../../src/organisations/teams.ts';
import { addToTeam, removeFromTeam } from '../support/teams.ts';
import type { Role } from '../../src/organisations/users/roles.ts';
import { changeMember } from '../../src/organisations/users/members.ts';
import { personOf } from '../web/console/visitor.ts';
import { scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';

const service = await withService();
const { db } = service.app;
const scene = await scenario(service);
const { id } = scene.org;

const seen = statement(
  'test.seen',
  `select ref from learner l where organisation_id = $1 and ref is not null and ${isVisibleLearner('l.learner_id', '$2')} order by ref`,
);
const visibility = (role: Role, userId: string) =>
  visibilityOf({
    app: service.app,
    organisation: { organisation_id: id, role } as Visit['organisation'],
    session: { user_id: userId } as Visit['session'],
  });
const seenBy = async (visibility: Visibility) =>
  (await db.query<{ ref: string }>(seen, [id, visibility])).map((row) => row.ref);

suite('teams and who works with them', () => {
  test('whoever works with a team sees those who are in it now, and nobody else', async () => {
    for (const ref of ['ana', 'bo', 'cy']) await scene.learner(ref);
    const [north, south] = await Promise.all(
      ['north', 'south'].map((ref) => service.withUnitOfWork((work) => ensureTeam(work, id, { ref, name: ref }))),
    );
    const tutor = await personOf(service, id, 'tutor');
    const other = await personOf(service, (await service.organisation()).id, 'tutor');
    assert.deepEqual(await seenBy(await visibility('admin', tutor.userId)), ['ana', 'bo', 'cy']);
    assert.deepEqual(await seenBy(await visibility('tutor', tutor.userId)), []);
    const added = await service.withUnitOfWork((work) => addTeamStaff(work, id, north!, [tutor.userId, other.userId]));
    assert.deepEqual(added, [{ user_id: tutor.userId }], 'only people of the organisation work with its teams');
    await service.withUnitOfWork((work) => addToTeam(work, id, north!, ['ana', 'bo']));
    await service.withUnitOfWork((work) => addToTeam(work, id, south!, ['cy']));
    assert.deepEqual(await seenBy(await visibility('tutor', tutor.userId)), ['ana', 'bo']);
    await service.withUnitOfWork((work) => removeFromTeam(work, id, north!, ['bo']));
    assert.deepEqual(await seenBy(await visibility('tutor', tutor.userId)), ['ana']);
    await service.withUnitOfWork((work) => addTeamStaff(work, id, south!, [tutor.userId]));
    assert.deepEqual(await seenBy(await visibility('tutor', tutor.userId)), ['ana', 'cy']);
    await service.withUnitOfWork((work) => removeTeamStaff(work, id, north!, [tutor.userId]));
    assert.deepEqual(await seenBy(await visibility('tutor', tutor.userId)), ['cy']);
  });

  test('whoever leaves the organisation leaves its teams', async () => {
    const team = await service.withUnitOfWork((work) => ensureTeam(work, id, { ref: 'east', name: 'East' }));
    const tutor = await personOf(service, id, 'tutor');
    await service.withUnitOfWork((work) => addTeamStaff(work, id, team, [tutor.userId]));
    assert.equal(
      await service.withUnitOfWork((work) => changeMember(work, id, tutor.userId, { to: null, by: 'owner' })),
      'done',
    );
    assert.deepEqual(await visibility('tutor', tutor.userId), []);
  });
});
