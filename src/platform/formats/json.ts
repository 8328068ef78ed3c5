/** Why a text isn't taken for JSON: never what stands in it. */
export class JsonFault extends Error {
  readonly kind: 'syntax' | 'repeated name';
  /** The message with the parser's own, which repeats what stands there: for texts that hold nothing personal. */
  readonly detail: string;

  constructor(kind: JsonFault['kind'], parser?: unknown) {
    super(kind === 'syntax' ? 'is not valid JSON' : 'has an object with the same name twice');
    this.kind = kind;
    this.detail = parser instanceof Error ? `is not JSON: ${parser.message}` : this.message;
  }
}

/**
 * Reads JSON that somebody gave: a request, a file, a cell. An object that has a name twice is refused, because RFC
 * 8259 leaves its meaning open, so that two readers could see two things.
 * @throws JsonFault
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new JsonFault('syntax', error);
  }
  // Of a name that an object has twice, the parser keeps one.
  if (namesIn(text) > namesOf(value)) throw new JsonFault('repeated name');
  return value;
}

/** True for a JSON object, which an array and null aren't. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const [backslash, colon, space] = [0x5c, 0x3a, 0x20];

/** Where the string that begins before `from` ends: at its closing quote. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); ; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return end;
  }
}

/** How many names of objects stand in the (valid) JSON text: strings with a colon behind them. */
function namesIn(text: string): number {
  let names = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at)) {
    at = endOfString(text, at + 1) + 1;
    while (text.charCodeAt(at) <= space) at++;
    if (text.charCodeAt(at) === colon) names++;
  }
  return names;
}

/** How many names the objects of a value have, its own and those within, however deep. */
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
