import { type Content, type Markup, attributes, html } from '../../../platform/html/html.ts';
import { dateFormat, longDay } from '../../../platform/time/dates.ts';
import { errorPage } from '../../../platform/errors/errors.ts';

export const number = (value: number): string => value.toLocaleString('en-GB');

export const count = (value: number, one: string, many = `${one}s`): string =>
  `${number(value)} ${value === 1 ? one : many}`;

/** @param max the number at which counting stopped */
export const countWords = (value: number, max: number): string =>
  value > max ? `more than ${number(max)}` : number(value);

/** A list of names and values. Entries without a value are left out. */
export function facts(entries: Readonly<Record<string, Content>> | readonly (readonly [string, Content])[]): Markup {
  const rows = Array.isArray(entries) ? (entries as readonly (readonly [string, Content])[]) : Object.entries(entries);
  return html`<dl class="facts">${rows
    .filter(([, value]) => value !== null && value !== undefined && value !== false)
    .map(([head, value]) => html`<div><dt>${head}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** The form puts its fields into the URL, so no field may hold a person's name. Phones fold the filters of a list. */
export function filters(action: string, fields: Content, verb = 'Filter'): Markup {
  const isFilter = verb === 'Filter';
  const form = html`<form class="filters" method="get" action="${action}">${fields}<div class="actions"><button class="second">${verb}</button>${isFilter && html`<a href="${action}">Show all</a>`}</div></form>`;
  return isFilter ? html`<details class="narrow"><summary>${verb}</summary>${form}</details>` : form;
}

export function progress(label: string, done: number, total: number, here: string): Markup {
  return html`<div class="field"><label for="progress">${label}</label><progress${attributes({ id: 'progress', value: done, max: Math.max(1, total) })}>${done} of ${total}</progress><p class="hint">${number(done)} of ${number(total)}. <a href="${here}">Reload</a>, or leave this page. The work continues.</p></div>`;
}

/** Shows the page's sentence for the `did` parameter of the redirect. An unknown value shows nothing. */
export function notice(query: URLSearchParams, sentences: Record<string, Content>): Markup | null {
  const did = query.get('did') ?? '';
  return Object.hasOwn(sentences, did) ? html`<div class="done" role="status"><p>${sentences[did]}</p></div>` : null;
}

/** A date, or a feed position in microseconds since 1970. */
type Instant = Date | number;

const dateOf = (at: Instant): Date => (typeof at === 'number' ? new Date(at / 1000) : at);

const timeTag = (at: Instant, text: string): Markup =>
  html`<time datetime="${dateOf(at).toISOString()}">${text}</time>`;

/** `22 November 2026 at 09:45` in a time zone. The `datetime` attribute contains the exact instant for programs. */
export function moment(at: Instant, zone: string): Markup;
export function moment(at: Instant | null, zone: string): Markup | null;
export function moment(at: Instant | null, zone: string): Markup | null {
  if (at === null) return null;
  const text = dateFormat(zone, true).format(dateOf(at));
  return timeTag(at, text.replace(/(?:,| at)? (?=\d\d:\d\d$)/, ' at '));
}

/** `22 Nov 2026, 09:45:07`. The seconds let a person compare the time with other logs. */
export function instant(at: Instant, zone: string): Markup;
export function instant(at: Instant | null, zone: string): Markup | null;
export function instant(at: Instant | null, zone: string): Markup | null {
  if (at === null) return null;
  return timeTag(at, dateOf(at).toLocaleString('en-GB', { timeZone: zone, dateStyle: 'medium', timeStyle: 'medium' }));
}

export function withLocalTimes(sentence: string, zone: string): Content {
  const parts = sentence.split(/(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{3})?(?: UTC|Z))/);
  return parts.map((part, i) =>
    i % 2 === 0 ? part : instant(new Date(part.replace(' UTC', 'Z').replace(' ', 'T')), zone),
  );
}

/** The day as plain text, because attributes and titles cannot contain markup. */
export const dayWords = (at: Instant, zone: string): string => longDay(dateOf(at), zone);

/** `22 Nov 2026`, short enough for a table. */
export const day = (at: Instant, zone: string): Markup =>
  timeTag(at, dateFormat(zone, false, 'short').format(dateOf(at)));

export const code = (text: string | null | undefined, none: Content = null): Content =>
  text == null ? none : html`<code>${text}</code>`;

/** What a state means to the reader: done, waiting, needs action, in progress, or over. */
export type LabelKind = 'good' | 'wait' | 'bad' | 'info' | 'off';

/** The label of each state. */
export type States<State extends string> = Record<State, readonly [kind: LabelKind, words: string]>;

export const wordsOf = <State extends string>(states: States<State>): Record<State, string> =>
  Object.fromEntries(Object.entries(states).map(([state, of]) => [state, (of as [string, string])[1]])) as never;

export const label = (kind: LabelKind, text: string): Markup => html`<span class="label ${kind}">${text}</span>`;

/** The beginning of a UUID. The script adds a button that copies all of it. */
export const shortId = (id: string): Markup => html`<code data-copy="${id}" title="${id}">${id.slice(0, 8)}</code>`;

export const codeLink = (code: string): Markup => html`<a href="${errorPage(code)}"><code>${code}</code></a>`;

/** Such as “Funding stream” for “funding_stream”. */
export function typeWords(type: string): string {
  const words = type.replaceAll('_', ' ');
  return words[0]!.toUpperCase() + words.slice(1);
}
