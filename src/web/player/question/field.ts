import type { Answer } from '../../../engine/item-bank/mark.ts';
import type { Field, FieldOption, RenderModel } from '../../../engine/item-bank/render-model.ts';
import { type Content, type Markup, attributes, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { inlineHtml, marked } from './text.ts';

export type Shown = {
  field: Field;
  /** The number of the field, which makes its IDs unique on the page. */
  index: number;
  /** The learner's answer. Null shows the field as the question starts. */
  answer: Answer | null;
  error: string | null;
  /** The ID of the question's text, so that assistive technology reads it with the field. */
  describedBy: string | null;
  /** Gives every option a class `spot-n`, which the style sheet uses to mark its place in a picture or text. */
  spots?: boolean;
};

export const fieldId = (index: number): string => `f${index}`;
export const optionId = (index: number, option: number): string => `f${index}-${option}`;

/** The ID of a field's control, so that links can point at it. The default is the first field. */
export function placeOf({ task, fields }: Pick<RenderModel, 'task' | 'fields'>, field: Field = fields[0]!): string {
  const index = fields.indexOf(field);
  const isGroup = field.control === 'radios' || field.control === 'checkboxes';
  return task === null && isGroup ? optionId(index, 0) : fieldId(index);
}

function valuesOf({ field, answer }: Shown): string[] {
  const value = answer === null ? field.initial : Object.hasOwn(answer, field.name) ? answer[field.name]! : null;
  return value === null ? [] : ([value].flat() as string[]);
}

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

/** A menu. If the chosen text is wider than the menu, the script writes the full text below. */
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
        // The option has two labels: in the list, and in the picture or text. Screen readers use the label in the list.
        'aria-labelledby': spots ? `${optionId(index, n)}-name` : null,
      })}><label for="${optionId(index, n)}"${attributes({ id: spots ? `${optionId(index, n)}-name` : null })}>${optionLabel(option, field.columns)}</label></div>`,
  )}</fieldset>`;
}

/** The label of an option. In further columns, a screen reader also says the heading of the column. */
function optionLabel(option: FieldOption, columns: readonly string[]): Content {
  if (option.cells.length === 0) return inlineHtml(option.label);
  return html`<span class="cell">${inlineHtml(option.label)}</span>${option.cells.map((cell, i) => html` <span class="cell"><span class="cell-head">${columns[i + 1] ?? ''}: </span>${marked(cell)}</span>`)}`;
}
