import { listHolds, placeHold, releaseHold } from '../../../src/governance/legal-holds/holds.ts';
import { isUuid } from '../../../src/platform/crypto/random.ts';
import { type Command, Misuse } from '../../kit/command.ts';
import { maybeLearner, namedLearner } from '../../kit/learner-argument.ts';
import { allOf, missing, operator, organisationCommand, orMissing } from '../../kit/open.ts';
import { reason, time, uuid } from '../../kit/options.ts';
import { listOf } from '../../kit/table.ts';

export const commands: Command[] = [
  organisationCommand({
    name: 'hold place',
    summary: 'Place a legal hold on a learner or organisation',
    notes: 'While the hold is in force, nothing of the learner or the organisation is deleted.',
    examples: [
      '--organisation $ORG L-1001 --reason "Appeal"',
      '--organisation $ORG --reason "Court order" --until 2027-06-30',
    ],
    about: {
      learnerId: "The learner's ID, instead of a reference",
      reason: 'The reason, for the audit log',
      until: 'When the hold ends',
    },
    takes: '[REF|--learner-id ID]',
    options: { learnerId: uuid(), reason, until: time() },
    prepare: maybeLearner,
    run: async ({ app, organisationId, act, prepared, options: { reason: why, until = null } }) => {
      const learnerId = prepared === null ? null : (await namedLearner(app, organisationId, prepared)).learner_id;
      if (until !== null && until.getTime() <= app.clock.nowMs()) throw new Misuse('--until must be in the future');
      const hold = { holdId: app.random.uuid(), learnerId, reason: why, actor: operator, endsAt: until };
      const { holdId } = hold;
      const learner_id = await act(holdId, (work) =>
        placeHold(work, organisationId, hold).catch(orMissing('learner', learnerId ?? '')),
      );
      return { json: { hold_id: holdId, learner_id }, text: `The hold ${holdId} is in force.` };
    },
  }),
  organisationCommand({
    name: 'hold list',
    summary: 'List legal holds',
    examples: ['--organisation $ORG', '--organisation $ORG --json'],
    run: async ({ app, organisationId, note }) => {
      const rows = await allOf((from, limit) =>
        listHolds(app.db, organisationId, { from, limit, now: new Date(app.clock.nowMs()) }),
      );
      await note(null);
      return listOf(rows, [
        ['Hold', 'hold_id'],
        ['Learner', (row) => row.learner_id ?? 'all'],
        ['Placed', 'placed_at'],
        ['Until', 'ends_at'],
        ['Released', 'released_at'],
        ['Reason', 'reason'],
      ]);
    },
  }),
  organisationCommand({
    name: 'hold release',
    summary: 'Release a legal hold',
    examples: ['--organisation $ORG HOLD_ID', '--organisation $ORG HOLD_ID --json'],
    takes: 'HOLD_ID',
    run: async ({ organisationId, act, positionals }) => {
      const holdId = positionals[0]!.toLowerCase();
      await act(holdId, async (work) => {
        const done = isUuid(holdId) && (await releaseHold(work, organisationId, holdId, { actor: operator }));
        if (!done) throw missing('hold in force', holdId);
      });
      return { json: { hold_id: holdId, released: true }, text: 'The hold is released.' };
    },
  }),
];
