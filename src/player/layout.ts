import type { Content, Markup } from '../html.ts';
import { html } from '../html.ts';
import { assets } from './assets.ts';

/** The pages load one style sheet and small scripts from the service itself, and nothing else from anywhere. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
};

export const serviceName = 'Skills assessment';

export type Page = {
  /** The first part of the document's title. */
  title: string;
  /** What stands at the right of the top bar. */
  subject?: string;
  main: Content;
  /** Loads the player's script, and the one that reads aloud. */
  scripts?: readonly ('player' | 'readAloud')[];
};

export function documentOf(page: Page): string {
  const title = [page.title, ...(page.subject === undefined ? [] : [page.subject]), serviceName].join(' – ');
  return `<!doctype html>\n${
    html`<html lang="en-GB"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${title}</title>
<link rel="stylesheet" href="${assets.style.path}">${page.scripts?.map((name): Markup => html`<script src="${assets[name].path}" defer></script>`)}</head>
<body><a class="skip" href="#main">Skip to the main part</a>
<header class="top"><div class="wide"><p class="name">${serviceName}</p>${page.subject === undefined ? null : html`<p>${page.subject}</p>`}</div></header>
<main id="main" class="wide">${page.main}</main></body></html>`.text
  }`;
}

/** An error page: what happened, and what to do. */
export function errorPage(title: string, ...paragraphs: Content[]): Page {
  return { title, main: html`<h1>${title}</h1>${paragraphs.map((paragraph) => html`<p>${paragraph}</p>`)}` };
}
