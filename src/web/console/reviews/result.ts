import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { plainText } from '../../../engine/item-bank/markup.ts';
import type { Answer as Given } from '../../../engine/item-bank/mark.ts';
import type { Field } from '../../../engine/item-bank/render-model.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { itemHtml } from '../../player/question/item.ts';
import type { ReviewedItem, SittingReview } from '../../../sittings/review.ts';
import { reviewQuestion, reviewSitting, flagWords } from '../../../sittings/review.ts';
import { facts, day, moment, notice, code } from '../kit/blocks.ts';
import { type Answer, type ConsoleRoute, type Visit, NoSuchPage, findOr404, routesOf } from '../kit/route.ts';
import { learnerReaders, reviewers } from '../../../organisations/users/roles.ts';
import { deciderOf, keptQueue, nextInQueue, outcomeWords, whyWords, dueCell } from './review.ts';
import { placementWords } from '../../../records/results/lists/interval.ts';
import { type FieldChange, type HistoryEntry, historyOf } from '../../../records/results/lists/history.ts';
import { type Review, findLive, findReviews } from '../../../records/results/results.ts';
import { type ResultContent, contentOf } from '../../../records/results/body.ts';
import type { StoredAssessment } from '../../../records/results/store.ts';
import { comparedWords, suspendedWords } from '../../../records/evidence/wording.ts';
import { versionOf, waitingOf } from '../../../governance/result-reviews/decide.ts';
import { type VisibleResult, findVisibleResult } from '../../../governance/result-reviews/queue.ts';
import { levelName, publishedLevels, shortSubjectNames } from '../../../engine/scoring/levels.ts';
import type { LevelRule } from '../../../engine/scoring/rules.ts';
import type { ScoredResult } from '../../../engine/scoring/score.ts';
import { type Fields, fieldsOf } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { visibilityOf } from '../kit/reader.ts';
import { withQuery } from '../kit/paging.ts';
import { table, bar, empty, numeric } from '../kit/table.ts';

export const ofReview = routesOf(openResult);
export const reviewResultRoutes: ConsoleRoute[] = [
  ofReview.get('/review/{assessment_id}', learnerReaders, resultPage),
  ofReview.get('/review/{assessment_id}/questions/{position}', learnerReaders, question),
];

export type ReviewedResult = {
  of: VisibleResult;
  row: StoredAssessment;
  content: ResultContent;
  reviews: Review[];
  waiting: Review | null;
};

/** @throws NoSuchPage if there is no such result or the person may not see the learner */
async function openResult(visit: Visit): Promise<ReviewedResult> {
  const visibility = await visibilityOf(visit);
  return findOr404(visit, 'assessment_id', (_tx, _organisationId, id) => findResult(visit, visibility, id));
}

export async function findResult(
  { app: { db }, organisationId }: Visit,
  visibility: Visibility,
  id: string,
): Promise<ReviewedResult | undefined> {
  const [of, row, reviews] = await Promise.all([
    findVisibleResult(db, organisationId, id, visibility),
    findLive(db, organisationId, id),
    findReviews(db, organisationId, id),
  ]);
  if (of === undefined || row === undefined) return undefined;
  return { of, row, content: contentOf(row.body, row.assessed_at), reviews, waiting: waitingOf(reviews) };
}

const clock = (ms: number | null): string =>
  ms === null ? 'Not measured' : `${Math.floor(ms / 60_000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}`;

const figure = (value: number): string => value.toFixed(2).replace('-', '−');

export const decisionFields = (
  f: Fields,
  { row, reviews, waiting }: ReviewedResult,
  label: string,
  hint = 'The history and the evidence pack show it. No names.',
): Content => [
  f.version(versionOf(row, reviews)),
  f.text('reason', label, { hint }),
  waiting?.requested_at != null &&
    f.lines('answer', 'Answer to the learner', {
      hint: 'What you checked, your decision and the reason. The learner reads it.',
    }),
];

export async function resultPage(visit: Visit, result: ReviewedResult): Promise<Answer> {
  const { app, base, organisationId: id, zone, role, query } = visit;
  const { of, row, content, reviews, waiting } = result;
  const [scored, history, who] = await Promise.all([
    reviewSitting(app, id, of.assessment_id),
    historyOf(app.db, id, of.assessment_id),
    deciderOf(visit),
  ]);
  const here = `${base}/review/${of.assessment_id}`;
  const kept = keptQueue(query);
  const next = query.has('queue') ? await nextInQueue(visit, of.assessment_id, waiting) : null;
  return {
    title: 'Review',
    back: { to: withQuery(`${base}/review`, kept, { queue: null }), label: 'Reviews' },
    actions: next !== null && html`<a href="${withQuery(`${base}/review/${next}`, kept, {})}">Next result</a>`,
    faults: visit.faults,
    main: [
      html`<p>How the result was computed, question by question, with its decisions.</p>`,
      notice(query, {
        confirmed: 'The result is confirmed. Platforms and the next evidence pack show the date of the review.',
        changed: 'The placement is changed. This result replaces the earlier one.',
        amended: 'The result is amended.',
        'next-confirmed': 'The last result is confirmed. This is the next one.',
        'next-changed': 'The placement of the last result is changed. This is the next result.',
        'next-withdrawn': 'The last result is withdrawn. This is the next one.',
      }),
      facts({
        Learner: html`<a href="${base}/learners/${of.learner_id}">${name(of.full_name)}</a>`,
        Reference: of.ref ?? 'None',
        Subject: shortSubjectNames[content.subject],
        Placement: placementWords({ source: row.source, content }),
        Assessed: moment(row.assessed_at, zone),
        'Assigned to': waiting?.assigned_to && who(waiting.assigned_to),
        Result: code(of.assessment_id),
        'Last review': content.reviewed_at && moment(new Date(content.reviewed_at), zone),
      }),
      waiting && waitingPart(waiting, app.clock.nowMs(), zone),
      reviewers.includes(role) && actions(visit, result, here),
      scored === undefined ? importedPart(content) : sittingPart(scored, content, here, zone),
      beforePart(reviews, history ?? [], who, zone),
    ],
  };
}

function waitingPart({ flags, requested_at, due_at, request }: Review, nowMs: number, zone: string): Content {
  return [
    html`<h2>Reasons for the review</h2><ul>${flags.map((flag) => html`<li>${whyWords[flag]}</li>`)}${
      requested_at && html`<li>${whyWords.request}</li>`
    }</ul>`,
    requested_at && [
      facts({
        Asked: moment(requested_at, zone),
        'Answer due': dueCell({ due_at }, nowMs, zone),
        'Learner’s text': lines(request ?? ''),
      }),
      html`<p class="hint">The learner has the right to a human review. Read their text, check their answers, and decide. You may change the placement.</p>`,
    ],
  ];
}

const lines = (text: string): Content =>
  text === '' ? 'Nothing' : text.split('\n').map((line, i) => html`${i > 0 && html`<br>`}<bdi>${line}</bdi>`);

function actions(visit: Visit, result: ReviewedResult, here: string): Content {
  const f = fieldsOf(visit);
  const isWaiting = result.waiting !== null;
  const fields = decisionFields(f, result, 'Note (optional)');
  const to = (page: string) => withQuery(`${here}/${page}`, keptQueue(visit.query), {});
  return [
    html`<h2>Decision</h2>`,
    isWaiting && f.form('Confirm result', { to: to('confirm') }, fields),
    html`<div class="actions"><a href="${to('place')}">Change placement</a><a href="${to('amend')}">Amend result</a><a href="${to('withdraw')}">Withdraw result</a></div>`,
  ];
}

const importedPart = (content: ResultContent): Content => [
  html`<h2>Origin</h2>`,
  empty('This result was imported. The service does not have its questions and answers.'),
  domainTable(content),
  probabilityTable(content.level_probabilities),
];

const basisWords: Record<ScoredResult['reconciliation']['basis'], string> = {
  equal: 'Both engines found this level.',
  irt_within_one: 'The engines are one full level apart, so the level of the IRT engine counts.',
  midpoint: 'The engines are two or more full levels apart, so the level midway between them counts, rounded down.',
  irt_only: 'The rule engine had too few questions to judge any level, so only the IRT engine decides.',
};

function decidingWords({ deciding, irt }: ScoredResult): string {
  const level = levelName(deciding.level);
  const side = deciding.side === 'at_or_above' ? 'at or above it' : 'below it';
  const holds = deciding.isBorderline ? 'contains the threshold' : 'does not contain the threshold';
  return `The deciding threshold is that of ${level}, at ${figure(deciding.threshold)}. The estimate, ${figure(irt.theta)}, is ${side}. Its 95 % interval, ${figure(irt.ci.low)} to ${figure(irt.ci.high)}, ${holds}.`;
}

const ruleWords: Record<LevelRule['outcome'], string> = {
  pass: 'Met',
  fail: 'Not met',
  not_judged: 'Too few questions',
};

function sittingPart(
  { review, scored }: { review: SittingReview; scored: ScoredResult },
  content: ResultContent,
  here: string,
  zone: string,
): Content {
  return [
    html`<h2>Two engines</h2>`,
    enginesTable(scored),
    html`<p>${basisWords[scored.reconciliation.basis]} ${decidingWords(scored)}</p>`,
    table<LevelRule>('Rule engine by level: questions at the level and one level above or below', scored.rules.levels, {
      Level: (rule) => levelName(rule.level),
      Right: numeric((rule) => rule.bandRight),
      Questions: numeric((rule) => rule.bandItems),
      Needed: numeric((rule) => rule.needed ?? ''),
      Outcome: (rule) => ruleWords[rule.outcome],
    }),
    probabilityTable(content.level_probabilities),
    domainTable(content),
    html`<h2>Sitting</h2>`,
    sittingFacts(review, zone),
    table<ReviewedItem>('Answers in the order of the questions', review.items, {
      Question: (item) => html`<a href="${here}/questions/${item.position}">Question ${item.position}</a>`,
      Skill: (item) => item.skill,
      Answer: answerText,
      Time: numeric((item) => clock(item.working_ms)),
      Pauses: numeric((item) => (item.pauses === 0 ? '' : `${item.pauses} (${clock(item.paused_ms)})`)),
    }),
  ];
}

function enginesTable({ subject, irt, rules, reconciliation: { placement, apart } }: ScoredResult): Content {
  const inWords = (found: ScoredResult['placement']) => publishedLevels(subject, found).working_level;
  const rows: [engine: string, placement: string, from: string][] = [
    [
      'IRT engine',
      inWords(irt.placement),
      `Ability ${figure(irt.theta)}, 95 % interval ${figure(irt.ci.low)} to ${figure(irt.ci.high)}`,
    ],
    [
      'Rule engine',
      rules.placement === null ? 'Not judged' : inWords(rules.placement),
      'Right answers around each level, compared with the number needed',
    ],
    [
      'Together',
      inWords(placement),
      apart === 0 ? 'No full level apart' : `${apart} full ${apart === 1 ? 'level' : 'levels'} apart`,
    ],
  ];
  return table('What each engine found', rows, {
    Engine: ([engine]) => engine,
    Placement: ([, found]) => found,
    From: ([, , from]) => from,
  });
}

function sittingFacts(review: SittingReview, zone: string): Content {
  const { pauses } = review;
  const flags = flagWords(review);
  return facts({
    Began: moment(review.started_at, zone),
    Ended: moment(review.finished_at, zone),
    'Working time': `${clock(review.working_ms)} of ${clock(review.time_limit_ms)}`,
    Pauses: pauses === null ? 'Not measured' : `${pauses.count}, ${clock(1000 * pauses.seconds)} together`,
    'Service suspended': review.suspended === null ? null : suspendedWords(review.suspended),
    'Engagement flags': flags.length === 0 ? 'None' : html`<ul>${flags.map((one) => html`<li>${one}</li>`)}</ul>`,
  });
}

const answerText = ({ outcome, pilot }: Pick<ReviewedItem, 'outcome' | 'pilot'>): string =>
  pilot ? `On trial, not scored: ${outcome.replace('_', ' ')}` : answerWords[outcome];

export const answerWords: Record<ReviewedItem['outcome'], string> = {
  right: 'Right',
  wrong: 'Wrong',
  skipped: 'Skipped: counts as wrong',
  not_reached: 'Not reached: does not count',
};

const probabilityTable = (probabilities: ResultContent['level_probabilities']): Content =>
  table({ caption: 'Probability of each level', none: null }, Object.entries(probabilities ?? {}), {
    Level: ([level]) => level,
    Probability: numeric(([, p]) => `${(100 * p).toFixed(1)} %`),
    Share: ([, p]) => bar(p, 1),
  });

const domainTable = ({ domains }: ResultContent): Content =>
  table({ caption: 'Domains', none: null }, domains, {
    Domain: (one) => one.name,
    Score: numeric((one) => (one.score_pct === null ? '' : `${one.score_pct} %`)),
    Status: (one) => (one.status ?? 'Not judged').replaceAll('_', ' '),
    'Compared with the others': (one) => comparedWords(one) ?? 'Not compared: too few questions',
  });

function shown(value: unknown): string {
  if (value === null) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'object' ? 'other values' : String(value);
}

const changeText = ({ field, before, after }: FieldChange): string =>
  `${field.replaceAll('_', ' ')}: ${shown(before)} → ${shown(after)}`;

function beforePart(
  reviews: readonly Review[],
  history: readonly HistoryEntry[],
  who: (actor: string) => string,
  zone: string,
): Content {
  const decided = reviews.filter((one) => one.decided_at !== null).toReversed();
  return [
    html`<h2>Earlier decisions</h2>`,
    decided.length === 0 && html`<p>There is no decision yet.</p>`,
    table<Review>({ caption: 'Decisions, newest first', none: null }, decided, {
      Time: (one) => moment(one.decided_at, zone),
      Decision: (one) => outcomeWords[one.outcome!],
      By: (one) => who(one.decided_by!),
      'Learner’s request': (one) =>
        one.requested_at === null ? 'No' : html`${day(one.requested_at, zone)}: ${lines(one.request ?? '')}`,
      'Answer to the learner': (one) => one.answer !== null && lines(one.answer),
    }),
    table<HistoryEntry>({ caption: 'Changes, oldest first', none: null }, history, {
      Time: (one) => moment(new Date(one.at), zone),
      By: (one) => who(one.actor),
      Reason: (one) => one.reason,
      Change: (one) => one.changes.map(changeText).join('; '),
    }),
  ];
}

function valueWords(field: Field, answer: Given | null): string {
  const value = answer !== null && Object.hasOwn(answer, field.name) ? answer[field.name]! : [];
  const values = ([value].flat() as string[]).filter((one) => one !== '');
  const labels = values.map((one) => field.options.find((option) => option.value === one)?.text ?? one);
  return labels.length === 0 ? 'Nothing' : labels.join('; ');
}

const seconds = (ms: number | null): string => (ms === null ? 'Not measured' : `${Math.round(ms / 1000)} seconds`);

async function question(visit: Visit, { of }: ReviewedResult): Promise<Answer> {
  const { app, base, organisationId, params } = visit;
  const position = /^[1-9]\d{0,2}$/.test(params.position!) ? Number(params.position) : 0;
  const found = await reviewQuestion(app, organisationId, of.assessment_id, position);
  if (found === undefined) throw new NoSuchPage();
  const here = `${base}/review/${of.assessment_id}`;
  const neighbour = (n: number, label: string) =>
    n >= 1 && n <= found.of && html`<li><a href="${here}/questions/${n}">${label}</a></li>`;
  return {
    title: `Question ${position} of ${found.of}`,
    back: { to: here, label: 'Review' },
    main: [
      html`<p>The question as the learner saw it, with the learner’s answer.</p>`,
      facts({
        Answer: answerText(found),
        'Working time': seconds(found.working_ms),
        Pauses: found.pauses === 0 ? 'None' : `${found.pauses}, ${seconds(found.paused_ms)} together`,
      }),
      table<Field>('Answer', found.model.fields, {
        Field: (field) => plainText(field.label),
        Answer: (field) => html`<bdi>${valueWords(field, found.answer)}</bdi>`,
        'Right answer, for example': (field) => valueWords(field, found.right),
      }),
      html`<h2>The question</h2><fieldset class="shown" disabled><legend class="unseen">The question</legend>${itemHtml(found.model, found.answer, null)}</fieldset><nav class="pager" aria-label="Questions"><ul>${neighbour(position - 1, 'Previous question')}${neighbour(position + 1, 'Next question')}</ul></nav>`,
    ],
  };
}
