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
 * Reads JSON that somebody gave: a request, a file, a cell. An object that has a name twice is refused, because RFC 8259
 * leaves its meaning open, so that two readers could see two things.
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

/** True when an object in the (valid) JSON text has a name twice, however it is escaped. */
function repeatsName(text: string): boolean {
  const names: (Set<string> | null)[] = [];
  const token = /"(?:[^"\\]|\\.)*"|[{}[\]]/g;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [found] = match;
    if (found === '{') names.push(new Set());
    else if (found === '[') names.push(null);
    else if (found === '}' || found === ']') names.pop();
    else {
      let end = token.lastIndex;
      while (/\s/.test(text[end] ?? '')) end++;
      const object = names.at(-1);
      if (text[end] !== ':' || object == null) continue;
      const name = JSON.parse(found) as string;
      if (object.has(name)) return true;
      object.add(name);
    }
  }
  return false;
}
