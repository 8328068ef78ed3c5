import type { App } from '../../../src/platform/app.ts';
import { lockFeed } from '../../../src/feed/position.ts';
import type { Invitation } from '../../../src/sittings/invitations/invitations.ts';
import {
  adjustInvitation,
  assessmentUrl,
  findInvitation,
  listInvitations,
  purposes,
} from '../../../src/sittings/invitations/invitations.ts';
import { extendInvitation, TooSoon } from '../../../src/sittings/invitations/extend.ts';
import { requireStartCode } from '../../../src/sittings/invitations/start-code.ts';
import { mailInvitations } from '../../../src/sittings/invitations/email-templates.ts';
import { correctSupervision, findBegun } from '../../../src/sittings/sittings.ts';
import { cancelInvitation } from '../../../src/governance/erasure/cancel-invitation.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { type Command, type Output, Failure, Misuse } from '../../kit/command.ts';
import { type Inside, foundById, operator, organisationCommand } from '../../kit/open.ts';
import {
  count,
  limit,
  line,
  maybeReason,
  onOff,
  orEmpty,
  reason,
  required,
  text,
  time,
  word,
} from '../../kit/options.ts';
import { fieldsOf, listOf, pick } from '../../kit/table.ts';

const statusOf = (app: App, { status, expires_at }: Invitation) =>
  status === 'open' && expires_at.getTime() <= app.clock.nowMs() ? 'expired' : status;

function outputOf(app: App, row: Invitation): Output {
  const json = {
    invitation_id: row.invitation_id,
    status: statusOf(app, row),
    ...pick(row, 'subjects', 'extra_time_pct', 'supervision', 'supervisor', 'purpose', 'start_code', 'retake_reason'),
    ...pick(row, 'mailed_at', 'created_at', 'expires_at'),
    assessment_url: assessmentUrl(app.settings.baseUrl, app.secrets, row),
  };
  return { json, text: fieldsOf(json) };
}

const invitationOf = ({ app, organisationId }: Inside, invitationId: string): Promise<Invitation> =>
  foundById('invitation', invitationId, (id) => findInvitation(app.db, organisationId, id), {
    hint: '; POST /learners gives it as invitation_id',
  });

const notOpen = (id: string) => new Failure(`The invitation ${id} is used or withdrawn already.`);
const takes = 'INVITATION_ID';

export const commands: Command[] = [
  organisationCommand({
    name: 'invitation list',
    summary: 'List invitations, newest first',
    examples: ['--organisation $ORG', '--organisation $ORG --limit 20 --before INVITATION_ID'],
    about: { limit: 'The most rows to print', before: 'Only invitations older than this one' },
    options: { limit: limit(100, 1000), before: text('INVITATION_ID') },
    run: async (call) => {
      const { app, organisationId, options } = call;
      const before = options.before === undefined ? null : await invitationOf(call, options.before);
      const rows = await listInvitations(app.db, organisationId, { before, limit: options.limit });
      const ids = rows.map((row) => row.invitation_id);
      const begun = await findBegun(app.db, organisationId, ids);
      const data = rows.map((row) => ({
        ...pick(row, 'invitation_id', 'learner_id', 'subjects', 'created_at', 'expires_at'),
        status: statusOf(app, row),
        begun: begun.has(row.invitation_id),
      }));
      const begunWords = (row: (typeof data)[number]) => (row.begun ? 'yes' : 'no');
      return listOf(data, ['invitation_id', 'status', ['begun', begunWords], 'subjects', 'created_at', 'expires_at']);
    },
  }),
  organisationCommand({
    name: 'invitation show',
    summary: 'Show an invitation with its link and adjustments',
    examples: ['--organisation $ORG INVITATION_ID', '--organisation $ORG INVITATION_ID --json'],
    takes,
    run: async (call) => {
      const row = await invitationOf(call, call.positionals[0]!);
      await call.note(row.invitation_id);
      return outputOf(call.app, row);
    },
  }),
  organisationCommand({
    name: 'invitation update',
    takes,
    summary: 'Change the adjustments of an invitation',
    notes: 'A sitting that has begun keeps its time limit.',
    examples: [
      '--organisation $ORG INVITATION_ID --extra-time 25',
      '--organisation $ORG INVITATION_ID --supervision "In room 4" --start-code on',
    ],
    about: {
      extraTime: 'Extra time in per cent',
      supervision: 'How the sitting is supervised',
      supervisor: 'The name of the supervisor',
      purpose: 'The purpose of the assessment',
      startCode: 'Whether the learner needs a start code',
    },
    options: {
      extraTime: count(0, 100, 'PER_CENT'),
      supervision: line('TEXT', limits.supervisionChars),
      supervisor: orEmpty(line('NAME', limits.supervisionChars)),
      purpose: orEmpty(word(purposes)),
      startCode: onOff,
    },
    prepare({ options }) {
      const { extraTime, supervision, supervisor, purpose, startCode } = options;
      if ([extraTime, supervision, supervisor, purpose, startCode].every((one) => one === undefined))
        throw new Misuse('give at least one of --extra-time, --supervision, --supervisor, --purpose, --start-code');
    },
    run: async (call) => {
      const { app, organisationId, act, options } = call;
      const { extraTime, supervision, supervisor, purpose, startCode } = options;
      const { invitation_id: id } = await invitationOf(call, call.positionals[0]!);
      const changed = await act(id, async (work) => {
        const changes = {
          ...(extraTime === undefined ? {} : { extra_time_pct: extraTime }),
          ...(supervision === undefined ? {} : { supervision }),
          ...(supervisor === undefined ? {} : { supervisor }),
          ...(purpose === undefined ? {} : { purpose }),
        };
        // This lock comes first to prevent a deadlock: a sitting that completes locks its own row before the
        // invitation's row.
        await lockFeed(work, organisationId);
        // The invitation changes before its sittings, so a sitting that begins in between gets the new values or is
        // corrected.
        const row = await adjustInvitation(work, organisationId, id, changes);
        if (row === undefined) throw new Failure(`The invitation ${id} is withdrawn.`);
        await correctSupervision(work.tx, organisationId, id, changes);
        if (startCode === undefined) return row;
        await requireStartCode(work.tx, organisationId, [id], startCode);
        return { ...row, start_code: startCode };
      });
      return outputOf(app, changed);
    },
  }),
  organisationCommand({
    name: 'invitation extend',
    takes,
    summary: 'Change the end of an invitation',
    notes: 'An invitation that has expired works again.',
    examples: [
      '--organisation $ORG INVITATION_ID --until 2027-01-31',
      '--organisation $ORG INVITATION_ID --until 2027-01-31 --retake-reason "Illness"',
    ],
    about: { until: 'The new end', retakeReason: 'Why the learner may retake the assessment early' },
    options: { until: required(time()), retakeReason: maybeReason },
    run: async (call) => {
      const { app, organisationId, act, options } = call;
      const { invitation_id: id } = await invitationOf(call, call.positionals[0]!);
      if (options.until.getTime() <= app.clock.nowMs()) throw new Misuse('--until must be in the future');
      const row = await act(id, async (work) => {
        const extension = { end: options.until, retakeReason: options.retakeReason ?? null };
        const extended = await extendInvitation(work, organisationId, id, extension).catch((error: unknown) => {
          throw error instanceof TooSoon ? new Failure(`--retake-reason must be given: ${error.expected}`) : error;
        });
        if (extended === undefined) throw notOpen(id);
        return extended;
      });
      return outputOf(app, row);
    },
  }),
  organisationCommand({
    name: 'invitation resend',
    takes,
    summary: 'Send the link of an invitation by email',
    examples: ['--organisation $ORG INVITATION_ID', '--organisation $ORG INVITATION_ID --json'],
    run: async (call) => {
      if (call.app.settings.mailServer === null) throw new Failure('No mail server is set (ARS_SMTP_URL).');
      const row = await invitationOf(call, call.positionals[0]!);
      await call.act(row.invitation_id, async (work) => {
        if ((await mailInvitations(work, call.organisation, [row])) === 0)
          throw new Failure(
            'No mail was written: the learner has no address, the invitation is not open, or it was mailed some minutes ago.',
          );
      });
      return { json: { invitation_id: row.invitation_id, mailed: true }, text: 'The mail is on its way.' };
    },
  }),
  organisationCommand({
    name: 'invitation cancel',
    takes,
    summary: 'Cancel an invitation',
    notes: 'The credit is returned if no sitting has begun.',
    examples: [
      '--organisation $ORG INVITATION_ID --reason "Left the course"',
      '--organisation $ORG INVITATION_ID --reason "Left the course" --json',
    ],
    about: { reason: 'The reason, for the audit log' },
    options: { reason },
    run: async (call) => {
      const { organisationId, act, options } = call;
      const { invitation_id } = await invitationOf(call, call.positionals[0]!);
      const { creditReturned } = await act(invitation_id, async (work) => {
        const by = { actor: operator, reason: options.reason };
        const cancelled = await cancelInvitation(work, organisationId, invitation_id, by);
        if (cancelled === null) throw notOpen(invitation_id);
        return cancelled;
      });
      return {
        json: { invitation_id, status: 'withdrawn', credit_returned: creditReturned },
        text: `The invitation is withdrawn: its link does not work any more. ${creditReturned ? 'Its credit is returned.' : 'No credit is returned.'}`,
      };
    },
  }),
];
