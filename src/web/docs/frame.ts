import { posix } from 'node:path';
import { type Content, attributes, html } from '../../platform/html/html.ts';
import { type Text, beginning } from './markdown.ts';

export type Page = Text & {
  path: string;
  /** The name in the table of contents, if the title is too long for it. */
  name: string;
  group: string;
  listed: boolean;
  /** More words for the search. */
  words?: string;
  source: string;
};

export const siteTitle = 'Assessment Results Service';

/** Links are relative, so that the site works on a server and in a folder. */
export function relative(from: string, to: string): string {
  return posix.relative(posix.dirname(from), to) || posix.basename(to);
}

export function sectionsOf(pages: readonly Page[]): Map<string, Page[]> {
  const listed = pages.filter((one) => one.listed);
  return Map.groupBy(listed, (one) => one.group);
}

function contents(pages: readonly Page[], page: Page): Content {
  return [...sectionsOf(pages)].map(
    ([group, ofGroup]) => html`<details ${attributes({ open: group === page.group })}><summary>${group}</summary>
<ul>${ofGroup.map(
      (one) =>
        html`<li><a ${attributes({ href: relative(page.path, one.path), 'aria-current': one === page ? 'page' : null })}>${one.name}</a></li>`,
    )}</ul></details>`,
  );
}

function onThisPage(page: Page): Content {
  const deepest = page.headings.filter((one) => one.depth === 2).length > 24 ? 2 : 3;
  const shown = page.headings.filter((one) => one.depth <= deepest);
  return html`<ul>${shown.map((one) => html`<li class="${one.depth === 2 ? 'section' : 'part'}"><a href="#${one.id}">${one.text}</a></li>`)}</ul>`;
}

function neighbours(pages: readonly Page[], page: Page): Content {
  const listed = pages.filter((one) => one.listed);
  const at = listed.indexOf(page);
  if (at === -1) return null;
  const link = (one: Page | undefined, rel: string, words: string): Content =>
    one === undefined
      ? html`<span></span>`
      : html`<a rel="${rel}" href="${relative(page.path, one.path)}"><span>${words}</span> ${one.name}</a>`;
  return html`<nav class="beside" aria-label="Previous and next page">${link(listed[at - 1], 'prev', 'Previous:')}${link(listed[at + 1], 'next', 'Next:')}</nav>`;
}

export function frame(pages: readonly Page[], page: Page): string {
  const to = (path: string) => relative(page.path, path);
  const root = posix.relative(posix.dirname(page.path), '');
  const title = page.title === siteTitle ? siteTitle : `${page.title} · ${siteTitle}`;
  const hasContents = page.headings.length > 1;
  return html`<!doctype html>
<html lang="en-GB" class="schemes" data-root="${root === '' ? '' : `${root}/`}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>
<meta name="description" content="${beginning(page.about, 200)}">
<link rel="stylesheet" href="${to('style.css')}"><script defer src="${to('search.js')}"></script></head><body>
<a class="skip" href="#site-content">Skip to the content</a>
<header class="top"><p class="name"><a href="${to('index.html')}">${siteTitle}</a></p>
<form role="search" aria-label="The documentation" hidden><label for="site-search">Search</label><input id="site-search" type="search" autocomplete="off" spellcheck="false" aria-controls="site-found" aria-describedby="site-keys"><span id="site-keys">/</span></form>
<section id="site-found" aria-label="Search results" hidden><p id="site-said" role="status"></p><ol id="site-results"></ol></section></header>
<details class="menu"><summary>All pages</summary><nav aria-label="All pages, short">${contents(pages, page)}</nav></details>
<div class="columns">
<nav class="side" aria-label="All pages">${contents(pages, page)}</nav>
<main id="site-content">
${hasContents ? html`<details class="menu here"><summary>On this page</summary><nav aria-label="On this page, short">${onThisPage(page)}</nav></details>` : null}
${page.body}
${neighbours(pages, page)}
<footer><p>Made from <code>${page.source}</code>.</p></footer>
</main>
${hasContents ? html`<nav class="toc" aria-label="On this page"><p>On this page</p>${onThisPage(page)}</nav>` : null}
</div></body></html>
`.text;
}
