import type { Content, Markup } from '../html.ts';
import { attributes, html } from '../html.ts';
import { readFields, readParts } from '../http/form-fields.ts';
import { limits } from '../limits.ts';

/** What a form sent. */
export class Form {
  #values = new Map<string, string[]>();
  #files = new Map<string, Buffer>();

  /**
   * @param body text of `application/x-www-form-urlencoded`, or bytes of `multipart/form-data`
   * @throws ApiError
   */
  static async read(body: unknown, contentType = ''): Promise<Form> {
    const form = new Form();
    const sent = Buffer.isBuffer(body)
      ? await readParts(body, contentType, limits.formParts)
      : readFields(typeof body === 'string' ? body : '', limits.formFields);
    for (const [name, value] of sent)
      if (typeof value !== 'string') {
        if (value.size > 0) form.#files.set(name, Buffer.from(await value.arrayBuffer()));
      } else {
        const values = form.#values.get(name);
        if (values === undefined) form.#values.set(name, [value]);
        else values.push(value);
      }
    return form;
  }

  /** As it was typed: passwords may begin with a blank. */
  raw(name: string): string {
    return this.#values.get(name)?.at(-1) ?? '';
  }

  /** Without the white space around it. */
  text(name: string): string {
    return this.raw(name).trim();
  }

  /** A file that was chosen; null where none was. */
  file(name: string): Buffer | null {
    return this.#files.get(name) ?? null;
  }

  /** Every value of a name: boxes that are ticked. */
  all(name: string): string[] {
    return this.#values.get(name) ?? [];
  }
}

/** What is wrong with a form, by the field's name, each a sentence that says what to do. */
export type Faults = Record<string, string>;

/** What can be said of any field. */
type Field = { name: string; label: string; hint?: Content; fault?: string | undefined };

const described = ({ name, hint, fault }: Field) =>
  [hint === undefined ? '' : `${name}-hint`, fault === undefined ? '' : `${name}-fault`].filter(Boolean).join(' ') ||
  null;

const around = ({ name, hint, fault }: Field): Content => [
  hint === undefined ? null : html`<p class="hint" id="${name}-hint">${hint}</p>`,
  fault === undefined ? null : html`<p class="fault" id="${name}-fault">${fault}</p>`,
];

/** One line of text. */
export function textField(
  field: Field & {
    value?: string;
    type?: 'text' | 'email' | 'password' | 'url' | 'date' | 'datetime-local' | 'number' | 'search';
    autocomplete?: string;
    inputmode?: 'numeric' | 'text';
    /** How wide it looks, in characters: what is expected to stand in it. */
    width?: 10 | 20 | 40;
    readonly?: boolean;
    /** Where typing begins on this page. */
    autofocus?: boolean;
  },
): Markup {
  const { name, label, value, type = 'text', autocomplete = 'off', inputmode, width, readonly, autofocus } = field;
  return html`<div class="field${field.fault === undefined ? '' : ' wrong'}"><label for="${name}">${label}</label>${around(field)}<input${attributes(
    {
      id: name,
      name,
      type,
      // What was typed as a password is never sent back.
      value: type === 'password' ? null : (value ?? null),
      autocomplete,
      inputmode: inputmode ?? null,
      readonly: readonly ?? false,
      autofocus: autofocus ?? false,
      class: width === undefined ? null : `w${width}`,
      spellcheck: type === 'text' ? 'false' : null,
      'aria-describedby': described(field),
      'aria-invalid': field.fault === undefined ? null : 'true',
    },
  )}></div>`;
}

/** A file of the reader's own; the form must be one with `upload`. */
export function fileField(field: Field & { accept: string }): Markup {
  const { name, label, accept } = field;
  return html`<div class="field${field.fault === undefined ? '' : ' wrong'}"><label for="${name}">${label}</label>${around(field)}<input${attributes(
    {
      id: name,
      name,
      type: 'file',
      accept,
      'aria-describedby': described(field),
      'aria-invalid': field.fault === undefined ? null : 'true',
    },
  )}></div>`;
}

/** Several lines of text. */
export function longTextField(field: Field & { value?: string; rows?: number; readonly?: boolean }): Markup {
  const { name, label, value, rows = 5, readonly = false } = field;
  return html`<div class="field${field.fault === undefined ? '' : ' wrong'}"><label for="${name}">${label}</label>${around(field)}<textarea${attributes(
    {
      id: name,
      name,
      rows,
      readonly,
      'aria-describedby': described(field),
      'aria-invalid': field.fault === undefined ? null : 'true',
    },
  )}>
${value ?? ''}</textarea></div>`;
}

export type Choice = { value: string; label: string; hint?: string };

/** One of a few, or some of a few with `many`, each with a word of explanation. */
export function choiceField(
  field: Field & { choices: readonly Choice[]; chosen: readonly string[]; many?: boolean },
): Markup {
  const { name, label, choices, chosen, many = false } = field;
  return html`<fieldset class="field${field.fault === undefined ? '' : ' wrong'}"${attributes({ 'aria-describedby': described(field) })}><legend>${label}</legend>${around(field)}${choices.map(
    (choice, i) => {
      // The first one has the field's own id, so that the summary of errors leads to it.
      const id = i === 0 ? name : `${name}-${i}`;
      return html`<div class="choice"><input${attributes({
        id,
        name,
        type: many ? 'checkbox' : 'radio',
        value: choice.value,
        checked: chosen.includes(choice.value),
        'aria-describedby': choice.hint === undefined ? null : `${id}-means`,
      })}><label for="${id}">${choice.label}</label>${choice.hint === undefined ? null : html`<p class="hint" id="${id}-means">${choice.hint}</p>`}</div>`;
    },
  )}</fieldset>`;
}

/** One of many. */
export function selectField(field: Field & { choices: readonly Choice[]; chosen: string }): Markup {
  const { name, label, choices, chosen } = field;
  return html`<div class="field${field.fault === undefined ? '' : ' wrong'}"><label for="${name}">${label}</label>${around(field)}<select${attributes(
    {
      id: name,
      name,
      'aria-describedby': described(field),
      'aria-invalid': field.fault === undefined ? null : 'true',
    },
  )}>${choices.map((one) => html`<option${attributes({ value: one.value, selected: one.value === chosen })}>${one.label}</option>`)}</select></div>`;
}

/** A value that is sent along. */
export const hiddenField = (name: string, value: string): Markup =>
  html`<input${attributes({ type: 'hidden', name, value })}>`;

/** Stands above a form that wasn't taken: what is wrong, each line leading to its field. */
export function faultSummary(faults: Faults): Markup | null {
  const entries = Object.entries(faults);
  if (entries.length === 0) return null;
  return html`<div class="error" role="alert" aria-labelledby="fault-summary" tabindex="-1"><h2 id="fault-summary">${entries.length === 1 ? 'There is a problem' : 'There are problems'}</h2><ul>${entries.map(
    ([name, sentence]) => html`<li><a href="#${name}">${sentence}</a></li>`,
  )}</ul></div>`;
}

/** A form that changes something. @param button what pressing it does, in the imperative */
export function form(
  action: string,
  fields: Content,
  button: string,
  more: { danger?: boolean; cancel?: string; faults?: Faults; upload?: boolean } = {},
): Markup {
  return html`${faultSummary(more.faults ?? {})}<form${attributes({ method: 'post', action, enctype: more.upload === true ? 'multipart/form-data' : null, novalidate: true })}>${fields}<div class="actions"><button${attributes(
    { class: more.danger === true ? 'danger' : null },
  )}>${button}</button>${more.cancel === undefined ? null : html`<a href="${more.cancel}">Cancel</a>`}</div></form>`;
}

/** A button that stands alone. */
export function buttonForm(action: string, button: string, fields: Content = null): Markup {
  return html`<form class="alone" method="post" action="${action}">${fields}<button class="second">${button}</button></form>`;
}
