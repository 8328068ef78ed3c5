import { labelsOfKeys } from '../../../integrations/access-keys/keys.ts';
import { listMembers } from '../../../organisations/users/members.ts';
import { managers } from '../../../organisations/users/roles.ts';
import type { Visit } from './route.ts';

/** What pages call those who acted: keys by their labels, and for those who manage people the people by their names. */
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
