import { isUuid } from '../../../platform/crypto/random.ts';
import { roles } from '../../../organisations/users/roles.ts';
import { limits } from '../../../platform/config/limits.ts';
import { holdsNationalInsuranceNumber, isStorableText } from '../../../platform/validation/personal-data.ts';
import { safeAddress } from '../kit/browser.ts';
import { hiddenField } from '../kit/form.ts';
import { formPage } from '../kit/page.ts';
import { type Answer, type ConsoleRoute, type Visit, NoSuchPage, formRoutes, post, again } from '../kit/route.ts';
import { keptQuery } from '../kit/views.ts';
import { saveView, deleteView } from '../../../organisations/saved-views.ts';

export const viewRoutes: ConsoleRoute[] = [
  ...formRoutes('/views/save', roles, savePage, save),
  post('/views/{view_id}/delete', roles, remove),
];

/** The list and the query of the view that is saved, from the URL or the sent form. */
function wanted({ query, form: sent, base, app }: Visit) {
  const list = sent.raw('list') || (query.get('list') ?? '');
  const view = sent.raw('view') || (query.get('view') ?? '');
  const isKnown = safeAddress(base + list, app.settings.baseUrl, '') === base + list;
  const isShort = list.length <= limits.viewChars && view.length <= limits.viewChars;
  const isValid = isShort && isKnown && !holdsNationalInsuranceNumber(view);
  return isValid ? { list, view: keptQuery(new URLSearchParams(view)) } : { list: '', view: '' };
}

function savePage(visit: Visit): Answer {
  const { list, view } = wanted(visit);
  return formPage(visit, {
    title: 'Save view',
    says: 'A view keeps the filters, the order and the columns of a list. Only you see it.',
    back: { to: `${visit.base}${list}${view && `?${view}`}`, label: 'List' },
    button: 'Save view',
    fields: (f) => [
      hiddenField('list', list),
      hiddenField('view', view),
      f.text('view_name', 'Name', { hint: 'Such as “Maths, below Level 1”. Never the name of a learner.' }),
    ],
  });
}

async function save(visit: Visit) {
  const { app, base, organisationId, userId, form: sent, change } = visit;
  const { list, view } = wanted(visit);
  const name = sent.text('view_name');
  if (!isStorableText(name, limits.viewNameChars) || name === '')
    return again({ view_name: `Enter a name of 1 to ${limits.viewNameChars} characters.` });
  const saving = { view_id: app.random.uuid(), path: list, name, query: view };
  const saved = await change((work) => saveView(work, { organisationId, userId }, saving));
  if (saved === null)
    return again({
      view_name: `You have ${limits.viewsOfList} views of this list, which is the maximum. Delete one first.`,
    });
  return { to: `${base}${list}${view && `?${view}`}` };
}

async function remove(visit: Visit): Promise<Answer> {
  const { base, organisationId, userId, params, change } = visit;
  const viewId = params.view_id!.toLowerCase();
  if (!isUuid(viewId)) throw new NoSuchPage();
  const taken = await change(
    (work) => deleteView(work, { organisationId, userId }, viewId),
    (view) => view?.view_id,
  );
  if (taken === undefined) throw new NoSuchPage();
  return { to: `${base}${taken.path}` };
}
