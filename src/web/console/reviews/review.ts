import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { teamsOfStaff } from '../../../organisations/teams.ts';
import { type Member, listMembers } from '../../../organisations/users/members.ts';
import type { Review } from '../../../records/results/results.ts';
import { chosenGroups, groupFields, tutorField } from '../results/filter.ts';
import { contentOf } from '../../../records/results/body.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import type {
  Counts,
  Filter,
  PageToken,
  Waiting,
  Why,
  DecidedReview,
} from '../../../governance/result-reviews/queue.ts';
import { countWaiting, findDecided, findWaiting, rankOf, ranks } from '../../../governance/result-reviews/queue.ts';
import { findSample } from '../../../governance/result-reviews/sample.ts';
import { subjects, shortSubjectNames } from '../../../engine/scoring/levels.ts';
import { day, moment, notice, code, label } from '../kit/blocks.ts';
import { any, Fields, fieldsOf, tickBox } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { type Answer, type ConsoleRoute, type Visit, get } from '../kit/route.ts';
import { filteredVisibility, visibilityOf, actorNames } from '../kit/reader.ts';
import { learnerReaders, peopleReaders, reviewers, samplers } from '../../../organisations/users/roles.ts';
import { listPage } from '../kit/page.ts';
import { readToken, readPage, uuidIn, withQuery } from '../kit/paging.ts';
import { type Columns, plain, wideOnly } from '../kit/table.ts';

/** Pages for the queue of reviews: results with a flag, and results whose learner asks for a review. */

export const reviewRoutes: ConsoleRoute[] = [get('/review', learnerReaders, queue, { menu: 'Reviews' })];

export const whyWords: Record<Why, string> = {
  needs_review: 'Scoring methods a level or more apart',
  person_fit: 'Answers changed in the middle',
  request: 'Requested by the learner',
  borderline: 'Close to a boundary',
  sample: 'Random sample',
};

export const outcomeWords: Record<DecidedReview['outcome'], string> = {
  confirmed: 'Confirmed',
  changed: 'Placement changed',
  withdrawn: 'Withdrawn',
};

function reasonsOf({ flags, requested_at }: Pick<Waiting, 'flags' | 'requested_at'>): string {
  return [...flags, ...(requested_at === null ? [] : ['request' as const])].map((why) => whyWords[why]).join('; ');
}

export const upTo = (count: number, max: number): string => (count > max ? `${max}+` : String(count));

const states = { waiting: 'Waiting', asked: 'Requested by learners', decided: 'Decided' };

function readFilter(query: URLSearchParams): Filter & { state: keyof typeof states } {
  const why = query.get('why') ?? '';
  const subject = query.get('subject') ?? '';
  const state = (['asked', 'decided'] as const).find((one) => one === query.get('state')) ?? 'waiting';
  return {
    state,
    why: Object.hasOwn(ranks, why) ? (why as Why) : null,
    subject: subjects.find((one) => one === subject) ?? null,
    asked: state === 'asked',
  };
}

const queueFields = ['state', 'why', 'subject', 'tutor', 'team', 'type', 'group', 'assigned', 'queue'];

/** The parameters that the pages of a result keep, so that the next result comes from the same queue. */
export const keptQueue = (query: URLSearchParams): URLSearchParams =>
  new URLSearchParams(queueFields.flatMap((field) => (query.get(field) ? [[field, query.get(field)!]] : [])));

type Queue = { visibility: Visibility; groupIds: readonly string[]; assignedTo: string | null };

/** Whose reviews the queue shows. An unknown team or group shows none. */
async function readQueue(visit: Visit): Promise<Queue> {
  const { userId, query } = visit;
  const visible = await filteredVisibility(visit);
  const team = uuidIn(query, 'team');
  return {
    visibility: team !== null && visible?.includes(team) !== false ? [team] : visible,
    groupIds: chosenGroups(query),
    assignedTo: query.get('assigned') === 'me' ? userId : uuidIn(query, 'assigned'),
  };
}

/** @returns the next waiting result of the queue; null if no other result waits */
export async function nextInQueue(visit: Visit, id: string, waiting: Review | null): Promise<string | null> {
  const filter = readFilter(visit.query);
  const queue = await readQueue(visit);
  const place = waiting && {
    rank: rankOf(waiting),
    openedAt: (filter.asked ? waiting.due_at : null) ?? waiting.opened_at,
    assessmentId: id,
  };
  for (const after of place === null ? [null] : [place, null]) {
    const found = await findWaiting(visit.app.db, visit.organisationId, filter, { ...queue, after, limit: 2 });
    const next = found.find((one) => one.assessment_id !== id);
    if (next !== undefined) return next.assessment_id;
  }
  return null;
}

/** The people who decide on reviews, by ID. Tutors read no names of colleagues, so they can choose only themselves. */
export async function assignees({ app, organisationId, role, userId }: Visit): Promise<Map<string, Member>> {
  const members = await listMembers(app.db, organisationId);
  const isOffered = (one: Member) =>
    reviewers.includes(one.role) && (peopleReaders.includes(role) || one.user_id === userId);
  return new Map(members.filter(isOffered).map((one) => [one.user_id, one]));
}

export const assigneeChoices = (people: Map<string, Member>) =>
  [...people.values()].map((one) => ({ value: one.user_id, label: one.full_name }));

/** The learners whom an assignee may see. */
export const visibleTo = ({ app, organisationId }: Visit, member: Member | undefined): Promise<Visibility> | null =>
  member?.role === 'tutor' ? teamsOfStaff(app.db, organisationId, member.user_id) : null;

/** Reads the page token, which has the form `RANK.MILLISECONDS.ID`. */
function readPlace(query: URLSearchParams): PageToken | null {
  const [rank, ms, assessmentId] = readToken(query.get('after'), 'int4', 'ms', 'uuid') ?? [];
  return assessmentId === undefined ? null : { rank: Number(rank), openedAt: new Date(Number(ms)), assessmentId };
}

const tokenOf = (rank: number, at: Date, id: string) => `${rank}.${at.getTime()}.${id}`;

export function levelWords({ body, assessed_at }: { body: string; assessed_at: number }): string {
  const { working_level, rqf_level } = contentOf(body, assessed_at);
  return working_level ?? rqf_level ?? 'Not placed';
}

export function dueCell({ due_at }: Pick<Waiting, 'due_at'>, nowMs: number, zone: string): Content {
  const isLate = due_at !== null && due_at.getTime() < nowMs;
  return due_at && html`${day(due_at, zone)}${isLate && html` ${label('bad', 'Overdue')}`}`;
}

/** Learners' requests have a legal deadline, so they are shown above the list. */
function asking({ asked, overdue }: Counts, base: string): Content {
  if (asked === 0) return null;
  const max = limits.maxCounted;
  const who = asked === 1 ? '1 learner asks for a human review' : `${upTo(asked, max)} learners ask for a human review`;
  return html`<p class="note"><a href="${base}/review?state=asked">${who}</a>${overdue === 0 ? '.' : `: ${upTo(overdue, max)} overdue.`}</p>`;
}

const notices = {
  confirmed: 'The result is confirmed. Platforms and the next evidence pack show the date of the review.',
  changed:
    'The placement is changed. The earlier result is withdrawn, and a new result is recorded. Platforms get both at their next poll.',
  withdrawn: 'The result is withdrawn.',
  amended: 'The result is amended.',
  all: 'The selected results are confirmed.',
  assigned: 'The selected results are assigned.',
};

async function queue(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, path, query } = visit;
  const filter = readFilter(query);
  const now = new Date(app.clock.nowMs());
  const [queue, who, tutors, groups] = await Promise.all([
    readQueue(visit),
    deciderOf(visit),
    tutorField(visit),
    groupFields(visit),
  ]);
  if (filter.state === 'decided')
    return decidedPage(visit, { ...queue, subject: filter.subject }, who, [tutors, groups]);
  const sampleId = uuidIn(query, 'sample');
  const [visibility, counts, { rows, last }, people, sampled] = await Promise.all([
    visibilityOf(visit),
    countWaiting(app.db, id, { visibility: queue.visibility, max: limits.maxCounted + 1, now }),
    readPage((limit) => findWaiting(app.db, id, filter, { ...queue, after: readPlace(query), limit })),
    assignees(visit),
    sampleId && findSample(app.db, id, sampleId, now),
  ]);
  const kept = keptQueue(query);
  const isFiltered = kept.size > 0 || query.has('after');
  const nothing =
    visibility === null
      ? 'No result waits for a review.'
      : 'No result of the learners in your teams waits for a review.';
  return listPage<Waiting>(visit, {
    title: 'Reviews',
    says: 'Results that a person should review before use. Confirm each result, or change its placement.',
    actions: samplers.includes(visit.role) && html`<a href="${path}/sample">Draw sample</a>`,
    intro: [
      notice(query, { ...notices, sampled: `The sample is drawn: ${sampled}.` }),
      !filter.asked && asking(counts, base),
    ],
    filters: (q) => [filterFields(q, counts), tutors, assignedField(q, visit, people), groups],
    caption: filter.asked ? 'Requested reviews, earliest deadline first' : 'Waiting results, most important first',
    none: isFiltered ? html`No waiting result matches. <a href="${path}">Show all waiting results</a>.` : nothing,
    rows,
    columns: columnsFor(visit, kept, who, now),
    around: (shown) =>
      rows.length === 0 || !reviewers.includes(visit.role) ? shown : chooseForm(visit, people, shown),
    next:
      last &&
      (filter.asked
        ? tokenOf(0, last.due_at!, last.assessment_id)
        : tokenOf(last.rank, last.opened_at, last.assessment_id)),
  });
}

function columnsFor(visit: Visit, kept: URLSearchParams, who: (actor: string) => string, now: Date): Columns<Waiting> {
  const { path, zone } = visit;
  return {
    Learner: (row) =>
      html`<a href="${withQuery(`${path}/${row.assessment_id}`, kept, { queue: '1' })}">${name(row.full_name)}</a>`,
    ...(reviewers.includes(visit.role) && {
      Choose: (row: Waiting) => tickBox('review', row.assessment_id, row.full_name),
    }),
    Reference: wideOnly((row) => code(row.ref)),
    Subject: plain((row) => shortSubjectNames[row.subject]),
    Placement: plain(levelWords),
    Assessed: wideOnly((row) => day(row.assessed_at, zone)),
    'Answer due': plain(
      (row) => row.due_at && html`<span class="narrow-only">Due </span>${dueCell(row, now.getTime(), zone)}`,
    ),
    'Assigned to': wideOnly((row) => row.assigned_to !== null && who(row.assigned_to)),
    Reason: plain(reasonsOf),
  };
}

function chooseForm(visit: Visit, people: Map<string, Member>, shown: Content): Content {
  const choices = [...assigneeChoices(people), { value: 'none', label: 'Not assigned' }];
  const person = fieldsOf(visit).select('person', 'Assign to', any(choices, 'Choose'));
  const to = withQuery(`${visit.path}/chosen`, keptQueue(visit.query), {});
  return html`<form method="post" action="${to}">${shown}<div class="actions"><button name="press" value="confirm">Confirm selected results</button></div>${person}<div class="actions"><button class="second" name="press" value="assign">Assign selected results</button></div></form>`;
}

function assignedField(q: Fields, { userId }: Visit, people: Map<string, Member>): Content {
  const others = assigneeChoices(people).filter((one) => one.value !== userId);
  return q.select('assigned', 'Assigned to', any([{ value: 'me', label: 'Me' }, ...others]));
}

function filterFields(q: Fields, counts: Counts | null): Content {
  const why = (Object.keys(ranks) as Why[]).map((one) => [
    one,
    counts && `${whyWords[one]} (${upTo(counts[one], limits.maxCounted)})`,
  ]);
  return [
    q.select('state', 'Show', states),
    counts && q.select('why', 'First reason', any(Object.fromEntries(why))),
    q.select('subject', 'Subject', any(shortSubjectNames)),
  ];
}

type DecidedFilter = Queue & Pick<Filter, 'subject'>;

async function decidedPage(visit: Visit, filter: DecidedFilter, who: (actor: string) => string, more: Content) {
  const { app, organisationId: id, zone, path, query } = visit;
  const place = readPlace(query);
  const before = place && { at: place.openedAt, assessmentId: place.assessmentId };
  const { rows, last } = await readPage((limit) => findDecided(app.db, id, { ...filter, before, limit }));
  return listPage(visit, {
    title: 'Reviews',
    says: 'Results that a person has reviewed, with the decisions.',
    filters: (q) => [filterFields(q, null), more],
    caption: 'Decisions, newest first',
    none: 'No decision matches. Decisions on waiting results appear here.',
    rows,
    columns: {
      Learner: (row) =>
        row.live ? html`<a href="${path}/${row.assessment_id}">${name(row.full_name)}</a>` : name(row.full_name),
      Subject: (row) => shortSubjectNames[row.subject],
      Decision: (row) => outcomeWords[row.outcome],
      Time: (row) => moment(row.decided_at, zone),
      By: (row) => who(row.decided_by),
    },
    next: last && tokenOf(0, last.decided_at, last.assessment_id),
  });
}

/** Names the reviewer of a decision. Tutors see "A colleague" in place of a name. */
export async function deciderOf(visit: Visit): Promise<(actor: string) => string> {
  const by = await actorNames(visit);
  return (actor) => {
    if (actor === visit.userId) return 'You';
    if (by(actor) !== actor) return by(actor);
    return actor === 'operator' || actor === 'service' ? 'The operator' : 'A colleague';
  };
}
