import type { Answer, Problem } from '../../../engine/item-bank/mark.ts';
import { plainText } from '../../../engine/item-bank/markup.ts';
import type { Field, RenderModel, ScreenPart } from '../../../engine/item-bank/render-model.ts';
import { domainNames } from '../../../engine/item-bank/schema.ts';
import { type Markup, html } from '../../../platform/html/html.ts';
import { fieldHtml, optionId } from './field.ts';
import { figureHtml } from './figure.ts';
import { blocksHtml, dataTable, inlineHtml, marked } from './text.ts';

const stemId = 'question-text';

/** @param wanting the fields that need attention, which the error message describes */
export function itemHtml(
  model: RenderModel,
  answer: Answer | null,
  errorId: string | null,
  wanting: readonly Field[] = model.fields,
): Markup {
  const errorOf = (one: Field) => (wanting.includes(one) ? errorId : null);
  const field = (name: string): Markup => {
    const index = model.fields.findIndex((one) => one.name === name);
    const found = model.fields[index]!;
    return fieldHtml({ field: found, index, answer, error: errorOf(found), describedBy: null });
  };
  return html`${model.passage === null ? null : passageHtml(model.passage, model.stem)}
${model.calculator === null ? null : html`<p class="calculator">${model.calculator ? 'You may use a calculator.' : 'Answer without a calculator.'}</p>`}
<div id="${stemId}" class="stem">${blocksHtml(model.stem)}</div>
${model.figure === null ? null : figureHtml(model.figure)}
${model.task === null ? null : taskHtml(model.task, field)}
${model.surface === null ? null : surfaceHtml(model.surface)}
${
  model.task !== null
    ? null
    : model.type === 'ordering' || model.type === 'matching'
      ? html`<fieldset class="rows ${model.type}" aria-describedby="${stemId}"><legend>${model.type === 'ordering' ? 'Give each one its place: 1 comes first' : 'Choose one for each'}</legend>${model.fields.map((one) => field(one.name))}</fieldset>`
      : model.fields.map((one, index) =>
          fieldHtml({
            field: one,
            index,
            answer,
            error: errorOf(one),
            describedBy: stemId,
            spots: model.surface !== null,
          }),
        )
}`;
}

/** Shows the question before a long text, so that the learner knows what to look for. */
function passageHtml(passage: NonNullable<RenderModel['passage']>, stem: RenderModel['stem']): Markup {
  return html`<div class="ahead"><p class="genre">Read the text below to answer this:</p>${blocksHtml(stem)}</div>
<section class="passage" aria-labelledby="passage-title"><p class="genre">${passage.genre}</p><h2 id="passage-title">${passage.title}</h2>${blocksHtml(passage.blocks)}</section>`;
}

function taskHtml(task: NonNullable<RenderModel['task']>, field: (name: string) => Markup): Markup {
  return html`<section class="screen ${task.kind}" aria-labelledby="screen-title"><h2 id="screen-title">${task.title}</h2><div class="screen-body">${task.screen.map((part) => screenPart(part, field))}</div></section>`;
}

function screenPart(part: ScreenPart, field: (name: string) => Markup): Markup {
  switch (part.part) {
    case 'heading':
      return html`<h3>${inlineHtml(part.inline)}</h3>`;
    case 'text':
      return html`<p>${inlineHtml(part.inline)}</p>`;
    case 'address_bar':
      return html`<div class="browser">${part.tabs.length === 0 ? null : html`<ul class="tabs" aria-label="Open tabs">${part.tabs.map((tab) => html`<li>${tab}</li>`)}</ul>`}
<p class="address">${part.padlock === 'none' ? null : html`<span class="padlock">${part.padlock === 'closed' ? 'Padlock: closed' : 'Padlock: open'}</span>`} <span class="unseen">Address: </span><code>${part.address}</code></p></div>`;
    case 'details':
      return html`<dl class="details">${part.rows.map((row) => html`<div><dt>${row.name}</dt><dd>${inlineHtml(row.value)}</dd></div>`)}</dl>`;
    case 'message':
      return html`<div class="message"><p class="from"><strong>${part.from}</strong>${part.when === null ? null : html` <span>${part.when}</span>`}</p>${blocksHtml(part.blocks)}</div>`;
    case 'document':
      return html`<div class="document">${blocksHtml(part.blocks)}</div>`;
    case 'pop_up':
      return html`<div class="pop-up"><p><strong>${inlineHtml(part.heading)}</strong></p><p>${inlineHtml(part.inline)}</p></div>`;
    case 'sheet':
      return dataTable(
        part.caption,
        [html`<span class="unseen">Row</span>`, ...part.columns],
        part.rows.map((row) => [row.number, ...row.cells]),
        { rowHeads: true, className: 'data sheet' },
      );
    case 'table':
      return dataTable(
        part.caption,
        part.header.map(marked),
        part.rows.map((row) => row.map(marked)),
        { rowHeads: true },
      );
    case 'field':
      return field(part.name);
  }
}

/** The picture or text of a hotspot question. Touching a place chooses its option in the list below. */
function surfaceHtml(surface: NonNullable<RenderModel['surface']>): Markup {
  if (surface.kind === 'picture') {
    const at = new Map(surface.spots.map((spot, n) => [spot, n]));
    return html`<figure class="surface"><figcaption>${surface.description}</figcaption><div class="board" aria-hidden="true">${rowsOf(
      surface.spots,
    ).map(
      (row) =>
        html`<div>${row.map(
          (spot) => html`
<label for="${optionId(0, at.get(spot)!)}" class="place place-${at.get(spot)!}${spot.height > 20 ? ' tall' : ''}">${spot.label}</label>`,
        )}</div>`,
    )}</div></figure>`;
  }
  let n = 0;
  return html`<div class="surface text">${surface.lines.map((line) => html`<p>${inlineHtml(line, (spot) => html`<label for="${optionId(0, n)}" class="place place-${n++}">${spot.text}</label>`)}</p>`)}</div>`;
}

/** Sorts the places of a picture into rows from top to bottom, each from left to right. */
function rowsOf<T extends { x: number; y: number; height: number }>(spots: readonly T[]): T[][] {
  const rows: T[][] = [];
  for (const spot of [...spots].sort((a, b) => a.y - b.y)) {
    const row = rows.at(-1);
    if (row !== undefined && spot.y < row[0]!.y + row[0]!.height / 2) row.push(spot);
    else rows.push([spot]);
  }
  return rows.map((row) => row.sort((a, b) => a.x - b.x));
}

/** The fields that need attention: the empty ones of an incomplete answer, otherwise all. */
export function wantingFields(problem: Problem, { fields }: RenderModel, answer: Answer): readonly Field[] {
  const isEmpty = ({ name }: Field) => [answer[name] ?? []].flat().every((value) => value.trim() === '');
  const empty = problem === 'incomplete' ? fields.filter(isEmpty) : [];
  return empty.length === 0 ? fields : empty;
}

/** Reading asks for no decimals and no units, Entry 1 for no decimals, and only maths from Level 1 on for fractions. */
function numberText({ subject, level }: RenderModel): string {
  if (subject === 'english') return 'Write one number. Use digits, not words';
  const unit = 'You can leave out the unit';
  if (level === 'entry' || level === 'entry1') return `Write one number. Use digits, not words. ${unit}`;
  const examples = subject === 'maths' && !level.startsWith('entry') ? '12, 3.5 or 3/4' : '12 or 3.5';
  return `Write one number in digits, such as ${examples}. Use a point for decimals. ${unit}`;
}

/** Says how to write the answer, but never whether the answer is right. */
export function problemText(problem: Problem, model: RenderModel): string {
  switch (problem) {
    case 'not_a_number':
      return numberText(model);
    case 'incomplete':
      if (model.type === 'ordering') return 'Give every one a place';
      return model.task === null ? 'Choose one for each' : 'Some parts are still empty. Fill in every part';
    case 'am_or_pm':
      return 'Write the time with am or pm, such as 2:15 pm';
    case 'clock_24':
      return 'Write the time as a 24-hour time, such as 09:15';
    case 'time_digits':
      return 'Write the time in digits, such as 9:30';
    case 'date_digits':
      return 'Write the day, month and year in digits, such as 25/12/2024';
    case 'repeated':
      return 'Use each place once only';
    case 'wrong_count':
      return `${plainText(model.fields[0]!.label)}, no more and no fewer`;
  }
}

/** What to do, without the measured text, for a question that must not be read aloud. */
export function instructions({ type, passage, domain, fields }: RenderModel): Markup {
  const first = plainText(fields[0]!.label);
  const how: Record<RenderModel['type'], string> = {
    single_choice: first,
    multiple_choice: first,
    hotspot: first,
    numeric: 'Write a number in the box',
    short_text: 'Write your answer in the box',
    ordering: 'Give each one its place. 1 comes first',
    matching: 'Choose one for each',
    task: 'Fill in every part of the screen',
  };
  return html`<p>This question is about ${domainNames[domain].toLowerCase()}, so its words are not read aloud.</p>
<p>${passage === null ? 'Read the question yourself.' : 'Read the question and the text yourself.'}</p><p>${how[type]}.</p><p>Then choose “Next question”, at the end of the page. If you do not know the answer, you can skip the question.</p>`;
}
