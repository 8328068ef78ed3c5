/** A shorter text of marks takes less than a millisecond. */
const shortChars = 1000;

/**
 * More marks in a row than any language has (UAX #15, Stream-Safe Text). The last two are halfwidth marks of Katakana.
 */
const tooManyMarks = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;

/**
 * A text in a normalisation form of Unicode. Node sorts a run of marks in quadratic time, and 64 KB would take a
 * second. A long text therefore loses the marks after the first 30 of a run.
 */
export function normalised(text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string {
  return (text.length <= shortChars ? text : text.replace(tooManyMarks, '$1')).normalize(form);
}
