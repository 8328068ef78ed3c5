import { type Subject, subjectNames } from '../../engine/scoring/levels.ts';
import { type Content, type Markup, attributes, html } from '../../platform/html/html.ts';
import { declarationText } from '../../sittings/evidence.ts';
import type { Link } from '../../sittings/link.ts';
import type { SittingStop } from '../../sittings/delivery.ts';
import type { ResultContent } from '../../records/results/body.ts';
import type { SittingRow } from '../../sittings/store.ts';
import { standards } from '../../sittings/scoring/standards.ts';
import { timeLimitMs } from '../../sittings/working-time.ts';
import { type Page, errorSummary, named } from './layout.ts';
import { type Asked, type Closing, reviewPart } from './question/review-part.ts';
import {
  areaWords,
  dayInLondon,
  inMinutes,
  momentInLondon,
  nextWords,
  resultWords,
  sureWords,
  timeLeft,
} from './words.ts';

export type Names = { learner: string; organisation: string };

const limitOf = (link: Link, subject: Subject): number =>
  timeLimitMs(standards[subject].timeLimitMs, link.invitation.extra_time_pct);

/** The form names its subject, so that a form in an old tab cannot start another subject. */
const subjectOf = (subject: Subject): Markup => html`<input type="hidden" name="subject" value="${subject}">`;

export function startForm(base: string, subject: Subject): Markup {
  return html`<form method="post" action="${base}/start">${subjectOf(subject)}<div class="actions"><button type="submit">Start ${subjectNames[subject]}</button></div></form>`;
}

function starting(base: string, subject: Subject): Markup {
  return html`${startForm(base, subject)}<p class="try"><a class="button second" href="${base}/practice">Try a practice question</a></p>`;
}

/** The button "Start" must be visible on a small phone without scrolling, so the details come after it. */
export function welcomePage(base: string, link: Link, names: Names, pilots: number): Page {
  const { extra_time_pct, expires_at } = link.invitation;
  const many = link.subjects.length > 1;
  const first = link.next!;
  return {
    title: 'Before you start',
    main: html`<h1>Hello ${named(names.learner)}</h1>
<p>${named(names.organisation)} wants to find the right level for you.</p>
<ul class="short"><li>You cannot pass or fail.</li>
<li>${subjectNames[first]}: 20 to ${40 + pilots} questions, ${inMinutes(limitOf(link, first))} at most.</li>
<li>You can pause at any time.</li></ul>
${starting(base, first)}
<h2>How it works</h2>
<ul><li>The questions get harder or easier to fit you, so everybody finds some of them hard.</li>
${pilots === 0 ? null : html`<li>We try out new questions: at most ${pilots} of yours. They look like the others, and do not change your result.</li>`}
<li>There is one on each page. You cannot go back to a question that you have answered.</li>
<li>After a pause, carry on within 48 hours, on this device or another one, with the same link.</li>
<li>If the connection is lost, your answer is kept.</li>
${link.subjects.some(({ subject }) => subject === 'maths') ? html`<li>In maths, each question says whether you may use a calculator. Paper and a pen are fine.</li>` : null}
<li>Please answer without help from other people.</li></ul>
${many ? html`<p>There are ${link.subjects.length} parts. You can do each one on another day:</p><dl class="facts">${link.subjects.map(({ subject }) => html`<div><dt>${subjectNames[subject]}</dt><dd>Up to ${inMinutes(limitOf(link, subject))}</dd></div>`)}</dl>` : null}
${extra_time_pct === 0 ? null : html`<p class="note">Your extra time of ${extra_time_pct}% is included.</p>`}
<p>If this is not your name, close this page and tell your provider. The link works until ${dayInLondon(expires_at.getTime())}.</p>`,
  };
}

/** Says when the learner may take a subject again. */
function waitWords({ wait, invitation }: Link, names: Names): Content {
  const { subject, lastMs, fromMs } = wait!;
  const isInTime = fromMs < invitation.expires_at.getTime();
  return html`<p>You took ${subjectNames[subject]} on ${dayInLondon(lastMs)}. You can take it again from <strong>${dayInLondon(fromMs)}</strong>.</p>
<p>${isInTime ? 'Come back then with this link.' : 'This link ends before that day. Ask your provider for a new one.'} If you need to take it sooner, ask ${named(names.organisation)}.</p>`;
}

export function waitPage(link: Link, names: Names): Page {
  const title = `It is too early for ${subjectNames[link.wait!.subject]}`;
  return { title, main: html`<h1>${title}</h1>${waitWords(link, names)}` };
}

/** Asks for the start code, which a supervisor gives the learner when it is time to start. */
export function startCodePage(base: string, link: Link, wrong: boolean): Page {
  const subject = link.next!;
  const title = 'Start code';
  return {
    title: `${wrong ? 'Error: ' : ''}${title}`,
    subject: subjectNames[subject],
    main: html`${wrong ? errorSummary('That code does not work', 'code', 'Ask your supervisor for a new code') : null}<h1>${title}</h1>
<p>Your supervisor gives you a code of six digits when it is time to start.</p>
<form method="post" action="${base}/start?refused">${subjectOf(subject)}<div class="field"><label for="code">Code</label><input type="text" id="code" name="code" inputmode="numeric" autocomplete="off"${wrong ? describedByError : null}></div><div class="actions"><button type="submit">Start ${subjectNames[subject]}</button></div></form>`,
  };
}

export function pausedPage(base: string, sitting: SittingRow, until: Date): Page {
  const left = sitting.time_limit_ms - sitting.used_ms;
  return {
    title: 'Paused',
    subject: subjectNames[sitting.subject],
    main: html`<h1>Your assessment is paused</h1>
<p>Your answers are safe. ${timeLeft(left)}: the clock has stopped.</p>
<p>Carry on by <strong>${momentInLondon(until.getTime())}</strong>, on this device or another one, with the same link. After that this assessment is closed.</p>
<form method="post" action="${base}/continue"><div class="actions"><button type="submit">Carry on</button></div></form>`,
  };
}

const whyOver: Record<SittingStop['reason'], string> = {
  precise: 'You have answered all the questions.',
  max_items: 'You have answered all the questions.',
  no_items: 'You have answered all the questions.',
  time_limit: 'The time is up. A question that was still on the screen does not count.',
  idle: 'This assessment was closed, because it was not used for 48 hours.',
};

export function checkPage(
  base: string,
  sitting: SittingRow,
  counts: { answered: number; skipped: number; pauses: number },
  names: Names,
  missing = false,
): Page {
  const { reason } = JSON.parse(sitting.stop!) as SittingStop;
  return {
    title: `${missing ? 'Error: ' : ''}Check and send`,
    subject: subjectNames[sitting.subject],
    main: html`${missing ? errorSummary('One thing is missing', 'own', 'Tick the box to say that the answers are your own') : null}
<h1>Check and send</h1>
<p>${whyOver[reason]}</p>
<dl class="facts"><div><dt>Questions answered</dt><dd>${counts.answered}</dd></div><div><dt>Questions skipped</dt><dd>${counts.skipped}</dd></div><div><dt>Time used, without pauses</dt><dd>${inMinutes(sitting.used_ms)}</dd></div>${counts.pauses === 0 ? null : html`<div><dt>Pauses</dt><dd>${counts.pauses}</dd></div>`}</dl>
<h2>Declaration</h2>
<form method="post" action="${base}/finish"><input type="hidden" name="sitting" value="${sitting.sitting_id}">
<p>I am ${named(names.learner)}.</p>
<div class="option"><input type="checkbox" name="own" value="yes" id="own"${missing ? describedByError : null}><label for="own">${declarationText}</label></div>
<p>When you send your answers, ${named(names.organisation)} gets your result immediately.</p>
<div class="actions"><button type="submit">Send my answers</button></div></form>`,
  };
}

const describedByError = attributes({ 'aria-invalid': 'true', 'aria-describedby': 'error-text' });

const titles = {
  void: () => 'There is no result',
  erased: () => 'Nothing is kept here any more',
  removed: () => 'This result is not here any more',
  result: (subject: Subject) => `Your ${subjectNames[subject]} result`,
};

const titleOf = ({ kind, subject }: Closing) => titles[kind](subject);

export function closingPage(
  base: string,
  link: Link,
  last: Closing,
  earlier: readonly { subject: Subject; level: string; address: string }[],
  names: Names,
): Page {
  const title = titleOf(last);
  return {
    title,
    subject: subjectNames[last.subject],
    main: html`<h1>${title}</h1>${closingText(last, names)}
${last.kind === 'result' ? html`<p><a class="button second" href="${last.address}">Save or print this result</a></p><p>A computer worked it out from your answers. If you think that it is wrong, <a href="${last.address}#ask">ask for a person to look at it</a>.</p>` : null}
${earlier.length === 0 ? null : html`<h2>Your other results</h2><dl class="facts">${earlier.map(({ subject, level, address }) => html`<div><dt><a href="${address}">${subjectNames[subject]}</a></dt><dd>${level}</dd></div>`)}</dl>`}
<h2>What comes next</h2>${next(base, link, last, names)}`,
  };
}

/** The page that the learner keeps: it prints well, and its URL shows the result for a year. */
export function resultPage(last: Closing, names: Names, untilMs: number, asked: Asked): Page {
  const { again } = asked;
  const text = html`${closingText(last, names)}
${last.kind === 'erased' ? null : reviewPart(last, names.organisation, asked)}`;
  return {
    title: `${again === null ? '' : 'Error: '}${titleOf(last)}`,
    subject: subjectNames[last.subject],
    main:
      last.kind !== 'result'
        ? html`<h1>${titleOf(last)}</h1>${text}`
        : html`${again === null ? null : errorSummary('Please look at what you wrote', 'text', again.problem)}<h1>${titleOf(last)}</h1>
<dl class="facts"><div><dt>Name</dt><dd>${named(names.learner)}</dd></div><div><dt>Provider</dt><dd>${named(names.organisation)}</dd></div><div><dt>Date</dt><dd>${dayInLondon(last.assessedMs)}</dd></div></dl>
${text}
<div class="unprinted"><p><button type="button" class="second" id="print" hidden>Print, or save as PDF</button></p>
<p>This page stays at this address until <strong>${dayInLondon(untilMs)}</strong>. Save the address or keep a print, and give the address only to people who may see your result.</p></div>`,
  };
}

function closingText(last: Closing, names: Names): Content {
  if (last.kind === 'void')
    return html`<p>Too few questions were answered to say anything about your level. Nothing was recorded. You can start again, at no cost.</p>`;
  if (last.kind === 'removed')
    return html`<p>${named(names.organisation)} has removed this result. Please ask there if you want to know more.</p>`;
  if (last.kind !== 'result')
    return html`<p>What was kept of this assessment, and of the person who sat it, has been deleted.</p>`;
  const { level, sentences } = resultWords(last.content, last.byPerson);
  return html`<div class="result"><p>${subjectNames[last.subject]}</p><p class="level">${level}</p></div>
${last.unfinished ? html`<p class="note">This assessment was closed, because it was not used for 48 hours. The result comes from the questions that you had answered.</p>` : null}
${last.few ? html`<p class="note">You answered fewer questions than usual, so this result is less sure.</p>` : null}
${last.repeated === null ? null : html`<p class="note">You had seen ${last.repeated.questions} of these ${last.repeated.of} questions before. If you remembered them, your level may look higher than it is.</p>`}
${sentences.map((sentence) => html`<p>${sentence}</p>`)}
<p>This is a guide to the right course for you. It is not a qualification. It is provisional: the questions are new, and we are still finding out how hard they are.</p>
<h2>Area by area</h2>${areasOf(last.content)}`;
}

function areasOf({ domains, recommended_next_level: next }: ResultContent): Content {
  if (domains.every(({ compared }) => compared === null))
    return html`<p>You answered too few questions to compare your areas.</p>`;
  const hint = domains.some((domain) => nextWords(domain, next) !== '');
  return html`${hint ? html`<p>Some areas are harder than others, so do not compare their numbers.</p>` : null}<dl class="facts areas">${domains.map((domain) => html`<div><dt>${domain.name}</dt><dd>${areaWords(domain)}${sureWords(domain)}.${nextWords(domain, next)}</dd></div>`)}</dl>`;
}

function next(base: string, link: Link, last: Closing, names: Names): Content {
  if (link.wait !== null) return waitWords(link, names);
  if (link.next === null || link.expired)
    return last.kind === 'removed' || last.kind === 'erased'
      ? html`<p>There is nothing more to do here. You can close this page now.</p>`
      : html`<p>You have finished. ${named(names.organisation)} has your ${link.subjects.length > 1 ? 'results' : 'result'} and will talk with you about what to do next. You can close this page now.</p>`;
  const again = last.kind === 'void' && last.subject === link.next;
  return html`<p>${again ? 'You can start again' : `Next is ${subjectNames[link.next]}`}: up to ${inMinutes(limitOf(link, link.next))}. You can do it now, or come back with the same link until ${dayInLondon(link.invitation.expires_at.getTime())}.</p>${starting(base, link.next)}`;
}
