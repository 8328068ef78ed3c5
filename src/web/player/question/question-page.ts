import type { Answer, Problem } from '../../../engine/item-bank/mark.ts';
import { type Markup, html } from '../../../platform/html/html.ts';
import type { Question } from '../../../sittings/answer.ts';
import type { SittingRow } from '../../../sittings/store.ts';
import { displayMs, maxDisplayMs, remainingMs } from '../../../sittings/working-time.ts';
import { placeOf } from './field.ts';
import { instructions, itemHtml, problemText, wantingFields } from './item.ts';
import { type Page, errorSummary } from '../layout.ts';
import { timeLeft } from '../words.ts';
import { subjectNames } from '../../../engine/scoring/levels.ts';

/** If less time is left, the page warns the learner. The script also warns while the page is open. */
const warnBelowMs = 10 * 60_000;

function progress(sitting: SittingRow, question: Question, nowMs: number): Markup {
  const left = remainingMs(sitting, nowMs);
  // One display of a question costs at most 10 minutes, so the shown time stops then too.
  const max = maxDisplayMs - displayMs(sitting, nowMs);
  return html`<div class="progress"><h1>Question ${question.position}<span class="unseen"> of at most ${question.max}</span></h1><p id="time" data-left="${left}" data-most="${max}">${timeLeft(left)}</p>
<progress max="${question.max}" value="${question.position - 1}" aria-label="Questions done, of at most ${question.max}"></progress></div>
${left > warnBelowMs ? null : html`<p class="warning">${timeLeft(left)}. When the time is up, the question on the screen does not count.</p>`}`;
}

function hidden(sitting: SittingRow, position: number): Markup {
  return html`<input type="hidden" name="sitting" value="${sitting.sitting_id}"><input type="hidden" name="position" value="${position}"><input type="hidden" name="do" id="act" value="next">`;
}

/** @param again the refused answer, and why it was refused */
export function questionPage(
  base: string,
  sitting: SittingRow,
  question: Question,
  nowMs: number,
  again: { answer: Answer; problem: Problem } | null = null,
): Page {
  const { model, position } = question;
  const message = again === null ? null : problemText(again.problem, model);
  const keep = `${sitting.sitting_id.slice(0, 8)}-${position}-${sitting.on_screen_since?.getTime() ?? 0}`;
  const wanting = again === null ? model.fields : wantingFields(again.problem, model, again.answer);
  const item = itemHtml(model, again?.answer ?? question.draft, message === null ? null : 'error-text', wanting);
  return {
    title: `${message === null ? '' : 'Error: '}Question ${position}`,
    subject: subjectNames[sitting.subject],
    spoken: [message, model.readAloud ? item : instructions(model)],
    hear: model.readAloud ? 'Read aloud' : 'Hear what to do',
    main: html`${message === null ? null : errorSummary('Please look at your answer again', placeOf(model, wanting[0]), message)}
${progress(sitting, question, nowMs)}
<form method="post" action="${base}/question" data-keep="${keep}" novalidate>${hidden(sitting, position)}
${item}
<div class="actions"><button type="submit" name="do" value="next">Next question</button></div>
<div class="away"><button type="submit" class="plain" name="do" value="skip">Skip this question</button><button type="submit" class="plain" name="do" value="pause">Pause and carry on later</button></div>
</form>`,
  };
}

export function skipPage(base: string, sitting: SittingRow, position: number): Page {
  return {
    title: `Skip question ${position}?`,
    subject: subjectNames[sitting.subject],
    main: html`<h1>Skip question ${position}?</h1>
<p>A skipped question counts as wrong, and you cannot come back to it. If you have an idea, even an uncertain one, answer it.</p>
<form method="post" action="${base}/question">${hidden(sitting, position)}
<div class="actions"><a class="button" href="${base}/question">Go back and answer</a><button type="submit" class="second" name="do" value="skip-now">Skip question ${position}</button></div></form>`,
  };
}
