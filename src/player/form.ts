import type { Answer } from '../bank/mark.ts';

const fieldsMost = 100;

/** What a form of the player sent. A name sent more than once keeps its last value, except in `answer`. */
export type Sent = { get(name: string): string; answer: Answer };

/** Names of the player's own controls; everything else belongs to the question. */
const ours = new Set(['sitting', 'position', 'do', 'subject']);

export function readForm(body: unknown): Sent {
  const own = new Map<string, string>();
  const answer: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  let count = 0;
  for (const [name, value] of new URLSearchParams(typeof body === 'string' ? body : '')) {
    if (++count > fieldsMost) break;
    if (ours.has(name)) {
      own.set(name, value);
      continue;
    }
    const before = answer[name];
    answer[name] = before === undefined ? value : [...([before].flat() as string[]), value];
  }
  return { get: (name) => own.get(name) ?? '', answer };
}
