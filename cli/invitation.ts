import type { App } from '../src/app.ts';
import { lockFeed } from '../src/feed/position.ts';
import type { Invitation, Purpose } from '../src/invitations/invitations.ts';
import {
  adjustInvitation,
  assessmentUrl,
  findInvitation,
  listInvitations,
  purposes,
} from '../src/invitations/invitations.ts';
import { extendInvitation, TooSoon } from '../src/invitations/extend.ts';
import { requireStartCode } from '../src/invitations/start-code.ts';
import { postInvitations } from '../src/invitations/letters.ts';
import { correctSupervision, findBegun } from '../src/sittings/sittings.ts';
import { cancelInvitation } from '../src/withdrawals/cancel-invitation.ts';
import { limits } from '../src/limits.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import {
  act,
  missing,
  numberOption,
  operator,
  option,
  organisationOf,
  readReason,
  requiredOption,
  table,
  textOption,
  timeOption,
  withApp,
} from './open.ts';
import { isUuid } from '../src/uuid.ts';

const statusOf = (app: App, { status, expires_at }: Invitation) =>
  status === 'open' && expires_at.getTime() <= app.clock.nowMs() ? 'expired' : status;

function payload(app: App, row: Invitation) {
  return {
    invitation_id: row.invitation_id,
    status: statusOf(app, row),
    subjects: row.subjects,
    extra_time_pct: row.extra_time_pct,
    supervision: row.supervision,
    supervisor: row.supervisor,
    purpose: row.purpose,
    start_code: row.start_code,
    retake_reason: row.retake_reason,
    mailed_at: row.mailed_at?.toISOString() ?? null,
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

/** @returns null where it is taken away, undefined where it is not given */
function readPurpose(call: Call): Purpose | null | undefined {
  const text = option(call, 'purpose');
  if (text === undefined || text === '') return text === '' ? null : undefined;
  const purpose = purposes.find((one) => one === text);
  if (purpose === undefined) throw new Misuse(`--purpose must be one of ${purposes.join(', ')}`);
  return purpose;
}

const notOpen = (id: string) => new Failure(`The invitation ${id} is used or withdrawn already.`);

export const commands: Command[] = [
  {
    name: 'invitation list',
    usage: '--organisation ID [--limit N] [--before INVITATION_ID]',
    summary: 'List invitations, the newest first',
    options: { organisation: { type: 'string' }, limit: { type: 'string' }, before: { type: 'string' } },
    run: (call) => {
      const limit = numberOption(call, 'limit', 100, 1, 1000);
      const id = option(call, 'before');
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, requiredOption(call, 'organisation'));
        const before = id === undefined ? null : await invitationOf(app, organisation_id, id);
        const rows = await listInvitations(app.db, organisation_id, { before, limit });
        const begun = await findBegun(
          app.db,
          organisation_id,
          rows.map((row) => row.invitation_id),
        );
        const found = rows.map((row) => ({
          invitation_id: row.invitation_id,
          learner_id: row.learner_id,
          status: statusOf(app, row),
          begun: begun.has(row.invitation_id),
          subjects: row.subjects,
          created_at: row.created_at.toISOString(),
          expires_at: row.expires_at.toISOString(),
        }));
        return {
          json: { data: found },
          text: table([
            ['invitation_id', 'status', 'begun', 'subjects', 'created_at', 'expires_at'],
            ...found.map((row) => [
              row.invitation_id,
              row.status,
              row.begun ? 'yes' : 'no',
              row.subjects.join(', '),
              row.created_at,
              row.expires_at,
            ]),
          ]),
        };
      });
    },
  },
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
        await act(app, organisation_id, 'invitation show', async () => ({
          result: null,
          resource: found.invitation_id,
        }));
        return { json: found, text: text(found) };
      }),
  },
  {
    name: 'invitation update',
    usage:
      '--organisation ID INVITATION_ID [--extra-time PER_CENT] [--supervision TEXT] [--supervisor NAME] [--purpose initial|progress|end] [--start-code on|off]',
    positionals: [1, 1],
    summary:
      'Set extra time, supervision, the supervisor and the purpose; a sitting that has begun keeps its time limit',
    options: {
      organisation: { type: 'string' },
      'extra-time': { type: 'string' },
      supervision: { type: 'string' },
      supervisor: { type: 'string' },
      purpose: { type: 'string' },
      'start-code': { type: 'string' },
    },
    run: (call) => {
      const id = requiredOption(call, 'organisation');
      const supervision = textOption(call, 'supervision', limits.supervisionChars);
      // An empty name takes the one that was given away.
      const supervisor =
        option(call, 'supervisor') === '' ? null : textOption(call, 'supervisor', limits.supervisionChars);
      const purpose = readPurpose(call);
      const code = option(call, 'start-code');
      if (code !== undefined && code !== 'on' && code !== 'off') throw new Misuse('--start-code must be on or off');
      const given = [option(call, 'extra-time'), supervision, supervisor, purpose, code];
      if (given.every((one) => one === undefined))
        throw new Misuse('give at least one of --extra-time, --supervision, --supervisor, --purpose, --start-code');
      const extra = numberOption(call, 'extra-time', -1, 0, 100);
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        const row = await invitationOf(app, organisation_id, call.positionals[0]!);
        const changed = await act(app, organisation_id, 'invitation update', async (work) => {
          const given = {
            ...(extra < 0 ? {} : { extra_time_pct: extra }),
            ...(supervision === undefined ? {} : { supervision }),
            ...(supervisor === undefined ? {} : { supervisor }),
            ...(purpose === undefined ? {} : { purpose }),
          };
          // Who completes a sitting takes it before its invitation, under this lock.
          await lockFeed(work, organisation_id);
          // First, so that a sitting which begins meanwhile is corrected, or begins with what is given.
          const result = await adjustInvitation(work, organisation_id, row.invitation_id, given);
          if (result === undefined) throw new Failure(`The invitation ${row.invitation_id} is withdrawn.`);
          await correctSupervision(work.tx, organisation_id, row.invitation_id, given);
          if (code === undefined) return { result, resource: row.invitation_id };
          await requireStartCode(work.tx, organisation_id, [row.invitation_id], code === 'on');
          return { result: { ...result, start_code: code === 'on' }, resource: row.invitation_id };
        });
        const found = payload(app, changed);
        return { json: found, text: text(found) };
      });
    },
  },
  {
    name: 'invitation extend',
    usage: '--organisation ID INVITATION_ID --until TIME [--retake-reason R]',
    positionals: [1, 1],
    summary: 'Let an invitation end at another time; one that has expired works again',
    options: { organisation: { type: 'string' }, until: { type: 'string' }, 'retake-reason': { type: 'string' } },
    run: (call) => {
      const id = requiredOption(call, 'organisation');
      requiredOption(call, 'until');
      const until = new Date(timeOption(call, 'until')! / 1000);
      const retakeReason = textOption(call, 'retake-reason', limits.reasonChars) ?? null;
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        const { invitation_id } = await invitationOf(app, organisation_id, call.positionals[0]!);
        if (until.getTime() <= app.clock.nowMs()) throw new Misuse('--until must be in the future');
        const row = await act(app, organisation_id, 'invitation extend', async (work) => {
          const given = { end: until, retakeReason };
          const result = await extendInvitation(work, organisation_id, invitation_id, given).catch((error: unknown) => {
            throw error instanceof TooSoon ? new Failure(`--retake-reason must be given: ${error.expected}`) : error;
          });
          if (result === undefined) throw notOpen(invitation_id);
          return { result, resource: invitation_id };
        });
        const found = payload(app, row);
        return { json: found, text: text(found) };
      });
    },
  },
  {
    name: 'invitation resend',
    usage: '--organisation ID INVITATION_ID',
    positionals: [1, 1],
    summary: 'Send the learner the link by e-mail, again or for the first time',
    options: { organisation: { type: 'string' } },
    run: (call) => {
      const id = requiredOption(call, 'organisation');
      return withApp(async (app) => {
        if (app.settings.mailServer === null) throw new Failure('No mail server is set (ARS_SMTP_URL).');
        const organisation = await organisationOf(app, id);
        const row = await invitationOf(app, organisation.organisation_id, call.positionals[0]!);
        await act(app, organisation.organisation_id, 'invitation resend', async (work) => {
          if ((await postInvitations(work, organisation, [row])) === 0)
            throw new Failure(
              'No mail was written: the learner has no address, the invitation is not open, or it was mailed some minutes ago.',
            );
          return { result: null, resource: row.invitation_id };
        });
        return { json: { invitation_id: row.invitation_id, mailed: true }, text: 'The mail is on its way.' };
      });
    },
  },
  {
    name: 'invitation cancel',
    usage: '--organisation ID INVITATION_ID --reason R',
    positionals: [1, 1],
    summary: 'End an invitation; one under which nothing has begun gives its credit back',
    options: { organisation: { type: 'string' }, reason: { type: 'string' } },
    run: (call) => {
      const id = requiredOption(call, 'organisation');
      const reason = readReason(call);
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        const { invitation_id } = await invitationOf(app, organisation_id, call.positionals[0]!);
        const { creditReturned } = await act(app, organisation_id, 'invitation cancel', async (work) => {
          const result = await cancelInvitation(work, organisation_id, invitation_id, { actor: operator, reason });
          if (result === null) throw notOpen(invitation_id);
          return { result, resource: invitation_id };
        });
        return {
          json: { invitation_id, status: 'withdrawn', credit_returned: creditReturned },
          text: `The invitation is withdrawn: its link does not work any more. ${creditReturned ? 'Its credit is returned.' : 'No credit is returned.'}`,
        };
      });
    },
  },
];
