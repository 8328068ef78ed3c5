import { lockFeed } from '../feed/position.ts';
import type { Sight } from '../groups/sight.ts';
import { html } from '../html.ts';
import { contextOf } from '../invitations/context.ts';
import { inviteLearners } from '../invitations/invite.ts';
import type { Outcome } from '../invitations/invite.ts';
import { findInvitation, purposes } from '../invitations/invitations.ts';
import type { RowFault } from '../invitations/row.ts';
import { readRow } from '../invitations/row.ts';
import type { Cells, InviteColumn } from '../invitations/table.ts';
import { readOrganisation } from '../organisations/organisations.ts';
import { findLearnerHead } from '../records/record.ts';
import { subjects as allSubjects } from '../scoring/levels.ts';
import { isUuid } from '../uuid.ts';
import { inviters } from '../users/roles.ts';
import type { Faults } from './form.ts';
import { choiceField, form, hiddenField, selectField, textField } from './form.ts';
import { readTeam, teamField, withinOf } from './invite.ts';
import { purposeNames } from './invitations.ts';
import type { Acted, Answer, ConsoleRoute, Visit } from './route.ts';
import { NoSuchPage } from './route.ts';
import { lastInstantOf } from '../organisations/zone.ts';

/** One learner invited, by the same rules as a table of them. */
export const inviteOneRoutes: ConsoleRoute[] = [
  { for: inviters, method: 'GET', path: '/invite/one', handle: (visit) => onePage(visit, {}) },
  { for: inviters, method: 'POST', path: '/invite/one', handle: invite },
];

/** Whom the address names, where the person sees them: the page of a learner leads here. */
async function namedLearner({ app, organisation, query }: Visit, sight: Sight): Promise<Cells> {
  const id = query.get('learner_id');
  if (id === null) return {};
  const found = await findLearnerHead(app.db, organisation.organisation_id, sight, id);
  // Without a reference a new learner would be made.
  if (found === undefined || found.ref === null) throw new NoSuchPage();
  return { full_name: found.full_name, ref: found.ref, ...(found.email === null ? {} : { email: found.email }) };
}

async function onePage(visit: Visit, faults: Faults): Promise<Answer> {
  const { app, base, organisation, form: sent } = visit;
  const [within, row] = await Promise.all([withinOf(visit), readOrganisation(app.db, organisation.organisation_id)]);
  const known = await namedLearner(visit, within.sight);
  const field = (name: InviteColumn, label: string, more: Partial<Parameters<typeof textField>[0]> = {}) =>
    textField({ name, label, value: sent.text(name) || (known[name] ?? ''), width: 40, fault: faults[name], ...more });
  const chosen = sent.all('subjects');
  return {
    status: Object.keys(faults).length === 0 ? 200 : 422,
    page: {
      title: 'Invite one learner',
      back: { to: `${base}/invite`, label: 'Invite learners' },
      main: html`<p>The learner gets a link to an assessment.${row.plan === 'standard' ? ` It costs one credit; there are ${row.credits.toLocaleString('en-GB')}.` : null}</p>${form(
        `${base}/invite/one`,
        [
          field('full_name', 'Full name'),
          field('ref', 'Your reference (optional)', {
            hint: 'Who has it already is updated. Without one, a new learner is made each time.',
            width: 20,
          }),
          field('email', 'E-mail address (optional)', { type: 'email' }),
          field('groups', 'Groups (optional)', {
            hint: 'By reference or name; a new one as “cohort: C-2026 = January cohort”; several with ; between.',
          }),
          teamField('The learner', within, sent.text('team'), faults.team),
          choiceField({
            name: 'subjects',
            label: 'Subjects',
            many: true,
            choices: allSubjects.map((value) => ({ value, label: value[0]!.toUpperCase() + value.slice(1) })),
            chosen: chosen.length > 0 ? chosen : row.default_subjects,
            fault: faults.subjects,
          }),
          selectField({
            name: 'purpose',
            label: 'Purpose',
            choices: [
              { value: '', label: 'Not said' },
              ...purposes.map((value) => ({ value, label: purposeNames[value] })),
            ],
            chosen: sent.text('purpose'),
            fault: faults.purpose,
          }),
          field('extra_time', 'Extra time in per cent (optional)', { inputmode: 'numeric', width: 10 }),
          field('supervision', 'How it is supervised (optional)', { hint: 'In your words; the evidence shows it.' }),
          field('supervisor', 'Who supervises it (optional)', { hint: 'The name; the evidence shows it.' }),
          field('expires', 'Last day (optional)', { hint: 'Otherwise in 28 days.', type: 'date', width: 20 }),
          field('retake_reason', 'Why so soon (optional)', {
            hint: 'Needed where the learner was assessed in a subject a short time ago.',
          }),
          choiceField({
            name: 'start_code',
            label: 'Start',
            many: true,
            choices: [
              {
                value: 'yes',
                label: 'Only with a code that a supervisor releases here, signed in, when the learner is there',
              },
            ],
            chosen: sent.all('start_code'),
          }),
          app.settings.mailServer === null
            ? null
            : choiceField({
                name: 'mail',
                label: 'By e-mail',
                many: true,
                choices: [{ value: 'on', label: 'Send the learner the link, where there is an address' }],
                chosen: sent.all('mail'),
              }),
          hiddenField('once', sent.text('once') || app.random.uuid()),
        ],
        'Invite the learner',
        { faults, cancel: `${base}/invite` },
      )}`,
    },
  };
}

const columns: readonly InviteColumn[] = [
  'ref',
  'full_name',
  'email',
  'groups',
  'extra_time',
  'supervision',
  'supervisor',
  'expires',
  'purpose',
  'retake_reason',
  'start_code',
];

/** The fault of each field; of several the first. */
const faultsOf = (found: readonly RowFault[]): Faults =>
  Object.fromEntries(found.toReversed().map(({ column, expected }) => [column, `Enter ${expected}.`]));

async function invite(visit: Visit): Promise<Answer> {
  const { app, base, organisation, session, form: sent, change } = visit;
  const { organisation_id: id, time_zone: zone } = organisation;
  const within = await readTeam(visit);
  if ('fault' in within) return onePage(visit, { team: within.fault });
  const cells: Cells = {};
  for (const column of columns) if (sent.text(column) !== '') cells[column] = sent.text(column);
  const subjects = sent.all('subjects').join(',');
  cells.subjects = subjects === '' ? 'none' : subjects;
  const row = await readOrganisation(app.db, id);
  const context = await contextOf(app.db, row, app.clock.nowMs(), (day) => lastInstantOf(day, zone));
  const read = readRow(cells, context);
  if ('faults' in read) return onePage(visit, faultsOf(read.faults));
  const { ready } = read;
  for (const group of ready.groups) if (group.name === '') group.name = group.ref;
  const once = sent.text('once').toLowerCase();
  const invitationId = isUuid(once) ? once : app.random.uuid();
  const by = { actor: session.user_id, mails: sent.raw('mail') === 'on', invitationId, ...within };
  const outcome = await change(async (work): Promise<Acted<Outcome>> => {
    await lockFeed(work, id);
    // Pressed twice it is one invitation, also of a learner without a reference.
    const invitation = await findInvitation(work.tx, id, invitationId);
    if (invitation !== undefined)
      return { result: { outcome: 'invited', learner_id: invitation.learner_id, invitation } };
    const [result] = await inviteLearners(work, id, [ready], by);
    return 'invitation' in result! ? { result, resource: result.invitation.invitation_id } : { result: result! };
  });
  if (outcome.outcome === 'refused') return onePage(visit, faultsOf(outcome.faults));
  if (outcome.outcome === 'no_credit')
    return onePage(visit, { full_name: 'There is no credit left. Ask whoever runs the service for more.' });
  return { to: `${base}/invitations/${outcome.invitation.invitation_id}?did=${outcome.outcome}` };
}
