import type { ResultContent } from '../assessments/body.ts';
import type { Content, Markup } from '../html.ts';
import { attributes, html } from '../html.ts';
import type { Subject } from '../scoring/levels.ts';
import { declarationText } from '../sittings/evidence.ts';
import type { Link } from '../sittings/link.ts';
import type { SittingStop } from '../sittings/step.ts';
import type { SittingRow } from '../sittings/store.ts';
import { standards } from '../sittings/standards.ts';
import { idleMs, timeLimitMs } from '../sittings/working-time.ts';
import type { Page } from './layout.ts';
import { dayInLondon, domainWords, inMinutes, momentInLondon, resultWords, subjectNames, timeLeft } from './words.ts';

/** Whose assessment it is. */
export type Names = { learner: string; organisation: string };

/** Names may be written from right to left: each keeps to its own direction. */
const name = (text: string): Markup => html`<bdi>${text}</bdi>`;

const limitOf = (link: Link, subject: Subject): number =>
  timeLimitMs(standards[subject].timeLimitMs, link.invitation.extra_time_pct);

function startForm(base: string, subject: Subject): Markup {
  return html`<form method="post" action="${base}/start"><div class="actions"><button type="submit">Start ${subjectNames[subject]}</button></div></form>`;
}

export function welcomePage(base: string, link: Link, names: Names): Page {
  const { extra_time_pct, expires_at } = link.invitation;
  const many = link.subjects.length > 1;
  return {
    title: 'Before you start',
    main: html`<h1>Hello ${name(names.learner)}</h1>
<p>${name(names.organisation)} asks you to take ${many ? `${link.subjects.length} assessments` : 'an assessment'}, to find the level that is right for you. You cannot pass or fail.</p>
<dl class="facts">${link.subjects.map(({ subject }) => html`<div><dt>${subjectNames[subject]}</dt><dd>Up to ${inMinutes(limitOf(link, subject))}</dd></div>`)}</dl>
${extra_time_pct === 0 ? null : html`<p class="note">Your extra time of ${extra_time_pct}% is included.</p>`}
<h2>How it works</h2>
<ul><li>There are 20 to 40 questions${many ? ' in each' : ''}, one on each page. They get harder or easier to fit you, so everybody finds some of them hard.</li>
<li>You cannot go back to a question that you have answered.</li>
<li>You can pause. Carry on within 48 hours, on this device or another one, with the same link.</li>
<li>If the connection is lost, your answer is kept.</li>
<li>In maths, each question says whether you may use a calculator. Paper and a pen are fine.</li>
<li>Please answer by yourself. Nobody should help you with the answers.</li></ul>
<p>If this is not your name, close this page and tell your provider. The link works until ${dayInLondon(expires_at.getTime())}.</p>
${startForm(base, link.next!)}`,
  };
}

export function pausedPage(base: string, sitting: SittingRow): Page {
  const left = sitting.time_limit_ms - sitting.used_ms;
  return {
    title: 'Paused',
    subject: subjectNames[sitting.subject],
    main: html`<h1>Your assessment is paused</h1>
<p>Your answers are safe. ${timeLeft(left)}: the clock has stopped.</p>
<p>Carry on by <strong>${momentInLondon(sitting.last_seen_at.getTime() + idleMs)}</strong>, on this device or another one, with the same link. After that this assessment is closed.</p>
<form method="post" action="${base}/continue"><div class="actions"><button type="submit">Carry on</button></div></form>`,
  };
}

const whyOver: Record<SittingStop['reason'], string> = {
  precise: 'You have answered all the questions.',
  max_items: 'You have answered all the questions.',
  no_items: 'You have answered all the questions.',
  time_limit: 'The time is up. A question that was still on the screen does not count.',
  idle: 'This assessment was closed, because nobody had used it for 48 hours.',
};

export function checkPage(
  base: string,
  sitting: SittingRow,
  counts: { answered: number; skipped: number },
  names: Names,
  missing = false,
): Page {
  const { reason } = JSON.parse(sitting.stop!) as SittingStop;
  return {
    title: `${missing ? 'Error: ' : ''}Check and send`,
    subject: subjectNames[sitting.subject],
    main: html`${missing ? html`<div class="error" role="alert" tabindex="-1" autofocus><h2>One thing is missing</h2><p><a href="#own" id="error-text">Tick the box to say that the answers are your own</a></p></div>` : null}
<h1>Check and send</h1>
<p>${whyOver[reason]}</p>
<dl class="facts"><div><dt>Questions answered</dt><dd>${counts.answered}</dd></div><div><dt>Questions skipped</dt><dd>${counts.skipped}</dd></div><div><dt>Time used</dt><dd>${inMinutes(sitting.used_ms)}</dd></div></dl>
<h2>Declaration</h2>
<form method="post" action="${base}/finish"><input type="hidden" name="sitting" value="${sitting.sitting_id}">
<p>I am ${name(names.learner)}.</p>
<div class="option"><input type="checkbox" name="own" value="yes" id="own"${missing ? describedByError : null}><label for="own">${declarationText}</label></div>
<p>When you send your answers, ${name(names.organisation)} gets your result at once.</p>
<div class="actions"><button type="submit">Send my answers</button></div></form>`,
  };
}

const describedByError = attributes({ 'aria-invalid': 'true', 'aria-describedby': 'error-text' });

/** What a closing page tells of a sitting that is over. */
export type Closing =
  | { kind: 'result'; subject: Subject; content: ResultContent; unfinished: boolean }
  | { kind: 'withdrawn'; subject: Subject }
  | { kind: 'void'; subject: Subject };

export function closingPage(
  base: string,
  link: Link,
  last: Closing,
  earlier: readonly { subject: Subject; level: string }[],
  names: Names,
): Page {
  const title =
    last.kind === 'result'
      ? `Your ${subjectNames[last.subject]} result`
      : last.kind === 'void'
        ? 'There is no result'
        : 'This result was withdrawn';
  return {
    title,
    subject: subjectNames[last.subject],
    main: html`<h1>${title}</h1>${closing(last, names)}
${earlier.length === 0 ? null : html`<h2>Your other results</h2><dl class="facts">${earlier.map(({ subject, level }) => html`<div><dt>${subjectNames[subject]}</dt><dd>${level}</dd></div>`)}</dl>`}
<h2>What comes next</h2>${next(base, link, last, names)}`,
  };
}

function closing(last: Closing, names: Names): Content {
  if (last.kind === 'void')
    return html`<p>Too few questions were answered to say anything about your level. Nothing was recorded, and you can start again. It costs nobody anything.</p>`;
  if (last.kind === 'withdrawn')
    return html`<p>${name(names.organisation)} has withdrawn this result. Please ask there if you want to know more.</p>`;
  const { level, sentences } = resultWords(last.content);
  return html`<div class="result"><p>${subjectNames[last.subject]}</p><p class="level">${level}</p></div>
${last.unfinished ? html`<p class="note">This assessment was closed, because nobody had used it for 48 hours. The result comes from the questions that you had answered.</p>` : null}
<p>${sentences.join(' ')}</p>
<p>This is a guide to the right course for you. It is not a qualification. It is provisional: the questions are new, and we are still finding out how hard they are.</p>
<h2>Area by area</h2><dl class="facts">${last.content.domains.map((domain) => html`<div><dt>${domain.name}</dt><dd>${domainWords(domain.status)}</dd></div>`)}</dl>`;
}

function next(base: string, link: Link, last: Closing, names: Names): Content {
  if (link.next === null || link.expired)
    return last.kind === 'withdrawn'
      ? html`<p>There is nothing more to do here. You can close this page now.</p>`
      : html`<p>You have finished. ${name(names.organisation)} has your ${link.subjects.length > 1 ? 'results' : 'result'} and will talk with you about what to do next. You can close this page now.</p>`;
  const again = last.kind === 'void' && last.subject === link.next;
  return html`<p>${again ? 'You can start again' : `Next is ${subjectNames[link.next]}`}: up to ${inMinutes(limitOf(link, link.next))}. You can do it now, or come back with the same link until ${dayInLondon(link.invitation.expires_at.getTime())}.</p>${startForm(base, link.next)}`;
}
