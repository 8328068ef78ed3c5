import { findGroups } from '../../../organisations/groups/groups.ts';
import { countGroupTypes, searchGroups } from '../../../organisations/groups/list.ts';
import type { GroupRow } from '../../../organisations/groups/store.ts';
import type { Content } from '../../../platform/html/html.ts';
import { attributes, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isPlainText } from '../../../platform/validation/personal-data.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import type { Form } from './form.ts';
import { hiddenField, any, fieldsOf } from './form.ts';
import { name } from './frame.ts';
import type { Visit } from './route.ts';
import { number } from './blocks.ts';

/**
 * A choice among any number of groups, without a script. The form is sent to its own page to search; chosen groups stay
 * chosen, and no URL contains them.
 */

/** Whether the form was sent to search for groups: by the button, or by Enter after the search text changed. */
export function looksForGroups(sent: Form): boolean {
  const press = sent.raw('press');
  return press === 'find' || (press === 'enter' && asked(sent) !== sent.raw('searched'));
}

const asked = (sent: Form) => `${sent.raw('group_type')} ${sent.text('group_search')}`.trim();

/** Enter presses the first button of a form, so this one has to come before the fields. */
export const enterButton = (): Content =>
  html`<button class="unseen" name="press" value="enter" tabindex="-1" aria-hidden="true">Go on</button>`;

function box(group: GroupRow, n: number, chosen: boolean): Content {
  const id = `groups-${n}`;
  return html`<div class="choice"><input${attributes({ id, name: 'groups', type: 'checkbox', value: group.group_id, checked: chosen })}><label for="${id}">${name(group.name)} <span class="hint">${group.type} ${group.ref}${group.active ? '' : ', archived'}</span></label></div>`;
}

export async function groupField(
  visit: Visit,
  given: { label: string; hint: string; chosen: readonly string[]; fault: string | undefined },
): Promise<Content> {
  const { app, organisationId: id, form: sent } = visit;
  const f = fieldsOf(visit);
  const types = await countGroupTypes(app.db, id);
  const total = types.reduce((sum, one) => sum + one.groups, 0);
  if (total === 0) return null;
  const chosenIds = [...new Set(given.chosen.filter(isUuid))].slice(0, limits.webhookGroups);
  const few = total <= limits.groupsListed;
  const type = types.some((one) => one.type === sent.raw('group_type')) ? sent.raw('group_type') : null;
  const typed = sent.text('group_search');
  const text = isPlainText(typed, limits.groupNameChars) ? typed : '';
  const searched = few || type !== null || text !== '';
  const [chosen, found] = await Promise.all([
    findGroups(app.db, id, chosenIds),
    searched ? searchGroups(app.db, id, { type, text, not: few ? [] : chosenIds }, limits.groupsListed) : [],
  ]);
  const choices = types.map((one) => ({ value: one.type, label: `${one.type} (${number(one.groups)})` }));
  const isChosen = new Set(chosen.map((group) => group.group_id));
  const more = (found[0]?.found ?? 0) - found.length;
  const looked = looksForGroups(sent);
  const { fault } = given;
  const described = ['groups-hint', ...(fault === undefined ? [] : ['groups-fault'])].join(' ');
  return html`<fieldset class="field${fault === undefined ? '' : ' wrong'}" id="groups" tabindex="-1" aria-describedby="${described}"><legend>${given.label}</legend><p class="hint" id="groups-hint">${given.hint}</p>${
    fault === undefined ? null : html`<p class="fault" id="groups-fault">${fault}</p>`
  }${
    few
      ? found.map((group, i) => box(group, i, isChosen.has(group.group_id)))
      : html`${
          chosen.length === 0
            ? html`<p>None is chosen yet: all ${number(total)} count.</p>`
            : html`<p>Chosen; untick what is to go:</p>${chosen.map((group, i) => box(group, i, true))}`
        }<div class="filters">${f.select('group_type', 'Type', any(choices), { value: type ?? '' })}${f.text('group_search', 'Reference or name', { type: 'search', value: text, width: 20, autofocus: looked })}<div class="actions"><button class="second" name="press" value="find">Look for groups</button></div></div>${
          !searched
            ? null
            : found.length === 0
              ? html`<p role="status">No other group is like that.</p>`
              : html`<p role="status">${number(found.length)} found${more > 0 ? html`, and ${number(more)} more: say more of the reference or name` : null}. Tick those that you want, and look for more if you need them.</p>${found.map((group, i) => box(group, chosen.length + i, false))}`
        }${hiddenField('searched', asked(sent))}`
  }</fieldset>`;
}
