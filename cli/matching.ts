import { keepApart, listAlike, listWithoutRef } from '../src/merging/matching.ts';
import { isUuid } from '../src/uuid.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { act, numberOption, operator, option, organisationOf, requiredOption, table, withApp } from './open.ts';

const kinds = ['without', 'name', 'reference'] as const;

function readKind(call: Call): (typeof kinds)[number] {
  const given = option(call, 'kind') ?? 'without';
  const kind = kinds.find((one) => one === given);
  if (kind === undefined) throw new Misuse(`--kind must be one of ${kinds.join(', ')}`);
  return kind;
}

export const matchingCommands: Command[] = [
  {
    name: 'learner matching',
    usage: '--organisation ID [--kind without|name|reference] [--after A] [--limit N]',
    summary: 'List learners without a reference, with the same name, or with references written differently',
    positionals: [0, 0],
    options: {
      organisation: { type: 'string' },
      kind: { type: 'string' },
      after: { type: 'string' },
      limit: { type: 'string' },
    },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const kind = readKind(call);
      const limit = numberOption(call, 'limit', 25, 1, 100);
      const after = option(call, 'after') ?? null;
      const fits = kind === 'without' ? isUuid : (text: string) => /^\d{1,15}$/.test(text);
      if (after !== null && !fits(after)) throw new Misuse('--after must be the next of the list before');
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        if (kind === 'without') {
          const rows = await listWithoutRef(app.db, organisation_id, { after, limit });
          const data = rows.map(({ twins, ...row }) => ({
            learner_id: row.learner_id,
            results: row.results,
            may_be: twins.map((twin) => ({ learner_id: twin.learner_id, same_name: twin.same })),
          }));
          const next = rows.length < limit ? null : rows.at(-1)!.learner_id;
          const lines = data.map((row) => [row.learner_id, String(row.results), String(row.may_be.length)]);
          return { json: { data, next }, text: table([['LEARNER', 'RESULTS', 'MAY BE'], ...lines]) };
        }
        const { groups, last } = await listAlike(app.db, organisation_id, kind, {
          after: after === null ? null : Number(after),
          limit,
        });
        const data = groups.map((members) => members.map(({ learner_id, results }) => ({ learner_id, results })));
        const lines = data.map((members) => [String(members.length), members.map((one) => one.learner_id).join(' ')]);
        return { json: { data, next: last }, text: table([['LEARNERS', 'IDS'], ...lines]) };
      });
    },
  },
  {
    name: 'learner distinct',
    usage: '--organisation ID LEARNER_ID LEARNER_ID',
    summary: 'Remember that two learners are not the same person',
    positionals: [2, 2],
    options: { organisation: { type: 'string' } },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const [one, other] = call.positionals.map((text) => text.toLowerCase()) as [string, string];
      if (!isUuid(one) || !isUuid(other)) throw new Misuse('LEARNER_ID must be a UUID');
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        await act(app, organisation_id, 'learner distinct', async (work) => {
          const kept = await keepApart(work, organisation_id, [one, other], { actor: operator });
          if (!kept) throw new Failure('These are not two learners of this organisation.');
          return { result: null, resource: one };
        });
        return { json: { learner_ids: [one, other] }, text: 'They are no longer listed as one person.' };
      });
    },
  },
];
