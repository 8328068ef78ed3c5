import type { TextlintRuleReporter } from '@textlint/kernel';

type Node = { type: string; range: readonly [start: number, end: number]; raw: string; children?: readonly Node[] };

const sentences = new Intl.Segmenter('en-GB', { granularity: 'sentence' });

/** The texts in a node, each with its place in the source. Code is one word. */
function textsIn({ type, range, raw, children }: Node): { start: number; text: string }[] {
  if (children) return children.flatMap(textsIn);
  if (type === 'Html') return [];
  return [{ start: range[0], text: type === 'Code' ? 'Code' : type === 'Break' ? ' ' : raw }];
}

/** textlint's rule for the number of words in a sentence. */
export const sentenceLength: TextlintRuleReporter = ({ report, RuleError }, options) => {
  const { max } = options as { max: number };
  const check = (node: Node) => {
    const texts = textsIn(node);
    const placeOf = (index: number) => {
      let left = index;
      const first = texts.find(({ text }) => {
        if (left < text.length) return true;
        left -= text.length;
        return false;
      });
      return first!.start + left;
    };
    const joined = texts.map(({ text }) => text).join('');
    for (const { segment, index } of sentences.segment(joined.replaceAll('\n', ' '))) {
      const words = segment.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
      if (words.length <= max) continue;
      const message = `This sentence has ${words.length} words, at most ${max} are allowed: “${segment.trim()}”`;
      report(node as never, new RuleError(message, { index: placeOf(index) - node.range[0] }));
    }
  };
  return {
    Paragraph: (node) => check(node as Node),
    Header: (node) => check(node as Node),
    TableCell: (node) => check(node as Node),
  };
};
