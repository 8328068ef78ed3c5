import { hash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { App } from '../../platform/app.ts';
import type { Content } from '../../platform/html/html.ts';
import { Markup, html } from '../../platform/html/html.ts';
import { splitQuery } from '../../api/http/query.ts';
import type { Vouching } from '../../records/evidence/verify.ts';
import { isSha256, vouch } from '../../records/evidence/verify.ts';
import { monthNames } from '../../platform/time/clock.ts';

const style = `
:root{color-scheme:light dark;--ink:#1b1f23;--soft:#57606a;--line:#757d86;--paper:#fff;--shade:#f6f8fa;--link:#0a58a8;--good:#1a6b32;--bad:#b3261e;--old:#8a5300}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#a3acb5;--line:#7d8690;--paper:#14171a;--shade:#1d2226;--link:#7db8f5;--good:#72cf8c;--bad:#ff9b92;--old:#e8b45a}}
*{box-sizing:border-box}
[hidden]{display:none!important}
body{margin:0;background:var(--paper);color:var(--ink);font:1.0625rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:anywhere}
main{max-width:42rem;margin:0 auto;padding:2rem 1rem 3rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 1rem}
h2{font-size:1.2rem;line-height:1.3;margin:2.25rem 0 .5rem}
p{margin:.5rem 0}
label{display:block;font-weight:600;margin:.75rem 0 .35rem}
input{font:inherit;display:block;width:100%;padding:.6rem;border:2px solid var(--line);border-radius:4px;background:var(--paper);color:var(--ink)}
input[type=text]{font:.9rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
input[aria-invalid]{border-color:var(--bad)}
input[type=file]{padding:2.25rem 1rem;border-style:dashed;background:var(--shade);cursor:pointer}
.over input[type=file]{border-color:var(--link);border-style:solid}
button,::file-selector-button{font:inherit;font-weight:600;padding:.6rem 1.2rem;border:2px solid var(--link);border-radius:4px;cursor:pointer}
button{margin:.75rem 0 0;background:var(--link);color:var(--paper)}
::file-selector-button{margin-inline-end:.75rem;background:var(--paper);color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.verdict{border:1px solid var(--line);border-left:8px solid var(--line);border-radius:4px;padding:1rem 1.25rem;margin:0 0 2rem;background:var(--shade)}
.verdict h2{margin:0;font-size:1.35rem}
.current{border-color:var(--good)}.superseded,.withdrawn{border-color:var(--old)}.unknown,.test{border-color:var(--bad)}
.current h2{color:var(--good)}.superseded h2,.withdrawn h2{color:var(--old)}.unknown h2,.test h2{color:var(--bad)}
.fault{color:var(--bad);font-weight:600;margin:.35rem 0}
#state:empty{display:none}
#state{font-weight:600}
dl{margin:.5rem 0;font-size:.9375rem}
dt{color:var(--soft);margin-top:.5rem}
dd{margin:0}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9em}
.soft{color:var(--soft);font-size:.9375rem}
`;

/**
 * Computes the hash in the browser and goes to the page that answers for it: the file itself is never sent. A file may
 * be dropped anywhere on the page; without this, the browser would open it instead.
 */
const script = `(function(){
var choose=document.getElementById('choose'),input=document.getElementById('file'),state=document.getElementById('state');
if(!window.crypto||!crypto.subtle||!window.File||!File.prototype.arrayBuffer){
state.textContent='This browser can\u2019t compute the hash here'+(window.isSecureContext===false?', because this page wasn\u2019t opened over https':'')+'. Compute it as described below, and enter it.';return}
choose.hidden=false;
function check(files){
if(!files||!files.length)return;
if(files.length>1){state.textContent='Choose one file at a time.';return}
if(files[0].size>1e8){state.textContent='This file is larger than any evidence file.';return}
state.textContent='Computing the hash on this device\u2026';
files[0].arrayBuffer().then(function(bytes){return crypto.subtle.digest('SHA-256',bytes)}).then(function(hash){
location.href='/verify?sha256='+Array.prototype.map.call(new Uint8Array(hash),function(byte){return('0'+byte.toString(16)).slice(-2)}).join('')
}).catch(function(){state.textContent='The file could not be read. Choose it again.'})}
input.onchange=function(){check(input.files)};
function over(on){return function(event){event.preventDefault();document.body.className=on?'over':''}}
document.ondragover=over(true);document.ondragleave=over(false);
document.ondrop=function(event){over(false)(event);check(event.dataTransfer.files)};
window.onpageshow=function(event){if(event.persisted){state.textContent='';input.value=''}}
})()`;

const digest = (text: string) => hash('sha256', text, 'base64');
const policy = `default-src 'none'; style-src 'sha256-${digest(style)}'; script-src 'sha256-${digest(script)}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

const words: Record<Vouching['verdict'], { head: string; text: string }> = {
  current: {
    head: 'This file is genuine and current',
    text: 'The service made exactly this file as evidence of a result that still stands.',
  },
  superseded: {
    head: 'This file is genuine, but not the latest',
    text: 'The service made exactly this file, but the result has been amended since. Ask the provider for the current edition.',
  },
  withdrawn: {
    head: 'This file is genuine, but its result was withdrawn',
    text: 'The service made exactly this file, but the provider has withdrawn the result since: it no longer stands, and the file is no evidence any more.',
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

/** @param title the verdict or the error, for the document's title */
function page(title: string, verdict: Content, given: string, fault: string | null): string {
  return html`<!doctype html>
<html lang="en-GB"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${title === '' ? '' : `${title} – `}Check an evidence file</title><style>${new Markup(style)}</style></head>
<body><main><h1>Check an evidence file</h1>
${
  verdict === ''
    ? html`<p>Every evidence PDF of this service can be checked here: whether it is exactly as the service made it, and whether the result still stands. Nothing about any person is shown.</p>`
    : html`${verdict}
<h2>Check another file</h2>`
}
<div id="choose" hidden><label for="file">Choose the PDF, or drop it here</label><input type="file" id="file" accept="application/pdf,.pdf" aria-describedby="file-note">
<p class="soft" id="file-note">The file stays on this device: your browser computes its hash, and only the hash is sent.</p></div>
<p id="state" role="status"></p>
<h2>Or enter its hash</h2>
<form method="get" action="/verify" novalidate><label for="sha256">SHA-256 of the file, 64 characters</label>
${fault === null ? '' : html`<p class="fault" id="fault">${fault}</p>`}
<input type="text" id="sha256" name="sha256" value="${given}" autocomplete="off" autocapitalize="off" spellcheck="false"${fault === null ? '' : new Markup(' aria-invalid="true" aria-describedby="fault" autofocus')}>
<button>Check the hash</button></form>
<h2>How to compute the hash yourself</h2>
<dl><dt>Windows</dt><dd><code>certutil -hashfile FILE SHA256</code></dd><dt>macOS</dt><dd><code>shasum -a 256 FILE</code></dd><dt>Linux</dt><dd><code>sha256sum FILE</code></dd></dl>
<p class="soft">A paper copy can’t be checked: ask the provider for the file.</p>
</main><script>${new Markup(script)}</script></body></html>`.text;
}

/** Accepts a hash alone, with spaces, or in the output of a program. */
function readHash(given: string): string | null {
  const alone = given.replace(/\s/g, '').toLowerCase();
  if (isSha256(alone)) return alone;
  return /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/.exec(given.toLowerCase())?.[0] ?? null;
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
      const given = question < 0 ? undefined : splitQuery(request.raw.url!.slice(question + 1)).get('sha256');
      if (given === undefined) return reply.send(page('', '', '', null));
      const sha256 = given.length === 1 ? readHash(given[0]!) : null;
      if (sha256 === null) return reply.code(400).send(page('Error: not a SHA-256 hash', '', given[0]!, askForHash));
      const vouching = await vouch(app, sha256);
      return reply.send(page(words[vouching.verdict].head, verdictPart(sha256, vouching), '', null));
    },
  });
}
