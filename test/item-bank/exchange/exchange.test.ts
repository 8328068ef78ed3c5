import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, suite, test } from 'node:test';
import fc from 'fast-check';
import { strToU8, zipSync } from 'fflate';
import { fromCsv, toCsv } from '../../../tools/item-bank/exchange/csv.ts';
import { ExchangeFault, fromJson, toJson } from '../../../tools/item-bank/exchange/json.ts';
import { fromQti, packageFiles, toQti } from '../../../tools/item-bank/exchange/qti-package.ts';
import { element, findOne, readXml, textIn, writeXml, XmlFault } from '../../../tools/item-bank/exchange/xml.ts';
import { foreignDefaults, mergeBank } from '../../../tools/item-bank/import.ts';
import { readBankFiles } from '../../../tools/item-bank/files.ts';
import type { Item } from '../../../src/engine/item-bank/schema.ts';
import { itemFaults } from '../../../tools/item-bank/validate.ts';
import { guideItems } from '../../engine/item-bank/examples.ts';

const files = readBankFiles();
const bank = { items: files.items, passages: files.passages };

suite('round trips of the shipped bank', () => {
  test('JSON gives back exactly what went out', () => {
    assert.deepEqual(fromJson(toJson(files)), bank);
  });
  test('CSV gives back exactly what went out', () => {
    assert.deepEqual(fromCsv(toCsv(bank)), bank);
  });
  test('QTI gives back exactly what went out', () => {
    assert.deepEqual(fromQti(toQti(bank, '1-test')), bank);
  });
  test('every field of a key comes back in each format, those too that the bank does not use', () => {
    const typed = bank.items.find((item) => item.type === 'short_text')!;
    const counted = bank.items.find((item) => item.type === 'numeric')!;
    const screen = bank.items.find((item) => item.type === 'task' && item.fields.some((it) => it.control === 'text'))!;
    assert.ok(typed.type === 'short_text' && counted.type === 'numeric' && screen.type === 'task');
    const field = screen.fields.find((it) => it.control === 'text')!.id;
    const texts = { kind: 'formula', cell: 'D2', copied: 'down', uses_function: true } as const;
    const time = { kind: 'time', clock: '12', date_form: 'digits', ignore_final_stop: true } as const;
    const items: Item[] = [
      { ...typed, key: { ...typed.key, ...time } },
      { ...counted, key: { value: '1.50', decimals: 2, form: 'decimal', unit_required: true, units: ['kg'] } },
      { ...screen, key: { ...screen.key, [field]: { accept: ['=B2*C2'], ...texts } } },
    ];
    const sent = { items, passages: [] };
    assert.deepEqual(fromJson(toJson({ ...files, ...sent })), sent);
    assert.deepEqual(fromCsv(toCsv(sent)), sent);
    assert.deepEqual(fromQti(toQti(sent, '1-test')), sent);
  });
  test('writes the same bytes for the same bank', () => {
    assert.deepEqual(toQti(bank, '1-test'), toQti(structuredClone(bank), '1-test'));
    assert.equal(toCsv(bank), toCsv(structuredClone(bank)));
  });
});

suite('CSV', () => {
  const [first] = guideItems as [Item];
  const edited = (change: object): { items: Item[]; passages: [] } => ({
    items: [{ ...first, ...change } as Item],
    passages: [],
  });

  test('opens in a spreadsheet without a formula being run', () => {
    const csv = toCsv(edited({ skill: '=HYPERLINK("x")', stem: ['@sum', '+1'], rationale: '- a list' }));
    assert.ok(csv.startsWith('\ufeff'));
    assert.match(csv, /,"'=HYPERLINK\(""x""\)",/u);
    assert.match(csv, /"'@sum\n\+1"/u);
    assert.deepEqual(fromCsv(csv), edited({ skill: '=HYPERLINK("x")', stem: ['@sum', '+1'], rationale: '- a list' }));
  });

  test('gives back any text at all', () => {
    const texts = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(
        texts,
        fc.array(texts, { minLength: 1, maxLength: 3 }),
        fc.dictionary(texts, texts),
        fc.array(fc.record({ id: texts, text: texts })),
        (skill, stem, reasons, options) => {
          const sent = edited({ skill, stem, distractor_rationales: { ...reasons }, options });
          assert.deepEqual(JSON.parse(JSON.stringify(fromCsv(toCsv(sent)))), JSON.parse(JSON.stringify(sent)));
        },
      ),
      { numRuns: 200 },
    );
  });

  test('says what is wrong with a file', () => {
    assert.throws(
      () => fromCsv('a,b\n1,2\n'),
      (cause: Error) => cause instanceof ExchangeFault && /id and type/u.test(cause.message),
    );
    assert.throws(
      () => fromCsv('id,type,other\nx,numeric,{\n'),
      (cause: Error) => cause instanceof ExchangeFault && /Row 2/u.test(cause.message),
    );
    assert.throws(() => fromCsv('id,type\nx,"numeric\n'), ExchangeFault);
  });
});

suite('XML', () => {
  test('gives back any text and attribute', () => {
    const text = fc
      .string({ unit: 'grapheme', maxLength: 30 })
      .filter((value) => !/[\u0000-\u0008\u000b-\u001f\ufffe\uffff\r]/u.test(value));
    fc.assert(
      fc.property(text, text, (value, content) => {
        const back = readXml(writeXml(element('p', { title: value }, content)));
        assert.equal(back.attributes.title ?? '', value);
        assert.equal(textIn(back), content);
      }),
      { numRuns: 300 },
    );
  });
  test('refuses what could reach outside the file or never ends', () => {
    const refused = [
      '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
      '<a>&b;</a>',
      '<a>',
      '<a></b>',
      '<a/><b/>',
      '<a b="1" b="2"/>',
      '<a b=1/>',
      'text',
      '<a>&#0;</a>',
      '<a>& </a>',
      '<a>]]></a>',
      '<a>\u0000</a>',
      '<a'.repeat(50_000),
      `${'<a>'.repeat(300)}${'</a>'.repeat(300)}`,
    ];
    for (const document of refused) assert.throws(() => readXml(document), XmlFault, document.slice(0, 40));
  });
  test('reads namespaces, CDATA and comments', () => {
    const xml = readXml(
      '<?xml version="1.0"?><!-- a --><q:a xmlns:q="x"><![CDATA[1 < 2]]><!-- b --><q:b c=\'"\'/></q:a>',
    );
    assert.equal(textIn(xml), '1 < 2');
    assert.equal(findOne(xml, 'b')!.attributes.c, '"');
  });
});

suite('QTI from other tools', () => {
  const item = (body: string, declaration: string) => `<?xml version="1.0" encoding="UTF-8"?>
<qti-assessment-item xmlns="http://www.imsglobal.org/xsd/imsqtiasi_v3p0" identifier="other-1" title="Capital" time-dependent="false">
  <qti-response-declaration identifier="RESPONSE" ${declaration}</qti-response-declaration>
  <qti-item-body><p>What is
     <b>right</b>?</p>${body}</qti-item-body></qti-assessment-item>`;
  const place = { subject: 'english', level: 'level1', domain: 'grammar' } as const;
  const choice = item(
    `<qti-choice-interaction response-identifier="RESPONSE" max-choices="1"><qti-prompt>Choose.</qti-prompt>
      <qti-simple-choice identifier="A">One</qti-simple-choice><qti-simple-choice identifier="B">Two</qti-simple-choice><qti-simple-choice identifier="C">Three</qti-simple-choice></qti-choice-interaction>`,
    'cardinality="single" base-type="identifier"><qti-correct-response><qti-value>B</qti-value></qti-correct-response>',
  )
    .replaceAll('"A"', '"a"')
    .replaceAll('"B"', '"b"')
    .replaceAll('"C"', '"c"')
    .replace('>B<', '>b<');

  test('takes a choice item into its place, with an id and a c of its own', () => {
    const read = fromQti(strToU8(choice), foreignDefaults(place));
    const { outcome, files: merged } = mergeBank({ number: 3, items: [], passages: [] }, read, false);
    assert.deepEqual(outcome, { added: ['eng-l1-gram-001'], replaced: [], unchanged: [], rejected: [], number: 4 });
    const [added] = merged.items as [Extract<Item, { type: 'single_choice' }>];
    assert.deepEqual(itemFaults(added), []);
    assert.deepEqual(added.stem, ['What is **right**?', 'Choose.']);
    assert.equal(added.key, 'b');
    assert.equal(added.c, 0.3333);
  });

  test('rejects it, item by item, when nobody says where it belongs', () => {
    const { outcome } = mergeBank({ number: 3, items: [], passages: [] }, fromQti(strToU8(choice)), false);
    assert.equal(outcome.rejected.length, 1);
    assert.equal(outcome.number, 3);
  });

  test('reads text entry, order, match and hot text', () => {
    const read = (body: string, declaration: string) =>
      fromQti(strToU8(item(body, declaration)), foreignDefaults(place)).items[0]! as unknown as Record<string, unknown>;
    const entry = read(
      '<p>It is <qti-text-entry-interaction response-identifier="RESPONSE"/></p>',
      'cardinality="single" base-type="string"><qti-correct-response><qti-value>York</qti-value></qti-correct-response><qti-mapping><qti-map-entry map-key="Jorvik" mapped-value="1"/><qti-map-entry map-key="Leeds" mapped-value="0"/></qti-mapping>',
    );
    assert.deepEqual(entry.key, { accept: ['York', 'Jorvik'] });
    const float = read(
      '<p><qti-text-entry-interaction response-identifier="RESPONSE"/></p>',
      'cardinality="single" base-type="float"><qti-correct-response><qti-value>2.5</qti-value></qti-correct-response>',
    );
    assert.deepEqual([float.type, float.key], ['numeric', { value: '2.5' }]);
    const order = read(
      '<qti-order-interaction response-identifier="RESPONSE"><qti-simple-choice identifier="x">1</qti-simple-choice><qti-simple-choice identifier="y">2</qti-simple-choice></qti-order-interaction>',
      'cardinality="ordered" base-type="identifier"><qti-correct-response><qti-value>y</qti-value><qti-value>x</qti-value></qti-correct-response>',
    );
    assert.deepEqual([order.type, order.key], ['ordering', ['y', 'x']]);
    const match = read(
      '<qti-match-interaction response-identifier="RESPONSE"><qti-simple-match-set><qti-simple-associable-choice identifier="l" match-max="1">L</qti-simple-associable-choice></qti-simple-match-set><qti-simple-match-set><qti-simple-associable-choice identifier="r" match-max="1">R</qti-simple-associable-choice></qti-simple-match-set></qti-match-interaction>',
      'cardinality="multiple" base-type="directedPair"><qti-correct-response><qti-value>l r</qti-value></qti-correct-response>',
    );
    assert.deepEqual([match.type, match.key], ['matching', { l: 'r' }]);
    const hot = read(
      '<qti-hottext-interaction response-identifier="RESPONSE"><p>A <qti-hottext identifier="h">word</qti-hottext>.</p></qti-hottext-interaction>',
      'cardinality="single" base-type="identifier"><qti-correct-response><qti-value>h</qti-value></qti-correct-response>',
    );
    assert.deepEqual([hot.type, hot.surface, hot.key], ['hotspot', { kind: 'text', lines: ['A [[h|word]].'] }, ['h']]);
  });

  const refused = (xml: string) => fromQti(strToU8(xml), foreignDefaults(place)).rejected?.[0]?.reason;

  test('takes the key from the declaration that the interaction names', () => {
    const other =
      '<qti-response-declaration identifier="HINT" cardinality="single" base-type="identifier"><qti-correct-response><qti-value>a</qti-value></qti-correct-response></qti-response-declaration>';
    const two = choice.replace('<qti-response-declaration', `${other}<qti-response-declaration`);
    const [read] = fromQti(strToU8(two), foreignDefaults(place)).items as [Extract<Item, { type: 'single_choice' }>];
    assert.equal(read.key, 'b');
  });

  test('gives options ids of its own where it can’t keep theirs, and maps the key', () => {
    const named = choice.replaceAll(/"([abc])"/gu, '"Choice-$1"').replace('>b<', '>Choice-b<');
    const { outcome, files: merged } = mergeBank(
      { number: 3, items: [], passages: [] },
      fromQti(strToU8(named), foreignDefaults(place)),
      false,
    );
    assert.deepEqual(outcome.rejected, []);
    const [added] = merged.items as [Extract<Item, { type: 'single_choice' }>];
    assert.deepEqual(
      [added.key, added.options.map(({ id, text }) => `${id} ${text}`)],
      ['b', ['a One', 'b Two', 'c Three']],
    );
  });

  test('reads text wherever it stands, leaves a gap for the box, and keeps feedback out of options', () => {
    const [typed] = fromQti(
      strToU8(
        item(
          '<div>The capital of <i>France</i>:</div><p>It is <qti-text-entry-interaction response-identifier="RESPONSE"/>.</p>',
          'cardinality="single" base-type="string"><qti-correct-response><qti-value>Paris</qti-value></qti-correct-response>',
        ),
      ),
      foreignDefaults(place),
    ).items as [Extract<Item, { type: 'short_text' }>];
    assert.deepEqual(typed.stem, ['What is **right**?', 'The capital of **France**:', 'It is ____.']);
    const told = choice.replace('Two<', 'Two<qti-feedback-inline identifier="b">Yes!</qti-feedback-inline><');
    const [read] = fromQti(strToU8(told), foreignDefaults(place)).items as [Extract<Item, { type: 'single_choice' }>];
    assert.equal(read.options[1]!.text, 'Two');
    const bare = choice.replace(
      '<p>',
      '<div>Choose well. <qti-feedback-block identifier="b"><p>It is Two.</p></qti-feedback-block></div><p>',
    );
    assert.doesNotMatch(JSON.stringify(fromQti(strToU8(bare), foreignDefaults(place)).items), /It is Two/u);
  });

  test('rejects what it can’t take whole, and says why', () => {
    const second = choice.replace('</qti-item-body>', '<qti-text-entry-interaction/></qti-item-body>');
    assert.match(refused(second) ?? '', /has 2 interactions/u);
    for (const strange of ['img', 'table', 'object', 'audio', 'qti-printed-variable'])
      assert.match(
        refused(choice.replace('<p>', `<p><${strange}/>`)) ?? '',
        new RegExp(`has <${strange}>, which the bank can't take over`, 'u'),
      );
    assert.match(refused('<qti-assessment-item identifier="x"/>') ?? '', /has no body/u);
  });

  test('finds what it has already, so that the same file twice doesn’t double the bank', () => {
    const read = () => fromQti(strToU8(choice), foreignDefaults(place));
    const once = mergeBank({ number: 3, items: [], passages: [] }, read(), false).files;
    const twice = { ...read(), items: [...read().items, ...read().items] };
    assert.deepEqual(mergeBank(once, twice, false).outcome, {
      added: [],
      replaced: [],
      unchanged: ['eng-l1-gram-001', 'eng-l1-gram-001'],
      rejected: [],
      number: 4,
    });
    // In another place, or in the place of one that is given no more, it is another item.
    const elsewhere = fromQti(strToU8(choice), foreignDefaults({ ...place, level: 'level2' }));
    assert.equal(mergeBank(once, elsewhere, false).outcome.added.length, 1);
    const retired = { ...once, items: once.items.map((one) => ({ ...one, state: 'retired' as const })) };
    assert.equal(mergeBank(retired, read(), false).outcome.added.length, 1);
  });

  test('reads only what the manifest lists, and says what is missing', () => {
    const zip = (entries: Record<string, string>) =>
      zipSync(Object.fromEntries(Object.entries(entries).map(([path, text]) => [path, strToU8(text)])));
    const manifest = (href: string) =>
      `<manifest xmlns="http://www.imsglobal.org/xsd/qti/qtiv3p0/imscp_v1p1"><resources><resource identifier="i" type="imsqti_item_xmlv3p0" href="${href}"/></resources></manifest>`;
    assert.equal(
      fromQti(
        zip({ 'imsmanifest.xml': manifest('a.xml'), 'a.xml': choice, 'b.xml': 'not xml' }),
        foreignDefaults(place),
      ).items.length,
      1,
    );
    assert.throws(
      () => fromQti(zip({ 'imsmanifest.xml': manifest('../../a.xml'), 'a.xml': choice })),
      /lists \.\.\/\.\.\/a\.xml/u,
    );
    assert.throws(() => fromQti(zip({ 'a.xml': choice })), /no imsmanifest/u);
    assert.throws(() => fromQti(strToU8('PK nothing')), ExchangeFault);
    assert.throws(() => fromQti(strToU8('hello')), ExchangeFault);
  });
});

suite('merging an import', () => {
  const [first, second] = guideItems as [Item, Item];
  const start = { number: 7, items: [first], passages: [] };

  test('adds what is new, leaves what is equal, and replaces only when asked', () => {
    const changed = { ...first, b: 0.3 } as Item;
    assert.deepEqual(mergeBank(start, { items: [structuredClone(first), second], passages: [] }, false).outcome, {
      added: [second.id],
      replaced: [],
      unchanged: [first.id],
      rejected: [],
      number: 8,
    });
    assert.deepEqual(mergeBank(start, { items: [structuredClone(first)], passages: [] }, true).outcome.number, 7);
    assert.equal(mergeBank(start, { items: [changed], passages: [] }, false).outcome.rejected.length, 1);
    const replaced = mergeBank(start, { items: [changed], passages: [] }, true);
    assert.deepEqual(replaced.outcome.replaced, [first.id]);
    assert.deepEqual(replaced.files.items, [changed]);
    assert.deepEqual(start.items, [first], 'the bank that was given is not touched');
  });

  test('rejects a wrong shape, a wrong key and a missing passage', () => {
    const elsewhere = [{ level: 'entry' }, { domain: 'number' }].map((place) => ({ ...second, ...place }) as Item);
    const astray = elsewhere.map((item, n) => ({ ...item, id: `eng-l1-gram-80${n}`, subject: 'english' }) as Item);
    assert.deepEqual(
      mergeBank(start, { items: astray, passages: [] }, true).outcome.rejected.map(({ reason }) => reason),
      ['english has no level entry', 'english has no domain number'],
    );
    const bad = [
      { ...second, a: 2 },
      { ...first, key: 'zz' },
      { ...second, domain: 'grammar', passage: 'pas-l1-nowhere' },
    ].map((item, n) => ({ ...item, id: `eng-l1-gram-90${n}`, subject: 'english' }) as Item);
    const { outcome } = mergeBank(start, { items: bad, passages: [] }, true);
    assert.deepEqual(
      outcome.rejected.map(({ reason }) => reason.split(' ').slice(0, 3).join(' ')),
      ['/a must be', 'the key zz', 'is on pas-l1-nowhere,'],
    );
  });
});

/**
 * 1EdTech's licence does not clearly let the schemas be passed on, so they are not in this repository. With a folder that
 * holds them (imsqti_asiv3p0_v1p0.xsd, imsqtiv3p0_imscpv1p2_v1p0.xsd and what they import, made local), every file of the
 * package is validated by xmllint.
 */
suite('validation against the QTI 3.0 schemas', () => {
  const schemas = process.env.QTI_XSD_DIR ?? '';
  const xmllint = spawnSync('xmllint', ['--version']).error === undefined;
  const skip =
    schemas === ''
      ? 'QTI_XSD_DIR names no folder with the schemas'
      : !xmllint
        ? 'xmllint (libxml2-utils) is not installed'
        : false;
  const folder = mkdtempSync(join(tmpdir(), 'qti-'));
  after(() => rmSync(folder, { recursive: true }));

  test('holds for every item, stimulus and the manifest', { skip }, () => {
    const written = packageFiles(
      {
        items: [
          ...bank.items,
          ...guideItems.filter((item) => item.type !== 'template' && !bank.items.some((other) => other.id === item.id)),
        ],
        passages: bank.passages,
      },
      '1-test',
    );
    for (const [path, text] of written) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const validate = (schema: string, paths: readonly string[]) => {
      assert.ok(existsSync(join(schemas, schema)), `${schema} is in QTI_XSD_DIR`);
      const run = spawnSync('xmllint', ['--nonet', '--noout', '--schema', join(schemas, schema), ...paths], {
        cwd: folder,
        encoding: 'utf8',
      });
      assert.equal(
        run.status,
        0,
        run.stderr
          .split('\n')
          .filter((line) => !line.endsWith(' validates'))
          .slice(0, 10)
          .join('\n'),
      );
    };
    const documents = [...written.keys()].filter((path) => /^(?:items|stimuli)\//u.test(path));
    validate('imsqti_asiv3p0_v1p0.xsd', documents);
    validate('imsqtiv3p0_imscpv1p2_v1p0.xsd', ['imsmanifest.xml']);
  });
});
