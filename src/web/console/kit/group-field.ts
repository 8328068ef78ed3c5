import { findGroups } from '../../../organisations/groups/groups.ts';
import { countGroupTypes, searchGroups } from '../../../organisations/groups/list.ts';
import type { GroupRow } from '../../../organisations/groups/store.ts';
import { type Content, attributes, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isPlainText } from '../../../platform/validation/personal-data.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { hiddenField, any, fieldsOf } from './form.ts';
import { name } from './frame.ts';
import type { Visit } from './route.ts';
import { number, typeWords } from './blocks.ts';
import type { Form } from '../../../api/http/form.ts';

/** A field for any number of groups, without a script. Its search button sends the form to the same page. */

/** Whether the form was sent to search for groups: by the search button, or by Enter with a changed search text. */
export function looksForGroups(sent: Form): boolean {
  const press = sent.raw('press');
  return press === 'find' || (press === 'enter' && searchOf(sent) !== sent.raw('searched'));
}

const searchOf = (sent: Form) => `${sent.raw('group_type')} ${sent.text('group_search')}`.trim();

/** The Enter key presses the first button of a form, so this button must come before all fields. */
export const enterButton = (): Content =>
  html`<button class="unseen" name="press" value="enter" tabindex="-1" aria-hidden="true">Continue</button>`;

function box(group: GroupRow, n: number, chosen: boolean): Content {
  const id = `groups-${n}`;
  return html`<div class="choice"><input${attributes({ id, name: 'groups', type: 'checkbox', value: group.group_id, checked: chosen })}><label for="${id}">${name(group.name)} <span class="hint">${typeWords(group.type)} ${group.ref}${group.active ? '' : ', archived'}</span></label></div>`;
}

export async function groupField(
  visit: Visit,
  options: { label: string; hint: string; chosen: readonly string[]; fault: string | undefined },
): Promise<Content> {
  const { app, organisationId: id, form: sent } = visit;
  const types = await countGroupTypes(app.db, id);
  const total = types.reduce((sum, one) => sum + one.groups, 0);
  if (total === 0) return null;
  const chosenIds = [...new Set(options.chosen.filter(isUuid))].slice(0, limits.webhookGroups);
  const isFew = total <= limits.groupsListed;
  const type = types.some((one) => one.type === sent.raw('group_type')) ? sent.raw('group_type') : null;
  const typed = sent.text('group_search');
  const text = isPlainText(typed, limits.groupNameChars) ? typed : '';
  const isSearched = isFew || type !== null || text !== '';
  const [chosen, found] = await Promise.all([
    findGroups(app.db, id, chosenIds),
    isSearched ? searchGroups(app.db, id, { type, text, not: isFew ? [] : chosenIds }, limits.groupsListed) : [],
  ]);
  const isChosen = new Set(chosen.map((group) => group.group_id));
  const choices = types.map((one) => ({ value: one.type, label: `${typeWords(one.type)} (${number(one.groups)})` }));
  const f = fieldsOf(visit);
  return fieldset(
    options,
    isFew
      ? found.map((group, i) => box(group, i, isChosen.has(group.group_id)))
      : [
          chosen.length === 0
            ? html`<p>No group is selected, so all ${number(total)} groups apply.</p>`
            : html`<p>Selected groups. Untick the groups to remove:</p>${chosen.map((group, i) => box(group, i, true))}`,
          html`<div class="filters">${f.select('group_type', 'Type', any(choices), { value: type ?? '' })}${f.text('group_search', 'Reference or name', { type: 'search', value: text, width: 20, autofocus: looksForGroups(sent) })}<div class="actions"><button class="second" name="press" value="find">Search groups</button></div></div>`,
          isSearched && foundPart(found, chosen.length),
          hiddenField('searched', searchOf(sent)),
        ],
  );
}

function fieldset({ label, hint, fault }: { label: string; hint: string; fault: string | undefined }, inner: Content) {
  const [cls, ids] = fault === undefined ? ['field', 'groups-hint'] : ['field wrong', 'groups-hint groups-fault'];
  return html`<fieldset class="${cls}" id="groups" tabindex="-1" aria-describedby="${ids}"><legend>${label}</legend><p class="hint" id="groups-hint">${hint}</p>${fault && html`<p class="fault" id="groups-fault">${fault}</p>`}${inner}</fieldset>`;
}

/** @param before the number of boxes above this part, because the boxes are numbered for their IDs */
function foundPart(found: readonly (GroupRow & { found: number })[], before: number): Content {
  if (found.length === 0) return html`<p role="status">No other group matches. Change the type or the text.</p>`;
  const more = found[0]!.found - found.length;
  return [
    html`<p role="status">${number(found.length)} found${more > 0 && `, and ${number(more)} more: enter more of the reference or name`}. Tick the groups you want, and search again for more.</p>`,
    found.map((group, i) => box(group, before + i, false)),
  ];
}
