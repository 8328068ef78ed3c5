import { repairDigest, verifyDigest } from '../src/digest.ts';
import { listOrganisations } from '../src/organisations/organisations.ts';
import type { Call, Command } from './command.ts';
import { act, option, organisationOf, table, withApp } from './open.ts';

async function verify(call: Call) {
  return withApp(async (app) => {
    const id = option(call, 'organisation');
    const organisations = id === undefined ? await listOrganisations(app.db) : [await organisationOf(app, id)];
    const found: {
      organisation_id: string;
      state: 'right' | 'differs' | 'being counted' | 'repaired';
      cells: number;
    }[] = [];
    for (const { organisation_id: organisationId, public_id } of organisations) {
      if (call.signal.aborted) break;
      call.progress(`${found.length} of ${organisations.length} organisations`);
      const differing = await verifyDigest(app, organisationId);
      const cells = differing?.length ?? 0;
      if (differing === null || cells === 0) {
        found.push({ organisation_id: public_id, state: differing === null ? 'being counted' : 'right', cells });
        continue;
      }
      if (call.options.repair !== true) {
        found.push({ organisation_id: public_id, state: 'differs', cells });
        continue;
      }
      await act(app, organisationId, 'digest verify repair', () => Promise.resolve({ result: null, resource: null }));
      await repairDigest(app, organisationId, call.signal);
      const left = await verifyDigest(app, organisationId);
      found.push({ organisation_id: public_id, state: left?.length === 0 ? 'repaired' : 'differs', cells });
    }
    const isRight = found.every(({ state }) => state !== 'differs');
    return {
      json: { organisations: found },
      text: table([
        ['organisation', 'digest', 'cells that differed'],
        ...found.map(({ organisation_id, state, cells }) => [organisation_id, state, String(cells)]),
      ]),
      exitCode: isRight && !call.signal.aborted ? 0 : 1,
    };
  });
}

export const commands: Command[] = [
  {
    name: 'digest verify',
    usage: '[--repair] [--organisation ID]',
    summary: 'Recount the results and compare them with the digest that the feed gives, or count it again',
    options: { organisation: { type: 'string' }, repair: { type: 'boolean' } },
    run: verify,
  },
];
