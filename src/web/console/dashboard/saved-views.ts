import { statement } from '../../../platform/db/database.ts';
import type { UnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { roles } from '../../../organisations/users/roles.ts';
import { limits } from '../../../platform/config/limits.ts';
import { holdsNationalInsuranceNumber, isStorableText } from '../../../platform/validation/personal-data.ts';
import { safeAddress } from '../kit/browser.ts';
import { hiddenField } from '../kit/form.ts';
import { formPage } from '../kit/page.ts';
import { type Answer, type ConsoleRoute, type Visit, NoSuchPage, formRoutes, post } from '../kit/route.ts';
import { type View, keptQuery } from '../kit/views.ts';

export const viewRoutes: ConsoleRoute[] = [
  ...formRoutes('/views/save', roles, (visit) => savePage(visit), save),
  post('/views/{view_id}/delete', roles, remove),
];

const saveView = statement('view.save')`
  insert into saved_view (organisation_id, user_id, view_id, path, name, query)
  select $1, $2, $3, $4, $5, $6
   where (select count(*) from saved_view where organisation_id = $1 and user_id = $2 and path = $4) < ${limits.viewsOfList}
  on conflict (organisation_id, user_id, path, name) do update set query = excluded.query returning view_id`;
const deleteView = statement('view.delete')`
  delete from saved_view where organisation_id = $1 and user_id = $2 and view_id = $3
  returning view_id, name, path, query`;

/** The list and the query of the view that is saved, from the URL or the sent form. */
function wanted({ query, form: sent, base, app }: Visit) {
  const list = sent.raw('list') || (query.get('list') ?? '');
  const view = sent.raw('view') || (query.get('view') ?? '');
  const isKnown = safeAddress(base + list, app.settings.baseUrl, '') === base + list;
  const isShort = list.length <= limits.viewChars && view.length <= limits.viewChars;
  const isValid = isShort && isKnown && !holdsNationalInsuranceNumber(view);
  return isValid ? { list, view: keptQuery(new URLSearchParams(view)) } : { list: '', view: '' };
}

function savePage(visit: Visit, fault?: string): Answer {
  const { list, view } = wanted(visit);
  return formPage(visit, {
    title: 'Save view',
    says: 'A view keeps the filters, the order and the columns of a list. Only you see it.',
    back: { to: `${visit.base}${list}${view && `?${view}`}`, label: 'List' },
    faults: fault === undefined ? {} : { view_name: fault },
    button: 'Save view',
    fields: (f) => [
      hiddenField('list', list),
      hiddenField('view', view),
      f.text('view_name', 'Name', { hint: 'Such as “Maths, below Level 1”. Never the name of a learner.' }),
    ],
  });
}

async function save(visit: Visit): Promise<Answer> {
  const { app, base, organisationId, userId, form: sent, change } = visit;
  const { list, view } = wanted(visit);
  const name = sent.text('view_name');
  if (!isStorableText(name, limits.viewNameChars) || name === '')
    return savePage(visit, `Enter a name of 1 to ${limits.viewNameChars} characters.`);
  const saved = await change(async ({ tx }): Promise<string | null> => {
    const values = [organisationId, userId, app.random.uuid(), list, name, view];
    return (await tx.query<{ view_id: string }>(saveView, values))[0]?.view_id ?? null;
  });
  if (saved === null)
    return savePage(
      visit,
      `You have ${limits.viewsOfList} views of this list, which is the maximum. Delete one first.`,
    );
  return { to: `${base}${list}${view && `?${view}`}` };
}

async function remove(visit: Visit): Promise<Answer> {
  const { base, organisationId, userId, params, change } = visit;
  const viewId = params.view_id!.toLowerCase();
  if (!isUuid(viewId)) throw new NoSuchPage();
  const take = async ({ tx }: UnitOfWork) => (await tx.query<View>(deleteView, [organisationId, userId, viewId]))[0];
  const taken = await change(take, (view) => view?.view_id);
  if (taken === undefined) throw new NoSuchPage();
  return { to: `${base}${taken.path}` };
}
