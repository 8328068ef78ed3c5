import { LRUCache } from 'lru-cache';
import type { App } from '../../platform/app.ts';
import { readOrganisation } from '../../organisations/organisations.ts';
import { scriptAsset, styleAsset } from '../../platform/html/assets.ts';
import { type Content, type Markup, html } from '../../platform/html/html.ts';
import { spokenText } from './spoken.ts';

/** The policy lets pages load only style sheets, scripts and pictures of the service. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
};

/** Isolates a name, so that right-to-left letters do not reorder the text around it. */
export const named = (text: string): Markup => html`<bdi>${text}</bdi>`;

const serviceName = 'Skills assessment';

export type Page = {
  title: string;
  subject?: string;
  main: Content;
  /** The text to read aloud; the default is `main`. */
  spoken?: Content;
  /** The name of the button that reads it. */
  hear?: string;
};

/** @param help whom to ask for help; null if the link is unknown */
export function documentOf(page: Page, help: Help | null = null): string {
  const title = [page.title, ...(page.subject === undefined ? [] : [page.subject]), serviceName].join(' – ');
  const spoken = spokenText(html`${page.spoken ?? page.main}`);
  return `<!doctype html>\n${
    html`<html lang="en-GB" class="schemes"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${title}</title>
<link rel="stylesheet" href="${assets.style.path}"><script src="${assets.player.path}" defer></script><script src="${assets.readAloud.path}" defer></script></head>
<body><a class="skip" href="#main">Skip to the main part</a>
<header class="top"><div class="wide"><p class="name">${serviceName}</p><button type="button" class="second read" id="read" hidden data-text="${spoken}" data-stop="Stop reading">${page.hear ?? 'Read aloud'}</button>${page.subject === undefined ? null : html`<p class="subject">${page.subject}</p>`}</div></header>
<main id="main" class="wide">${page.main}
<p id="say" class="say" role="status" data-wait="Sending. Please wait, and leave this page open." data-away="There is no connection just now. What you filled in is kept, and is sent as soon as the connection is back. Please leave this page open."></p></main>
${help === null ? null : footer(help)}</body></html>`.text
  }`;
}

function footer({ organisation, contact }: Help): Markup {
  return html`<footer class="wide"><p>Need help? ${contact === null ? html`Ask ${named(organisation)}.` : html`${named(organisation)}: ${named(contact)}`}</p></footer>`;
}

export function errorPage(title: string, ...paragraphs: Content[]): Page {
  return { title, main: html`<h1>${title}</h1>${paragraphs.map((paragraph) => html`<p>${paragraph}</p>`)}` };
}

/** A summary of the error. It takes the focus, and links to the field with the fault. */
export function errorSummary(title: string, target: string, message: string): Markup {
  return html`<div class="error" role="alert" tabindex="-1" autofocus><h2>${title}</h2><p><a href="#${target}" id="error-text">${message}</a></p></div>`;
}

export type Help = { organisation: string; contact: string | null };

/** If the contact changes, pages show the new one within this time. */
const keptMs = 60_000;

const kept = new WeakMap<App, LRUCache<number, Help & { atMs: number }>>();

function keptOf(app: App): LRUCache<number, Help & { atMs: number }> {
  let found = kept.get(app);
  if (found === undefined) kept.set(app, (found = new LRUCache({ max: 10_000 })));
  return found;
}

export async function helpOf(app: App, organisationId: number): Promise<Help> {
  const known = keptOf(app).get(organisationId);
  const nowMs = app.clock.nowMs();
  if (known !== undefined && Math.abs(nowMs - known.atMs) < keptMs) return known;
  const { name, contact } = await readOrganisation(app.db, organisationId);
  const read = { organisation: name, contact, atMs: nowMs };
  keptOf(app).set(organisationId, read);
  return read;
}

/** The cached contact, without a query, because the database may be down. */
export function knownHelp(app: App, organisationId: number): Help | null {
  return keptOf(app).get(organisationId) ?? null;
}

const file = (name: string) => new URL(name, import.meta.url);

export const assets = {
  style: styleAsset('player', file('style.css')),
  player: scriptAsset('player', file('player.js')),
  readAloud: scriptAsset('player', file('read-aloud.js')),
};
