import { type Content, html } from '../../../platform/html/html.ts';
import type { LearnerName } from '../../../records/learners/learners.ts';
import { learnerRefExpected } from '../../../platform/validation/fields.ts';
import { changeReference, ReferenceRefused } from '../../../records/learners/reference.ts';
import { findNamedLearner, correctName, NameRefused } from '../../../records/learners/rename.ts';
import { limits } from '../../../platform/config/limits.ts';
import { MergeRefused, mergeLearners } from '../../../governance/deduplication/merge.ts';
import { type MergePreview, type Side, previewMerge } from '../../../governance/deduplication/preview.ts';
import {
  holdsNationalInsuranceNumber,
  isOpaqueRef,
  isPlainText,
  isNameOf,
  isStorableText,
} from '../../../platform/validation/personal-data.ts';
import { managers } from '../../../organisations/users/roles.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { day, count, code, number } from '../kit/blocks.ts';
import { type Faults, type Fields, hiddenField, isFaulty, faultsIn } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { again, NoSuchPage, findOr404, routesOf, unless } from '../kit/route.ts';
import { formPage, confirmPage } from '../kit/page.ts';
import { isEmailAddress } from '../../../platform/validation/email.ts';
import { changeEmail } from '../../../sittings/invitations/contact.ts';
import { removeEmail } from '../../../governance/erasure/remove-email.ts';
import { damageOf, nameFault } from '../../../platform/validation/person-name.ts';
import { type LearnerHead, countLiveResults } from '../../../records/directory/learner-page.ts';
import { headOf } from './learner.ts';
import { empty, table } from '../kit/table.ts';

const ofPair = routesOf(previewOf);
const ofPresent = routesOf(presentOf);
const ofLearner = routesOf((visit) =>
  findOr404(visit, 'learner_id', (tx, organisationId, learnerId) =>
    findNamedLearner(tx, organisationId, { learnerId }),
  ),
);
export const learnerDetailRoutes: ConsoleRoute[] = [
  ...ofPresent.form('/learners/{learner_id}/name', managers, namePage, rename),
  ...ofPresent.form('/learners/{learner_id}/email', managers, emailPage, readdress),
  ...ofLearner.form('/learners/{learner_id}/reference', managers, referencePage, giveReference),
  ...ofLearner.form('/learners/{learner_id}/merge', managers, otherPage, findOther),
  ...ofPair.form('/learners/{learner_id}/merge/{other_id}', managers, comparePage, merge, { proof: true }),
];

/** An erased learner has neither name nor email address, so the pages that change them return a 404. */
async function presentOf(visit: Visit): Promise<LearnerHead> {
  const head = await headOf(visit);
  if (head.full_name === '') throw new NoSuchPage();
  return head;
}

const isReason = (text: string) => isStorableText(text, limits.reasonChars);

const reasonFault = `Enter a reason of at most ${limits.reasonChars} characters on one line, without a National Insurance number.`;

const reasonField = (f: Fields) =>
  f.text('reason', 'Reason', { hint: 'Such as “Misspelt on enrolment”. The history shows it. No names.' });

function namePage(visit: Visit, head: LearnerHead, shown = head.full_name, faults: Faults = {}): Answer {
  return formPage(visit, {
    title: 'Correct name',
    back: { to: `${visit.base}/learners/${head.learner_id}`, label: 'Learner' },
    faults,
    intro: html`<p>Correct a name that is misspelt or has changed. No invitation is sent, and no credit is used.</p>`,
    button: 'Continue',
    fields: (f) => [f.text('full_name', 'Full name', { value: shown }), reasonField(f)],
  });
}

const isReference =
  'This name is also the learner’s reference, and a reference must not be a name. Change the reference first.';

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

async function rename(visit: Visit, head: LearnerHead): Promise<Answer> {
  const { app, base, organisationId: id, userId: actor, form: sent, change } = visit;
  const { learner_id: learnerId } = head;
  const here = `${base}/learners/${learnerId}`;
  const [fullName, reason] = [sent.text('full_name'), sent.text('reason')];
  const faults = nameFaults(head, fullName, reason);
  if (isFaulty(faults)) return namePage(visit, head, fullName, faults);
  if (fullName === head.full_name) return { to: `${here}?did=same` };
  if (sent.text('confirmed') === '') {
    const results = await countLiveResults(app.db, id, learnerId);
    const damaged = 'The new name looks damaged: a letter may be lost. Compare it with the original.';
    return confirmPage(visit, {
      title: 'Correct name?',
      back: { to: here },
      says: [
        html`From ${name(head.full_name)} to <strong>${name(fullName)}</strong>.`,
        ...(damageOf(fullName) === null ? [] : [damaged]),
        `${number(results)} ${results === 1 ? 'result shows' : 'results show'} the new name: connected platforms receive ${results === 1 ? 'it' : 'them'} again at their next request.`,
        'Existing evidence packs keep the old name. You can correct the name again.',
      ],
      button: 'Correct name',
      danger: false,
      fields: () => sentAgain(visit, 'full_name'),
    });
  }
  const done = change(
    (work) => correctName(work, id, { learnerId }, fullName, { actor, reason }),
    (result) => result.changed && learnerId,
  ).then(({ changed }) => ({ to: `${here}?did=${changed ? 'renamed' : 'same'}` }));
  // While the confirmation was open, another person may have given the learner a reference that equals the name.
  return unless(done, NameRefused, () => namePage(visit, head, fullName, { full_name: isReference }));
}

function emailPage(visit: Visit, { learner_id, email }: LearnerHead, shown = email ?? '', faults: Faults = {}): Answer {
  return formPage(visit, {
    title: email === null ? 'Add email address' : 'Change email address',
    back: { to: `${visit.base}/learners/${learner_id}`, label: 'Learner' },
    faults,
    intro: html`<p>Invitations are sent to this address. It is visible only in your organisation, and no result contains it.</p>`,
    button: 'Continue',
    fields: (f) => [
      f.text('email', 'Email address', { hint: 'Empty: remove it.', type: 'email', value: shown }),
      reasonField(f),
    ],
  });
}

async function readdress(visit: Visit, head: LearnerHead): Promise<Answer> {
  const { base, organisationId: id, userId: actor, form: sent, change } = visit;
  const { learner_id: learnerId } = head;
  const here = `${base}/learners/${learnerId}`;
  const [email, reason] = [sent.text('email') || null, sent.text('reason')];
  const isWrong = email !== null && !isEmailAddress(email);
  const faults = faultsIn({
    email: isWrong && 'This is not an email address. Enter one such as name@example.org, or leave the field empty.',
    reason: !isReason(reason) && reasonFault,
  });
  if (isFaulty(faults)) return emailPage(visit, head, email ?? '', faults);
  if (email === head.email) return { to: `${here}?did=same` };
  if (sent.text('confirmed') === '')
    return confirmPage(visit, {
      title: email === null ? 'Remove email address?' : 'Change email address?',
      back: { to: here },
      says: [
        email === null
          ? html`${name(head.email!)} is deleted. You can still copy links and send them yourself.`
          : html`${head.email === null ? null : html`From ${name(head.email)} to `}<strong>${name(email)}</strong>. Emails to the learner go to this address.`,
        'The history shows who changed the address, and why. Both addresses are left out.',
      ],
      button: email === null ? 'Remove email address' : 'Change email address',
      danger: email === null,
      fields: () => sentAgain(visit, 'email'),
    });
  const by = { actor, reason };
  const { changed } = await change(
    (work) =>
      email === null ? removeEmail(work, id, { learnerId }, by) : changeEmail(work, id, { learnerId }, email, by),
    (result) => result.changed && learnerId,
  );
  return { to: `${here}?did=${changed ? 'email' : 'same'}` };
}

/** @returns the fault of an optional reason; null if the reason is valid or empty */
function optionalReasonFault(reason: string): string | null {
  if (reason === '') return null;
  if (!isPlainText(reason, limits.reasonChars))
    return `The reason is too long or has several lines. Enter one line of up to ${limits.reasonChars} characters.`;
  return holdsNationalInsuranceNumber(reason) ? 'The reason contains a National Insurance number. Remove it.' : null;
}

function referencePage(visit: Visit, one: LearnerName, faults: Faults = {}, typed = ''): Answer {
  const here = `${visit.base}/learners/${one.learner_id}`;
  const present =
    one.ref === null
      ? 'The learner has none yet.'
      : html`The current reference is ${code(one.ref)}. It becomes a previous reference that still finds the learner.`;
  return formPage(visit, {
    title: one.ref === null ? 'Add reference' : 'Change reference',
    back: { to: here, label: 'Learner' },
    faults,
    intro: html`<p>Your own systems know ${name(one.full_name)} by the reference. ${present} Connected platforms get every result again, with the new reference.</p>`,
    button: one.ref === null ? 'Add reference' : 'Change reference',
    fields: (f) => [
      f.text('reference', 'New reference', {
        hint: 'Such as LRN-000017. Never a name or an email address.',
        value: typed,
        width: 20,
      }),
      f.text('reason', 'Reason (optional)', { value: '' }),
    ],
    also: html`<p><a href="${here}/merge">Merge with another learner</a></p>`,
  });
}

async function giveReference(visit: Visit, one: LearnerName): Promise<Answer> {
  const { base, organisationId, userId: actor, form: sent, change } = visit;
  const { learner_id: learnerId } = one;
  const [ref, reason] = [sent.text('reference'), sent.text('reason')];
  const why = optionalReasonFault(reason);
  if (why !== null) return referencePage(visit, one, { reason: why });
  // A malformed reference may be a name by mistake, so the page does not show it again.
  if (!isOpaqueRef(ref)) return referencePage(visit, one, { reference: `Enter ${learnerRefExpected}.` });
  const done = change(
    (work) => changeReference(work, organisationId, { learnerId }, ref, { actor, reason: reason || null }),
    (result) => result.changed && learnerId,
  ).then(() => ({ to: `${base}/matching?did=referenced` }));
  return unless(done, ReferenceRefused, ({ message }) =>
    referencePage(visit, one, { reference: sentence(message) }, ref),
  );
}

const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`;

function otherPage(visit: Visit, one: LearnerName): Answer {
  return formPage(visit, {
    title: 'Merge with another learner',
    back: { to: `${visit.base}/learners/${one.learner_id}`, label: 'Learner' },
    intro: html`<p>If one person has two records, merge them into one learner. You compare both before anything changes.</p>`,
    button: 'Compare learners',
    fields: (f) =>
      f.text('reference', 'Reference or ID of the other learner', {
        hint: html`The other record of ${name(one.full_name)}, such as LRN-000017.`,
        value: '',
      }),
  });
}

async function findOther(visit: Visit, one: LearnerName) {
  const { app, base, organisationId: id, form: sent } = visit;
  const text = sent.text('reference');

  const other = !isOpaqueRef(text)
    ? undefined
    : ((await findNamedLearner(app.db, id, { ref: text })) ??
      (isUuid(text) ? await findNamedLearner(app.db, id, { learnerId: text.toLowerCase() }) : undefined));
  if (other === undefined)
    return again({ reference: 'No learner has this reference or ID. Check the capital letters.' });
  if (other.learner_id === one.learner_id)
    return again({ reference: 'This is the same learner. Enter the other learner.' });
  return { to: `${base}/learners/${one.learner_id}/merge/${other.learner_id}` };
}

async function previewOf({ app, organisationId, params }: Visit): Promise<MergePreview> {
  const pair = { from: params.learner_id!.toLowerCase(), into: params.other_id!.toLowerCase() };
  const found =
    isUuid(pair.from) && isUuid(pair.into)
      ? await previewMerge(app.db, organisationId, pair, new Date(app.clock.nowMs()))
      : undefined;
  if (found === undefined) throw new NoSuchPage();
  return found;
}

function comparePage(visit: Visit, preview: MergePreview, faults: Faults = {}, reason = ''): Answer {
  const { base, zone } = visit;
  const { from, into, refused } = preview;
  const lines: Record<string, (one: Side) => Content> = {
    Name: (one) => name(one.full_name),
    Reference: (one) => code(one.ref, 'None'),
    'Stored since': (one) => day(one.created_at, zone),
    Results: (one) => `${one.results}${one.withdrawn === 0 ? '' : ` and ${one.withdrawn} withdrawn`}`,
    'Latest result': (one) => (one.last_assessed_at === null ? 'None' : day(one.last_assessed_at, zone)),
    'Evidence packs': (one) => one.evidence,
    'Open invitations': (one) => one.open_invitations,
    'Sittings in progress': (one) => one.sitting.join(', ') || 'None',
    Groups: (one) => one.groups.join('; ') || 'None',
    'Email address': (one) => (one.has_email ? 'Yes' : 'None'),
  };
  const intro = [
    html`<p>All data of the first learner moves to the second learner, who keeps their name. <a href="${base}/learners/${into.learner_id}/merge/${from.learner_id}">Keep the first learner instead</a>.</p>`,
    table('Comparison', Object.entries(lines), {
      Field: ([head]) => head,
      'Is merged': ([, cell]) => cell(from),
      'Is kept': ([, cell]) => cell(into),
    }),
  ];
  const head = { title: 'Merge learners?', back: { to: `${base}/matching`, label: 'Matching' }, faults };
  if (refused !== null) return { ...head, main: [intro, empty(sentence(`they can’t be merged now: ${refused}`))] };
  return formPage(visit, {
    ...head,
    intro: [intro, consequences(preview)],
    button: 'Merge learners',
    danger: true,
    fields: (f) => f.text('reason', 'Reason (optional)', { value: reason }),
  });
}

function consequences({ from, into, joins, alike, ref }: MergePreview): Content {
  const total = count(from.results + into.results, 'result');
  return html`<h2>What happens</h2><ul><li>${count(from.results, 'result')} with ${count(from.evidence, 'evidence pack')} and ${count(from.open_invitations, 'open invitation')} move. The learner then has ${total}.</li><li>The learner joins ${joins.length === 0 ? 'no further group' : `${count(joins.length, 'group')}: ${joins.join('; ')}`}.</li><li>The reference is ${code(ref, 'still none')}. All other references of both learners still find this learner.</li><li>Connected platforms get a tombstone of the first learner, and ${total} again.</li>${
    alike > 0 &&
    html`<li>Both learners have ${count(alike, 'result')} with the same subject and time. After the merge, withdraw the second ${alike === 1 ? 'copy' : 'copies'}.</li>`
  }<li>A merge can’t be undone.</li></ul>`;
}

async function merge(visit: Visit, preview: MergePreview): Promise<Answer> {
  const { base, organisationId, userId: actor, form: sent, change } = visit;
  const reason = sent.text('reason');
  const fault = optionalReasonFault(reason);
  if (fault !== null) return comparePage(visit, preview, { reason: fault });
  const pair = { from: preview.from.learner_id, into: preview.into.learner_id };
  const by = { actor, reason: reason || null };
  const done = change((work) => mergeLearners(work, organisationId, pair, by).then(() => pair.into)).then(() => ({
    to: `${base}/matching?did=merged`,
  }));
  // The page loads both learners again, and shows why the merge is refused.
  const why = async () => ({ ...comparePage(visit, await previewOf(visit), {}, reason), status: 422 }) as Answer;
  return unless(done, MergeRefused, why);
}
