import type { App } from '../src/app.ts';
import type { LearnerName } from '../src/learners/learners.ts';
import type { NamedLearner } from '../src/learners/rename.ts';
import { findNamedLearner } from '../src/learners/rename.ts';
import { isOpaqueRef } from '../src/personal-data.ts';
import { isUuid } from '../src/uuid.ts';
import type { Call, Failure } from './command.ts';
import { Misuse } from './command.ts';
import { missing, option } from './open.ts';

/** How a command names a learner. */

/** Who is meant: by the reference, or by `--learner-id` for learners without one. */
export function readLearner(call: Call): NamedLearner {
  const [ref] = call.positionals;
  const id = option(call, 'learner-id');
  if ((ref === undefined) === (id === undefined)) throw new Misuse('name one learner: by REF or by --learner-id');
  if (id !== undefined) {
    if (!isUuid(id)) throw new Misuse('--learner-id must be a UUID');
    return { learnerId: id.toLowerCase() };
  }
  if (!isOpaqueRef(ref!)) throw new Misuse('REF must be an opaque reference, never a name or an address');
  return { ref: ref! };
}

/** The learner that the command names, unless it is erased. @throws Failure */
export async function namedLearner(app: App, organisationId: number, who: NamedLearner): Promise<LearnerName> {
  const learner = await findNamedLearner(app.db, organisationId, who);
  if (learner === undefined) throw goneFor(who);
  return learner;
}

export const goneFor = (who: NamedLearner): Failure =>
  'ref' in who ? missing('learner', who.ref, { by: 'reference' }) : missing('learner', who.learnerId);
