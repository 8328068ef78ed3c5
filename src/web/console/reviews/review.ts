import type { Visibility } from '../../../organisations/groups/visibility.ts';
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
import { countWaiting, findDecided, findWaiting, ranks } from '../../../governance/result-reviews/queue.ts';
import { subjects, shortSubjectNames } from '../../../engine/scoring/levels.ts';
import { day, moment, notice, readToken, readPage } from '../kit/blocks.ts';
import { any, Fields } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { type Answer, type ConsoleRoute, type Visit, get } from '../kit/route.ts';
import { visibilityOf, actorNames } from '../kit/reader.ts';
import { learnerReaders } from '../../../organisations/users/roles.ts';
import { listPage } from '../kit/page.ts';

/** Pages for the queue of reviews: results with a flag, and results whose learner asks for a review. */

export const reviewRoutes: ConsoleRoute[] = [get('/review', learnerReaders, queue, { menu: 'Review' })];

export const whyWords: Record<Why, string> = {
  needs_review: 'Engines a level or more apart',
  person_fit: 'Answers changed in the middle',
  request: 'The learner asks',
  borderline: 'Close to a boundary',
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

const states = { waiting: 'Waiting', asked: 'Learners who ask', decided: 'Decided' };

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
  return due_at && html`${day(due_at, zone)}${isLate && html` <strong class="late">overdue</strong>`}`;
}

/** Learners' requests have a legal deadline, so they are shown above the list. */
function asking({ asked, overdue }: Counts, base: string): Content {
  if (asked === 0) return null;
  const max = limits.maxCounted;
  const who =
    asked === 1 ? '1 learner asks for a person’s review' : `${upTo(asked, max)} learners ask for a person’s review`;
  return html`<p class="note"><a href="${base}/review?state=asked">${who}</a>${overdue === 0 ? '.' : `: ${upTo(overdue, max)} overdue.`}</p>`;
}

async function queue(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, path, query } = visit;
  const filter = readFilter(query);
  const visibility = await visibilityOf(visit);
  const now = new Date(app.clock.nowMs());
  if (filter.state === 'decided') return decidedPage(visit, visibility);
  const [counts, { rows, last }] = await Promise.all([
    countWaiting(app.db, id, { visibility, max: limits.maxCounted + 1, now }),
    readPage((limit) => findWaiting(app.db, id, filter, { visibility, after: readPlace(query), limit })),
  ]);
  const isFiltered = filter.why !== null || filter.subject !== null || filter.asked || query.has('after');
  const nothing = visibility === null ? 'Nothing waits for anybody.' : 'Nothing of the learners in your teams waits.';
  return listPage(visit, {
    title: 'Review',
    intro: [
      html`<p>Results that a person should look at before they are relied on: confirm each, or change its placement.</p>`,
      notice(query, {
        confirmed: 'It is confirmed. Platforms see when somebody looked at it, and so does the next evidence.',
        changed:
          'The placement is changed: the result before is withdrawn, and the new one is recorded. Platforms get both at their next poll.',
        withdrawn: 'The result is withdrawn.',
        amended: 'The result is amended.',
      }),
      !filter.asked && asking(counts, base),
    ],
    filters: (q) => filterFields(q, counts),
    caption: filter.asked ? 'The soonest due first' : 'What weighs most first, and the newest of it first',
    none: isFiltered ? html`Nothing like this waits. <a href="${path}">Show everything that waits</a>.` : nothing,
    rows,
    columns: {
      Learner: (row) => html`<a href="${path}/${row.assessment_id}">${name(row.full_name)}</a>`,
      Reference: (row) => row.ref,
      Subject: (row) => shortSubjectNames[row.subject],
      Placement: levelWords,
      Assessed: (row) => day(row.assessed_at, zone),
      Why: reasonsOf,
      'Answer due': (row) => dueCell(row, now.getTime(), zone),
    },
    next:
      last &&
      (filter.asked
        ? tokenOf(0, last.due_at!, last.assessment_id)
        : tokenOf(last.rank, last.opened_at, last.assessment_id)),
  });
}

function filterFields(q: Fields, counts: Counts | null): Content {
  const why = (Object.keys(ranks) as Why[]).map((one) => {
    const counted = counts === null ? '' : ` (${upTo(counts[one], limits.maxCounted)})`;
    return [one, whyWords[one] + counted];
  });
  return [
    q.select('state', 'Show', states),
    q.select('why', 'First reason', any(Object.fromEntries(why))),
    q.select('subject', 'Subject', any(shortSubjectNames)),
  ];
}

async function decidedPage(visit: Visit, visibility: Visibility): Promise<Answer> {
  const { app, organisationId: id, zone, path, query } = visit;
  const place = readPlace(query);
  const before = place && { at: place.openedAt, assessmentId: place.assessmentId };
  const [{ rows, last }, who] = await Promise.all([
    readPage((limit) => findDecided(app.db, id, { visibility, before, limit })),
    deciderOf(visit),
  ]);
  return listPage(visit, {
    title: 'Review',
    intro: html`<p>What was decided on results that somebody looked at.</p>`,
    filters: (q) => filterFields(q, null),
    caption: 'The latest decision first',
    none: 'Nothing was decided yet.',
    rows,
    columns: {
      Learner: (row) =>
        row.live ? html`<a href="${path}/${row.assessment_id}">${name(row.full_name)}</a>` : name(row.full_name),
      Subject: (row) => shortSubjectNames[row.subject],
      Decision: (row) => outcomeWords[row.outcome],
      When: (row) => moment(row.decided_at, zone),
      By: (row) => who(row.decided_by),
    },
    next: last && tokenOf(0, last.decided_at, last.assessment_id),
  });
}

/** Names the reviewer of a decision. Readers who do not manage people see "A colleague" in place of a name. */
export async function deciderOf(visit: Visit): Promise<(actor: string) => string> {
  const by = await actorNames(visit);
  return (actor) => {
    if (actor === visit.userId) return 'You';
    if (by(actor) !== actor) return by(actor);
    return actor === 'operator' || actor === 'service' ? 'Whoever runs the service' : 'A colleague';
  };
}
