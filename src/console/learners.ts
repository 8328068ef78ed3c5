import { groupNames } from '../groups/browse.ts';
import type { Sight } from '../groups/sight.ts';
import type { Content } from '../html.ts';
import { html } from '../html.ts';
import { limits } from '../limits.ts';
import { isStorableText } from '../personal-data.ts';
import type { LearnerFilter, LearnerListed, LearnerPage, LearnerPlace } from '../records/browse.ts';
import { browseLearners, learnerSorts, looked, placements } from '../records/browse.ts';
import { invitationStates } from '../records/invitation-state.ts';
import { subjects } from '../scoring/levels.ts';
import { isUuid } from '../uuid.ts';
import { day, empty, filters, pager, readSort, table, withQuery, number } from './blocks.ts';
import type { Choice, Faults } from './form.ts';
import { buttonForm, faultSummary, hiddenField, selectField, textField } from './form.ts';
import { name } from './frame.ts';
import { isTeam, typeWords } from './group.ts';
import { levelWords } from './level-words.ts';
import type { Answer, ConsoleRoute, Visit } from './route.ts';
import { sightOf } from './sight.ts';
import { shortSubjectNames } from '../scoring/levels.ts';
import { get, post } from './route.ts';
import { learnerReaders } from '../users/roles.ts';

/** Learners: looked for by name or reference, filtered, and page by page. */

export const learnersRoutes: ConsoleRoute[] = [
  get('/learners', learnerReaders, (visit) => list(visit, null, {}), { menu: 'Learners' }),
  post('/learners', learnerReaders, search),
];

export const stateWords: Record<NonNullable<LearnerFilter['state']>, string> = {
  invited: 'Invited',
  started: 'Started',
  finished: 'Finished',
  expired: 'Expired',
  cancelled: 'Cancelled',
  none: 'Not invited',
};

const placementWords: Record<keyof typeof placements, string> = {
  below_level_1: 'Below Level 1',
  below_entry: 'Working towards Entry Level',
  entry: 'Entry Level',
  level_1: 'Level 1',
  level_2: 'Level 2',
  level_3: 'Level 3',
  not_placed: 'Not placed',
};

/** What the address filters by; what it says wrongly filters nothing. */
function readFilter(query: URLSearchParams, text: string | null): LearnerFilter {
  const ids = ['group', 'team'].map((given) => query.get(given) ?? '').filter(isUuid);
  const placement = query.get('placement') ?? '';
  return {
    text,
    groupIds: [...new Set(ids.map((id) => id.toLowerCase()))],
    subject: subjects.find((one) => one === query.get('subject')) ?? null,
    placement: Object.hasOwn(placements, placement) ? (placement as keyof typeof placements) : null,
    state: ([...invitationStates, 'none'] as const).find((one) => one === query.get('state')) ?? null,
  };
}

function readPlace(after: string, before: string): LearnerPlace {
  if (isUuid(after)) return { after: after.toLowerCase() };
  return isUuid(before) ? { before: before.toLowerCase() } : null;
}

/** A name never stands in an address: what is looked for is sent as a form, and so is the way to its further pages. */
async function search(visit: Visit): Promise<Answer> {
  const text = visit.form.text('wanted');
  if (text === '') return list(visit, null, { wanted: 'Enter a name, a part of one, or a reference.' });
  if (!isStorableText(text, limits.fullNameChars))
    return list(visit, null, {
      wanted: `Enter a name or a reference of at most ${limits.fullNameChars} characters, and never a National Insurance number.`,
    });
  return list(visit, text, {});
}

async function list(visit: Visit, text: string | null, faults: Faults = {}): Promise<Answer> {
  const { app, organisationId: id, query, form: sent } = visit;

  const filter = readFilter(query, text);
  const order = readSort(query, learnerSorts);
  const place =
    text === null
      ? readPlace(query.get('after') ?? '', query.get('before') ?? '')
      : readPlace(sent.text('after'), sent.text('before'));
  const sight = await sightOf(visit);
  const [page, groups] = await Promise.all([
    browseLearners(app.db, id, sight, filter, order, place, {
      limit: limits.consoleRows,
      now: new Date(app.clock.nowMs()),
    }),
    groupChoices(visit, sight, filter.groupIds),
  ]);
  return {
    title: 'Learners',
    faults,
    main: html`<p>${sight === null ? 'Everybody whom your organisation assesses' : 'The learners of your teams'}: find one, or see who has done what.</p>${searchForm(visit, text, faults)}${filterForm(visit, groups)}${shown(visit, page, order, filter)}${pages(visit, page, text, place)}`,
  };
}

/** The groups that learners can be filtered by, those of the address among them; teams by themselves. */
async function groupChoices({ app, organisationId }: Visit, sight: Sight, chosen: readonly string[]) {
  const all = await groupNames(app.db, organisationId, chosen, sight);
  return {
    teams: all.filter(isTeam).map((one): Choice => ({ value: one.group_id, label: one.name })),
    groups: all
      .filter((one) => !isTeam(one))
      .map((one): Choice => ({ value: one.group_id, label: `${typeWords(one.type)}: ${one.name}` })),
  };
}

function searchForm({ base, query }: Visit, text: string | null, faults: Faults): Content {
  const action = withQuery(`${base}/learners`, query, { after: null, before: null });
  return html`${faultSummary(faults)}<form class="filters" role="search" aria-label="Learners" method="post" action="${action}" novalidate>${textField(
    {
      name: 'wanted',
      label: 'Name or reference',
      hint: 'Beginnings of words are enough: “ana sil”.',
      type: 'search',
      value: text ?? '',
      width: 40,
      fault: faults.wanted,
    },
  )}<div class="actions"><button>Search</button>${text !== null && html`<a href="${action}">Clear the search</a>`}</div></form>`;
}

function filterForm({ base, query }: Visit, { groups, teams }: { groups: Choice[]; teams: Choice[] }): Content {
  const given = (param: string) => query.get(param) ?? '';
  const select = (param: string, label: string, choices: Choice[]) =>
    choices.length === 0
      ? null
      : selectField({ name: param, label, choices: [{ value: '', label: 'Any' }, ...choices], chosen: given(param) });
  const of = (words: Record<string, string>) => Object.entries(words).map(([value, label]) => ({ value, label }));
  return filters(`${base}/learners`, [
    select('group', 'Group', groups),
    select('team', 'Team', teams),
    select('subject', 'Subject', of(shortSubjectNames)),
    select('placement', 'Placed at', of(placementWords)),
    select('state', 'Newest invitation', of(stateWords)),
    given('sort') !== '' && hiddenField('sort', given('sort')),
  ]);
}

const isOpen = (filter: LearnerFilter) =>
  filter.text === null &&
  filter.groupIds.length === 0 &&
  [filter.subject, filter.placement, filter.state].every((one) => one === null);

function shown(
  { base, zone, query }: Visit,
  { learners, extent, passed, previous }: LearnerPage,
  sorting: { by: string; descending: boolean },
  filter: LearnerFilter,
): Content {
  const note =
    extent === 'some'
      ? `More than ${number(looked)} learners are called like that, and these are some of them: type more of the name, or choose a group.`
      : extent === 'looked' && learners.length < limits.consoleRows
        ? `${number(passed)} learners were looked through for this page${learners.length === 0 ? ', and none of them is like that' : ''}. There are more: the next page looks further.`
        : null;
  if (learners.length === 0)
    return empty(
      note ??
        (isOpen(filter) && previous === null
          ? 'There is no learner here yet. They come with invitations, imports, or a connected platform.'
          : 'No learner is like that.'),
    );
  return html`${note === null ? null : html`<p role="status">${note}</p>`}${table<LearnerListed>({
    caption: 'Learners',
    rows: learners,
    // What was typed is no part of the address that a head leads to.
    ...(filter.text === null ? { sorting: { path: `${base}/learners`, query: withoutPlace(query), ...sorting } } : {}),
    columns: [
      {
        head: 'Name',
        sort: 'name',
        cell: (row) => html`<a href="${base}/learners/${row.learner_id}">${name(row.full_name)}</a>`,
      },
      { head: 'Reference', sort: 'ref', cell: (row) => (row.ref === null ? 'None' : html`<code>${row.ref}</code>`) },
      { head: 'Newest results', cell: (row) => newest(row) },
      { head: 'Invitation', cell: (row) => stateWords[row.state] },
      { head: 'Groups', cell: (row) => row.groups.join('; ') },
      { head: 'Changed', sort: 'changed', cell: (row) => day(new Date(row.position / 1000), zone) },
    ],
  })}`;
}

function withoutPlace(query: URLSearchParams): URLSearchParams {
  const kept = new URLSearchParams(query);
  for (const param of ['after', 'before', 'did']) kept.delete(param);
  return kept;
}

function newest({ last_bodies, last_assessed_at }: LearnerListed): Content {
  if (last_bodies === null) return 'None';
  return last_bodies.map((body) => levelWords(body, last_assessed_at!)).join('; ');
}

/** Links to the pages around this one; of a search, buttons, because what was typed goes with them. */
function pages({ base, query }: Visit, page: LearnerPage, text: string | null, place: LearnerPlace): Content {
  const path = `${base}/learners`;
  const params = (to: LearnerPlace) => ({
    after: to !== null && 'after' in to ? to.after : null,
    before: to !== null && 'before' in to ? to.before : null,
  });
  if (text === null) {
    const to = (where: LearnerPlace) => (where === null ? null : withQuery(path, query, params(where)));
    return pager({
      first: place === null ? null : withQuery(path, query, { after: null, before: null }),
      previous: to(page.previous),
      next: to(page.next),
    });
  }
  const action = withQuery(path, query, { after: null, before: null });
  const button = (label: string, to: LearnerPlace) =>
    to !== null &&
    buttonForm(action, label, [
      hiddenField('wanted', text),
      ...Object.entries(params(to)).flatMap(([param, id]) => (id === null ? [] : [hiddenField(param, id)])),
    ]);
  if (page.previous === null && page.next === null) return null;
  return html`<div class="actions">${button('Previous page', page.previous)}${button('Next page', page.next)}</div>`;
}
