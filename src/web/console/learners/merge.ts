import { html } from '../../../platform/html/html.ts';
import type { Content } from '../../../platform/html/html.ts';
import type { LearnerName } from '../../../records/learners/learners.ts';
import { learnerRefExpected } from '../../../platform/validation/fields.ts';
import { changeReference, ReferenceRefused } from '../../../records/learners/reference.ts';
import { findNamedLearner } from '../../../records/learners/rename.ts';
import { limits } from '../../../platform/config/limits.ts';
import { MergeRefused, mergeLearners } from '../../../governance/deduplication/merge.ts';
import type { MergePreview, Side } from '../../../governance/deduplication/preview.ts';
import { previewMerge } from '../../../governance/deduplication/preview.ts';
import { holdsNationalInsuranceNumber, isOpaqueRef, isPlainText } from '../../../platform/validation/personal-data.ts';
import { managers } from '../../../organisations/users/roles.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { day, empty, table, count } from '../kit/blocks.ts';
import type { Faults } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { NoSuchPage, formRoutes, named, ifDone } from '../kit/route.ts';
import { fieldsOf } from '../kit/form.ts';

export const mergeRoutes: ConsoleRoute[] = [
  ...formRoutes(
    '/learners/{learner_id}/reference',
    managers,
    async (visit) => referencePage(visit, await learnerOf(visit)),
    giveReference,
  ),
  ...formRoutes(
    '/learners/{learner_id}/merge',
    managers,
    async (visit) => otherPage(visit, await learnerOf(visit)),
    findOther,
  ),
  ...formRoutes(
    '/learners/{learner_id}/merge/{other_id}',
    managers,
    async (visit) => comparePage(visit, await previewOf(visit)),
    merge,
    { proof: true },
  ),
];

const learnerOf = (visit: Visit): Promise<LearnerName> =>
  named(visit, 'learner_id', (tx, organisationId, learnerId) => findNamedLearner(tx, organisationId, { learnerId }));

/** @returns what is wrong with an optional reason */
function reasonFault(reason: string): string | null {
  if (reason === '') return null;
  if (!isPlainText(reason, limits.reasonChars))
    return `Write the reason in one line of up to ${limits.reasonChars} characters.`;
  return holdsNationalInsuranceNumber(reason) ? 'Leave the National Insurance number out.' : null;
}

function referencePage(visit: Visit, one: LearnerName, faults: Faults = {}, typed = ''): Answer {
  const { base } = visit;
  const f = fieldsOf(visit, faults);
  const here = `${base}/learners/${one.learner_id}`;
  return {
    title: one.ref === null ? 'Give a reference' : 'Change the reference',
    back: { to: here, label: 'The learner' },
    faults,
    main: html`<p>By the reference your own systems know ${name(one.full_name)}. ${
      one.ref === null
        ? 'There is none yet.'
        : html`It is <code>${one.ref}</code> now, and that stays theirs: whoever still uses it finds the same learner.`
    } Connected platforms get every result again, with the new reference.</p>${f.form(
      one.ref === null ? 'Give it' : 'Change it',
      { cancel: here },
      [
        f.text('reference', 'New reference', {
          hint: 'Letters, digits and . _ : / -, such as LRN-000017. Never a name or an e-mail address.',
          value: typed,
          width: 20,
        }),
        f.text('reason', 'Reason (optional)', { value: '' }),
      ],
    )}<p><a href="${here}/merge">This learner is here twice: merge the two</a></p>`,
  };
}

async function giveReference(visit: Visit): Promise<Answer> {
  const { base, organisationId, userId, form: sent, change } = visit;
  const one = await learnerOf(visit);
  const [ref, reason] = [sent.text('reference'), sent.text('reason')];
  const why = reasonFault(reason);
  if (why !== null) return referencePage(visit, one, { reason: why });
  // A malformed reference may be a name, so the page does not show it again.
  if (!isOpaqueRef(ref)) return referencePage(visit, one, { reference: `Enter ${learnerRefExpected}.` });
  try {
    const { learner_id: learnerId } = one;
    const by = { actor: userId, reason: reason || null };
    await change(async (work) => {
      const { changed } = await changeReference(work, organisationId, { learnerId }, ref, by);
      return ifDone(changed, learnerId);
    });
  } catch (error) {
    if (!(error instanceof ReferenceRefused)) throw error;
    return referencePage(visit, one, { reference: sentence(error.message) }, ref);
  }
  return { to: `${base}/matching?did=referenced` };
}

const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`;

function otherPage(visit: Visit, one: LearnerName, faults: Faults = {}): Answer {
  const { base } = visit;
  const f = fieldsOf(visit, faults);
  const here = `${base}/learners/${one.learner_id}`;
  return {
    title: 'Merge with another learner',
    back: { to: here, label: 'The learner' },
    faults,
    main: html`<p>Where one person is here twice, all of one learner becomes the other’s. First you see both side by side.</p>${f.form('Compare', { cancel: here }, f.text('reference', 'Reference or id of the other', { hint: html`Who else ${name(one.full_name)} is.`, value: '' }))}`,
  };
}

async function findOther(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, form: sent } = visit;
  const one = await learnerOf(visit);
  const text = sent.text('reference');

  const other = !isOpaqueRef(text)
    ? undefined
    : ((await findNamedLearner(app.db, id, { ref: text })) ??
      (isUuid(text) ? await findNamedLearner(app.db, id, { learnerId: text.toLowerCase() }) : undefined));
  if (other === undefined)
    return otherPage(visit, one, {
      reference: 'Enter a reference or an id that a learner here has. Capital letters count.',
    });
  if (other.learner_id === one.learner_id)
    return otherPage(visit, one, { reference: 'That is this learner: enter the other one’s.' });
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
  const f = fieldsOf(visit, faults);
  const { from, into, joins, alike, ref, refused } = preview;
  const lines: Record<string, (one: Side) => Content> = {
    Name: (one) => name(one.full_name),
    Reference: (one) => (one.ref === null ? 'None' : html`<code>${one.ref}</code>`),
    'Known since': (one) => day(one.created_at, zone),
    Results: (one) => `${one.results}${one.withdrawn === 0 ? '' : ` and ${one.withdrawn} withdrawn`}`,
    'The last result': (one) => (one.last_assessed_at === null ? 'None' : day(one.last_assessed_at, zone)),
    'Evidence files': (one) => one.evidence,
    'Open invitations': (one) => one.open_invitations,
    'Sitting at this moment': (one) => one.sitting.join(', ') || 'Nothing',
    Groups: (one) => one.groups.join('; ') || 'None',
    'E-mail address': (one) => (one.has_email ? 'Is there' : 'None'),
  };
  const total = from.results + into.results;
  return {
    title: 'Merge these two?',
    back: { to: `${base}/matching`, label: 'Matching' },
    faults,
    main: html`<p>Everything of the first becomes the second’s, whose name stays. <a href="${base}/learners/${into.learner_id}/merge/${from.learner_id}">Keep the first instead</a>.</p>${table(
      'The two side by side',
      Object.entries(lines),
      { What: ([head]) => head, Goes: ([, cell]) => cell(from), Stays: ([, cell]) => cell(into) },
    )}${
      refused !== null
        ? empty(sentence(`they can’t be merged now: ${refused}`))
        : html`<h2>What happens</h2><ul><li>${count(from.results, 'result')} with ${count(from.evidence, 'evidence file')} and ${count(from.open_invitations, 'open invitation')} move; the learner then has ${count(total, 'result')}.</li><li>The learner joins ${joins.length === 0 ? 'no further group' : `${count(joins.length, 'group')}: ${joins.join('; ')}`}.</li><li>The reference is ${ref === null ? 'none, as before' : html`<code>${ref}</code>`}; every other one of both reaches the same learner for good.</li><li>Connected platforms get a tombstone of the first learner, and ${count(total, 'result')} again.</li>${
            alike === 0
              ? null
              : html`<li>${count(alike, 'result')} of one subject and moment ${alike === 1 ? 'is' : 'are'} on both sides: withdraw the second copy afterwards.</li>`
          }<li>It can’t be undone.</li></ul>${f.form('Merge the two', { danger: true, cancel: `${base}/matching` }, f.text('reason', 'Reason (optional)', { value: reason }))}`
    }`,
  };
}

async function merge(visit: Visit): Promise<Answer> {
  const { base, organisationId, userId, form: sent, change } = visit;
  const preview = await previewOf(visit);
  const reason = sent.text('reason');
  const why = reasonFault(reason);
  if (why !== null) return comparePage(visit, preview, { reason: why });
  const pair = { from: preview.from.learner_id, into: preview.into.learner_id };
  try {
    const by = { actor: userId, reason: reason || null };
    await change(async (work) => ({
      result: await mergeLearners(work, organisationId, pair, by),
      resource: pair.into,
    }));
  } catch (error) {
    if (!(error instanceof MergeRefused)) throw error;
    // The page is read again, and shows the reason of the refusal.
    return { ...comparePage(visit, await previewOf(visit), {}, reason), status: 422 } as Answer;
  }
  return { to: `${base}/matching?did=merged` };
}
