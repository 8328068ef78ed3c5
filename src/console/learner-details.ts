import { isEmailAddress } from '../email.ts';
import { html } from '../html.ts';
import { changeEmail } from '../invitations/contact.ts';
import { removeEmail } from '../withdrawals/remove-email.ts';
import { correctName, NameRefused } from '../learners/rename.ts';
import { damageOf, nameFault } from '../learner-name.ts';
import { limits } from '../limits.ts';
import { isNameOf, isStorableText } from '../personal-data.ts';
import type { LearnerHead } from '../records/record.ts';
import { countLiveResults } from '../records/record.ts';
import { managers } from '../users/roles.ts';
import { confirmPage, number } from './blocks.ts';
import type { Faults } from './form.ts';
import { form, hiddenField, textField } from './form.ts';
import { name } from './frame.ts';
import { headOf } from './learner.ts';
import type { Answer, ConsoleRoute, Visit } from './route.ts';
import { NoSuchPage, formRoutes } from './route.ts';

/** A learner's name and e-mail address, changed after a look at what that does. */
export const learnerDetailRoutes: ConsoleRoute[] = [
  ...formRoutes('/learners/{learner_id}/name', managers, showName, rename),
  ...formRoutes('/learners/{learner_id}/email', managers, showEmail, readdress),
];

/** Whoever is gone has neither. */
async function presentOf(visit: Visit): Promise<LearnerHead> {
  const head = await headOf(visit);
  if (head.full_name === '') throw new NoSuchPage();
  return head;
}

const isReason = (text: string) => isStorableText(text, limits.reasonChars);

const reasonFault = `Enter a reason of at most ${limits.reasonChars} characters on one line, without a National Insurance number.`;

const reasonField = (value: string, fault: string | undefined) =>
  textField({
    name: 'reason',
    label: 'Reason',
    hint: 'It stands in the learner’s history. Leave names and addresses out of it.',
    value,
    width: 40,
    fault,
  });

async function showName(visit: Visit): Promise<Answer> {
  const head = await presentOf(visit);
  return namePage(visit, head, { full_name: head.full_name, reason: '' }, {});
}

function namePage(
  { base }: Visit,
  { learner_id }: LearnerHead,
  shown: { full_name: string; reason: string },
  faults: Faults,
): Answer {
  const here = `${base}/learners/${learner_id}`;
  return {
    title: 'Correct the name',
    back: { to: here, label: 'The learner' },
    faults,
    main: html`<p>For a name that was misspelt or has changed. No invitation is sent, and no credit is used.</p>${form(
      `${here}/name`,
      [
        textField({
          name: 'full_name',
          label: 'Full name',
          value: shown.full_name,
          width: 40,
          fault: faults.full_name,
        }),
        reasonField(shown.reason, faults.reason),
      ],
      'Go on',
      { faults, cancel: here },
    )}`,
  };
}

const isReference =
  'This is the learner’s reference. A reference must not be a name: have the reference changed first.';

function nameFaults({ ref }: LearnerHead, given: { full_name: string; reason: string }): Faults {
  const faults: Faults = {};
  const fault = nameFault(given.full_name);
  if (fault !== null) faults.full_name = `Enter ${fault}.`;
  else if (ref !== null && isNameOf(ref, given.full_name)) faults.full_name = isReference;
  if (!isReason(given.reason)) faults.reason = reasonFault;
  return faults;
}

async function rename(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, session, form: sent, change } = visit;

  const head = await presentOf(visit);
  const here = `${base}/learners/${head.learner_id}`;
  const given = { full_name: sent.text('full_name'), reason: sent.text('reason') };
  const faults = nameFaults(head, given);
  if (Object.keys(faults).length > 0) return namePage(visit, head, given, faults);
  if (given.full_name === head.full_name) return { to: `${here}?did=same` };
  if (sent.text('confirmed') === '') {
    const results = await countLiveResults(app.db, id, head.learner_id);
    return confirmPage({
      title: 'Correct this name?',
      says: [
        html`From ${name(head.full_name)} to <strong>${name(given.full_name)}</strong>.`,
        ...(damageOf(given.full_name) === null
          ? []
          : ['The new name looks damaged: a letter may be lost. Compare it with the original.']),
        `${number(results)} ${results === 1 ? 'result shows' : 'results show'} the new name: connected platforms receive ${results === 1 ? 'it' : 'them'} again at their next request.`,
        'Evidence that was made already keeps the name that it was made with.',
      ],
      action: `${here}/name`,
      button: 'Correct the name',
      cancel: here,
      danger: false,
      fields: [
        hiddenField('full_name', given.full_name),
        hiddenField('reason', given.reason),
        hiddenField('confirmed', 'yes'),
      ],
    });
  }
  try {
    const { changed } = await change(async (work) => {
      const result = await correctName(work, id, { learnerId: head.learner_id }, given.full_name, {
        actor: session.user_id,
        reason: given.reason,
      });
      return result.changed ? { result, resource: head.learner_id } : { result };
    });
    return { to: `${here}?did=${changed ? 'renamed' : 'same'}` };
  } catch (error) {
    // The reference has become this name a moment ago.
    if (!(error instanceof NameRefused)) throw error;
    return namePage(visit, head, given, { full_name: isReference });
  }
}

async function showEmail(visit: Visit): Promise<Answer> {
  const head = await presentOf(visit);
  return emailPage(visit, head, { email: head.email ?? '', reason: '' }, {});
}

function emailPage(
  { base }: Visit,
  { learner_id, email }: LearnerHead,
  shown: { email: string; reason: string },
  faults: Faults,
): Answer {
  const here = `${base}/learners/${learner_id}`;
  return {
    title: email === null ? 'Give an e-mail address' : 'Change the e-mail address',
    back: { to: here, label: 'The learner' },
    faults,
    main: html`<p>Where invitations are mailed to. It is shown to nobody outside your organisation, and stands in no result.</p>${form(
      `${here}/email`,
      [
        textField({
          name: 'email',
          label: 'E-mail address',
          hint: 'Left empty, none is kept any more.',
          type: 'email',
          value: shown.email,
          width: 40,
          fault: faults.email,
        }),
        reasonField(shown.reason, faults.reason),
      ],
      'Go on',
      { faults, cancel: here },
    )}`,
  };
}

async function readdress(visit: Visit): Promise<Answer> {
  const { base, organisationId: id, session, form: sent, change } = visit;
  const head = await presentOf(visit);
  const here = `${base}/learners/${head.learner_id}`;
  const given = { email: sent.text('email'), reason: sent.text('reason') };
  const email = given.email === '' ? null : given.email;
  const faults: Faults = {};
  if (email !== null && !isEmailAddress(email))
    faults.email = 'Enter an e-mail address, such as name@example.org, or leave it empty.';
  if (!isReason(given.reason)) faults.reason = reasonFault;
  if (Object.keys(faults).length > 0) return emailPage(visit, head, given, faults);
  if (email === head.email) return { to: `${here}?did=same` };
  if (sent.text('confirmed') === '')
    return confirmPage({
      title: email === null ? 'Remove the e-mail address?' : 'Change the e-mail address?',
      says: [
        email === null
          ? html`${name(head.email!)} is deleted. Links can still be copied and handed over.`
          : html`${head.email === null ? null : html`Instead of ${name(head.email)}: `}<strong>${name(email)}</strong>. What is mailed to the learner goes there from now on.`,
        'The history says that it was changed, by whom and why, and keeps neither address.',
      ],
      action: `${here}/email`,
      button: email === null ? 'Remove it' : 'Change it',
      cancel: here,
      danger: email === null,
      fields: [hiddenField('email', given.email), hiddenField('reason', given.reason), hiddenField('confirmed', 'yes')],
    });
  const { changed } = await change(async (work) => {
    const who = { learnerId: head.learner_id };
    const by = { actor: session.user_id, reason: given.reason };
    const result = await (email === null ? removeEmail(work, id, who, by) : changeEmail(work, id, who, email, by));
    return result.changed ? { result, resource: head.learner_id } : { result };
  });
  return { to: `${here}?did=${changed ? 'email' : 'same'}` };
}
