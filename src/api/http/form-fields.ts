import { ApiError } from '../../platform/errors/errors.ts';

export function readFields(encoded: string, maxFields: number): URLSearchParams {
  let end = -1;
  // Parsing takes 5 µs for each field, so only the first `maxFields` fields are parsed.
  for (let fields = 0; fields < maxFields; fields++) {
    end = encoded.indexOf('&', end + 1);
    if (end < 0) return new URLSearchParams(encoded);
  }
  return new URLSearchParams(encoded.slice(0, end));
}

/** @throws ApiError payload_too_large; bad_request if the body does not match the Content-Type header */
export async function readParts(body: Buffer, contentType: string, maxParts: number): Promise<FormData> {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]*)"|([^;\s]*))/i.exec(contentType) ?? [];
  const delimiter = `\r\n--${quoted ?? plain ?? ''}`;
  for (let at = 0, parts = 0; (at = body.indexOf(delimiter, at)) >= 0; at += delimiter.length)
    if (++parts > maxParts)
      throw new ApiError('payload_too_large', `A form may have at most ${maxParts.toLocaleString('en-GB')} parts.`);
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData();
  } catch {
    throw new ApiError('bad_request');
  }
}
