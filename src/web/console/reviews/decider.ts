import { actorNames } from '../kit/actors.ts';
import type { Visit } from '../kit/route.ts';

/** Reviewers by name for people who manage people, otherwise by what they are. */
export async function deciderOf(visit: Visit): Promise<(actor: string) => string> {
  const by = await actorNames(visit);
  return (actor) => {
    if (actor === visit.userId) return 'You';
    if (by(actor) !== actor) return by(actor);
    return actor === 'operator' || actor === 'service' ? 'Whoever runs the service' : 'A colleague';
  };
}
