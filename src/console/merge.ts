import { ApiError } from '../errors.ts';
import { html } from '../html.ts';
import type { Content } from '../html.ts';
import type { LearnerName } from '../learners/learners.ts';
import { learnerRefExpected } from '../fields.ts';
import { changeReference, ReferenceRefused } from '../learners/reference.ts';
import { findNamedLearner } from '../learners/rename.ts';
import { limits } from '../limits.ts';
import type { Merged } from '../merging/merge.ts';
import { MergeRefused, mergeLearners } from '../merging/merge.ts';
import type { MergePreview, Side } from '../merging/preview.ts';
import { previewMerge } from '../merging/preview.ts';
import { holdsNationalInsuranceNumber, isOpaqueRef, isPlainText } from '../personal-data.ts';
import { managers } from '../users/roles.ts';
import { isUuid } from '../uuid.ts';
import { day, empty, table, count } from './blocks.ts';
import type { Faults } from './form.ts';
import { form, textField } from './form.ts';
import { name } from './frame.ts';
import type { Acted, Answer, ConsoleRoute, Visit } from './route.ts';
import { NoSuchPage, formRoutes } from './route.ts';

/** A learner's reference is given or changed, and two learners become one. */
export const mergeRoutes: ConsoleRoute[] = [
  ...formRoutes(
    '/learners/{learner_id}/reference',
    managers,
    async (visit) => referencePage(visit, await learnerOf(visit), '', {}),
    giveReference,
  ),
  ...formRoutes(
    '/learners/{learner_id}/merge',
    managers,
    async (visit) => otherPage(visit, await learnerOf(visit), {}),
    findOther,
  ),
  ...formRoutes(
    '/learners/{learner_id}/merge/{other_id}',
    managers,
    async (visit) => comparePage(visit, await previewOf(visit), '', {}),
    merge,
    { proof: true },
  ),
];

async function learnerOf({ app, organisationId, params }: Visit): Promise<LearnerName> {
  const id = params.learner_id!.toLowerCase();
  const found = isUuid(id) ? await findNamedLearner(app.db, organisationId, { learnerId: id }) : undefined;
  if (found === undefined) throw new NoSuchPage();
  return found;
}

/** Free text that is kept: null where nothing was written. @returns a sentence where it can't be kept */
function reasonFault(reason: string): string | null {
  if (reason === '') return null;
  if (!isPlainText(reason, limits.reasonChars))
    return `Write the reason in one line of up to ${limits.reasonChars} characters.`;
  return holdsNationalInsuranceNumber(reason) ? 'Leave the National Insurance number out.' : null;
}

function referencePage({ base }: Visit, one: LearnerName, typed: string, faults: Faults = {}): Answer {
  const here = `${base}/learners/${one.learner_id}`;
  return {
    title: one.ref === null ? 'Give a reference' : 'Change the reference',
    back: { to: here, label: 'The learner' },
    faults,
    main: html`<p>By the reference your own systems know ${name(one.full_name)}. ${
      one.ref === null
        ? 'There is none yet.'
        : html`It is <code>${one.ref}</code> now, and that stays theirs: whoever still uses it finds the same learner.`
    } Connected platforms get every result again, with the new reference.</p>${form(
      `${here}/reference`,
      [
        textField({
          name: 'reference',
          label: 'New reference',
          hint: 'Letters, digits and . _ : / -, such as LRN-000017. Never a name or an e-mail address.',
          value: typed,
          width: 20,
          fault: faults.reference,
        }),
        textField({ name: 'reason', label: 'Reason (optional)', width: 40, fault: faults.reason }),
      ],
      one.ref === null ? 'Give it' : 'Change it',
      { cancel: here, faults },
    )}<p><a href="${here}/merge">This learner is here twice: merge the two</a></p>`,
  };
}

async function giveReference(visit: Visit): Promise<Answer> {
  const { base, organisationId, session, form: sent, change } = visit;
  const one = await learnerOf(visit);
  const [ref, reason] = [sent.text('reference'), sent.text('reason')];
  const why = reasonFault(reason);
  if (why !== null) return referencePage(visit, one, '', { reason: why });
  // What is no reference may be a name: it is not sent back.
  if (!isOpaqueRef(ref)) return referencePage(visit, one, '', { reference: `Enter ${learnerRefExpected}.` });
  try {
    await change(async (work): Promise<Acted<boolean>> => {
      const by = { actor: session.user_id, reason: reason === '' ? null : reason };
      const who = { learnerId: one.learner_id };
      const { changed } = await changeReference(work, organisationId, who, ref, by);
      return changed ? { result: true, resource: one.learner_id } : { result: false };
    });
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') throw new NoSuchPage();
    if (!(error instanceof ReferenceRefused)) throw error;
    return referencePage(visit, one, ref, { reference: sentence(error.message) });
  }
  return { to: `${base}/matching?did=referenced` };
}

const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`;

function otherPage({ base }: Visit, one: LearnerName, faults: Faults = {}): Answer {
  const here = `${base}/learners/${one.learner_id}`;
  return {
    title: 'Merge with another learner',
    back: { to: here, label: 'The learner' },
    faults,
    main: html`<p>Where one person is here twice, all of one learner becomes the other’s. First you see both side by side.</p>${form(
      `${here}/merge`,
      textField({
        name: 'reference',
        label: 'Reference or id of the other',
        hint: html`Who else ${name(one.full_name)} is.`,
        width: 40,
        fault: faults.reference,
      }),
      'Compare',
      { cancel: here, faults },
    )}`,
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

type Line = { head: string; cell: (side: Side) => Content };

function comparePage({ base, zone }: Visit, preview: MergePreview, reason: string, faults: Faults = {}): Answer {
  const { from, into, joins, alike, ref, refused } = preview;

  const here = `${base}/learners/${from.learner_id}/merge/${into.learner_id}`;
  const lines: Line[] = [
    { head: 'Name', cell: (one) => name(one.full_name) },
    { head: 'Reference', cell: (one) => (one.ref === null ? 'None' : html`<code>${one.ref}</code>`) },
    { head: 'Known since', cell: (one) => day(one.created_at, zone) },
    { head: 'Results', cell: (one) => `${one.results}${one.withdrawn === 0 ? '' : ` and ${one.withdrawn} withdrawn`}` },
    {
      head: 'The last result',
      cell: (one) => (one.last_assessed_at === null ? 'None' : day(new Date(one.last_assessed_at / 1000), zone)),
    },
    { head: 'Evidence files', cell: (one) => one.evidence },
    { head: 'Open invitations', cell: (one) => one.open_invitations },
    { head: 'Sitting at this moment', cell: (one) => (one.sitting.length === 0 ? 'Nothing' : one.sitting.join(', ')) },
    { head: 'Groups', cell: (one) => (one.groups.length === 0 ? 'None' : one.groups.join('; ')) },
    { head: 'E-mail address', cell: (one) => (one.has_email ? 'Is there' : 'None') },
  ];
  const total = from.results + into.results;
  return {
    title: 'Merge these two?',
    back: { to: `${base}/matching`, label: 'Matching' },
    faults,
    main: html`<p>Everything of the first becomes the second’s, whose name stays. <a href="${base}/learners/${into.learner_id}/merge/${from.learner_id}">Keep the first instead</a>.</p>${table<Line>(
      {
        caption: 'The two side by side',
        rows: lines,
        columns: [
          { head: 'What', cell: (line) => line.head },
          { head: 'Goes', cell: (line) => line.cell(from) },
          { head: 'Stays', cell: (line) => line.cell(into) },
        ],
      },
    )}${
      refused !== null
        ? empty(sentence(`they can’t be merged now: ${refused}`))
        : html`<h2>What happens</h2><ul><li>${count(from.results, 'result')} with ${count(from.evidence, 'evidence file')} and ${count(from.open_invitations, 'open invitation')} move; the learner then has ${count(total, 'result')}.</li><li>The learner joins ${joins.length === 0 ? 'no further group' : `${count(joins.length, 'group')}: ${joins.join('; ')}`}.</li><li>The reference is ${ref === null ? 'none, as before' : html`<code>${ref}</code>`}; every other one of both reaches the same learner for good.</li><li>Connected platforms get a tombstone of the first learner, and ${count(total, 'result')} again.</li>${
            alike === 0
              ? null
              : html`<li>${count(alike, 'result')} of one subject and moment ${alike === 1 ? 'is' : 'are'} on both sides: withdraw the second copy afterwards.</li>`
          }<li>It can’t be undone.</li></ul>${form(
            here,
            textField({ name: 'reason', label: 'Reason (optional)', value: reason, width: 40, fault: faults.reason }),
            'Merge the two',
            { danger: true, cancel: `${base}/matching`, faults },
          )}`
    }`,
  };
}

async function merge(visit: Visit): Promise<Answer> {
  const { base, organisationId, session, form: sent, change } = visit;
  const preview = await previewOf(visit);
  const reason = sent.text('reason');
  const why = reasonFault(reason);
  if (why !== null) return comparePage(visit, preview, '', { reason: why });
  const pair = { from: preview.from.learner_id, into: preview.into.learner_id };
  try {
    await change(async (work): Promise<Acted<Merged>> => {
      const by = { actor: session.user_id, reason: reason === '' ? null : reason };
      return { result: await mergeLearners(work, organisationId, pair, by), resource: pair.into };
    });
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') throw new NoSuchPage();
    if (!(error instanceof MergeRefused)) throw error;
    // The page says why by itself: what it shows is read anew.
    return { ...comparePage(visit, await previewOf(visit), reason, {}), status: 422 } as Answer;
  }
  return { to: `${base}/matching?did=merged` };
}
