import type { App } from '../../../src/platform/app.ts';
import { feedQueue, withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { lockFeed } from '../../../src/feed/position.ts';
import { ensureGroups } from '../../../src/organisations/groups/create.ts';
import { addMembers } from '../../../src/organisations/groups/members.ts';
import { createKey } from '../../../src/integrations/access-keys/keys.ts';
import type { Organisation } from '../../../src/organisations/organisations.ts';
import { addTeamStaff, ensureTeam } from '../../../src/organisations/teams.ts';
import { createAccount } from '../../../src/organisations/users/accounts.ts';
import { addMember } from '../../../src/organisations/users/members.ts';
import { hashPassword } from '../../../src/organisations/users/password.ts';
import type { Role } from '../../../src/organisations/users/roles.ts';
import { giveSecondFactor } from '../../../src/organisations/users/second-factor.ts';
import { openSession } from '../../../src/organisations/users/sessions.ts';
import { makeTotpSecret } from '../../../src/organisations/users/totp.ts';
import { fillOrganisation } from '../data.ts';

export type Sizes = { results: number; groups: number; keys: number; people: number };

/** An organisation with what its people see in the console: results, groups, teams, keys, people and invitations. */
export async function fillConsole(app: App, { results, groups, keys, people }: Sizes): Promise<Organisation> {
  const organisation = await fillOrganisation(app, results, { untilNow: true });
  const id = organisation.organisation_id;
  await withUnitOfWork(app, feedQueue(id), async (work) => {
    const wanted = Array.from({ length: groups }, (_, n) => ({
      type: 'class',
      ref: `class-${n}`,
      name: `Evening class ${n}, ${['Riverside', 'Northfield', 'Town Hall'][n % 3]}`,
    }));
    await ensureGroups(work, await lockFeed(work, id), wanted, { autocreate: true });
  });
  const refs = await app.db.query<{ ref: string }>(
    'select ref from learner where organisation_id = $1 order by learner_id limit 1000',
    [id],
  );
  for (let n = 0; n < 20; n++)
    await withUnitOfWork(app, feedQueue(id), async (work) => {
      const team = await ensureTeam(work, id, { ref: `team-${n}`, name: `Team ${n}` });
      // The first team is large.
      const members = refs.slice(n * 50, n * 50 + (n === 0 ? 300 : 50)).map(({ ref }) => ref);
      await addMembers(work, id, team, members, { managingTeams: true });
    });
  // Ten classes have learners.
  const classes = await app.db.query<{ group_id: string }>(
    "select group_id from learner_group where organisation_id = $1 and type = 'class' order by ref limit 10",
    [id],
  );
  for (const [n, { group_id }] of classes.entries())
    await withUnitOfWork(app, feedQueue(id), (work) =>
      addMembers(
        work,
        id,
        group_id,
        refs.slice(n * 25, (n + 1) * 25).map(({ ref }) => ref),
      ),
    );
  await withUnitOfWork(app, null, async (work) => {
    for (let n = 0; n < keys; n++)
      await createKey(work, id, { label: `Platform ${n}`, purpose: 'Shows learners their levels', kind: 'live' });
  });
  for (let n = 0; n < people; n++) await signedIn(app, id, 'tutor', `person-${n}@bench.example`);
  // Every second learner, one in three of them done, one in three expired.
  await app.db.query(
    `insert into invitation (organisation_id, invitation_id, learner_id, subjects, created_at, expires_at, credit_spent, status)
     select $1, gen_random_uuid(), learner_id, '{maths,english}', $2::timestamptz - n * interval '20 seconds',
            $2::timestamptz + case when n % 3 = 1 then -1 else 1 end * interval '10 days', false,
            case when n % 3 = 0 then 'used' else 'open' end
       from (select learner_id, row_number() over (order by learner_id) as n from learner where organisation_id = $1) l where n % 2 = 0`,
    [id, new Date(app.clock.nowMs())],
  );
  await app.db.query('vacuum analyze');
  return organisation;
}

let hashed: Promise<string> | null = null;

/** A new person in this role, signed in; a tutor in the first team. @returns the token of the session */
export async function signedIn(app: App, organisationId: number, role: Role, email: string): Promise<string> {
  const password = await (hashed ??= hashPassword('four-short-words-9', app.random));
  return withUnitOfWork(app, null, async (work) => {
    const userId = await createAccount(work, { email, fullName: `Person ${email}`, password });
    await addMember(work, organisationId, userId, role);
    const team = await ensureTeam(work, organisationId, { ref: 'team-0', name: 'Team 0' });
    if (role === 'tutor') await addTeamStaff(work, organisationId, team, [userId]);
    await giveSecondFactor(work, userId, makeTotpSecret(app.random));
    return openSession(work, { userId, stage: 'full', client: 'Bench' });
  });
}
