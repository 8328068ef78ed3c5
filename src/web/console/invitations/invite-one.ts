import { hasCountedCredits } from '../../../organisations/credits.ts';
import { lockFeed } from '../../../feed/position.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { type InviteOutcome, inviteLearners } from '../../../sittings/invitations/invite.ts';
import { type Namesake, findNamesakes } from '../../../sittings/invitations/runs/namesakes.ts';
import { findInvitation } from '../../../sittings/invitations/invitations.ts';
import { type Doubt, type RowFault, doubtWords, readRow } from '../../../sittings/invitations/runs/row.ts';
import { type Cells, type InviteColumn, inviteColumns } from '../../../sittings/invitations/runs/table.ts';
import { repaired } from '../../../platform/validation/person-name.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { findLearnerHead } from '../../../records/directory/learner-page.ts';
import { shortSubjectNames } from '../../../engine/scoring/levels.ts';
import { sameNameKey } from '../../../records/learners/keys.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { inviters } from '../../../organisations/users/roles.ts';
import { type Faults, hiddenField, any, fieldsOf, faultsIn } from '../kit/form.ts';
import { namesakeChoices, namesakeLinks, readTeam, teamField, withinOf, inviteContext } from './invite.ts';
import { purposeNames } from './invitations.ts';
import { type Answer, type ConsoleRoute, type Visit, NoSuchPage, formRoutes, onceOf } from '../kit/route.ts';
import { number } from '../kit/blocks.ts';
import { formPage } from '../kit/page.ts';

export const inviteOneRoutes: ConsoleRoute[] = formRoutes('/invite/one', inviters, onePage, invite);

/** Fills the form for the learner in the query: a learner's page links here with `learner_id`. */
async function namedLearner({ app, organisationId, query }: Visit, visibility: Visibility): Promise<Cells> {
  const id = query.get('learner_id');
  if (id === null) return {};
  const found = await findLearnerHead(app.db, organisationId, visibility, id);
  // The form finds an existing learner by reference. It would create a second learner if the learner has none.
  if (found === undefined || found.ref === null) throw new NoSuchPage();
  return { full_name: found.full_name, ref: found.ref, ...(found.email === null ? {} : { email: found.email }) };
}

const labels: Partial<Record<InviteColumn, string>> = {
  full_name: 'The full name',
  email: 'The email address',
  ref: 'The reference',
  supervisor: 'The supervisor’s name',
};

type Questions = { doubts: readonly Doubt[]; namesakes: readonly Namesake[] };
const noQuestions: Questions = { doubts: [], namesakes: [] };

/** The hidden field `asked` contains the name that the questions are about. For another name the page asks again. */
function questionFields(visit: Visit, { doubts, namesakes }: Questions): Content {
  const { base, zone, form: sent } = visit;
  const f = fieldsOf(visit);
  if (doubts.length + namesakes.length === 0) return null;
  const isAbout = sent.text('asked') === sent.text('full_name');
  const said = (field: string) => isAbout && sent.raw(field) !== '' && hiddenField(field, sent.raw(field));
  const asIs = { yes: 'The entry is correct' };
  const who = [...namesakeChoices(namesakes, zone), { value: 'new', label: 'Invite a new learner with this name' }];
  return [
    hiddenField('asked', sent.text('full_name')),
    doubts.length === 0
      ? said('as_is')
      : f.tick('as_is', 'Confirm the entry', asIs, {
          hint: doubts.map((doubt) => html`${labels[doubt.column] ?? doubt.column} ${doubtWords(doubt)}. `),
          values: isAbout ? sent.all('as_is') : [],
          fault: 'Correct the entry, or confirm it.',
        }),
    namesakes.length === 0
      ? said('who')
      : f.choose('who', 'Another learner has this name', who, {
          hint: html`A new learner has separate results.${namesakeLinks(base, namesakes)}`,
          value: isAbout ? sent.raw('who') : '',
          fault: 'Choose which learner to invite.',
        }),
  ];
}

/** Proposes a repaired name if the typed name looks like text in a wrong encoding. */
function questionFaults({ doubts: [doubt], namesakes }: Questions, cells: Cells): Faults {
  const cell = (doubt && cells[doubt.column]) ?? '';
  const proposal = repaired(cell) === cell ? '' : ` It may be “${repaired(cell)}”.`;
  return faultsIn({
    as_is: doubt && `An entry looks wrong. Correct it, or confirm it.${proposal}`,
    who: namesakes.length > 0 && 'Another learner has this name. Choose which learner to invite.',
  });
}

async function onePage(visit: Visit, faults: Faults = {}, questions = noQuestions): Promise<Answer> {
  const { app, base, organisationId, form: sent } = visit;
  const [within, row] = await Promise.all([withinOf(visit), readOrganisation(app.db, organisationId)]);
  const stored = await namedLearner(visit, within.visibility);
  const chosen = sent.all('subjects');
  return formPage(visit, {
    title: 'Invite one learner',
    back: { to: `${base}/invite`, label: 'Invite learners' },
    faults,
    intro: html`<p>The learner gets a link to an assessment.${hasCountedCredits(row.plan) ? ` An invitation costs 1 credit. ${number(row.credits)} are left.` : null}</p>`,
    button: 'Invite learner',
    fields(f) {
      const field = (column: InviteColumn, label: string, more: Parameters<typeof f.text>[2] = {}) =>
        f.text(column, label, { initial: stored[column], ...more });
      return [
        field('full_name', 'Full name'),
        questionFields(visit, questions),
        field('ref', 'Your reference (optional)', {
          hint: 'Such as LRN-000017. An existing learner with it is updated.',
          width: 20,
        }),
        field('email', 'Email address (optional)', { type: 'email' }),
        field('groups', 'Groups (optional)', {
          hint: 'Such as C-2026, or a new one: “cohort: C-2026 = January cohort”.',
        }),
        teamField(f, 'The learner', within),
        f.tick('subjects', 'Subjects', shortSubjectNames, {
          values: chosen.length > 0 ? chosen : row.default_subjects,
        }),
        f.select('purpose', 'Purpose', any(purposeNames, 'Not recorded')),
        field('extra_time', 'Extra time in per cent (optional)', { inputmode: 'numeric', width: 10 }),
        field('supervision', 'Supervision (optional)', { hint: 'Such as “in class”. The evidence pack shows it.' }),
        field('supervisor', 'Supervisor’s name (optional)', { hint: 'The evidence pack shows it.' }),
        field('expires', 'Last day (optional)', { hint: 'Such as 2027-01-31. Empty: in 28 days.', type: 'date' }),
        field('retake_reason', 'Reason for an early retake (optional)', {
          hint: 'Needed if the learner was assessed recently.',
        }),
        f.tick('start_code', 'Start code', { yes: 'The learner needs a code that a supervisor releases here' }),
        app.settings.mailServer !== null &&
          f.tick('mail', 'Email', { on: 'Send the link to the learner’s email address' }),
        f.once(app),
      ];
    },
  });
}

const columns = inviteColumns.filter((column) => column !== 'subjects');

/** If a field has several faults, the page shows the first. */
const faultsOf = (found: readonly RowFault[]): Faults =>
  Object.fromEntries(
    found
      .toReversed()
      .map(({ column, expected }) =>
        column === 'learner_id'
          ? ['full_name', 'The chosen learner was deleted. Invite a new learner.']
          : [column, `Enter ${expected}.`],
      ),
  );

async function invite(visit: Visit): Promise<Answer> {
  const { base, organisationId: id, userId, form: sent, change } = visit;
  const within = await readTeam(visit);
  if ('fault' in within) return onePage(visit, { team: within.fault });
  const { cells, isNew } = readCells(visit);
  const read = readRow(cells, await inviteContext(visit));
  if ('faults' in read) return onePage(visit, faultsOf(read.faults));
  const { ready } = read;
  const asksWho = ready.ref === null && ready.learner_id === undefined && !isNew;
  for (const group of ready.groups) if (group.name === '') group.name = group.ref;
  const invitationId = onceOf(visit);
  const by = { actor: userId, mails: sent.raw('mail') === 'on', invitationId, ...within };
  const outcome = await change(
    async (work): Promise<InviteOutcome | ({ outcome: 'asked' } & Questions)> => {
      await lockFeed(work, id);
      // A form that is sent twice creates one invitation, even if the learner has no reference to recognise them by.
      const invitation = await findInvitation(work.tx, id, invitationId);
      if (invitation !== undefined) return { outcome: 'invited', learner_id: invitation.learner_id, invitation };
      const names = asksWho ? [ready.full_name] : [];
      const found = await findNamesakes(work.tx, id, names, within.visibility);
      const namesakes = found.get(sameNameKey(ready.full_name)) ?? [];
      const doubts = ready.doubts ?? [];
      if (doubts.length + namesakes.length > 0) return { outcome: 'asked', doubts, namesakes };
      return (await inviteLearners(work, id, [ready], by))[0]!;
    },
    (result) => 'invitation' in result && result.invitation.invitation_id,
  );
  if (outcome.outcome === 'asked') return onePage(visit, questionFaults(outcome, cells), outcome);
  if (outcome.outcome === 'refused') return onePage(visit, faultsOf(outcome.faults));
  if (outcome.outcome === 'no_credit')
    return onePage(visit, { full_name: 'There is no credit left. Ask the operator for more.' });
  return { to: `${base}/invitations/${outcome.invitation.invitation_id}?did=${outcome.outcome}` };
}

/** @returns `isNew`: whether the person chose a new learner instead of an existing one of the same name */
function readCells({ form: sent }: Visit): { cells: Cells; isNew: boolean } {
  const cells: Cells = {};
  for (const column of columns) if (sent.text(column) !== '') cells[column] = sent.text(column);
  const isAnswered = sent.text('asked') === sent.text('full_name');
  const who = isAnswered ? sent.text('who').toLowerCase() : '';
  if (isUuid(who) && cells.ref === undefined) cells.learner_id = who;
  if (isAnswered && sent.raw('as_is') === 'yes') cells.accepted = 'encoding question_mark reference';
  cells.subjects = sent.all('subjects').join(',') || 'none';
  return { cells, isNew: who === 'new' };
}
