import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { teamsOfStaff } from '../../../organisations/teams.ts';
import type { Visit } from './route.ts';

/** A tutor sees the learners of their teams; other roles see everyone. */
export async function visibilityOf(visit: Pick<Visit, 'app' | 'organisation' | 'session'>): Promise<Visibility> {
  const { app, organisation, session } = visit;
  if (organisation.role !== 'tutor') return null;
  return teamsOfStaff(app.db, organisation.organisation_id, session.user_id);
}
