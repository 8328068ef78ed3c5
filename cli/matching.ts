import { keepApart, listAlike, listWithoutRef } from '../src/merging/matching.ts';
import { isUuid } from '../src/uuid.ts';
import type { Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { operator, organisationCommand } from './open.ts';
import { limit, or, text, word } from './options.ts';
import { tableOf } from './table.ts';

export const matchingCommands: Command[] = [
  organisationCommand({
    name: 'learner matching',
    summary: 'List learners without a reference, with the same name, or with references written differently',
    options: {
      kind: or(word(['without', 'name', 'reference']), 'without' as const),
      after: or(text('A'), null),
      limit: limit(25, 100),
    },
    prepare({ options: { kind, after } }) {
      const fits = kind === 'without' ? isUuid : (given: string) => /^\d{1,15}$/.test(given);
      if (after !== null && !fits(after)) throw new Misuse('--after must be the next of the list before');
    },
    run: async ({ app, organisationId, options: { kind, after, limit: most } }) => {
      if (kind === 'without') {
        const rows = await listWithoutRef(app.db, organisationId, { after, limit: most });
        const data = rows.map(({ learner_id, results, twins }) => ({
          learner_id,
          results,
          may_be: twins.map((twin) => ({ learner_id: twin.learner_id, same_name: twin.same })),
        }));
        return {
          json: { data, next: rows.length < most ? null : rows.at(-1)!.learner_id },
          text: tableOf(data, [
            ['LEARNER', 'learner_id'],
            ['RESULTS', 'results'],
            ['MAY BE', (row) => row.may_be.length],
          ]),
        };
      }
      const place = { after: after === null ? null : Number(after), limit: most };
      const { groups, last } = await listAlike(app.db, organisationId, kind, place);
      return {
        json: {
          data: groups.map((members) => members.map(({ learner_id, results }) => ({ learner_id, results }))),
          next: last,
        },
        text: tableOf(groups, [
          ['LEARNERS', (members) => members.length],
          ['IDS', (members) => members.map((one) => one.learner_id).join(' ')],
        ]),
      };
    },
  }),
  organisationCommand({
    name: 'learner distinct',
    summary: 'Remember that two learners are not the same person',
    takes: 'LEARNER_ID LEARNER_ID',
    prepare({ positionals }) {
      const [one, other] = positionals.map((given) => given.toLowerCase()) as [string, string];
      if (!isUuid(one) || !isUuid(other)) throw new Misuse('LEARNER_ID must be a UUID');
      return [one, other] as [string, string];
    },
    run: async ({ organisationId, act, prepared: pair }) => {
      await act(pair[0], async (work) => {
        if (!(await keepApart(work, organisationId, pair, { actor: operator })))
          throw new Failure('These are not two learners of this organisation.');
      });
      return { json: { learner_ids: pair }, text: 'They are no longer listed as one person.' };
    },
  }),
];
