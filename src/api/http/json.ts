import { ApiError } from '../../platform/errors/errors.ts';
import { isJsonObject, JsonFault, parseJson } from '../../platform/formats/json.ts';

/**
 * Reads a JSON object from a request body.
 * @throws ApiError invalid_json also for a name that stands twice in one object; invalid_body for another JSON value
 */
export function readJsonObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    if (error.kind === 'syntax') throw new ApiError('invalid_json');
    throw new ApiError('invalid_json', 'An object in the body has the same name twice.');
  }
  if (!isJsonObject(value)) throw new ApiError('invalid_body');
  return value;
}
