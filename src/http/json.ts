import { ApiError } from '../errors.ts';

/**
 * Reads a JSON object from a request body.
 * @throws ApiError invalid_json for anything that isn't JSON, repeats a name inside one object (RFC 8259 leaves its
 * meaning open, so two readers could see two requests), or can't be stored as text; invalid_body when it isn't an object
 */
export function readJsonObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ApiError('invalid_json');
  }
  if (repeatsName(text)) throw new ApiError('invalid_json', 'An object in the body has the same name twice.');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ApiError('invalid_body');
  return value as Record<string, unknown>;
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
