import { hash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { App } from '../app.ts';
import type { Content } from '../html.ts';
import { Markup, html } from '../html.ts';
import { splitQuery } from '../http/query.ts';
import type { Vouching } from './verify.ts';
import { isSha256, vouch } from './verify.ts';

const style = `
:root{color-scheme:light dark;--ink:#1b1f23;--soft:#57606a;--line:#8c959f;--paper:#fff;--shade:#f6f8fa;--link:#0a58a8;--good:#1a6b32;--bad:#b3261e;--old:#8a5300}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#a3acb5;--line:#6e7781;--paper:#14171a;--shade:#1d2226;--link:#7db8f5;--good:#72cf8c;--bad:#ff9b92;--old:#e8b45a}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:1.0625rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:anywhere}
main{max-width:42rem;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.75rem;line-height:1.2;margin:.5rem 0}
h2{font-size:1.2rem;margin:2rem 0 .5rem}
label{display:block;font-weight:600;margin:.25rem 0}
input{font:inherit;width:100%;padding:.6rem;border:2px solid var(--line);border-radius:4px;background:var(--paper);color:var(--ink)}
input[type=file]{padding:1.5rem .75rem;border-style:dashed;background:var(--shade)}
button{font:inherit;font-weight:600;margin:.75rem 0 0;padding:.6rem 1.2rem;border:2px solid var(--link);border-radius:4px;background:var(--link);color:var(--paper);cursor:pointer}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.verdict{border-left:6px solid var(--line);padding:.75rem 1rem;margin:1.25rem 0;background:var(--shade)}
.verdict p{margin:.25rem 0}
.current{border-color:var(--good)}.superseded{border-color:var(--old)}.unknown{border-color:var(--bad)}
.verdict strong{font-size:1.2rem}
.current strong{color:var(--good)}.superseded strong{color:var(--old)}.unknown strong{color:var(--bad)}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.875em}
.soft{color:var(--soft)}
`;

/** Computes the hash in the browser and goes to the page that answers for it: the file itself is never sent. */
const script = `(function(){var f=document.getElementById('file'),s=document.getElementById('state');
if(!f||!window.crypto||!crypto.subtle){if(s)s.textContent='This browser cannot compute the hash here. Compute it yourself and enter it below.';if(f)f.disabled=true;return}
f.onchange=function(){var file=f.files[0];if(!file)return;s.textContent='Computing the hash of the file on this device \\u2026';
file.arrayBuffer().then(function(b){return crypto.subtle.digest('SHA-256',b)}).then(function(d){
location.href='/verify?sha256='+Array.prototype.map.call(new Uint8Array(d),function(x){return ('0'+x.toString(16)).slice(-2)}).join('')})
.catch(function(){s.textContent='The file could not be read. Choose it again.'})}})()`;

const digest = (text: string) => hash('sha256', text, 'base64');
const policy = `default-src 'none'; style-src 'sha256-${digest(style)}'; script-src 'sha256-${digest(script)}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

const words: Record<Vouching['verdict'], { head: string; text: string }> = {
  current: { head: 'This file is genuine and current', text: 'The service made exactly this file as evidence of a result that still stands.' },
  superseded: { head: 'This file is genuine, but not the latest', text: 'The service made exactly this file, but the result has been amended since. Ask the provider for the current edition.' },
  unknown: { head: 'The service does not vouch for this file', text: 'No evidence of a result that stands has this hash. The file may have been changed, even by saving it again in another program; the result may have been withdrawn; or the file is not from this service.' },
};

function verdictPart(sha256: string, vouching: Vouching): Content {
  const { head, text } = words[vouching.verdict];
  return html`<div class="verdict ${vouching.verdict}" role="status"><p><strong>${head}</strong></p><p>${text}</p>
${vouching.edition === null ? '' : html`<p class="soft">Edition ${vouching.edition}, made on ${vouching.made_at!.slice(0, 10)}.</p>`}
<p class="soft">SHA-256 <code>${sha256}</code></p></div>`;
}

function page(verdict: Content, given: string, fault: string | null): string {
  return html`<!doctype html>
<html lang="en-GB"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${fault === null ? '' : 'Error: '}Check an evidence file</title><style>${new Markup(style)}</style></head>
<body><main><h1>Check an evidence file</h1>
${verdict}
<p>Choose the PDF. Your browser computes its hash on this device and asks only for that hash: the file is not sent, and nothing about any person is shown.</p>
<p><label for="file">Evidence file (PDF)</label><input type="file" id="file" accept="application/pdf,.pdf"></p>
<p id="state" role="status" class="soft"></p>
<h2>Or enter the hash</h2>
<form method="get" action="/verify"><label for="sha256">SHA-256 of the file, 64 characters</label>
${fault === null ? '' : html`<p class="verdict unknown" id="fault">${fault}</p>`}
<input type="text" id="sha256" name="sha256" value="${given}" autocomplete="off" autocapitalize="off" spellcheck="false"${fault === null ? '' : new Markup(' aria-invalid="true" aria-describedby="fault"')}>
<button>Check the hash</button></form>
<p class="soft">On Windows: <code>certutil -hashfile FILE SHA256</code>. On macOS: <code>shasum -a 256 FILE</code>. On Linux: <code>sha256sum FILE</code>. A paper copy can’t be checked: ask the provider for the file.</p>
</main><script>${new Markup(script)}</script></body></html>`.text;
}

/** The public page where anyone can check a file. */
export function registerVerify(app: App, fastify: FastifyInstance): void {
  fastify.route({ method: ['GET', 'HEAD'], url: '/verify', handler: async (request, reply) => {
    reply.headers({ 'content-security-policy': policy, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' });
    reply.type('text/html; charset=utf-8');
    const question = (request.raw.url ?? '').indexOf('?');
    const given = question < 0 ? undefined : splitQuery(request.raw.url!.slice(question + 1)).get('sha256')?.[0];
    if (given === undefined) return reply.send(page('', '', null));
    const sha256 = given.replace(/\s/g, '').toLowerCase();
    if (!isSha256(sha256)) return reply.code(400).send(page('', '', 'Enter the 64 characters of a SHA-256 hash: digits and the letters a to f.'));
    return reply.send(page(verdictPart(sha256, await vouch(app, sha256)), '', null));
  } });
}
