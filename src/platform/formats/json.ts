/** The text is not valid JSON, or an object repeats a name. The message contains nothing of the text. */
export class JsonFault extends Error {
  readonly kind: 'syntax' | 'repeated name';
  /** The parser's message, which contains parts of the text. Use it only for text without personal data. */
  readonly detail: string;

  constructor(kind: JsonFault['kind'], parser?: unknown) {
    super(kind === 'syntax' ? 'is not valid JSON' : 'has an object with the same name twice');
    this.kind = kind;
    this.detail = parser instanceof Error ? `is not JSON: ${parser.message}` : this.message;
  }
}

/**
 * Reads JSON from a request, a file or a cell. An object with the same name twice is refused, because RFC 8259 leaves
 * its meaning open.
 * @throws JsonFault
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new JsonFault('syntax', error);
  }
  // If a name is repeated, the parser keeps only the last value. The text then has more names than the parsed value.
  if (namesIn(text) > namesOf(value)) throw new JsonFault('repeated name');
  return value;
}

export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const [backslash, colon, space] = [0x5c, 0x3a, 0x20];

function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); ; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return end;
  }
}

/** Counts the names in the objects of a valid JSON text, which are the strings before a colon. */
function namesIn(text: string): number {
  let names = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at)) {
    at = endOfString(text, at + 1) + 1;
    while (text.charCodeAt(at) <= space) at++;
    if (text.charCodeAt(at) === colon) names++;
  }
  return names;
}

function namesOf(value: unknown): number {
  let names = 0;
  const open = [value];
  while (open.length > 0) {
    const one = open.pop();
    if (typeof one !== 'object' || one === null) continue;
    if (Array.isArray(one)) {
      for (const inner of one) if (typeof inner === 'object') open.push(inner);
      continue;
    }
    const object = one as Record<string, unknown>;
    for (const name of Object.keys(object)) {
      names++;
      const inner = object[name];
      if (typeof inner === 'object') open.push(inner);
    }
  }
  return names;
}
