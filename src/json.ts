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
  if (repeatsName(text)) throw new JsonFault('repeated name');
  return value;
}

/** True for a JSON object, which an array and null aren't. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const [quote, backslash, colon, space] = [0x22, 0x5c, 0x3a, 0x20];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Names up to which a list is searched sooner than a set is made. */
const fewNames = 20;

/** The names of one object so far. */
class Names {
  #few: string[] = [];
  #many: Set<string> | null = null;

  /** @returns false when the name is there already */
  add(name: string): boolean {
    if (this.#many === null) {
      if (this.#few.includes(name)) return false;
      this.#few.push(name);
      if (this.#few.length > fewNames) this.#many = new Set(this.#few);
      return true;
    }
    const before = this.#many.size;
    return this.#many.add(name).size > before;
  }
}

/** Where the string that begins before `from` ends: at its closing quote. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); ; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return end;
  }
}

/** True when an object in the (valid) JSON text has a name twice, however it is escaped. */
function repeatsName(text: string): boolean {
  const open: (Names | null)[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === openBrace) open.push(new Names());
    else if (char === openBracket) open.push(null);
    else if (char === closeBrace || char === closeBracket) open.pop();
    else if (char === quote) {
      const end = endOfString(text, at + 1);
      let next = end + 1;
      while (text.charCodeAt(next) <= space) next++;
      const object = open.at(-1);
      if (object != null && text.charCodeAt(next) === colon) {
        const raw = text.slice(at + 1, end);
        if (!object.add(raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw)) return true;
      }
      at = end;
    }
  }
  return false;
}
