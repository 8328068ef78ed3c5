import type { Content, Markup } from '../../../platform/html/html.ts';
import { attributes, html } from '../../../platform/html/html.ts';
import { styleAsset } from '../../../platform/html/assets.ts';
import type { Membership, Session } from '../../../organisations/users/sessions.ts';
import type { Faults } from './form.ts';

/** The console's pages load one style sheet from the service itself, and nothing else from anywhere. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // With no-referrer, browsers would send forms with `Origin: null`.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
};

export const consoleStyle = styleAsset('console', new URL('style.css', import.meta.url));

export const consoleName = 'Assessment results';

export type Page = {
  /**
   * The heading, and the first part of the document's title, which browsers keep and carry elsewhere: words of the
   * service, never what somebody typed.
   */
  title: string;
  /** The heading where it says more than the title may: whom or what the page is about, by name. */
  heading?: Content;
  /** What the page is for, in a line, where what it shows doesn't begin with that. */
  says?: string;
  main: Content;
  /** Above the heading: where the page hangs. */
  back?: { to: string; label: string };
  /** What is wrong with the form that the page shows again (422). */
  faults?: Faults;
};

/** How a link of the navigation stands to the page that is open: it leads to it, or to what it belongs to. */
type Here = 'page' | 'true' | null;

/** A part of the navigation. */
export type MenuSection = {
  label: string;
  /** Its first page. */
  to: string;
  here: Here;
  pages: readonly { to: string; label: string; here: Here }[];
};

/** What stands around a page: nothing of an organisation before somebody has signed in. */
export type Frame = {
  session: Session | null;
  organisation: Membership | null;
  /** The organisation's pages that the person may open. */
  menu: readonly MenuSection[];
  /** Where what is typed into the search goes; null for whom there is nothing to find. */
  search: string | null;
};

export const noFrame: Frame = { session: null, organisation: null, menu: [], search: null };

/** Names may be written from right to left: each keeps to its own direction. */
export const name = (text: string): Markup => html`<bdi>${text}</bdi>`;

function header({ session, organisation, search }: Frame): Markup {
  return html`<header class="top"><div class="wide"><p class="name"><a href="/console">${consoleName}</a></p>${
    organisation === null
      ? null
      : html`<p class="organisation">${name(organisation.name)}${session!.memberships.length > 1 ? html` <a href="/console/organisations">Change<span class="unseen"> organisation</span></a>` : null}</p>`
  }${
    search === null
      ? null
      : html`<form class="find" role="search" method="post" action="${search}"><label class="unseen" for="find">Reference or id</label><input type="search" id="find" name="reference" autocomplete="off" spellcheck="false" placeholder="Reference or id"><button class="plain">Find</button></form>`
  }${
    session === null
      ? null
      : html`<div class="person"><a href="/console/account">${name(session.full_name)}</a><form method="post" action="/console/sign-out"><button class="plain">Sign out</button></form></div>`
  }</div></header>`;
}

const menuLink = ({ to, label, here }: { to: string; label: string; here: Here }): Markup =>
  html`<a href="${to}"${attributes({ 'aria-current': here })}>${label}</a>`;

/**
 * Where there is room, the style sheet shows the parts in one line and the pages of the one that is open below it; where
 * there is none, all of it is folded up. Who has one part only sees its pages.
 */
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
<body><a class="skip" href="#main">Skip to the main part</a>
${header(frame)}${menu(frame)}
<main id="main" class="wide" tabindex="-1">${page.back === undefined ? null : html`<p class="back"><a href="${page.back.to}">${page.back.label}</a></p>`}<h1>${page.heading ?? page.title}</h1>${page.says === undefined ? null : html`<p>${page.says}</p>`}
${page.main}</main></body></html>`.text
  }`;
}
