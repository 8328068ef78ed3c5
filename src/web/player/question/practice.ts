import questions from './practice.json' with { type: 'json' };
import { type Answer, mark } from '../../../engine/item-bank/mark.ts';
import { type RenderModel, renderModel } from '../../../engine/item-bank/render-model.ts';
import type { RenderedItem } from '../../../engine/item-bank/schema.ts';
import { type Markup, html } from '../../../platform/html/html.ts';
import { placeOf } from './field.ts';
import { itemHtml, problemText } from './item.ts';
import { type Page, errorSummary } from '../layout.ts';
import { startForm } from '../pages.ts';
import { type Subject, subjectNames } from '../../../engine/scoring/levels.ts';

/** Easy questions that are not in the item bank let learners try the controls. No answer is stored. */
const practices = questions as unknown as Record<Subject, { item: RenderedItem; answer: string }>;

function modelOf(subject: Subject): RenderModel {
  const head = { id: 'practice', subject, level: 'entry1', domain: 'number', read_aloud: true } as const;
  return renderModel(head, practices[subject].item, null);
}

const note = (): Markup =>
  html`<p class="note">This is for practice. It does not count, and no person sees your answer.</p>`;

export function practicePage(base: string, subject: Subject, entered: Answer | null = null): Page {
  const model = modelOf(subject);
  const marked = entered === null ? null : mark(practices[subject].item, entered);
  const message =
    marked === null ? null : marked.problem !== null ? problemText(marked.problem, model) : 'Give an answer first';
  const errorId = message === null ? null : 'error-text';
  const item = itemHtml(model, entered, errorId);
  return {
    title: `${message === null ? '' : 'Error: '}Practice question`,
    subject: subjectNames[subject],
    spoken: [message, item],
    main: html`${message === null ? null : errorSummary('Please look at your answer again', placeOf(model), message)}
<h1>Practice question</h1>
${note()}
<form method="post" action="${base}/practice" novalidate>${item}
<div class="actions"><button type="submit">Check my answer</button></div></form>`,
  };
}

export function practised(base: string, subject: Subject, entered: Answer): Page {
  const { item, answer } = practices[subject];
  const { answered, correct, problem } = mark(item, entered);
  if (!answered || problem !== null) return practicePage(base, subject, entered);
  const title = correct ? 'Yes, that is right' : 'Not this time';
  return {
    title,
    subject: subjectNames[subject],
    main: html`<h1>${title}</h1>
${correct ? null : html`<p>The answer is <strong>${answer}</strong>. It does not matter: this was only for practice.</p>`}
<p>The questions that count work in the same way. Some are easy and some are hard. You will not be told which ones you got right.</p>
${startForm(base, subject)}
<p class="try"><a href="${base}/practice">Try the practice question again</a></p>`,
  };
}
