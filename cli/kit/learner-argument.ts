import type { App } from '../../src/platform/app.ts';
import type { LearnerName } from '../../src/records/learners/learners.ts';
import { type NamedLearner, findNamedLearner } from '../../src/records/learners/rename.ts';
import { isOpaqueRef } from '../../src/platform/validation/personal-data.ts';
import type { Call, Command, Declaration, Option, Options, Output, Values } from './command.ts';
import type { Failure } from './command.ts';
import { Misuse } from './command.ts';
import { type Inside, missing, organisationCommand } from './open.ts';
import { uuid } from './options.ts';

/** A command names a learner by reference, or by `--learner-id` if the learner has no reference. */

type Naming = Pick<Call<{ learnerId: string | undefined }>, 'options' | 'positionals'>;

function readLearner({ options: { learnerId }, positionals: [ref] }: Naming): NamedLearner {
  if ((ref === undefined) === (learnerId === undefined))
    throw new Misuse('name one learner: by REF or by --learner-id');
  if (learnerId !== undefined) return { learnerId };
  if (!isOpaqueRef(ref!)) throw new Misuse('REF must be an opaque reference, never a name or an address');
  return { ref: ref! };
}

/** @returns null if no learner is named */
export const maybeLearner = (call: Naming): NamedLearner | null =>
  call.positionals.length === 0 && call.options.learnerId === undefined ? null : readLearner(call);

/** @throws Failure if there is no such learner, or the learner was erased */
export async function namedLearner(app: App, organisationId: number, who: NamedLearner): Promise<LearnerName> {
  const learner = await findNamedLearner(app.db, organisationId, who);
  if (learner === undefined) throw missingLearner(who);
  return learner;
}

export const missingLearner = (who: NamedLearner): Failure =>
  'ref' in who ? missing('learner', who.ref, { by: 'reference' }) : missing('learner', who.learnerId);

export function learnerCommand<O extends Options>(
  declared: Omit<Declaration<O>, 'run' | 'takes'> & {
    run(call: Call<Values<O>> & Inside & { who: NamedLearner }): Promise<Output>;
  },
): Command {
  const { run, ...rest } = declared;
  return organisationCommand<Record<string, Option<any>>, NamedLearner>({
    ...rest,
    takes: 'REF|--learner-id ID',
    options: { learnerId: uuid(), ...declared.options },
    about: { learnerId: "The learner's ID, instead of a reference", ...declared.about },
    prepare: (call) => readLearner(call as unknown as Naming),
    run: (call) => run({ ...(call as unknown as Call<Values<O>> & Inside), who: call.prepared }),
  });
}
