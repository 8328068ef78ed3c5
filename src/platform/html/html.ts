/** HTML that templates insert without escaping. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toString(): string {
    return this.text;
  }
}

/** The values of a template. Text and numbers are escaped, and markup is not. */
export type Content = string | number | Markup | null | undefined | false | readonly Content[];

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const characters = Object.fromEntries(Object.entries(entities).map(([character, entity]) => [entity, character]));

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!);
}

export function unescapeHtml(markup: string): string {
  return markup.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => characters[entity]!);
}

type Place =
  | { kind: 'text' | 'tag' | 'raw' }
  /** `whole`: the value is at the beginning of the attribute, so it could choose the scheme of a URL. */
  | { kind: 'attribute'; name: string; whole: boolean };

const places = new WeakMap<TemplateStringsArray, Place[]>();
const addresses = new Set(['href', 'src', 'action', 'formaction']);

/** Finds the context of each value in a template. A value in a comment or in an unquoted attribute is an error. */
function placesOf(strings: TemplateStringsArray): Place[] {
  const found: Place[] = [];
  let state: 'text' | 'tag' | 'raw' | 'comment' = 'text';
  let quote = '';
  let attribute = '';
  let element = '';
  let sinceQuote = 0;
  strings.forEach((text, i) => {
    for (let at = 0; at < text.length; at++) {
      const character = text[at]!;
      if (state === 'text') {
        if (text.startsWith('<!--', at)) state = 'comment';
        else if (character === '<' && /[a-z/!]/i.test(text[at + 1] ?? '')) {
          state = 'tag';
          element = /^<([a-z][a-z0-9]*)/i.exec(text.slice(at))?.[1]?.toLowerCase() ?? '';
        }
      } else if (state === 'comment') {
        if (text.startsWith('-->', at)) state = 'text';
      } else if (state === 'raw') {
        if (text.slice(at).toLowerCase().startsWith(`</${element}`)) {
          state = 'tag';
          element = '';
        }
      } else if (quote !== '') {
        sinceQuote++;
        if (character === quote) quote = '';
      } else if (character === '"' || character === "'") {
        attribute = /([^\s"'<>/=]+)=$/.exec(text.slice(0, at))?.[1]?.toLowerCase() ?? '';
        if (attribute.startsWith('on') || attribute === 'style' || attribute === 'srcdoc')
          throw new TypeError(`The attribute ${attribute} can't be used: the page's policy refuses it.`);
        quote = character;
        sinceQuote = 0;
      } else if (character === '>') {
        state = element === 'script' || element === 'style' ? 'raw' : 'text';
      }
    }
    if (i === strings.length - 1) return;
    if (state === 'comment') throw new TypeError("A comment can't hold a value.");
    if (state === 'tag' && quote === '' && /=\s*$/.test(text))
      throw new TypeError('Quote the attribute that holds a value.');
    found.push(
      state === 'tag' && quote !== ''
        ? { kind: 'attribute', name: attribute, whole: sinceQuote === 0 }
        : { kind: state },
    );
    if (quote !== '') sinceQuote++;
  });
  return found;
}

function render(content: Content): string {
  if (content === null || content === undefined || content === false) return '';
  if (content instanceof Markup) return content.text;
  if (typeof content === 'string') return escapeHtml(content);
  if (typeof content === 'number') return String(content);
  if (Array.isArray(content)) return content.map(render).join('');
  throw new TypeError('A template holds text, numbers, markup and lists of them.');
}

function attributeText(name: string, value: Content, whole: boolean): string {
  if (value instanceof Markup || (typeof value === 'object' && value !== null))
    throw new TypeError('An attribute holds text or a number.');
  const text = render(value);
  if (whole && addresses.has(name) && /^[^/?#]*:/.test(text) && !/^(https?|mailto):/i.test(text))
    throw new TypeError('An address leads to a page.');
  return text;
}

/** Makes the attributes of a tag. True writes only the name. Null, undefined and false omit the attribute. */
export function attributes(named: Record<string, string | number | boolean | null | undefined>): Markup {
  return new Markup(
    Object.entries(named)
      .map(([name, value]) => {
        if (!/^[a-z][a-z0-9-]*$/.test(name) || name.startsWith('on') || name === 'style')
          throw new TypeError(`The attribute ${name} can't be used.`);
        if (value === null || value === undefined || value === false) return '';
        return value === true ? ` ${name}` : ` ${name}="${attributeText(name, value, true)}"`;
      })
      .join(''),
  );
}

/**
 * Makes markup from a template, and escapes every value that is not markup. A value that could run code, such as a
 * `javascript:` URL or an event handler, is an error.
 */
export function html(strings: TemplateStringsArray, ...values: Content[]): Markup {
  let found = places.get(strings);
  if (found === undefined) places.set(strings, (found = placesOf(strings)));
  let text = strings[0]!;
  values.forEach((value, i) => {
    const place = found[i]!;
    if (place.kind === 'attribute') text += attributeText(place.name, value, place.whole);
    else if (place.kind === 'text' || value instanceof Markup || render(value) === '') text += render(value);
    else
      throw new TypeError(
        place.kind === 'tag' ? 'Make attributes with attributes().' : 'A script or style holds no values.',
      );
    text += strings[i + 1]!;
  });
  return new Markup(text);
}
