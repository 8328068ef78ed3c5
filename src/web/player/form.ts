import type { FastifyInstance } from 'fastify';
import type { Answer } from '../../engine/item-bank/mark.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { readFields } from '../../api/http/form-fields.ts';
import { limits } from '../../platform/config/limits.ts';

/** Accepts forms. A large form needs a valid link. The handler parses the form. */
export function takeForms(pages: FastifyInstance, isLink: (token: string) => boolean): void {
  pages.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: limits.learnerFormBytes },
    (request, body, done) => {
      const { token = '' } = request.params as { token?: string };
      const isTaken = body.length <= limits.publicFormBytes || isLink(token);
      done(isTaken ? null : new ApiError('payload_too_large'), body);
    },
  );
}

/** The fields of a form. If a field is sent twice, only `answer` keeps both values. */
export type Sent = { get(name: string): string; answer: Answer };

/** The fields of the page itself. All other fields are part of the answer. */
const ours = new Set(['sitting', 'position', 'do', 'subject']);

export function readForm(body: unknown): Sent {
  const own = new Map<string, string>();
  const answer: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  for (const [name, value] of readFields(typeof body === 'string' ? body : '', limits.learnerFormFields)) {
    if (ours.has(name)) {
      own.set(name, value);
      continue;
    }
    const before = answer[name];
    answer[name] = before === undefined ? value : [...([before].flat() as string[]), value];
  }
  return { get: (name) => own.get(name) ?? '', answer };
}
