import type { Subject } from '../../../engine/scoring/levels.ts';
import type { ResultContent } from '../../../records/results/body.ts';
import type { Review } from '../../../records/results/results.ts';
import { type Content, attributes, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { waitingOf } from '../../../governance/result-reviews/decide.ts';
import { canAsk } from '../../../governance/result-reviews/request.ts';
import { named } from '../layout.ts';
import { dayInLondon } from '../words.ts';

export type Closing =
  | {
      kind: 'result';
      subject: Subject;
      content: ResultContent;
      address: string;
      /** The learner left the sitting, and it was closed after 48 hours. */
      unfinished: boolean;
      /** The sitting has fewer answers than the minimum of a full sitting. */
      few: boolean;
      /** How many questions were also in earlier sittings of the learner; null if none. */
      repeated: { questions: number; of: number } | null;
      /** A reviewer has set a level other than the engines' level. */
      byPerson: boolean;
      assessedMs: number;
    }
  | { kind: 'removed' | 'erased' | 'void'; subject: Subject };

export type Asked = {
  address: string;
  reviews: readonly Review[];
  nowMs: number;
  /** The text of a refused request, and why it was refused. */
  again: { text: string; problem: string } | null;
};

const outcomeWords: Record<NonNullable<Review['outcome']>, string> = {
  confirmed: 'They did not change your result.',
  changed: 'They changed your level.',
  withdrawn: 'They withdrew the result.',
};

const lines = (text: string): Content => text.split('\n').map((line, i) => html`${i === 0 ? null : html`<br>`}${line}`);

export function reviewPart(last: Closing, organisation: string, { address, reviews, nowMs, again }: Asked): Content {
  const waiting = waitingOf(reviews);
  const answered = reviews.findLast((one) => one.requested_at !== null && one.decided_at !== null);
  const may = last.kind === 'result' ? canAsk(reviews, nowMs) : 'later';
  return html`${last.kind === 'result' ? madePart(last, reviews, organisation) : null}${answered === undefined ? null : answerPart(answered, organisation)}${
    may === 'waiting'
      ? html`<h2 id="review">You asked for a person to look at it</h2><p>You asked on ${dayInLondon(waiting!.requested_at!.getTime())}. ${named(organisation)} answers by <strong>${dayInLondon(waiting!.due_at!.getTime())}</strong>, on this page. Your result stays as it is until then.</p>`
      : null
  }${may === 'yes' ? askPart(address, organisation, again) : null}`;
}

function madePart(
  { byPerson, content }: Extract<Closing, { kind: 'result' }>,
  reviews: readonly Review[],
  organisation: string,
): Content {
  const set = reviews.findLast((one) => one.outcome === 'changed');
  const person = html`A person at ${named(organisation)}`;
  let checked: Content = 'No person has checked it yet.';
  if (set !== undefined)
    checked = html`${person} then set the level that this page shows, on ${dayInLondon(set.decided_at!.getTime())}.`;
  else if (byPerson) checked = html`${person} then set the level that this page shows.`;
  else if (content.reviewed_at !== undefined)
    checked = html`${person} looked at it on ${dayInLondon(Date.parse(content.reviewed_at))}.`;
  return html`<h2>How your result was made</h2><p>A computer worked ${byPerson || set !== undefined ? 'out a level' : 'it out'} from your answers, in two ways that were then put together. ${checked}</p>`;
}

function answerPart(review: Review, organisation: string): Content {
  return html`<h2 id="review">What came of your request</h2><p>You asked on ${dayInLondon(review.requested_at!.getTime())} for a person to look at your result. A person at ${named(organisation)} did so on ${dayInLondon(review.decided_at!.getTime())}. ${outcomeWords[review.outcome!]}</p>${
    review.answer === null ? null : html`<p>They say:</p><blockquote><bdi>${lines(review.answer)}</bdi></blockquote>`
  }<p>If you do not agree, complain to ${named(organisation)}, which confirms your complaint within 30 days. You can also complain to the Information Commissioner, at ico.org.uk.</p>`;
}

function askPart(address: string, organisation: string, again: Asked['again']): Content {
  return html`<div class="unprinted"><h2 id="ask">If you think that it is wrong</h2>
<p>You have the right to have a person look at it, to say what you think, and to ask for another result. A person at ${named(organisation)} then looks at your answers, and tells you within a month, on this page, what they decided and why.</p>
<form method="post" action="${address}"><div class="field"><label for="text">What should they know? You can leave this empty.</label><p class="hint" id="text-hint">For example what went wrong, or what you can do. Never write your National Insurance number.</p>
<textarea name="text" rows="5"${attributes({
    id: 'text',
    maxlength: limits.reviewTextChars,
    'aria-describedby': again === null ? 'text-hint' : 'text-hint error-text',
    'aria-invalid': again === null ? null : 'true',
  })}>
${again?.text ?? ''}</textarea></div><div class="actions"><button type="submit" class="second">Ask for a person’s review</button></div></form></div>`;
}
