import { actorNames } from './actors.ts';
import type { Visit } from './route.ts';

/** What a page calls whoever decided: colleagues by name for those who manage people, and everybody by what they are. */
export async function deciderOf(visit: Visit): Promise<(actor: string) => string> {
  const names = await actorNames(visit);
  return (actor) => {
    if (actor === visit.session.user_id) return 'You';
    const known = names.get(actor);
    if (known !== undefined) return known;
    return actor === 'operator' || actor === 'service' ? 'Whoever runs the service' : 'A colleague';
  };
}
