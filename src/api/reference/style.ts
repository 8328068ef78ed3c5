/** The reference page's one style sheet: no image, no font, nothing from elsewhere. */
export const referenceStyle = `
:root{color-scheme:light dark;--ink:#1b1f23;--soft:#57606a;--line:#d0d7de;--paper:#fff;--shade:#f6f8fa;--link:#0a58a8;--get:#0a58a8;--post:#1a6b32;--patch:#8a5300;--delete:#b3261e}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#a3acb5;--line:#3a424a;--paper:#14171a;--shade:#1d2226;--link:#7db8f5;--get:#7db8f5;--post:#72cf8c;--patch:#e8b45a;--delete:#ff9b92}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem;-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:anywhere}
a{color:var(--link)}
a:focus-visible,summary:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:2px}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;font-size:.875em}
pre{margin:.5rem 0 1rem;padding:.75rem;background:var(--shade);border:1px solid var(--line);border-radius:4px;white-space:pre-wrap;tab-size:2}
pre code{font-size:.8125rem;line-height:1.5}
.skip{position:absolute;left:-999px}
.skip:focus{left:1rem;top:1rem;background:var(--paper);padding:.5rem 1rem;z-index:1}
.side{display:none}
main{padding:1rem;max-width:56rem}
.contents{margin:1rem 0;border:1px solid var(--line);border-radius:4px;padding:.25rem .75rem}
nav ul{list-style:none;margin:0 0 .75rem;padding:0}
nav li a,nav p a{display:block;padding:.2rem 0;text-decoration:none}
nav a:hover{text-decoration:underline}
nav p{margin:.75rem 0 .1rem;font-weight:600}
summary{cursor:pointer;padding:.35rem 0;color:var(--link)}
h1{font-size:1.75rem;line-height:1.2;margin:.5rem 0 .25rem}
h2{font-size:1.4rem;line-height:1.25;margin:3rem 0 .5rem;padding-top:1rem;border-top:2px solid var(--line)}
h3{font-size:1.1rem;line-height:1.35;margin:2.25rem 0 .25rem}
h4{font-size:.9375rem;margin:1.25rem 0 .25rem}
h2 a,h3 a{color:inherit;text-decoration:none}
h2 a:hover,h3 a:hover{text-decoration:underline}
p{margin:.5rem 0}
.method{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.8em;font-weight:700}
.get{color:var(--get)}.post{color:var(--post)}.patch{color:var(--patch)}.delete{color:var(--delete)}
.summary{color:var(--soft);margin-top:0}
dl{margin:.25rem 0 .75rem}
dt{font-weight:600;margin-top:.6rem}
dt .type{font-weight:400;color:var(--soft);font-size:.875rem}
dd{margin:0 0 0 1rem}
dd dl{border-left:2px solid var(--line);padding-left:.75rem}
dd p{margin:.1rem 0}
.errors dt{font-weight:400;margin-top:.4rem}
.errors dt code{font-weight:600}
.soft{color:var(--soft)}
@media (min-width:64rem){
body{display:grid;grid-template-columns:18rem minmax(0,1fr)}
.side{display:block;position:sticky;top:0;height:100vh;overflow-y:auto;padding:1rem;border-right:1px solid var(--line);font-size:.9375rem}
main{padding:1rem 3rem 6rem}
.contents{display:none}
.errors{display:grid;grid-template-columns:minmax(0,2fr) minmax(0,3fr);gap:.35rem 1rem}
.errors dt{margin:0}
.errors dd{margin:0}
}
@media print{
:root{color-scheme:light;--ink:#000;--soft:#333;--line:#999;--paper:#fff;--shade:#fff;--link:#000;--get:#000;--post:#000;--patch:#000;--delete:#000}
body{display:block;font-size:10pt}
.side,.contents,.skip{display:none}
main{padding:0;max-width:none}
h2{break-before:page}
h3,h4,dt{break-after:avoid}
dt{break-inside:avoid}
details::details-content{content-visibility:visible;display:block;height:auto}
}
`;
