import type { Answer } from '../../../engine/item-bank/mark.ts';
import type { Field, FieldOption, RenderModel } from '../../../engine/item-bank/render-model.ts';
import type { Content, Markup } from '../../../platform/html/html.ts';
import { attributes, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { inlineHtml, marked } from './text.ts';

/** How a field stands on its page. */
export type Shown = {
  field: Field;
  /** Of the page's fields; ids are made from it. */
  index: number;
  /** What was sent or kept before; null shows the question's own start. */
  given: Answer | null;
  /** The id of the error that belongs to the field. */
  error: string | null;
  /** The id of what asks the question, for assistive technology. */
  describedBy: string | null;
  /**
   * Whether every option gets the class `spot-n`, so that the style sheet can light up its place in a picture or text.
   */
  spots?: boolean;
};

export const fieldId = (index: number): string => `f${index}`;
export const optionId = (index: number, option: number): string => `f${index}-${option}`;

/** Where a control of a question stands, the first if none is named, for a link to it. */
export function placeOf({ task, fields }: Pick<RenderModel, 'task' | 'fields'>, field: Field = fields[0]!): string {
  const index = fields.indexOf(field);
  const isGroup = field.control === 'radios' || field.control === 'checkboxes';
  return task === null && isGroup ? optionId(index, 0) : fieldId(index);
}

function valuesOf({ field, given }: Shown): string[] {
  const value = given === null ? field.initial : Object.hasOwn(given, field.name) ? given[field.name]! : null;
  return value === null ? [] : ([value].flat() as string[]);
}

/** One control or one group of them with its name, hint and state. */
export function fieldHtml(shown: Shown): Markup {
  switch (shown.field.control) {
    case 'text':
      return textHtml(shown);
    case 'select':
      return selectHtml(shown);
    default:
      return groupHtml(shown);
  }
}

const references = (...ids: (string | null)[]): string | null => ids.filter((id) => id !== null).join(' ') || null;

function textHtml(shown: Shown): Markup {
  const { field, index, error, describedBy } = shown;
  const id = fieldId(index);
  const hint = field.hint === null ? null : `${id}-hint`;
  const { prefix, suffix, width, mode } = field.input!;
  const input = html`<input type="text" name="${field.name}" value="${valuesOf(shown)[0] ?? ''}"${attributes({
    id,
    class: `w${Math.min(60, Math.ceil(width / 10) * 10)}`,
    inputmode: mode,
    autocomplete: 'off',
    autocapitalize: 'off',
    autocorrect: 'off',
    spellcheck: 'false',
    maxlength: limits.answerChars,
    'aria-describedby': references(
      describedBy,
      hint,
      error,
      prefix === null ? null : `${id}-before`,
      suffix === null ? null : `${id}-after`,
    ),
    'aria-invalid': error === null ? null : 'true',
  })}>`;
  return html`<div class="field"><label for="${id}">${inlineHtml(field.label)}</label>${hint === null ? null : html`<p class="hint" id="${hint}">${field.hint}</p>`}
<div class="beside">${prefix === null ? null : html`<span id="${id}-before">${prefix}</span>`}${input}${suffix === null ? null : html`<span id="${id}-after">${suffix}</span>`}</div></div>`;
}

/** The script writes what was chosen below the menu, where the menu is too narrow for it. */
function selectHtml(shown: Shown): Markup {
  const { field, index, error, describedBy } = shown;
  const id = fieldId(index);
  const chosen = valuesOf(shown)[0] ?? '';
  const hint = field.hint === null ? null : `${id}-hint`;
  return html`<div class="field"><label for="${id}">${inlineHtml(field.label)}</label>${hint === null ? null : html`<p class="hint" id="${hint}">${field.hint}</p>`}
<select name="${field.name}"${attributes({ id, 'aria-describedby': references(describedBy, hint, error), 'aria-invalid': error === null ? null : 'true' })}>${
    field.initial === null ? html`<option value="">Choose</option>` : null
  }${field.options.map(
    (option) =>
      html`<option value="${option.value}"${attributes({ selected: option.value === chosen })}>${option.text}</option>`,
  )}</select><p class="whole" aria-hidden="true"></p></div>`;
}

function groupHtml(shown: Shown): Markup {
  const { field, index, error, describedBy, spots = false } = shown;
  const id = fieldId(index);
  const chosen = valuesOf(shown);
  const hint = field.hint === null ? null : `${id}-hint`;
  const type = field.control === 'checkboxes' ? 'checkbox' : 'radio';
  const columns = field.columns.length > 1;
  return html`<fieldset${attributes({ id, tabindex: -1, class: `field ${field.control}${columns ? ' columns' : ''}`, 'aria-describedby': references(describedBy, hint, error) })}><legend>${inlineHtml(field.label)}</legend>${
    hint === null ? null : html`<p class="hint" id="${hint}">${field.hint}</p>`
  }${
    columns
      ? html`<div class="column-heads" aria-hidden="true">${field.columns.map((name) => html`<span>${name}</span>`)}</div>`
      : null
  }${field.options.map(
    (option, n) =>
      html`<div class="option"><input type="${type}" name="${field.name}" value="${option.value}"${attributes({
        id: optionId(index, n),
        class: spots ? `spot-${n}` : null,
        checked: chosen.includes(option.value),
        // The same option has a second label in the picture or text; its name comes from the list alone.
        'aria-labelledby': spots ? `${optionId(index, n)}-name` : null,
      })}><label for="${optionId(index, n)}"${attributes({ id: spots ? `${optionId(index, n)}-name` : null })}>${optionLabel(option, field.columns)}</label></div>`,
  )}</fieldset>`;
}

/** Further columns are read out with their headings, and line up where there is room. */
function optionLabel(option: FieldOption, columns: readonly string[]): Content {
  if (option.cells.length === 0) return inlineHtml(option.label);
  return html`<span class="cell">${inlineHtml(option.label)}</span>${option.cells.map((cell, i) => html` <span class="cell"><span class="cell-head">${columns[i + 1] ?? ''}: </span>${marked(cell)}</span>`)}`;
}
