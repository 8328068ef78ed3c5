import type { App } from '../../../platform/app.ts';
import { type Content, type Markup, attributes, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { Form } from '../../../api/http/form.ts';

/** For each field with a fault: a sentence that says what to do. */
export type Faults = Record<string, string>;

export const faultsIn = (found: Record<string, string | null | false | undefined>): Faults =>
  Object.fromEntries(Object.entries(found).filter((one): one is [string, string] => typeof one[1] === 'string'));

export const isFaulty = (faults: Faults): boolean => Object.keys(faults).length > 0;

export type Choice = { value: string; label: string; hint?: string };
export type Choices = readonly Choice[] | Readonly<Record<string, string>>;

const listed = (choices: Choices): readonly Choice[] =>
  Array.isArray(choices) ? choices : Object.entries(choices).map(([value, label]) => ({ value, label }));

export const any = (choices: Choices, label = 'Any'): Choice[] => [{ value: '', label }, ...listed(choices)];

/** `value` is always shown; `initial` only before the form is sent. */
type More = { hint?: Content; fault?: string | undefined; value?: string | undefined; initial?: string | undefined };

export type FormOptions = {
  to?: string | undefined;
  cancel?: string | undefined;
  danger?: boolean | undefined;
  upload?: boolean | undefined;
};

type TextMore = More & {
  type?: 'text' | 'email' | 'password' | 'url' | 'date' | 'search';
  autocomplete?: string;
  inputmode?: 'numeric';
  /** The width in characters that suits the expected value. */
  width?: 10 | 20 | 40;
  readonly?: boolean;
  autofocus?: boolean;
  /** Takes only the ID of a record: a browser refuses a person’s name, which must not be in a URL. */
  isId?: boolean;
};

type Sent = Pick<Form, 'raw' | 'text' | 'all'> & Partial<Pick<Form, 'kept'>>;

/** The value of each field, as `value` of the field. */
export type Shown = Readonly<Record<string, string | readonly string[]>>;

export class Fields {
  readonly #sent: Sent;
  readonly #path: string;
  readonly #faults: Faults;
  readonly #shown: Shown;

  constructor(sent: Sent, path: string, faults: Faults, shown: Shown = {}) {
    this.#sent = sent;
    this.#path = path;
    this.#faults = faults;
    this.#shown = shown;
  }

  /** A kept form shows what the person entered, not what is stored. Of ticked boxes only the ticked ones are sent. */
  #isKept(name: string, isBox = false): boolean {
    const { kept = null } = this.#sent;
    return kept !== null && (this.#sent.all(name).length > 0 || (isBox && kept === 'own'));
  }

  #value(name: string, { value = this.#shown[name] as string | undefined }: More): string | undefined {
    return value;
  }

  #sayings(name: string, { hint, fault = this.#faults[name] }: More) {
    const ids = [...(hint === undefined ? [] : [`${name}-hint`]), ...(fault === undefined ? [] : [`${name}-fault`])];
    return {
      fault,
      cls: `field${fault === undefined ? '' : ' wrong'}`,
      describedBy: ids.join(' ') || null,
      text: html`${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}${fault !== undefined && html`<p class="fault" id="${name}-fault">${fault}</p>`}`,
    };
  }

  #field(name: string, label: string, more: More, control: (about: Markup) => Markup): Markup {
    const { fault, cls, describedBy, text } = this.#sayings(name, more);
    const about = attributes({ 'aria-describedby': describedBy, 'aria-invalid': fault === undefined ? null : 'true' });
    return html`<div class="${cls}"><label for="${name}">${label}</label>${text}${control(about)}</div>`;
  }

  /** A password is never sent back to the browser. */
  text(name: string, label: string, more: TextMore = {}): Markup {
    const { type = 'text', autocomplete = 'off', inputmode, initial = '', readonly, autofocus, isId } = more;
    const { width = type === 'date' ? 20 : 40 } = more;
    const typed = this.#sent.text(name);
    const shown = this.#isKept(name) && readonly !== true ? typed : (this.#value(name, more) ?? (typed || initial));
    const value = type === 'password' ? (more.value ?? null) : shown;
    const own = attributes({ id: name, name, type, value, autocomplete, inputmode, readonly, autofocus });
    const rule = isId ? { pattern: String.raw`\s{0,9}[0-9A-Fa-f\-]{36}\s{0,9}`, title: 'An ID of 36 characters' } : {};
    const look = attributes({ class: `w${width}`, spellcheck: type === 'text' ? 'false' : null, ...rule });
    return this.#field(name, label, more, (about) => html`<input${own}${look}${about}>`);
  }

  /** A form with this field needs the option `upload`, otherwise the browser sends only the file's name. */
  file(name: string, label: string, accept: string, more: More = {}): Markup {
    const own = attributes({ id: name, name, type: 'file', accept });
    return this.#field(name, label, more, (about) => html`<input${own}${about}>`);
  }

  lines(name: string, label: string, more: More & { rows?: number; readonly?: boolean } = {}): Markup {
    const { rows = 5, readonly } = more;
    const typed = this.#sent.raw(name);
    const value = this.#isKept(name) && readonly !== true ? typed : (more.value ?? typed);
    const own = attributes({ id: name, name, rows, readonly });
    return this.#field(name, label, more, (about) => html`<textarea${own}${about}>\n${value}</textarea>`);
  }

  #chosen(name: string, more: More): string {
    const sent = this.#sent.raw(name);
    return this.#isKept(name) ? sent : (this.#value(name, more) ?? (sent || more.initial || ''));
  }

  select(name: string, label: string, choices: Choices, more: More = {}): Markup {
    const value = this.#chosen(name, more);
    const options = listed(choices).map(
      (one) => html`<option${attributes({ value: one.value, selected: one.value === value })}>${one.label}</option>`,
    );
    const own = attributes({ id: name, name });
    return this.#field(name, label, more, (about) => html`<select${own}${about}>${options}</select>`);
  }

  choose(name: string, label: string, choices: Choices, more: More = {}): Markup {
    return this.#boxes('radio', name, label, choices, [this.#chosen(name, more)], more);
  }

  tick(name: string, label: string, choices: Choices, more: More & { values?: readonly string[] } = {}): Markup {
    const sent = this.#sent.all(name);
    const { values = this.#shown[name] ?? sent } = more;
    const ticked = this.#isKept(name, true) ? sent : (values as readonly string[]);
    return this.#boxes('checkbox', name, label, choices, ticked, more);
  }

  #boxes(type: string, name: string, label: string, choices: Choices, chosen: readonly string[], more: More): Markup {
    const { cls, describedBy, text } = this.#sayings(name, more);
    return html`<fieldset class="${cls}"${attributes({ 'aria-describedby': describedBy })}><legend>${label}</legend>${text}${listed(
      choices,
    ).map(({ value, label: words, hint }, i) => {
      // The first box gets the ID of the field, because the summary of faults links to this ID.
      const id = i === 0 ? name : `${name}-${i}`;
      const means = hint === undefined ? null : `${id}-means`;
      return html`<div class="choice"><input${attributes({ id, name, type, value, checked: chosen.includes(value), 'aria-describedby': means })}><label for="${id}">${words}</label>${means && html`<p class="hint" id="${means}">${hint}</p>`}</div>`;
    })}</fieldset>`;
  }

  /** The version of the record that the person saw. A kept form keeps it, so that it replaces no later change. */
  version(version: string): Markup {
    return hiddenField('version', this.#isKept('version') ? this.#sent.raw('version') : version);
  }

  /** A hidden ID for the record that the form creates, so that a form that is sent twice creates one record. */
  once({ random }: Pick<App, 'random'>): Markup {
    return hiddenField('once', this.#sent.text('once') || random.uuid());
  }

  /** @param options.to the URL to send to; the default is the URL of the page */
  form(button: string, options: FormOptions = {}, fields: Content = null): Markup {
    const { to: action = this.#path, cancel, danger, upload } = options;
    const enctype = upload === true ? 'multipart/form-data' : null;
    return html`${faultSummary(this.#faults)}<form${attributes({ method: 'post', action, enctype, novalidate: true })}>${fields}<div class="actions"><button${attributes({ class: danger === true ? 'danger' : null })}>${button}</button>${cancel !== undefined && html`<a href="${cancel}">Cancel</a>`}</div></form>`;
  }
}

type Filled = { form: Form; path: string; faults?: Faults };

export const fieldsOf = ({ form: sent, path, faults = {} }: Filled, own = faults, shown?: Shown): Fields =>
  new Fields(sent, path, own, shown);

export function filtersOf({ query, path }: { query: URLSearchParams; path: string }): Fields {
  const text = (name: string) => query.get(name) ?? '';
  return new Fields({ raw: text, text, all: (name) => query.getAll(name) }, path, {});
}

export const readonlyField = (name: string, label: string, value: string): Markup =>
  new Fields(new Form(), '', {}).text(name, label, { value, readonly: true });

export const hiddenField = (name: string, value: string): Markup =>
  html`<input${attributes({ type: 'hidden', name, value })}>`;

export function faultSummary(faults: Faults): Markup | null {
  const entries = Object.entries(faults);
  if (entries.length === 0) return null;
  return html`<div class="error" role="alert" aria-labelledby="fault-summary" tabindex="-1"><h2 id="fault-summary">${entries.length === 1 ? 'There is a problem' : 'There are problems'}</h2><ul>${entries.map(
    ([name, sentence]) => html`<li><a href="#${name}">${sentence}</a></li>`,
  )}</ul></div>`;
}

export function buttonForm(action: string, button: string, fields: Content = null): Markup {
  return html`<form class="alone" method="post" action="${action}">${fields}<button class="second">${button}</button></form>`;
}

export const tickBox = (name: string, value: string, whom: string): Markup =>
  html`<label class="tick"><input${attributes({ type: 'checkbox', name, value })}><span class="unseen">Choose ${whom}</span></label>`;

export const newPasswordField = (f: Fields, label: string): Markup =>
  f.text('password', label, {
    hint: `At least ${limits.passwordLeastChars} characters. Several words are easy to remember and hard to guess.`,
    type: 'password',
    autocomplete: 'new-password',
  });

export const chosenIds = ({ form: sent }: { form: Form }, name: string): string[] =>
  [...new Set(sent.all(name).map((id) => id.toLowerCase()))].filter(isUuid);
