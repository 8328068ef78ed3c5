import { actorNames } from '../kit/actors.ts';
import type { Visit } from '../kit/route.ts';

/** What a page calls whoever decided: colleagues by name for those who manage people, and everybody by what they are. */
export async function deciderOf(visit: Visit): Promise<(actor: string) => string> {
  const by = await actorNames(visit);
  return (actor) => {
    if (actor === visit.userId) return 'You';
    if (by(actor) !== actor) return by(actor);
    return actor === 'operator' || actor === 'service' ? 'Whoever runs the service' : 'A colleague';
  };
}
