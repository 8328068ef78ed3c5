import { isEmailAddress } from '../../../platform/validation/email.ts';
import { html } from '../../../platform/html/html.ts';
import { changeEmail } from '../../../sittings/invitations/contact.ts';
import { removeEmail } from '../../../governance/erasure/remove-email.ts';
import { correctName, NameRefused } from '../../../records/learners/rename.ts';
import { damageOf, nameFault } from '../../../platform/validation/person-name.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isNameOf, isStorableText } from '../../../platform/validation/personal-data.ts';
import type { LearnerHead } from '../../../records/directory/learner-page.ts';
import { countLiveResults } from '../../../records/directory/learner-page.ts';
import { managers } from '../../../organisations/users/roles.ts';
import { confirmPage, number } from '../kit/blocks.ts';
import type { Faults, Fields } from '../kit/form.ts';
import { hiddenField, fieldsOf, isFaulty, faultsIn } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { headOf } from './learner.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { NoSuchPage, formRoutes } from '../kit/route.ts';

export const learnerDetailRoutes: ConsoleRoute[] = [
  ...formRoutes(
    '/learners/{learner_id}/name',
    managers,
    async (visit) => namePage(visit, await presentOf(visit)),
    rename,
  ),
  ...formRoutes(
    '/learners/{learner_id}/email',
    managers,
    async (visit) => emailPage(visit, await presentOf(visit)),
    readdress,
  ),
];

/** An erased learner has neither name nor email address. */
async function presentOf(visit: Visit): Promise<LearnerHead> {
  const head = await headOf(visit);
  if (head.full_name === '') throw new NoSuchPage();
  return head;
}

const isReason = (text: string) => isStorableText(text, limits.reasonChars);

const reasonFault = `Enter a reason of at most ${limits.reasonChars} characters on one line, without a National Insurance number.`;

const reasonField = (f: Fields) =>
  f.text('reason', 'Reason', { hint: 'It stands in the learner’s history. Leave names and addresses out of it.' });

function namePage(visit: Visit, head: LearnerHead, shown = head.full_name, faults: Faults = {}): Answer {
  const f = fieldsOf(visit, faults);
  const cancel = `${visit.base}/learners/${head.learner_id}`;
  return {
    title: 'Correct the name',
    back: { to: cancel, label: 'The learner' },
    faults,
    main: html`<p>For a name that was misspelt or has changed. No invitation is sent, and no credit is used.</p>${f.form(
      'Go on',
      { cancel },
      [f.text('full_name', 'Full name', { value: shown }), reasonField(f)],
    )}`,
  };
}

const isReference =
  'This is the learner’s reference. A reference must not be a name: have the reference changed first.';

function nameFaults({ ref }: LearnerHead, fullName: string, reason: string): Faults {
  const fault = nameFault(fullName);
  return faultsIn({
    full_name: fault === null ? ref !== null && isNameOf(ref, fullName) && isReference : `Enter ${fault}.`,
    reason: !isReason(reason) && reasonFault,
  });
}

const sentAgain = ({ form: sent }: Visit, field: string) => [
  hiddenField(field, sent.text(field)),
  hiddenField('reason', sent.text('reason')),
  hiddenField('confirmed', 'yes'),
];

async function rename(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, userId, form: sent, change } = visit;
  const head = await presentOf(visit);
  const { learner_id: learnerId } = head;
  const here = `${base}/learners/${learnerId}`;
  const [fullName, reason] = [sent.text('full_name'), sent.text('reason')];
  const faults = nameFaults(head, fullName, reason);
  if (isFaulty(faults)) return namePage(visit, head, fullName, faults);
  if (fullName === head.full_name) return { to: `${here}?did=same` };
  if (sent.text('confirmed') === '') {
    const results = await countLiveResults(app.db, id, learnerId);
    return confirmPage(visit, {
      title: 'Correct this name?',
      says: [
        html`From ${name(head.full_name)} to <strong>${name(fullName)}</strong>.`,
        ...(damageOf(fullName) === null
          ? []
          : ['The new name looks damaged: a letter may be lost. Compare it with the original.']),
        `${number(results)} ${results === 1 ? 'result shows' : 'results show'} the new name: connected platforms receive ${results === 1 ? 'it' : 'them'} again at their next request.`,
        'Evidence that was made already keeps the name that it was made with.',
      ],
      button: 'Correct the name',
      cancel: here,
      danger: false,
      fields: sentAgain(visit, 'full_name'),
    });
  }
  try {
    const { changed } = await change(async (work) => {
      const result = await correctName(work, id, { learnerId }, fullName, { actor: userId, reason });
      return result.changed ? { result, resource: learnerId } : { result };
    });
    return { to: `${here}?did=${changed ? 'renamed' : 'same'}` };
  } catch (error) {
    // The reference was changed to this name while the person confirmed.
    if (!(error instanceof NameRefused)) throw error;
    return namePage(visit, head, fullName, { full_name: isReference });
  }
}

function emailPage(visit: Visit, { learner_id, email }: LearnerHead, shown = email ?? '', faults: Faults = {}): Answer {
  const f = fieldsOf(visit, faults);
  const cancel = `${visit.base}/learners/${learner_id}`;
  return {
    title: email === null ? 'Give an e-mail address' : 'Change the e-mail address',
    back: { to: cancel, label: 'The learner' },
    faults,
    main: html`<p>Where invitations are mailed to. It is shown to nobody outside your organisation, and stands in no result.</p>${f.form(
      'Go on',
      { cancel },
      [
        f.text('email', 'E-mail address', { hint: 'Left empty, none is kept any more.', type: 'email', value: shown }),
        reasonField(f),
      ],
    )}`,
  };
}

async function readdress(visit: Visit): Promise<Answer> {
  const { base, organisationId: id, userId, form: sent, change } = visit;
  const head = await presentOf(visit);
  const { learner_id: learnerId } = head;
  const here = `${base}/learners/${learnerId}`;
  const [email, reason] = [sent.text('email') || null, sent.text('reason')];
  const faults = faultsIn({
    email:
      email !== null &&
      !isEmailAddress(email) &&
      'Enter an e-mail address, such as name@example.org, or leave it empty.',
    reason: !isReason(reason) && reasonFault,
  });
  if (isFaulty(faults)) return emailPage(visit, head, email ?? '', faults);
  if (email === head.email) return { to: `${here}?did=same` };
  if (sent.text('confirmed') === '')
    return confirmPage(visit, {
      title: email === null ? 'Remove the e-mail address?' : 'Change the e-mail address?',
      says: [
        email === null
          ? html`${name(head.email!)} is deleted. Links can still be copied and handed over.`
          : html`${head.email === null ? null : html`Instead of ${name(head.email)}: `}<strong>${name(email)}</strong>. What is mailed to the learner goes there from now on.`,
        'The history says that it was changed, by whom and why, and keeps neither address.',
      ],
      button: email === null ? 'Remove it' : 'Change it',
      cancel: here,
      danger: email === null,
      fields: sentAgain(visit, 'email'),
    });
  const { changed } = await change(async (work) => {
    const who = { learnerId };
    const by = { actor: userId, reason };
    const result = await (email === null ? removeEmail(work, id, who, by) : changeEmail(work, id, who, email, by));
    return result.changed ? { result, resource: learnerId } : { result };
  });
  return { to: `${here}?did=${changed ? 'email' : 'same'}` };
}
