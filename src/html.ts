/** Markup that is safe to send: made by `html`, or by whoever escapes with it. */
export class Markup {
  readonly text: string;
  constructor(text: string) { this.text = text; }
  toString(): string { return this.text; }
}

/** What a template may hold: text and numbers are escaped, markup is not, nothing becomes nothing. */
export type Content = string | number | Markup | null | undefined | false | readonly Content[];

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!);
}

function render(content: Content): string {
  if (content === null || content === undefined || content === false) return '';
  if (content instanceof Markup) return content.text;
  if (typeof content === 'string') return escapeHtml(content);
  if (typeof content === 'number') return String(content);
  if (Array.isArray(content)) return content.map(render).join('');
  throw new TypeError('A template holds text, numbers, markup and lists of them.');
}

/** Escapes everything but markup. Attributes must be quoted in the template. */
export function html(strings: TemplateStringsArray, ...values: Content[]): Markup {
  let text = strings[0]!;
  values.forEach((value, i) => {
    if (/=\s*$/.test(strings[i]!)) throw new TypeError('Quote the attribute that holds a value.');
    text += render(value) + strings[i + 1]!;
  });
  return new Markup(text);
}
