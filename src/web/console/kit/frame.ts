import { type Content, type Markup, attributes, html } from '../../../platform/html/html.ts';
import { scriptAsset, styleAsset } from '../../../platform/html/assets.ts';
import type { Membership, Session } from '../../../organisations/users/sessions.ts';
import type { Faults } from './form.ts';

/** The policy lets a page load style sheets, pictures and scripts of the service only, and nothing inline. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // The policy no-referrer would make browsers send forms with `Origin: null`, which we refuse from older browsers.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
};

export const consoleStyle = styleAsset('console', new URL('style.css', import.meta.url));
/** Saves clicks where scripts run: selecting all, keys, copying, progress. Every page works without it. */
export const consoleScript = scriptAsset('console', new URL('console.js', import.meta.url));

export const consoleName = 'Assessment results';

export type Page = {
  /** Browsers keep titles in their history, so a title must not contain text that a person typed. */
  title: string;
  /** The heading, if it differs from the title because it contains a name. */
  heading?: Content;
  says?: string;
  main: Content;
  /** Links and buttons to the right of the heading, the most frequent action first. */
  actions?: Content;
  back?: { to: string; label: string };
  /** Faults of the form on the page. A page with faults has status 422. */
  faults?: Faults;
};

/** `here`, the value of `aria-current`: the page itself, or a page below it. */
type Entry = { to: string; label: string; here: 'page' | 'true' | null };

export type MenuSection = { label: string; pages: readonly Entry[] };

/** What the parts around a page show. Before sign-in the frame names no organisation. */
export type Frame = {
  session: Session | null;
  organisation: Membership | null;
  menu: readonly MenuSection[];
  /** The URL of the search form; null outside an organisation. */
  search: string | null;
};

export const noFrame: Frame = { session: null, organisation: null, menu: [], search: null };

/** Isolates a name, so that right-to-left letters do not reorder the text around it. */
export const name = (text: string): Markup => html`<bdi>${text}</bdi>`;

/** Three bars that rise: levels. */
const mark = html`<svg viewBox="0 0 24 24" aria-hidden="true"><rect x="2" y="14" width="5" height="8" rx="1"></rect><rect x="9.5" y="8" width="5" height="14" rx="1"></rect><rect x="17" y="2" width="5" height="20" rx="1"></rect></svg>`;

function header({ session, search }: Frame): Markup {
  return html`<header class="top"><div class="wide"><p class="name"><a href="/console">${mark}${consoleName}</a></p>${
    search === null
      ? null
      : html`<form class="find" role="search" method="post" action="${search}"><label class="unseen" for="find">Names, references, pages</label><input type="search" id="find" name="reference" autocomplete="off" spellcheck="false" placeholder="Search names, references, pages" aria-keyshortcuts="/"><button class="unseen">Find</button></form>`
  }${
    session === null
      ? null
      : html`<div class="person"><a href="/console/account">${name(session.full_name)}</a><form method="post" action="/console/sign-out"><button class="plain">Sign out</button></form></div>`
  }</div></header>`;
}

/** Wide screens show the menu at the side. Narrow screens fold it. */
function menu({ menu: sections, organisation, session }: Frame): Markup | null {
  if (sections.length === 0) return null;
  const change =
    session!.memberships.length > 1 &&
    html` <a href="/console/organisations">Change<span class="unseen"> organisation</span></a>`;
  const all = sections.map(
    ({ label, pages }) =>
      html`<div>${sections.length > 1 && html`<p class="section">${label}</p>`}<ul class="pages">${pages.map(({ to, label: words, here }) => html`<li><a href="${to}"${attributes({ 'aria-current': here })}>${words}</a></li>`)}</ul></div>`,
  );
  return html`<nav class="menu" aria-label="Pages"><details><summary>Menu</summary><div class="all"><p class="organisation">${name(organisation!.name)}${change}</p>${all}</div></details></nav>`;
}

export function documentOf(page: Page, frame: Frame): string {
  const of = frame.organisation === null ? [] : [frame.organisation.name];
  const isFaulty = Object.keys(page.faults ?? {}).length > 0;
  const title = [`${isFaulty ? 'Error: ' : ''}${page.title}`, ...of, consoleName].join(' – ');
  const sections = menu(frame);
  return `<!doctype html>\n${
    html`<html lang="en-GB" class="schemes"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark"><title>${title}</title>
<link rel="stylesheet" href="${consoleStyle.path}"><script src="${consoleScript.path}" defer></script></head>
<body><a class="skip" href="#main">Skip to main content</a>
${header(frame)}<div class="${sections === null ? 'alone-page' : 'with-menu'}">${sections}
<main id="main" tabindex="-1">${page.back === undefined ? null : html`<p class="back"><a href="${page.back.to}">${page.back.label}</a></p>`}<div class="head"><h1>${page.heading ?? page.title}</h1>${page.actions === undefined ? null : html`<div class="actions">${page.actions}</div>`}</div>${page.says === undefined ? null : html`<p class="says">${page.says}</p>`}
${page.main}</main></div></body></html>`.text
  }`;
}
