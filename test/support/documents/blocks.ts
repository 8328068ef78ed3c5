import { marked, type Token, type Tokens } from 'marked';
import { read } from '../structure/source-tree.ts';

/** The code blocks of pages, as readers run them. */

export type Block = {
  page: string;
  line: number;
  language: string;
  text: string;
  /** The file of which the block is a copy. */
  file: string | null;
  /** The shell block whose output this block shows. */
  outputOf: Block | null;
};

export function blocksOf(page: string): Block[] {
  const source = read(page);
  const blocks: Block[] = [];
  let at = 0;
  let file: string | null = null;
  let shell: Block | null = null;
  const visit = (token: Token): void => {
    if (token.type === 'html') file = /<!-- made: file (\S+) -->/.exec(token.raw)?.[1] ?? null;
    else if (token.type === 'code') {
      const { lang = '', text, raw } = token as Tokens.Code;
      at = Math.max(at, source.indexOf(raw.split('\n')[0]!, at));
      const language = lang.split(' ')[0]!;
      const line = source.slice(0, at).split('\n').length;
      const block = { page, line, language, text, file, outputOf: language === 'json' ? shell : null };
      at++;
      blocks.push(block);
      if (language === 'sh' && file === null) shell = block;
      else if (language === 'json') shell = null;
    } else if (token.type !== 'space') shell = null;
    if (token.type === 'list')
      for (const item of (token as Tokens.List).items) for (const one of item.tokens) visit(one);
  };
  for (const token of marked.lexer(source)) visit(token);
  return blocks;
}

/** Every JSON value in an output that begins a line. */
export function valuesIn(output: string): unknown[] {
  const values: unknown[] = [];
  const parse = (text: string) => {
    try {
      values.push(JSON.parse(text));
    } catch {}
  };
  const start = output.search(/^[[{]/m);
  if (start !== -1) parse(output.slice(start));
  if (values.length === 0) for (const line of output.split('\n')) if (/^[[{]/.test(line)) parse(line);
  return values;
}

/** Where an example has other keys or types than the real value. Null fits everything, and a list needs one entry that fits. */
export function misfit(example: unknown, real: unknown, path = ''): string | null {
  if (example === null || real === null) return null;
  if (Array.isArray(example) && Array.isArray(real)) {
    for (const one of example) {
      const misfits = real.map((other) => misfit(one, other, `${path}[]`));
      if (!misfits.includes(null)) return misfits[0] ?? `${path} is empty`;
    }
    return null;
  }
  if (typeof example !== 'object' || typeof real !== 'object' || Array.isArray(example) || Array.isArray(real))
    return typeof example === typeof real ? null : `${path} is ${typeof real}, not ${typeof example}`;
  const names = (value: object) => Object.keys(value).sort().join(', ');
  if (names(example) !== names(real)) return `${path} has ${names(real)}, not ${names(example)}`;
  for (const [name, one] of Object.entries(example)) {
    const found = misfit(one, (real as Record<string, unknown>)[name], `${path}.${name}`);
    if (found !== null) return found;
  }
  return null;
}
