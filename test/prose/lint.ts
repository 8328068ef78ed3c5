import { extname } from 'node:path';
import { TextlintKernel } from '@textlint/kernel';
import markdown from '@textlint/textlint-plugin-markdown';
import terminology from 'textlint-rule-terminology';
import { sentenceLength } from './sentence-length.ts';
import { sourceTexts } from './source-texts.ts';
import { terms } from './terms.ts';

/** A place that may break a rule: `text` is on the line, or in the sentence, that the rule reports. */
type Exception = { file: string; text: string; reason: string };

const maxWords = 25;
const kernel = new TextlintKernel();

/** Blank lines in place of the generated parts of a document. */
const withoutGenerated = (text: string) =>
  text.replaceAll(/<!-- made: [^]*?<!-- end -->/g, (part) => part.replaceAll(/[^\n]/g, ''));

async function lint(file: string, text: string): Promise<{ line: number; message: string }[]> {
  const { messages } = await kernel.lintText(withoutGenerated(text), {
    filePath: file,
    ext: extname(file),
    plugins: [
      { pluginId: 'markdown', plugin: markdown.default },
      { pluginId: 'source-texts', plugin: sourceTexts },
    ],
    rules: [
      { ruleId: 'terminology', rule: terminology, options: { defaultTerms: false, skip: [], terms } },
      { ruleId: 'sentence-length', rule: sentenceLength, options: { max: maxWords } },
    ],
  });
  return messages;
}

/** What is wrong in the files, a line each. */
export async function faultsOf(texts: Map<string, string>, exceptions: Exception[]): Promise<string[]> {
  const unused = new Set(exceptions);
  const faults: string[] = [];
  for (const [file, text] of texts) {
    const lines = text.split('\n');
    for (const { line, message } of await lint(file, text)) {
      const found = exceptions.find(
        (one) => one.file === file && (message.includes(one.text) || lines[line - 1]!.includes(one.text)),
      );
      if (found) unused.delete(found);
      else faults.push(`${file}:${line}: ${message}`);
    }
  }
  for (const { file, text } of unused)
    faults.push(`test/prose/exceptions.json: ${file} breaks no rule at “${text}”. Remove the exception.`);
  return faults;
}
