import type { App } from '../src/app.ts';
import type { Invitation } from '../src/invitations/invitations.ts';
import { adjustInvitation, assessmentUrl, findInvitation } from '../src/invitations/invitations.ts';
import { limits } from '../src/limits.ts';
import type { Command } from './command.ts';
import { Misuse } from './command.ts';
import {
  act,
  missing,
  numberOption,
  option,
  organisationOf,
  requiredOption,
  table,
  textOption,
  withApp,
} from './open.ts';
import { isUuid } from '../src/uuid.ts';

function payload(app: App, row: Invitation) {
  return {
    invitation_id: row.invitation_id,
    status: row.status === 'open' && row.expires_at.getTime() <= app.clock.nowMs() ? 'expired' : row.status,
    subjects: row.subjects,
    extra_time_pct: row.extra_time_pct,
    supervision: row.supervision,
    supervisor: row.supervisor,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    assessment_url: assessmentUrl(app.settings.baseUrl, app.secrets, row),
  };
}

function text(found: ReturnType<typeof payload>): string {
  return table(
    Object.entries(found).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : String(value ?? 'not given'),
    ]),
  );
}

async function invitationOf(app: App, organisationId: number, id: string): Promise<Invitation> {
  const found = isUuid(id) ? await findInvitation(app.db, organisationId, id.toLowerCase()) : undefined;
  if (found === undefined) throw missing('invitation', id, { hint: '; POST /learners gives it as invitation_id' });
  return found;
}

export const commands: Command[] = [
  {
    name: 'invitation show',
    usage: '--organisation ID INVITATION_ID',
    summary: 'Show an invitation with its link and adjustments',
    options: { organisation: { type: 'string' } },
    positionals: [1, 1],
    run: (call) =>
      withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, requiredOption(call, 'organisation'));
        const found = payload(app, await invitationOf(app, organisation_id, call.positionals[0]!));
        return { json: found, text: text(found) };
      }),
  },
  {
    name: 'invitation update',
    usage: '--organisation ID INVITATION_ID [--extra-time PER_CENT] [--supervision TEXT] [--supervisor NAME]',
    positionals: [1, 1],
    summary: 'Set extra time, supervision and the supervisor; a sitting that has begun keeps its time limit',
    options: {
      organisation: { type: 'string' },
      'extra-time': { type: 'string' },
      supervision: { type: 'string' },
      supervisor: { type: 'string' },
    },
    run: (call) => {
      const id = requiredOption(call, 'organisation');
      const supervision = textOption(call, 'supervision', limits.supervisionChars);
      // An empty name takes the one that was given away.
      const supervisor =
        option(call, 'supervisor') === '' ? null : textOption(call, 'supervisor', limits.supervisionChars);
      if (option(call, 'extra-time') === undefined && supervision === undefined && supervisor === undefined)
        throw new Misuse('give at least one of --extra-time, --supervision, --supervisor');
      const extra = numberOption(call, 'extra-time', -1, 0, 100);
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        const row = await invitationOf(app, organisation_id, call.positionals[0]!);
        const changed = {
          ...row,
          extra_time_pct: extra < 0 ? row.extra_time_pct : extra,
          supervision: supervision ?? row.supervision,
          supervisor: supervisor === undefined ? row.supervisor : supervisor,
        };
        await act(app, organisation_id, 'invitation update', async (work) => {
          await adjustInvitation(work.tx, changed);
          return { result: null, resource: row.invitation_id };
        });
        const found = payload(app, changed);
        return { json: found, text: text(found) };
      });
    },
  },
];
