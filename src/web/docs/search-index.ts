import { unescapeHtml } from '../../platform/html/html.ts';
import type { Page } from './frame.ts';
import { beginning } from './markdown.ts';

/** Words that almost every section contains, so they do not narrow a search. */
const stopWords = new Set(
  'a an and are as at be but by can does for from had has have if in into is it its no not of on one or so than that the their them then there these they this to was were what when where which who will with you your'.split(
    ' ',
  ),
);

function textOf(markup: string): string {
  const bare = markup
    .replace(/<a class="self"[^>]*>#<\/a>/g, '')
    .replace(/<\/?(?:a|code|em|span|strong)\b[^>]*>/g, '')
    .replace(/<[^>]*>/g, ' ');
  return unescapeHtml(bare).replace(/\s+/g, ' ').trim();
}

/** Returns the words of a text for the search, including parts of names such as invalid_since, but no IDs or hashes. */
export function wordsOf(text: string): Set<string> {
  const found = new Set<string>();
  for (const whole of text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []) {
    for (const word of [whole, ...whole.split('_')]) {
      const isNumber = /^\d+$/.test(word);
      const isNoise = /\d/.test(word) && word.length > 6 && !word.includes('_');
      if (word.length > 1 && word.length <= 40 && !stopWords.has(word) && !isNoise && (!isNumber || word.length === 3))
        found.add(word);
    }
  }
  return found;
}

/** Writes rising numbers as distances in base 36, which makes the file shorter. */
function distances(numbers: readonly number[]): string {
  return numbers.map((number, i) => (number - (numbers[i - 1] ?? 0)).toString(36)).join(' ');
}

/** Returns the index as a script, because pages that are opened from a disk can load scripts, but no JSON. */
export function searchIndex(pages: readonly Page[]): string {
  const sections: [page: number, id: string, heading: string, begins: string, words: string][] = [];
  const holders = new Map<string, number[]>();
  pages.forEach(({ title, body, words = '' }, page) => {
    const parts = body.text.split(/(?=<h[1-3] [^>]*?\bid="[^"]+")/).filter((part) => part.startsWith('<h'));
    for (const part of parts) {
      const [whole, id, heading] = /^<h[1-3] [^>]*?\bid="([^"]+)"[^>]*>([^]*?)<\/h[1-3]>/.exec(part)!;
      const name = textOf(heading!);
      const rest = part.slice(whole.length);
      const isFirst = part.startsWith('<h1');
      const begins = beginning(textOf(rest.replace(/<pre>[^]*?<\/pre>/g, ' ')), 110);
      const more = isFirst ? words : '';
      const at = sections.push([page, isFirst ? '' : id!, name, begins, more]) - 1;
      for (const word of wordsOf(`${title} ${name} ${more} ${textOf(rest)}`)) {
        const list = holders.get(word);
        if (list === undefined) holders.set(word, [at]);
        else list.push(at);
      }
    }
  });
  const index = {
    pages: pages.map(({ path, title, group }) => [path, title, group]),
    sections,
    stopWords: [...stopWords],
    words: [...holders]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([word, held]) => `${word} ${distances(held)}`)
      .join('\n'),
  };
  return `window.searchIndex = ${JSON.stringify(index)};\n`;
}
