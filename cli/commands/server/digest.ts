import { repairDigest, verifyDigest } from '../../../src/feed/digest-repair.ts';
import { listOrganisations } from '../../../src/organisations/organisations.ts';
import type { Command } from '../../kit/command.ts';
import { command } from '../../kit/command.ts';
import { note, organisationOf, withApp } from '../../kit/open.ts';
import { flag, text } from '../../kit/options.ts';
import { tableOf } from '../../kit/table.ts';

type Found = { organisation_id: string; state: 'right' | 'differs' | 'repaired'; cells: number };

export const commands: Command[] = [
  command({
    name: 'digest verify',
    summary: 'Recount the results and compare them with the digest that the feed gives, or count it again',
    options: { repair: flag, organisation: text('ID') },
    run: ({ options: { repair, organisation }, signal, progress }) =>
      withApp(async (app) => {
        const all = organisation === undefined ? listOrganisations(app.db) : [await organisationOf(app, organisation)];
        const organisations = await all;
        const found: Found[] = [];
        for (const { organisation_id: id, public_id } of organisations) {
          if (signal.aborted) break;
          progress(`${found.length} of ${organisations.length} organisations`);
          const differing = await verifyDigest(app, id);
          const cells = differing.length;
          let state: Found['state'] = cells === 0 ? 'right' : 'differs';
          if (state === 'differs' && repair) {
            await note(app, id, 'digest verify repair', null);
            await repairDigest(app, id);
            if ((await verifyDigest(app, id)).length === 0) state = 'repaired';
          }
          found.push({ organisation_id: public_id, state, cells });
        }
        return {
          json: { organisations: found },
          text: tableOf(found, [
            ['organisation', 'organisation_id'],
            ['digest', 'state'],
            ['cells that differed', 'cells'],
          ]),
          exitCode: found.some(({ state }) => state === 'differs') || signal.aborted ? 1 : 0,
        };
      }),
  }),
];
