import { contentOf } from '../assessments/body.ts';
import type { Content } from '../html.ts';
import { html } from '../html.ts';
import { limits } from '../limits.ts';
import type { Counts, Filter, Place, Waiting, Why } from '../reviews/queue.ts';
import { countWaiting, findDecided, findWaiting, ranks } from '../reviews/queue.ts';
import type { DecidedReview } from '../reviews/queue.ts';
import type { Subject } from '../scoring/levels.ts';
import { subjects } from '../scoring/levels.ts';
import { isUuid } from '../uuid.ts';
import { day, empty, filters, moment, notice, pager, table, withQuery } from './blocks.ts';
import { selectField } from './form.ts';
import { name } from './frame.ts';
import { deciderOf } from './review-actor.ts';
import type { Answer, ConsoleRoute, Visit } from './route.ts';
import { sightOf } from './sight.ts';
import { shortSubjectNames } from '../scoring/levels.ts';
import { get } from './route.ts';
import { learnerReaders } from '../users/roles.ts';

/** What waits for somebody's look: results with a flag, and learners who asked for a person. */

export const reviewRoutes: ConsoleRoute[] = [get('/review', learnerReaders, queue, { menu: 'Review' })];

/** Why a result waits, in the words of a list and of its filter. */
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

export const upTo = (count: number, most: number): string => (count > most ? `${most}+` : String(count));

const states = ['waiting', 'asked', 'decided'] as const;

function readFilter(query: URLSearchParams): Filter & { state: (typeof states)[number] } {
  const why = query.get('why') ?? '';
  const subject = query.get('subject') ?? '';
  const state = states.find((one) => one === query.get('state')) ?? 'waiting';
  return {
    state,
    why: Object.hasOwn(ranks, why) ? (why as Why) : null,
    subject: (subjects as readonly string[]).includes(subject) ? (subject as Subject) : null,
    asked: state === 'asked',
  };
}

/** `RANK.MILLISECONDS.ID`: where a list goes on. */
function readPlace(text: string | null): Place | null {
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

/** What learners asked has a clock, so it stands above everything, wherever it comes in the list. */
function asking({ asked, overdue }: Counts, base: string): Content {
  if (asked === 0) return null;
  const most = limits.countedMost;
  const who =
    asked === 1 ? '1 learner asks for a person’s review' : `${upTo(asked, most)} learners ask for a person’s review`;
  return html`<p class="note"><a href="${base}/review?state=asked">${who}</a>${overdue === 0 ? '.' : `: ${upTo(overdue, most)} overdue.`}</p>`;
}

async function queue(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, query } = visit;

  const filter = readFilter(query);
  const path = `${base}/review`;
  const sight = await sightOf(visit);
  const now = new Date(app.clock.nowMs());
  const most = limits.countedMost;
  if (filter.state === 'decided') return decidedPage(visit, sight);
  const [counts, found] = await Promise.all([
    countWaiting(app.db, id, { sight, most: most + 1, now }),
    findWaiting(app.db, id, filter, { sight, after: readPlace(query.get('after')), limit: limits.consoleRows + 1 }),
  ]);
  const rows = found.slice(0, limits.consoleRows);
  const last = rows.at(-1);
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
    )}${filter.asked ? null : asking(counts, base)}${filterForm(path, filter, counts)}${
      rows.length === 0
        ? empty(
            isFiltered
              ? html`Nothing like this waits. <a href="${path}">Show everything that waits</a>.`
              : sight === null
                ? 'Nothing waits for anybody.'
                : 'Nothing of the learners in your teams waits.',
          )
        : table<Waiting>({
            caption: filter.asked ? 'The soonest due first' : 'What weighs most first, and the newest of it first',
            rows,
            columns: [
              {
                head: 'Learner',
                cell: (row) => html`<a href="${path}/${row.assessment_id}">${name(row.full_name)}</a>`,
              },
              { head: 'Reference', cell: (row) => row.ref },
              { head: 'Subject', cell: (row) => shortSubjectNames[row.subject] },
              { head: 'Placement', cell: levelWords },
              { head: 'Assessed', cell: (row) => day(new Date(row.assessed_at / 1000), zone) },
              { head: 'Why', cell: reasonsOf },
              { head: 'Answer due', cell: (row) => dueCell(row, now.getTime(), zone) },
            ],
          })
    }${pager({
      first: query.has('after') ? withQuery(path, query, { after: null }) : null,
      next:
        last === undefined || found.length <= limits.consoleRows
          ? null
          : withQuery(path, query, {
              after: placeText(
                filter.asked ? 0 : last.rank,
                filter.asked ? last.due_at! : last.opened_at,
                last.assessment_id,
              ),
            }),
    })}`,
  };
}

const stateChoices = [
  { value: 'waiting', label: 'Waiting' },
  { value: 'asked', label: 'Learners who ask' },
  { value: 'decided', label: 'Decided' },
];

function filterForm(path: string, filter: ReturnType<typeof readFilter>, counts: Counts | null): Content {
  const counted = (why: Why) => (counts === null ? '' : ` (${upTo(counts[why], limits.countedMost)})`);
  return filters(path, [
    selectField({ name: 'state', label: 'Show', choices: stateChoices, chosen: filter.state }),
    selectField({
      name: 'why',
      label: 'First reason',
      choices: [
        { value: '', label: 'Any' },
        ...(Object.keys(ranks) as Why[]).map((why) => ({ value: why, label: whyWords[why] + counted(why) })),
      ],
      chosen: filter.why ?? '',
    }),
    selectField({
      name: 'subject',
      label: 'Subject',
      choices: [{ value: '', label: 'Any' }, ...subjects.map((one) => ({ value: one, label: shortSubjectNames[one] }))],
      chosen: filter.subject ?? '',
    }),
  ]);
}

async function decidedPage(visit: Visit, sight: Awaited<ReturnType<typeof sightOf>>): Promise<Answer> {
  const { app, base, organisationId: id, zone, query } = visit;

  const path = `${base}/review`;
  const place = readPlace(query.get('after'));
  const before = place === null ? null : { at: place.openedAt, assessmentId: place.assessmentId };
  const [found, who] = await Promise.all([
    findDecided(app.db, id, { sight, before, limit: limits.consoleRows + 1 }),
    deciderOf(visit),
  ]);
  const rows = found.slice(0, limits.consoleRows);
  const last = rows.at(-1);
  return {
    title: 'Review',
    main: html`<p>What was decided on results that somebody looked at.</p>${filterForm(path, readFilter(query), null)}${
      rows.length === 0
        ? empty('Nothing was decided yet.')
        : table<DecidedReview>({
            caption: 'The latest decision first',
            rows,
            columns: [
              {
                head: 'Learner',
                cell: (row) =>
                  row.live
                    ? html`<a href="${path}/${row.assessment_id}">${name(row.full_name)}</a>`
                    : name(row.full_name),
              },
              { head: 'Subject', cell: (row) => shortSubjectNames[row.subject] },
              { head: 'Decision', cell: (row) => outcomeWords[row.outcome] },
              { head: 'When', cell: (row) => moment(row.decided_at, zone) },
              { head: 'By', cell: (row) => who(row.decided_by) },
            ],
          })
    }${pager({
      first: query.has('after') ? withQuery(path, query, { after: null }) : null,
      next:
        last === undefined || found.length <= limits.consoleRows
          ? null
          : withQuery(path, query, { after: placeText(0, last.decided_at, last.assessment_id) }),
    })}`,
  };
}
