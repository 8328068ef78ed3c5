import { labelsOfKeys } from '../../../integrations/access-keys/keys.ts';
import { listMembers } from '../../../organisations/users/members.ts';
import { managers } from '../../../organisations/users/roles.ts';
import type { Visit } from './route.ts';

/** Names of actors: labels of keys, and names of people if the reader manages people. */
export async function actorNames({ app, organisationId: id, role }: Visit): Promise<(actor: string) => string> {
  const [keys, people] = await Promise.all([
    labelsOfKeys(app.db, id),
    managers.includes(role) ? listMembers(app.db, id) : [],
  ]);
  const names = new Map([
    ...keys.map((key) => [key.key_id, key.label ?? key.key_id] as const),
    ...people.map((one) => [one.user_id, one.full_name] as const),
  ]);
  return (actor) => names.get(actor) ?? actor;
}
