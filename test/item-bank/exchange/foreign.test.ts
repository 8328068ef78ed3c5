import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import { commands } from '../../../tools/item-bank/commands/bank.ts';
import { itemXml } from '../../../tools/item-bank/exchange/qti-item.ts';
import { fromQti, toQti } from '../../../tools/item-bank/exchange/qti-package.ts';
import { writeXml } from '../../../tools/item-bank/exchange/xml.ts';
import { mergeBank } from '../../../tools/item-bank/import.ts';
import { renderItem } from '../../../src/engine/item-bank/load.ts';
import { readBankFiles } from '../../../tools/item-bank/files.ts';
import type { Item } from '../../../src/engine/item-bank/schema.ts';
import { correct, declared, defaults, itemOf, option, options, read, refuses, xmlOf } from './foreign.ts';

suite('text of other tools', () => {
  test('a part of the class that our own export has is no sign of it: the prompt is kept, in its order', () => {
    const choice = `<qti-choice-interaction response-identifier="RESPONSE"><qti-prompt>Which <b>one</b>?</qti-prompt>${options}</qti-choice-interaction>`;
    assert.deepEqual(itemOf({ before: '<div class="stem"><p>Read this.</p></div>', answers: choice }).stem, [
      'Read this.',
      'Which **one**?',
    ]);
    const inDivs = `<div class="grid-row"><div class="col-12">${choice}</div></div>`;
    assert.deepEqual(itemOf({ before: 'Loose <em>words</em><p>A line</p>and more', answers: inDivs }).stem, [
      'Loose **words**',
      'A line',
      'and more',
      'Which **one**?',
    ]);
    const rationale = '<qti-rubric-block view="scorer" class="rationale"><p>Because</p></qti-rubric-block>';
    const scored = read({ before: `<p>Ask</p>${rationale}` });
    assert.deepEqual(
      [scored.items[0]!.rationale, scored.notes?.[0]?.note],
      [defaults.rationale, 'is taken without its words for scorers'],
    );
    assert.deepEqual(
      itemOf({ before: '<qti-rubric-block view="candidate scorer"><p>Use a pen.</p></qti-rubric-block><p>Ask</p>' })
        .stem,
      ['Use a pen.', 'Ask'],
    );
  });

  test('what the bank has a sign for is kept', () => {
    const kept: [string, string[]][] = [
      ['<p>Work out 2<sup>4</sup> + 4.</p>', ['Work out 2⁴ + 4.']],
      [
        '<p>An area in m<sup>2</sup>, H<sub>2</sub>O, x<sup>n+1</sup>, 21<sup>st</sup></p>',
        ['An area in m², H₂O, xⁿ⁺¹, 21ˢᵗ'],
      ],
      ['<p><b>3<sup>2</sup></b> and <code>x<sub>1</sub></code></p>', ['**3²** and `x₁`']],
      ['<p>1<br/>2</p>', ['1', '2']],
      ['<ul><li>One</li><li><p>Two</p></li></ul>', ['- One', '- Two']],
      ['<ol><li>One</li><li>Two</li></ol>', ['1. One', '2. Two']],
      ['<blockquote><p>One</p><p>Two</p></blockquote>', ['> One', '> Two']],
      ['<h2>Head</h2><p>Text</p>', ['Head', 'Text']],
      ['<p>wo<!-- not here -->rd <![CDATA[1 < 2 & 3]]> <?page?>end</p>', ['word 1 < 2 & 3 end']],
      ['<p>&#189; of &#xa3;5 &amp; &lt;b&gt;</p>', ['½ of £5 & <b>']],
      ['<p><strong><em>Both</em></strong> <span>plain</span></p>', ['**Both** plain']],
      [
        '<p class="lead" id="p1" xml:lang="en-GB" dir="ltr" style="text-align:center; margin: 0" data-x="y">Text</p>',
        ['Text'],
      ],
      ['<p>Five - 3 and 4 &gt; 3, 5 * 3, a_b</p>', ['Five - 3 and 4 > 3, 5 * 3, a_b']],
      ['<p>The word is ______.</p>', ['The word is ______.']],
    ];
    for (const [before, stem] of kept) assert.deepEqual(itemOf({ before }).stem, stem, before);
    const answers = `<qti-choice-interaction response-identifier="RESPONSE" max-choices="1">${option('a', '<p>2<sup>3</sup></p>')}${option('b', '<div><p><i>b</i></p></div>')}${option('c', 'x')}</qti-choice-interaction>`;
    assert.deepEqual(
      itemOf({ answers }).options.map(({ text }: { text: string }) => text),
      ['2³', '**b**', 'x'],
    );
  });

  test('what it has none for refuses the item by name, wherever it stands', () => {
    const elements =
      's del ins u q pre ruby rt dl dt table img object math svg audio video iframe small big mark kbd samp var cite dfn abbr a bdo bdi hr figure figcaption label input details tt strike font center xi:include ssml:sub m:math qti-printed-variable qti-template-inline qti-template-block qti-unknown';
    for (const name of elements.split(' ')) {
      const namespace = name.includes(':') ? ` xmlns:${name.split(':')[0]}="urn:x"` : '';
      const strange = `<${name}${namespace}>30</${name}>`;
      const says = new RegExp(`has <${name}>, which the bank can't take over`, 'u');
      refuses({ before: `<p>${strange} 20</p>` }, says);
      refuses({ before: `<div>Text <p>${strange}</p></div>` }, says);
      const inOption = `<qti-choice-interaction response-identifier="RESPONSE">${option('a', strange)}${options}</qti-choice-interaction>`;
      refuses({ answers: inOption.replace('identifier="a">One', 'identifier="e">One') }, says);
      const inPrompt = `<qti-choice-interaction response-identifier="RESPONSE"><qti-prompt>${strange}</qti-prompt>${options}</qti-choice-interaction>`;
      refuses({ answers: inPrompt }, says);
    }
    refuses({ before: '<p><math xmlns="http://www.w3.org/1998/Math/MathML"><sup>2</sup></math></p>' }, /has <math>/u);
    for (const script of [
      '<sup>α</sup>',
      '<sup>2<sup>2</sup></sup>',
      '<sub>z</sub>',
      '<sup><b>2</b></sup>',
      '<sup>1/2</sup>',
    ])
      refuses({ before: `<p>2${script}</p>` }, /around what has no character of its own/u);
    for (const list of [
      '<ul><li>One<ul><li>Two</li></ul></li></ul>',
      '<ul><li><p>One</p><p>Two</p></li></ul>',
      '<ol><li>1<br/>2</li></ol>',
    ])
      refuses({ before: list }, /inside <li>|several paragraphs/u);
    for (const marks of ['<b>a <code>b</code></b>', '<code>a <b>b</b></code>'])
      refuses({ before: `<p>${marks}</p>` }, /inside </u);
    const two = option('a', '<p>One</p><p>Two</p>');
    refuses(
      {
        answers: `<qti-choice-interaction response-identifier="RESPONSE">${two}${option('b', 'x')}</qti-choice-interaction>`,
      },
      /option of several paragraphs/u,
    );
  });

  test('attributes and looks that say something refuse it', () => {
    const attributes: [string, RegExp][] = [
      ['dir="rtl"', /dir="rtl" on <p>/u],
      ['hidden="hidden"', /hidden=/u],
      ['xml:space="preserve"', /xml:space/u],
      ['title="Hint: Two"', /title=/u],
      ['aria-label="Two"', /aria-label/u],
      ['aria-hidden="true"', /aria-hidden/u],
      ['xml:lang="fr"', /language fr/u],
      ['style="display: none"', /style “display: none”/u],
      ['style="margin:0;text-decoration:line-through"', /style “text-decoration/u],
      ['style="color:red"', /style “color/u],
      ['class="qti-visually-hidden"', /class “qti-visually-hidden”/u],
      ['class="txt-ctr line-through"', /class/u],
      ['class="qti-underline"', /class/u],
    ];
    for (const [attribute, says] of attributes) {
      refuses({ before: `<p ${attribute}>30</p>` }, says.source.includes('<p>') ? says : says);
      refuses(
        { before: `<p>x <span ${attribute}>30</span> 20</p>` },
        new RegExp(says.source.replace('<p>', '<span>'), 'u'),
      );
    }
    for (const list of [
      '<ol start="3"><li>x</li></ol>',
      '<ol reversed="reversed"><li>x</li></ol>',
      '<ol type="a"><li>x</li></ol>',
      '<ol><li value="7">x</li></ol>',
    ])
      refuses({ before: list }, /which the bank can't take over/u);
    refuses({ head: '<qti-stylesheet href="a.css" type="text/css"/>', before: '<p class="x">30</p>' }, /class “x”/u);
    assert.deepEqual(itemOf({ head: '<qti-stylesheet href="a.css" type="text/css"/>' }).stem, ['What is it?']);
    refuses({ before: '<p>The <span class="blank"/> is red.</p>' }, /empty <span>/u);
    refuses({ before: '<p>What does the word in <i>italics</i> mean?</p>' }, /italics/u);
  });

  test('text where nothing reads it refuses the item', () => {
    const inside = (text: string) =>
      `<qti-choice-interaction response-identifier="RESPONSE">${text}${options}</qti-choice-interaction>`;
    for (const text of ['Which is not?', '<p>Which is not?</p>', '<div><qti-prompt>Which?</qti-prompt></div>'])
      refuses({ answers: inside(text) }, /directly inside <qti-choice-interaction>/u);
    refuses({ before: '<ul>Not these:<li>One</li></ul>' }, /text directly inside <ul>/u);
    refuses({ before: '<ol><li>One</li><p>Two</p></ol>' }, /<p> directly inside <ol>/u);
    refuses({ before: '<p>A <qti-prompt>B</qti-prompt></p>' }, /<qti-prompt> directly inside <p>/u);
    refuses({ before: '<p>A <qti-hottext identifier="h">B</qti-hottext></p>' }, /has <qti-hottext>/u);
    refuses({ end: '<qti-item-body><p>Not that.</p></qti-item-body>' }, /has 2 bodies/u);
    const box = '<qti-text-entry-interaction response-identifier="RESPONSE"/>';
    const typed = { declaration: declared(correct('7'), 'single', 'float') };
    refuses({ ...typed, before: '', answers: `<p>____ + ${box} = 9</p>` }, /gap of underscores beside its box/u);
    assert.deepEqual(itemOf({ before: '<p>Fill it:</p><p>____</p>' }).stem, ['Fill it:', '____']);
  });

  test('a right answer that is no option refuses it, also where the ids are given anew', () => {
    const named = ['B', 'A', 'C'].map((id) => option(id, `Text ${id}`)).join('');
    const answers = `<qti-choice-interaction response-identifier="RESPONSE">${named}</qti-choice-interaction>`;
    assert.equal(itemOf({ answers, declaration: declared(correct('A')) }).key, 'b');
    refuses({ answers, declaration: declared(correct('a')) }, /right answer that is none of its options/u);
  });

  test('a right answer that the bank can’t hold refuses it with a plain reason', () => {
    const box = '<p>3 + 4 = <qti-text-entry-interaction response-identifier="RESPONSE"/></p>';
    const typed = (value: string, type = 'float') => ({
      declaration: declared(correct(value), 'single', type),
      before: '',
      answers: box,
    });
    for (const value of ['7e2', '7,5', '1 000', 'INF', '.5', '7%']) refuses(typed(value), /not written as a number/u);
    refuses(typed('7.5', 'integer'), /not written as a number/u);
    assert.equal(itemOf(typed('-7.5')).key.value, '-7.5');
    const choice = `<qti-choice-interaction response-identifier="RESPONSE" max-choices="2">${options}</qti-choice-interaction>`;
    refuses({ answers: choice, declaration: declared(correct('a', 'a'), 'multiple') }, /one right answer twice/u);
    const order = `<qti-order-interaction response-identifier="RESPONSE">${options}</qti-order-interaction>`;
    refuses({ answers: order, declaration: declared(correct('a', 'b'), 'ordered') }, /some of its options in order/u);
  });

  test('styles that hide text or draw it as other signs refuse it', () => {
    for (const style of [
      'margin-left:-9999px',
      'width: 0',
      'line-height:0',
      'font-family: Symbol',
      'font-family:Wingdings',
    ])
      refuses({ before: `<p>a <span style="${style}">b</span></p>` }, /has the style/u);
    const plain = 'text-align:right; width:50%; line-height: 1.5; font-family: Arial; padding-left:2em';
    assert.deepEqual(itemOf({ before: `<p style="${plain}">a</p>` }).stem, ['a']);
  });

  test('text that the bank would read as a sign refuses it', () => {
    for (const text of ['2**3 and 3**2', 'a ` b', '[[a|b]]', 'x]] y', '- 5 + 3', '&gt; 5', '<b>5*3</b>', 'lost \ufffd'])
      refuses({ before: `<p>${text}</p>` }, /sign of the bank's markup|lost/u);
  });

  test('text behind the answers refuses it, and a box keeps its place in the text', () => {
    refuses({ after: '<p>Remember: not Two.</p>' }, /text after its answers/u);
    const typed = { declaration: declared(correct('7'), 'single', 'float') };
    const box = '<qti-text-entry-interaction response-identifier="RESPONSE" expected-length="3"/>';
    assert.deepEqual(itemOf({ ...typed, before: '', answers: `<p>3 + ${box} = 10</p><p>Check it.</p>` }).stem, [
      '3 + ____ = 10',
      'Check it.',
    ]);
    assert.deepEqual(itemOf({ ...typed, before: '<p>3 + 4</p>', answers: `<div>${box}</div>` }).stem, ['3 + 4']);
    assert.deepEqual(itemOf({ ...typed, before: '<p>A</p>', answers: `<p>${box}</p><p>B</p>` }).stem, [
      'A',
      '____',
      'B',
    ]);
  });

  test('feedback that comes after the answer is left out and said; what is shown before refuses it', () => {
    const feedback = (more: string) =>
      `<div><qti-feedback-block outcome-identifier="FEEDBACK" identifier="x"${more}><p>It is Two.</p></qti-feedback-block></div><p>Ask</p>`;
    const taken = read({
      before: feedback(''),
      end: '<qti-modal-feedback outcome-identifier="FEEDBACK" identifier="y"><p>No.</p></qti-modal-feedback>',
    });
    assert.deepEqual(taken.notes, [{ id: 'other-1', note: 'is taken without its feedback' }]);
    assert.doesNotMatch(JSON.stringify(taken.items), /It is Two|No\./u);
    refuses({ before: feedback(' show-hide="hide"') }, /shown before the answer/u);
    const shown =
      '<qti-outcome-declaration identifier="FEEDBACK" cardinality="single" base-type="identifier"><qti-default-value><qti-value>x</qti-value></qti-default-value></qti-outcome-declaration>';
    refuses({ head: shown, before: feedback('') }, /shown before the answer/u);
  });
});

suite('our own exports, changed elsewhere', () => {
  const { items } = readBankFiles();
  const found = items.find((item) => item.type === 'single_choice' && !('figure' in item))! as Extract<
    Item,
    { type: 'single_choice' }
  >;
  const written = writeXml(itemXml(found, renderItem(found, 'export'), '1-test'));
  const reread = (change: (xml: string) => string) => {
    const xml = change(written);
    assert.notEqual(xml, written);
    return fromQti(strToU8(xml));
  };

  test('a change is kept, or refuses the item', () => {
    const raised = reread((xml) => xml.replace('<div class="stem">', '<div class="stem"><p>2<sup>4</sup></p>'));
    assert.equal((raised.items[0] as typeof found).stem[0], '2⁴');
    const strange = [
      (xml: string) => xml.replace('<div class="stem">', '<div class="stem"><p><s>30</s> 20</p>'),
      (xml: string) => xml.replace('<div class="response">', '<div class="response"><p>Not Two.</p>'),
      (xml: string) => xml.replace('shuffle="false"', 'shuffle="true"'),
      (xml: string) => xml.replace('<p>', '<p style="display:none">'),
      (xml: string) => xml.replace('<p>', '<p class="qti-underline">'),
      (xml: string) => xml.replace('<p>', '<p title="A hint">'),
      (xml: string) => xml.replace('max-choices="1"', 'max-choices="1" hidden="hidden"'),
      (xml: string) => xml.replace('match_correct.xml', 'map_response.xml'),
      (xml: string) => xml.replace('class="stem"', 'class="question"'),
      (xml: string) =>
        xml
          .replace('shuffle="false"', 'shuffle="false"')
          .replace('<qti-simple-choice', '<qti-prompt>Which?</qti-prompt><qti-simple-choice'),
      (xml: string) => xml.replace(/ data-ars="[^"]*"/u, ' data-ars="{}"'),
    ];
    for (const change of strange) {
      const { items: taken, rejected } = reread(change);
      assert.deepEqual([taken, rejected?.length], [[], 1], change(written));
    }
  });

  test('a passage is no other one for a look that was added', () => {
    const { passages } = readBankFiles();
    const files = toQti({ items: [], passages: passages.slice(0, 1) }, '1');
    const path = `stimuli/${passages[0]!.id}.xml`;
    const xml = strFromU8(unzipSync(files)[path]!);
    for (const look of ['<p dir="rtl">', '<p style="display:none">', '<p hidden="hidden">', '<p><s>30</s>']) {
      const changed = zipSync({ ...unzipSync(files), [path]: strToU8(xml.replace('<p>', look)) });
      const { passages: taken, rejected } = fromQti(changed);
      assert.deepEqual([taken, rejected?.map(({ file }) => file)], [[], [path]], look);
    }
  });
});

suite('packages and reports', () => {
  const folder = mkdtempSync(join(tmpdir(), 'qti-foreign-'));
  after(() => rmSync(folder, { recursive: true }));
  const resource = (href: string, type = 'imsqti_item_xmlv3p0', more = '') =>
    `<resource identifier="r-${href}" type="${type}" href="${href}"${more}/>`;
  const manifest = (...resources: string[]) =>
    `<manifest xmlns="http://www.imsglobal.org/xsd/qti/qtiv3p0/imscp_v1p1"><resources>${resources.join('')}</resources></manifest>`;
  const zip = (entries: Record<string, string | Uint8Array>) =>
    zipSync(
      Object.fromEntries(
        Object.entries(entries).map(([path, text]) => [path, typeof text === 'string' ? strToU8(text) : text]),
      ),
    );
  const good = xmlOf({});

  test('a package that was zipped with its folder is read', () => {
    const entries = {
      'imsmanifest.xml': manifest(resource('items/a%20b.xml'), resource('./c.xml')),
      'items/a b.xml': good,
      'c.xml': good,
    };
    const inFolder = Object.fromEntries(Object.entries(entries).map(([path, text]) => [`My test/${path}`, text]));
    const others = { '__MACOSX/imsmanifest.xml': 'x', 'My test/.DS_Store': 'x' };
    for (const files of [entries, inFolder, { ...inFolder, ...others }])
      assert.equal(fromQti(zip(files), defaults).items.length, 2);
    assert.throws(
      () => fromQti(zip({ 'a/imsmanifest.xml': '', 'b/imsmanifest.xml': '' }), defaults),
      /more than one imsmanifest/u,
    );
    const bases = {
      'imsmanifest.xml': manifest(resource('c.xml', undefined, ' xml:base="deep/"')),
      'deep/c.xml': good,
    };
    assert.equal(fromQti(zip(bases), defaults).items.length, 1);
  });

  test('what it lists and isn’t taken is named by file, id and reason, and keeps nothing else out', () => {
    const read = fromQti(
      zip({
        'imsmanifest.xml': manifest(
          resource('a.xml'),
          resource('b.xml'),
          resource('c.xml'),
          resource('d.xml'),
          resource('old.xml', 'imsqti_item_xmlv2p1'),
          resource('test.xml', 'imsqti_test_xmlv3p0'),
          resource('pic.png', 'webcontent'),
        ),
        'a.xml': good,
        'b.xml': xmlOf({ before: '<p><s>30</s> 20</p>' }),
        'c.xml': good.replace('What', '&nbsp;What'),
        'd.xml': new Uint8Array([...strToU8(good.replace('UTF-8', 'ISO-8859-1').replace('What', 'Caf')), 0xe9]),
        'old.xml': '<assessmentItem/>',
        'test.xml': '<qti-assessment-test/>',
      }),
      defaults,
    );
    assert.equal(read.items.length, 1);
    assert.deepEqual(
      read.rejected!.map(({ file, id }) => [file, id]),
      [
        ['b.xml', 'other-1'],
        ['c.xml', 'r-c.xml'],
        ['d.xml', 'r-d.xml'],
        ['old.xml', 'r-old.xml'],
        ['test.xml', 'r-test.xml'],
      ],
    );
    assert.match(
      read.rejected!.map(({ reason }) => reason).join('\n'),
      /has <s>.*\n.*entity.*\n.*UTF-8.*\n.*QTI 2\.1.*\n.*no item/u,
    );
    assert.throws(() => fromQti(zip({ 'imsmanifest.xml': manifest() }), defaults), /lists no item/u);
    assert.throws(() => fromQti(strToU8('<assessmentItem/>'), defaults), /begins with qti-assessment-item/u);
  });

  test('the command names the file and the identifier, also where the bank itself refuses', async () => {
    const run = async (text: string) => {
      const file = join(folder, 'one.xml');
      writeFileSync(file, text);
      const command = commands.find(({ name }) => name === 'bank import')!;
      const options = { dir: join(folder, 'bank'), subject: 'maths', level: 'level1', domain: 'number' };
      const output = await command.run({
        positionals: [file],
        options,
        progress: () => {},
        signal: new AbortController().signal,
      } as never);
      return { file, ...output };
    };
    const refused = await run(xmlOf({ before: '<p><s>30</s> 20</p>' }));
    assert.equal(refused.exitCode, 1);
    assert.match(refused.text, new RegExp(`rejected: ${refused.file}: other-1: has <s>, which`, 'u'));
    const few = await run(
      xmlOf({
        answers: `<qti-choice-interaction response-identifier="RESPONSE">${option('a', 'x')}${option('b', 'y')}</qti-choice-interaction>`,
      }),
    );
    assert.match(few.text, new RegExp(`rejected: ${few.file}: other-1: /options`, 'u'));
    const noted = await run(
      xmlOf({ end: '<qti-modal-feedback outcome-identifier="F" identifier="y"><p>No.</p></qti-modal-feedback>' }),
    );
    assert.match(noted.text, new RegExp(`1 added.*\n${noted.file}: other-1 is taken without its feedback`, 'u'));
    const merged = mergeBank(
      { number: 1, items: [], passages: [] },
      fromQti(strToU8(xmlOf({ declaration: declared(correct('zz')) })), defaults, 'f.xml'),
      false,
    );
    assert.deepEqual(
      merged.outcome.rejected.map(({ file, id }) => [file, id]),
      [['f.xml', 'other-1']],
    );
  });
});
