import { distance } from './edit-distance.ts';

/** What is wrong with a parameter or a field. In a message, its name comes before this text. */
export const faults = {
  missing: 'is missing',
  malformed: 'is malformed',
  notAllowed: 'has a value that is not allowed',
  noValue: 'has no value',
  repeated: 'is in the query more than once',
  number: 'contains a National Insurance number',
} as const;

/** The message for an invalid parameter or field: what is wrong, and what to do. */
export const refusal = (name: string, fault: string, expected: string): string => `${name} ${fault}. Send ${expected}.`;

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** The known name that a client probably meant: at most one slip away, or two from 8 letters on. */
function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > 64) return undefined;
  const slips = (one: string) => distance(plain(name), plain(one));
  const near = known.filter((one) => slips(one) <= (one.length >= 8 ? 2 : 1));
  return near.sort((a, b) => slips(a) - slips(b))[0];
}

/**
 * The message for the first unknown name of a query or an object; null: all names are known. A name that may be an email
 * address, a number or a person is not repeated.
 */
export function unknownName(place: string, kind: string, sent: string[], known: readonly string[]): string | null {
  const at = sent.findIndex((name) => !known.includes(name));
  if (at < 0) return null;
  const name = sent[at]!;
  const nearest = nearestName(name, known);
  const isRepeatable =
    /^[a-z_][A-Za-z_]{0,39}\d{0,2}(\[[a-z_]{0,20}\])?$/.test(name) ||
    (/^[\w.-]+$/.test(name) && nearest !== undefined && plain(name) === plain(nearest));
  // Whole numbers as names have no position, because objects list them first.
  const position = /^\d+$/.test(name) ? ' with a number as its name' : `, number ${at + 1} of ${sent.length}`;
  const which = isRepeatable ? `the ${kind} ${name}` : `a ${kind}${position}`;
  const hint = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
  const those = known.length === 0 ? 'It takes none' : `It knows ${known.join(', ')}`;
  return `${place} has ${which}, which this endpoint does not know.${hint} ${those}.`;
}
