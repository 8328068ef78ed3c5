import { listHolds, placeHold, releaseHold } from '../src/holds/holds.ts';
import { isUuid } from '../src/uuid.ts';
import type { Command } from './command.ts';
import { Misuse } from './command.ts';
import { namedLearner, readLearner } from './named-learner.ts';
import {
  act,
  allOf,
  missing,
  operator,
  option,
  organisationOf,
  orMissing,
  readReason,
  requiredOption,
  table,
  timeOption,
  withApp,
} from './open.ts';

export const commands: Command[] = [
  {
    name: 'hold place',
    usage: '--organisation ID [REF|--learner-id ID] --reason R [--until TIME]',
    summary: 'Keep a learner, or the whole organisation, from every deletion',
    positionals: [0, 1],
    options: {
      organisation: { type: 'string' },
      'learner-id': { type: 'string' },
      reason: { type: 'string' },
      until: { type: 'string' },
    },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const isOfAll = call.positionals.length === 0 && option(call, 'learner-id') === undefined;
      const who = isOfAll ? null : readLearner(call);
      const reason = readReason(call);
      const until = timeOption(call, 'until');
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        const learnerId = who === null ? null : (await namedLearner(app, organisation_id, who)).learner_id;
        const endsAt = until === null ? null : new Date(until / 1000);
        if (endsAt !== null && endsAt.getTime() <= app.clock.nowMs()) throw new Misuse('--until must be in the future');
        const placed = await act(app, organisation_id, 'hold place', async (work) => {
          const holdId = work.uuid();
          const given = { holdId, learnerId, reason, actor: operator, endsAt };
          const on = await placeHold(work, organisation_id, given).catch(orMissing('learner', learnerId ?? ''));
          return { result: { hold_id: holdId, learner_id: on }, resource: holdId };
        });
        return { json: placed, text: `The hold ${placed.hold_id} is in force.` };
      });
    },
  },
  {
    name: 'hold list',
    usage: '--organisation ID',
    summary: 'List legal holds, those in force first',
    options: { organisation: { type: 'string' } },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        const rows = await allOf((from, limit) =>
          listHolds(app.db, organisation_id, { from, limit, now: new Date(app.clock.nowMs()) }),
        );
        await act(app, organisation_id, 'hold list', async () => ({ result: null, resource: null }));
        return {
          json: { data: rows },
          text: table([
            ['Hold', 'Learner', 'Placed', 'Until', 'Released', 'Reason'],
            ...rows.map((row) => [
              row.hold_id,
              row.learner_id ?? 'all',
              row.placed_at.toISOString(),
              row.ends_at?.toISOString() ?? '',
              row.released_at?.toISOString() ?? '',
              row.reason,
            ]),
          ]),
        };
      });
    },
  },
  {
    name: 'hold release',
    usage: '--organisation ID HOLD_ID',
    summary: 'Release a legal hold',
    positionals: [1, 1],
    options: { organisation: { type: 'string' } },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const holdId = call.positionals[0]!;
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        await act(app, organisation_id, 'hold release', async (work) => {
          const done =
            isUuid(holdId) && (await releaseHold(work, organisation_id, holdId.toLowerCase(), { actor: operator }));
          if (!done) throw missing('hold in force', holdId);
          return { result: null, resource: holdId.toLowerCase() };
        });
        return { json: { hold_id: holdId.toLowerCase(), released: true }, text: 'The hold is released.' };
      });
    },
  },
];
