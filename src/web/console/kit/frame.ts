import { type Content, type Markup, attributes, html } from '../../../platform/html/html.ts';
import { styleAsset } from '../../../platform/html/assets.ts';
import type { Membership, Session } from '../../../organisations/users/sessions.ts';
import type { Faults } from './form.ts';

/** The policy lets a page load style sheets and pictures of the service only, and no script. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // The policy no-referrer would make browsers send forms with `Origin: null`, which we refuse from older browsers.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
};

export const consoleStyle = styleAsset('console', new URL('style.css', import.meta.url));

export const consoleName = 'Assessment results';

export type Page = {
  /** Browsers keep titles in their history, so a title must not contain text that a person typed. */
  title: string;
  /** The heading, if it differs from the title because it contains a name. */
  heading?: Content;
  says?: string;
  main: Content;
  back?: { to: string; label: string };
  /** Faults of the form on the page. A page with faults has status 422. */
  faults?: Faults;
};

/** The value of `aria-current`: the page itself, or a page below it. */
type Here = 'page' | 'true' | null;

export type MenuSection = Entry & { pages: readonly Entry[] };
type Entry = { to: string; label: string; here: Here };

/** What the parts around a page show. Before sign-in the frame names no organisation. */
export type Frame = {
  session: Session | null;
  organisation: Membership | null;
  menu: readonly MenuSection[];
  /** The URL of the search form; null for roles without search. */
  search: string | null;
};

export const noFrame: Frame = { session: null, organisation: null, menu: [], search: null };

/** Isolates a name, so that right-to-left letters do not reorder the text around it. */
export const name = (text: string): Markup => html`<bdi>${text}</bdi>`;

function header({ session, organisation, search }: Frame): Markup {
  return html`<header class="top"><div class="wide"><p class="name"><a href="/console">${consoleName}</a></p>${
    organisation === null
      ? null
      : html`<p class="organisation">${name(organisation.name)}${session!.memberships.length > 1 ? html` <a href="/console/organisations">Change<span class="unseen"> organisation</span></a>` : null}</p>`
  }${
    search === null
      ? null
      : html`<form class="find" role="search" method="post" action="${search}"><label class="unseen" for="find">Reference or ID</label><input type="search" id="find" name="reference" autocomplete="off" spellcheck="false" placeholder="Reference or ID"><button class="plain">Find</button></form>`
  }${
    session === null
      ? null
      : html`<div class="person"><a href="/console/account">${name(session.full_name)}</a><form method="post" action="/console/sign-out"><button class="plain">Sign out</button></form></div>`
  }</div></header>`;
}

const menuLink = ({ to, label, here }: { to: string; label: string; here: Here }): Markup =>
  html`<a href="${to}"${attributes({ 'aria-current': here })}>${label}</a>`;

/** A wide screen shows the sections in a row, and the open section's pages below. A narrow screen collapses both. */
function menu({ menu: sections }: Frame): Markup | null {
  if (sections.length === 0) return null;
  const pages = (section: MenuSection) =>
    html`<ul class="pages">${section.pages.map((page) => html`<li>${menuLink(page)}</li>`)}</ul>`;
  const [only] = sections;
  const all =
    sections.length === 1
      ? pages(only!)
      : html`<ul class="sections">${sections.map((section) => html`<li${attributes({ class: section.here === null ? null : 'here' })}>${menuLink(section)}${pages(section)}</li>`)}</ul>`;
  return html`<nav class="menu" aria-label="Pages"><details><summary>Menu</summary><div class="wide">${all}</div></details></nav>`;
}

export function documentOf(page: Page, frame: Frame): string {
  const of = frame.organisation === null ? [] : [frame.organisation.name];
  const title = [page.title, ...of, consoleName].join(' – ');
  return `<!doctype html>\n${
    html`<html lang="en-GB" class="schemes"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark"><title>${title}</title>
<link rel="stylesheet" href="${consoleStyle.path}"></head>
<body><a class="skip" href="#main">Skip to main content</a>
${header(frame)}${menu(frame)}
<main id="main" class="wide" tabindex="-1">${page.back === undefined ? null : html`<p class="back"><a href="${page.back.to}">${page.back.label}</a></p>`}<h1>${page.heading ?? page.title}</h1>${page.says === undefined ? null : html`<p>${page.says}</p>`}
${page.main}</main></body></html>`.text
  }`;
}
