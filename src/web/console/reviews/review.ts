import { contentOf } from '../../../records/results/body.ts';
import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import type { Counts, Filter, PageToken, Waiting, Why } from '../../../governance/result-reviews/queue.ts';
import { countWaiting, findDecided, findWaiting, ranks } from '../../../governance/result-reviews/queue.ts';
import type { DecidedReview } from '../../../governance/result-reviews/queue.ts';
import { subjects } from '../../../engine/scoring/levels.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { day, filters, moment, notice, pager, table, pageOf } from '../kit/blocks.ts';
import { filtersOf, any } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { deciderOf } from './decider.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { visibilityOf } from '../kit/visibility.ts';
import { shortSubjectNames } from '../../../engine/scoring/levels.ts';
import { get } from '../kit/route.ts';
import { learnerReaders } from '../../../organisations/users/roles.ts';

/** The queue of reviews: results with a flag, and learners who ask for a review. */

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

/** A page token: `RANK.MILLISECONDS.ID`. */
function readPlace(text: string | null): PageToken | null {
  const [, rank, ms, assessmentId] = /^([0-9])\.(\d{1,13})\.([0-9a-f-]{36})$/.exec(text ?? '') ?? [];
  if (assessmentId === undefined || !isUuid(assessmentId)) return null;
  const openedAt = new Date(Number(ms));
  return Number.isNaN(openedAt.getTime()) ? null : { rank: Number(rank), openedAt, assessmentId };
}

const placeText = (rank: number, at: Date, id: string) => `${rank}.${at.getTime()}.${id}`;

export function levelWords({ body, assessed_at }: { body: string; assessed_at: number }): string {
  const { working_level, rqf_level } = contentOf(body, assessed_at);
  return working_level ?? rqf_level ?? 'Not placed';
}

function dueCell({ due_at }: Pick<Waiting, 'due_at'>, nowMs: number, zone: string): Content {
  if (due_at === null) return '';
  return html`${day(due_at, zone)}${due_at.getTime() < nowMs ? html` <strong class="late">overdue</strong>` : null}`;
}

/** Requests of learners have a legal deadline, so they are shown above the list. */
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
  const max = limits.maxCounted;
  if (filter.state === 'decided') return decidedPage(visit, visibility);
  const [counts, found] = await Promise.all([
    countWaiting(app.db, id, { visibility, max: max + 1, now }),
    findWaiting(app.db, id, filter, {
      visibility,
      after: readPlace(query.get('after')),
      limit: limits.consoleRows + 1,
    }),
  ]);
  const { rows, last } = pageOf(found);
  const place =
    last &&
    (filter.asked
      ? placeText(0, last.due_at!, last.assessment_id)
      : placeText(last.rank, last.opened_at, last.assessment_id));
  const isFiltered = filter.why !== null || filter.subject !== null || filter.asked || query.has('after');
  return {
    title: 'Review',
    main: html`<p>Results that a person should look at before they are relied on: confirm each, or change its placement.</p>${notice(
      query,
      {
        confirmed: 'It is confirmed. Platforms see when somebody looked at it, and so does the next evidence.',
        changed:
          'The placement is changed: the result before is withdrawn, and the new one is recorded. Platforms get both at their next poll.',
        withdrawn: 'The result is withdrawn.',
        amended: 'The result is amended.',
      },
    )}${!filter.asked && asking(counts, base)}${filterForm(visit, counts)}${table<Waiting>(
      {
        caption: filter.asked ? 'The soonest due first' : 'What weighs most first, and the newest of it first',
        none: isFiltered
          ? html`Nothing like this waits. <a href="${path}">Show everything that waits</a>.`
          : visibility === null
            ? 'Nothing waits for anybody.'
            : 'Nothing of the learners in your teams waits.',
      },
      rows,
      {
        Learner: (row) => html`<a href="${path}/${row.assessment_id}">${name(row.full_name)}</a>`,
        Reference: (row) => row.ref,
        Subject: (row) => shortSubjectNames[row.subject],
        Placement: levelWords,
        Assessed: (row) => day(row.assessed_at, zone),
        Why: reasonsOf,
        'Answer due': (row) => dueCell(row, now.getTime(), zone),
      },
    )}${pager(visit, place)}`,
  };
}

function filterForm(visit: Visit, counts: Counts | null): Content {
  const q = filtersOf(visit);
  const why = (Object.keys(ranks) as Why[]).map((one) => {
    const counted = counts === null ? '' : ` (${upTo(counts[one], limits.maxCounted)})`;
    return [one, whyWords[one] + counted];
  });
  return filters(visit.path, [
    q.select('state', 'Show', states),
    q.select('why', 'First reason', any(Object.fromEntries(why))),
    q.select('subject', 'Subject', any(shortSubjectNames)),
  ]);
}

async function decidedPage(visit: Visit, visibility: Awaited<ReturnType<typeof visibilityOf>>): Promise<Answer> {
  const { app, organisationId: id, zone, path, query } = visit;
  const place = readPlace(query.get('after'));
  const before = place === null ? null : { at: place.openedAt, assessmentId: place.assessmentId };
  const [found, who] = await Promise.all([
    findDecided(app.db, id, { visibility, before, limit: limits.consoleRows + 1 }),
    deciderOf(visit),
  ]);
  const { rows, last } = pageOf(found);
  return {
    title: 'Review',
    main: html`<p>What was decided on results that somebody looked at.</p>${filterForm(visit, null)}${table<DecidedReview>(
      { caption: 'The latest decision first', none: 'Nothing was decided yet.' },
      rows,
      {
        Learner: (row) =>
          row.live ? html`<a href="${path}/${row.assessment_id}">${name(row.full_name)}</a>` : name(row.full_name),
        Subject: (row) => shortSubjectNames[row.subject],
        Decision: (row) => outcomeWords[row.outcome],
        When: (row) => moment(row.decided_at, zone),
        By: (row) => who(row.decided_by),
      },
    )}${pager(visit, last && placeText(0, last.decided_at, last.assessment_id))}`,
  };
}
