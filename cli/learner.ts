import type { NamedLearner } from '../src/learners/rename.ts';
import { correctName } from '../src/learners/rename.ts';
import { limits } from '../src/limits.ts';
import { isNameOf, isOpaqueRef } from '../src/personal-data.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import {
  act,
  operator,
  option,
  organisationOf,
  orMissing,
  readReason,
  requiredOption,
  requiredText,
  withApp,
} from './open.ts';
import { isUuid } from '../src/uuid.ts';

/** Who is meant: by the reference, or by `--learner-id` for learners without one. */
function readLearner(call: Call): NamedLearner {
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

export const commands: Command[] = [
  {
    name: 'learner rename',
    usage: '--organisation ID REF|--learner-id ID --name N [--reason R]',
    summary: "Correct a learner's name, without an invitation",
    positionals: [0, 1],
    options: {
      organisation: { type: 'string' },
      'learner-id': { type: 'string' },
      name: { type: 'string' },
      reason: { type: 'string' },
    },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const who = readLearner(call);
      const name = requiredText(call, 'name', limits.fullNameChars);
      const reason = option(call, 'reason') === undefined ? null : readReason(call);
      return withApp(async (app) => {
        const found = await organisationOf(app, id);
        const { learner_id, ref, changed } = await act(app, found.organisation_id, 'learner rename', async (work) => {
          const result = await correctName(work, found.organisation_id, who, name, { actor: operator, reason }).catch(
            'ref' in who ? orMissing('learner', who.ref, { by: 'reference' }) : orMissing('learner', who.learnerId),
          );
          if (result.ref !== null && isNameOf(result.ref, name))
            throw new Failure("the name would be the learner's reference, which must not be a name");
          return { result, resource: result.learner_id };
        });
        return {
          json: { learner_id, ref, changed },
          text: changed ? `${ref ?? learner_id} is renamed.` : `${ref ?? learner_id} already has this name.`,
        };
      });
    },
  },
];
