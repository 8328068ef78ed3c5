import { readFileSync } from 'node:fs';
import { hash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { App } from '../../platform/app.ts';
import { type Content, Markup, html } from '../../platform/html/html.ts';
import { splitQuery } from '../../api/http/query.ts';
import { type Vouching, isSha256, vouch } from '../../records/evidence/verify.ts';
import { monthNames } from '../../platform/time/clock.ts';

const file = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8').trim();
const style = file('style.css');
const script = file('verify.js');

const digest = (text: string) => hash('sha256', text, 'base64');
const policy = `default-src 'none'; style-src 'sha256-${digest(style)}'; script-src 'sha256-${digest(script)}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

const words: Record<Vouching['verdict'], { head: string; text: string }> = {
  current: {
    head: 'This file is genuine and current',
    text: 'The service made exactly this file as evidence of a result that is still valid.',
  },
  superseded: {
    head: 'This file is genuine, but not the latest',
    text: 'The service made exactly this file, but the result has been amended since. Ask the provider for the current edition.',
  },
  withdrawn: {
    head: 'This file is genuine, but its result was withdrawn',
    text: 'The service made exactly this file, but the provider has withdrawn the result since. The file is no longer evidence of a result.',
  },
  test: {
    head: 'This file is a test, and evidence of nothing',
    text: 'The service made exactly this file in a sandbox, where providers try things out with learners and results that they make up.',
  },
  unknown: {
    head: 'The service does not vouch for this file',
    text: 'No file that this service has made has this hash. It may have been changed, even by saving it again in another program; or it is not from this service.',
  },
};

function day(dateTime: string): string {
  const [year, month, date] = dateTime.slice(0, 10).split('-').map(Number) as [number, number, number];
  return `${date} ${monthNames[month - 1]} ${year}`;
}

function verdictPart(sha256: string, vouching: Vouching): Content {
  const { head, text } = words[vouching.verdict];
  return html`<section class="verdict ${vouching.verdict}" aria-labelledby="verdict"><h2 id="verdict">${head}</h2><p>${text}</p>
<dl>${vouching.edition === null ? '' : html`<dt>Edition</dt><dd>${vouching.edition}, made on ${day(vouching.made_at!)}</dd>`}${vouching.withdrawn_at === null ? '' : html`<dt>Withdrawn</dt><dd>${day(vouching.withdrawn_at)}</dd>`}<dt>SHA-256 of the file</dt><dd><code>${sha256}</code></dd></dl></section>`;
}

/** @param title the verdict or the error, for the title of the document; empty before a check */
function page(title: string, verdict: Content, entered: string, fault: string | null): string {
  return html`<!doctype html>
<html lang="en-GB"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${title === '' ? '' : `${title} – `}Check an evidence file</title><style>${new Markup(style)}</style></head>
<body><main><h1>Check an evidence file</h1>
${
  verdict === ''
    ? html`<p>You can check every evidence PDF of this service here. The check says whether the file is exactly as the service made it, and whether the result is still valid. It shows nothing about any person.</p>`
    : html`${verdict}
<h2>Check another file</h2>`
}
<div id="choose" hidden><label for="file">Choose the PDF, or drop it here</label><input type="file" id="file" accept="application/pdf,.pdf" aria-describedby="file-note">
<p class="soft" id="file-note">The file stays on this device: your browser computes its hash, and only the hash is sent.</p></div>
<p id="state" role="status"></p>
<h2>Or enter its hash</h2>
<form method="get" action="/verify" novalidate><label for="sha256">SHA-256 of the file, 64 characters</label>
${fault === null ? '' : html`<p class="fault" id="fault">${fault}</p>`}
<input type="text" id="sha256" name="sha256" value="${entered}" autocomplete="off" autocapitalize="off" spellcheck="false"${fault === null ? '' : new Markup(' aria-invalid="true" aria-describedby="fault" autofocus')}>
<button>Check the hash</button></form>
<h2>How to compute the hash yourself</h2>
<dl><dt>Windows</dt><dd><code>certutil -hashfile FILE SHA256</code></dd><dt>macOS</dt><dd><code>shasum -a 256 FILE</code></dd><dt>Linux</dt><dd><code>sha256sum FILE</code></dd></dl>
<p class="soft">A paper copy can’t be checked: ask the provider for the file.</p>
</main><script>${new Markup(script)}</script></body></html>`.text;
}

/** Finds the hash in the text: alone, with spaces, or in the output of a program. */
function readHash(entered: string): string | null {
  const alone = entered.replace(/\s/g, '').toLowerCase();
  if (isSha256(alone)) return alone;
  return /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/.exec(entered.toLowerCase())?.[0] ?? null;
}

const askForHash = 'Enter the 64 characters of a SHA-256 hash: digits and the letters a to f.';

export function registerVerify(app: App, fastify: FastifyInstance): void {
  fastify.route({
    method: ['GET', 'HEAD'],
    url: '/verify',
    handler: async (request, reply) => {
      reply.headers({
        'content-security-policy': policy,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-robots-tag': 'noindex',
      });
      reply.type('text/html; charset=utf-8');
      const question = (request.raw.url ?? '').indexOf('?');
      const entered = question < 0 ? undefined : splitQuery(request.raw.url!.slice(question + 1)).get('sha256');
      if (entered === undefined) return reply.send(page('', '', '', null));
      const sha256 = entered.length === 1 ? readHash(entered[0]!) : null;
      if (sha256 === null) return reply.code(400).send(page('Error: not a SHA-256 hash', '', entered[0]!, askForHash));
      const vouching = await vouch(app, sha256);
      return reply.send(page(words[vouching.verdict].head, verdictPart(sha256, vouching), '', null));
    },
  });
}
