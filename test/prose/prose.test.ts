import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { faultsOf } from './lint.ts';

const words = (count: number) => `We ${'really '.repeat(count - 2)}wait.`;
const term = 'Incorrect term: “whole”, use “full” instead';
const long = `This sentence has 26 words, at most 25 are allowed: “${words(26)}”`;

/** A document, help of a command and a page with this text on line 5, in the same paragraph as other texts. */
const kinds: Record<string, [file: string, source: (text: string) => string]> = {
  'a document': ['CONTRIBUTING.md', (text) => `# Title\n\n| A | B |\n| --- | --- |\n| It runs. | ${text} |\n`],
  'a paragraph of a document': ['README.md', (text) => `# Title\n\n- It runs\n  in two lines.\n  ${text}\n`],
  'help of a command': [
    'cli/ars.ts',
    (text) => `import a from 'a';\n\nexport const b = {\n  summary:\n    '${text}',\n};\n`,
  ],
  'a message in two texts': [
    'src/main.ts',
    (text) => `// whole\n\nconst a = () =>\n  text(\n    '${text.replace(' ', " ' + `")}\`,\n  );\n`,
  ],
  'a page': [
    'src/main.ts',
    (text) =>
      `const a = (b: string) =>\n  html\`<h1>Title</h1>\n<p>It runs.</p>\n<p>It runs\nas <b>\${b}</b> does. ${text.replace('really', '<em>really</em>')}</p>\`;\n`,
  ],
  'a docstring of the client library': [
    'client/src/main.ts',
    (text) =>
      `\n/**\n * It runs:\n * as \`whole\` does.\n * ${text}\n *\n * @param a \`\`\`whole\`\`\`\n */\nconst a = 1;\n`,
  ],
  'the summary of an alert': [
    'deploy/alerts.yml',
    (text) => `groups:\n  - rules:\n      - expr: the whole = 1\n        annotations:\n          summary: ${text}\n`,
  ],
  'a label of a page': ['src/main.ts', (text) => `\n\n\n\nconst a = html\`<input aria-label="${text}">\`;\n`],
};

suite('The prose check', () => {
  for (const [kind, [file, source]] of Object.entries(kinds)) {
    const faults = (text: string) => faultsOf(new Map([[file, source(text)]]), []);

    test(`passes a clean text in ${kind}`, async () => {
      assert.deepEqual(await faults('The name must be a whole number.'), []);
      assert.deepEqual(await faults(words(25)), []);
    });

    test(`reports a forbidden word in ${kind} with its line`, async () => {
      assert.deepEqual(await faults('Read the whole feed.'), [`${file}:5: ${term}`]);
    });

    test(`reports a sentence of 26 words in ${kind} with its line`, async () => {
      assert.deepEqual(await faults(words(26)), [`${file}:5: ${long}`]);
    });
  }

  test('reads neither generated parts and code of documents, nor SQL, lists of words and comments of sources', async () => {
    const document = `<!-- made: limits -->\nThe whole.\n<!-- end -->\n\n\`the whole\`\n\n\`\`\`sh\n# the whole\n\`\`\`\n`;
    const source = `// the whole\nconst a = \`select whole from id where id = $1\`;\nconst b = 'the whole id'.split(' ');\nconst c = 'select_id, whole, id';\nconst d = '1f 2a 3b whole 4c';\n`;
    assert.deepEqual(
      await faultsOf(
        new Map([
          ['README.md', document],
          ['src/main.ts', source],
        ]),
        [],
      ),
      [],
    );
  });

  test('finds a term that a line break divides', async () => {
    const message = 'Incorrect term: “at\nonce”, use “immediately” instead';
    assert.deepEqual(await faultsOf(new Map([['README.md', 'It stops at\nonce.\n']]), []), [`README.md:1: ${message}`]);
  });

  test('passes an exception, and reports one that is not needed', async () => {
    const texts = new Map([['README.md', 'Read the whole feed.\n']]);
    const exception = { file: 'README.md', text: 'whole feed', reason: 'A test.' };
    assert.deepEqual(await faultsOf(texts, [exception]), []);
    assert.deepEqual(await faultsOf(texts, [exception, { ...exception, text: 'full feed' }]), [
      'test/prose/exceptions.json: README.md breaks no rule at “full feed”. Remove the exception.',
    ]);
  });
});
