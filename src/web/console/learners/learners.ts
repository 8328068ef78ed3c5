import { name } from '../kit/frame.ts';
import { contentOf } from '../../../records/results/body.ts';
import { groupNames } from '../../../organisations/groups/browse.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isStorableText } from '../../../platform/validation/personal-data.ts';
import type { LearnerFilter, LearnerListed, LearnerPage, LearnerPageStart } from '../../../records/directory/browse.ts';
import {
  browseLearners,
  countLearners,
  learnerSorts,
  maxLearnersCounted,
  maxScanned,
  placements,
} from '../../../records/directory/browse.ts';
import { invitationStates } from '../../../records/directory/invitation-state.ts';
import { subjects, shortSubjectNames } from '../../../engine/scoring/levels.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { type States, countWords, day, number, code, label, typeWords, wordsOf } from '../kit/blocks.ts';
import type { Choice, Faults, Fields } from '../kit/form.ts';
import { buttonForm, faultSummary, hiddenField, any, fieldsOf, tickBox } from '../kit/form.ts';
import { isTeam } from '../groups/members.ts';
import { type Answer, type ConsoleRoute, type Visit, get, post } from '../kit/route.ts';
import { noTeamNote, visibilityOf } from '../kit/reader.ts';
import { chosenButtons } from './chosen.ts';
import { inviters, learnerReaders } from '../../../organisations/users/roles.ts';
import { readSort, withQuery, pages, uuidIn } from '../kit/paging.ts';
import { listPage } from '../kit/page.ts';
import { type Columns, sorted, plain, wideOnly } from '../kit/table.ts';

export const learnersRoutes: ConsoleRoute[] = [
  get('/learners', learnerReaders, (visit) => list(visit), { menu: 'Learners' }),
  post('/learners', learnerReaders, search),
];

const states: States<NonNullable<LearnerFilter['state']>> = {
  invited: ['wait', 'Invited'],
  started: ['info', 'Started'],
  finished: ['good', 'Finished'],
  expired: ['bad', 'Expired'],
  cancelled: ['off', 'Cancelled'],
  none: ['off', 'Not invited'],
};
export const stateWords = wordsOf(states);

/** The first group, and the number of the others. */
const firstOf = (groups: readonly string[]): Content =>
  groups.length < 2 ? groups[0] : html`${groups[0]} <span class="hint">+${groups.length - 1}</span>`;

const placementWords: Record<keyof typeof placements, string> = {
  below_level_1: 'Below Level 1',
  below_entry: 'Working towards Entry Level',
  entry: 'Entry Level',
  level_1: 'Level 1',
  level_2: 'Level 2',
  level_3: 'Level 3',
  not_placed: 'Not placed',
};

function readFilter(query: URLSearchParams, text: string | null): LearnerFilter {
  const groupIds = ['group', 'team'].map((name) => uuidIn(query, name)).filter((id) => id !== null);
  const placement = query.get('placement') ?? '';
  return {
    text,
    groupIds: [...new Set(groupIds)],
    subject: subjects.find((one) => one === query.get('subject')) ?? null,
    placement: Object.hasOwn(placements, placement) ? (placement as keyof typeof placements) : null,
    state: ([...invitationStates, 'none'] as const).find((one) => one === query.get('state')) ?? null,
  };
}

function readPlace(after: string, before: string): LearnerPageStart {
  if (isUuid(after)) return { after: after.toLowerCase() };
  return isUuid(before) ? { before: before.toLowerCase() } : null;
}

/** The search text may be a name, which no URL may contain. Forms therefore send the text, also for further pages. */
async function search(visit: Visit): Promise<Answer> {
  const text = visit.form.text('wanted');
  if (text === '') return list(visit, null, { wanted: 'The field is empty. Enter a part of a name, or a reference.' });
  if (!isStorableText(text, limits.fullNameChars))
    return list(visit, null, {
      wanted: `Enter a name or a reference of at most ${limits.fullNameChars} characters. Never a National Insurance number.`,
    });
  return list(visit, text);
}

async function list(visit: Visit, text: string | null = null, faults: Faults = {}): Promise<Answer> {
  const { app, organisationId: id, query, form: sent } = visit;
  const filter = readFilter(query, text);
  const order = readSort(query, learnerSorts);
  const place =
    text === null
      ? readPlace(query.get('after') ?? '', query.get('before') ?? '')
      : readPlace(sent.text('after'), sent.text('before'));
  const visibility = await visibilityOf(visit);
  const at = { limit: limits.consoleRows, now: new Date(app.clock.nowMs()) };
  const [page, groups] = await Promise.all([
    browseLearners(app.db, id, visibility, filter, order, place, at),
    groupChoices(visit, visibility, filter.groupIds),
  ]);
  const { learners, previous } = page;
  const isOpen =
    filter.groupIds.length === 0 && Object.values({ ...filter, groupIds: null }).every((one) => one === null);
  const isInviter = inviters.includes(visit.role);
  const note = noteOf(page);
  const isAll = place === null && page.next === null;
  const path = `${visit.base}/learners`;
  return listPage<LearnerListed>(visit, {
    title: 'Learners',
    says: `${visibility === null ? 'All learners of your organisation' : 'The learners of your teams'}, with their latest results.`,
    actions: isInviter && html`<a class="button" href="${visit.base}/invite">Invite learners</a>`,
    faults,
    intro: [noTeamNote(visibility), searchForm(visit, text, faults)],
    filters: (q) => filterFields(q, query, groups),
    note: note && html`<p role="status">${note}</p>`,
    caption: 'Learners',
    none:
      note !== null
        ? null
        : isOpen && previous === null
          ? 'There is no learner yet. Invite learners, import results, or connect a platform.'
          : 'No learner matches. Change the search or the filter.',
    // Links that sort the table are URLs, which must not contain the search text, so a search shows no such links.
    ...(text === null ? { sorting: { path, query, ...order } } : { next: null }),
    rows: learners,
    columns: columnsOf(visit),
    total: isAll
      ? number(learners.length)
      : isOpen && visibility === null && countWords(await countLearners(app.db, id), maxLearnersCounted),
    around: (shown) =>
      isInviter && learners.length > 0
        ? html`<form method="post" action="${path}/chosen">${hiddenField('group', query.get('group') ?? '')}${shown}${chosenButtons(visit)}</form>`
        : shown,
    also: pageLinks(visit, page, text, place),
  });
}

function noteOf({ learners, extent, scanned }: LearnerPage): string | null {
  if (extent === 'some')
    return `More than ${number(maxScanned)} learners match, and the list shows some of them. Enter more of the name, or choose a group.`;
  if (extent !== 'scanned' || learners.length >= limits.consoleRows) return null;
  return `${number(scanned)} learners were checked for this page${learners.length === 0 ? ', and none matches' : ''}. Open the next page for more.`;
}

const columnsOf = (visit: Visit): Columns<LearnerListed> => ({
  Name: sorted('name', (row) => html`<a href="${visit.base}/learners/${row.learner_id}">${name(row.full_name)}</a>`),
  ...(inviters.includes(visit.role) && {
    Choose: (row: LearnerListed) => tickBox('learner', row.learner_id, row.full_name),
  }),
  Invitation: (row) => label(...states[row.state]),
  Reference: sorted('ref', (row) => code(row.ref, 'None'), 'hidden'),
  'Latest results': plain((row) => latestResults(visit, row)),
  Groups: wideOnly((row) => firstOf(row.groups)),
  Changed: sorted('changed', (row) => day(row.position, visit.zone), 'hidden'),
});

/** The choices of the field for groups. Teams are chosen in another field. */
async function groupChoices({ app, organisationId }: Visit, visibility: Visibility, chosen: readonly string[]) {
  const all = await groupNames(app.db, organisationId, chosen, visibility);
  const label = (one: (typeof all)[number]) => (isTeam(one) ? one.name : `${typeWords(one.type)}: ${one.name}`);
  const of = (isOne: boolean) =>
    all.filter((one) => isTeam(one) === isOne).map((one) => ({ value: one.group_id, label: label(one) }));
  return { teams: of(true), groups: of(false) };
}

function searchForm(visit: Visit, text: string | null, faults: Faults): Content {
  const action = withQuery(`${visit.base}/learners`, visit.query, { after: null, before: null });
  const field = fieldsOf(visit, faults).text('wanted', 'Name or reference', {
    hint: 'The beginnings of words are enough, such as “ana sil”.',
    type: 'search',
    value: text ?? '',
  });
  return html`${faultSummary(faults)}<form class="filters" role="search" aria-label="Learners" method="post" action="${action}" novalidate>${field}<div class="actions"><button>Search</button>${text !== null && html`<a href="${action}">Clear search</a>`}</div></form>`;
}

function filterFields(q: Fields, query: URLSearchParams, { groups, teams }: { groups: Choice[]; teams: Choice[] }) {
  const sort = query.get('sort') ?? '';
  return [
    groups.length > 0 && q.select('group', 'Group', any(groups)),
    teams.length > 0 && q.select('team', 'Team', any(teams)),
    q.select('subject', 'Subject', any(shortSubjectNames)),
    q.select('placement', 'Placed at', any(placementWords)),
    q.select('state', 'Latest invitation', any(stateWords)),
    sort !== '' && hiddenField('sort', sort),
  ];
}

/** The latest result in each subject, with a link to it. */
export function latestResults({ base }: Visit, { last_ids, last_bodies, last_assessed_at }: LearnerListed): Content {
  if (last_ids === null) return 'None';
  return last_ids.map((id, i) => {
    const { subject, working_level, rqf_level } = contentOf(last_bodies![i]!, last_assessed_at!);
    const placement = working_level ?? rqf_level ?? 'not placed';
    return html`${i > 0 && '; '}<a href="${base}/results/${id}">${shortSubjectNames[subject]}: ${placement}</a>`;
  });
}

/** Further pages of a search are opened by buttons, which send the search text in a form. */
function pageLinks({ base, query }: Visit, page: LearnerPage, text: string | null, place: LearnerPageStart): Content {
  const path = withQuery(`${base}/learners`, query, { after: null, before: null });
  const { previous, next } = page;
  if (text === null) {
    const to = (where: LearnerPageStart) =>
      where && withQuery(`${base}/learners`, query, { after: null, before: null, ...where });
    return pages({ first: place && path, previous: to(previous), next: to(next) });
  }
  const button = (label: string, to: LearnerPageStart) =>
    to &&
    buttonForm(path, label, [
      hiddenField('wanted', text),
      Object.entries(to).map(([param, id]) => hiddenField(param, id)),
    ]);
  if (previous === null && next === null) return null;
  return html`<div class="actions">${button('Previous page', previous)}${button('Next page', next)}</div>`;
}
