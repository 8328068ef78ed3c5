import { type Content, html } from '../../platform/html/html.ts';

const words = {
  script:
    'abstract async await boolean break case catch class const continue default delete do else enum export extends false final finally for foreach from function if implements import in instanceof int interface is let long new null of out private protected public readonly return sealed static string switch this throw throws true try type typeof undefined using var void while with yield',
  python:
    'and as assert async await break class continue def del elif else except finally False for from global if import in is lambda None not or pass raise return True try while with yield',
  shell: 'case do done elif else esac exit export fi for function if in local return set shift then while',
};

const families: Record<string, { comment: string; words: string }> = {
  ...Object.fromEntries(
    ['ts', 'js', 'javascript', 'typescript', 'java', 'cs', 'csharp', 'php', 'gs', 'm', 'json'].map((name) => [
      name,
      { comment: String.raw`\/\/[^\n]*|\/\*[^]*?\*\/`, words: words.script },
    ]),
  ),
  py: { comment: String.raw`#[^\n]*|"""[^]*?"""`, words: words.python },
  python: { comment: String.raw`#[^\n]*|"""[^]*?"""`, words: words.python },
  sh: { comment: String.raw`(?<=^|\s)#[^\n]*`, words: words.shell },
};

const texts = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|${'`'}(?:[^${'`'}\\]|\\.)*${'`'}`;

/** Highlights code. Code in a language that is not listed here stays as it is. */
export function highlight(code: string, language: string): Content {
  const family = families[language];
  if (family === undefined) return code;
  const pattern = new RegExp(
    `(?<comment>${family.comment})|(?<text>${texts})|(?<word>(?<![\\w.$-])(?:${family.words.replaceAll(' ', '|')})(?![\\w-]))`,
    'gm',
  );
  const parts: Content[] = [];
  let at = 0;
  for (const match of code.matchAll(pattern)) {
    const [kind] = Object.entries(match.groups!).find(([, found]) => found !== undefined)!;
    parts.push(code.slice(at, match.index), html`<span class="${kind}">${match[0]}</span>`);
    at = match.index + match[0].length;
  }
  return [...parts, code.slice(at)];
}
