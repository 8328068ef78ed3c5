import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { formatOf, numberText } from '../../../src/platform/formats/workbook/cell-text.ts';
import { UnreadableFile } from '../../../src/platform/formats/lines.ts';
import { workbookAsCsv } from '../../../src/platform/formats/workbook/read.ts';
import { odsParts, type Parts, rowsXml, xlsx, xlsxParts, zipped } from '../../support/workbooks.ts';

const read = async (bytes: Buffer, options = {}) => (await workbookAsCsv(bytes, options)).toString();
const sheet = (rows: string, more: Parts = {}) => zipped({ ...xlsxParts({ Learners: rows }), ...more });
const refuses = (bytes: Buffer, sentence: RegExp) =>
  assert.rejects(
    read(bytes),
    (error) => error instanceof UnreadableFile && sentence.test(error.message),
    `${sentence}`,
  );
const text = (cell: string) => `<c t="inlineStr"><is><t>${cell}</t></is></c>`;

suite('workbooks are read as CSV', () => {
  for (const format of ['xlsx', 'ods'])
    test(`${format}, as LibreOffice writes it: cells as people see them, rows on their lines`, async () => {
      const file = readFileSync(new URL(`../../fixtures/workbooks/learners.${format}`, import.meta.url));
      assert.deepEqual((await read(file)).split('\n'), [
        'LearnRefNumber,GivenNames,FamilyName,Expires,Extra time,Groups,ULN',
        '00042,Zoë & Co,O’Neil,31/01/2027,25%,C-1\u2028C-2,9900000042',
        '',
        '123456789012,Ana,Silva,31/01/2027,10,,#N/A',
        'L-0007,  Ben,Brown,31/01/2027 09:30,1,0.1,09:30',
        '',
      ]);
      assert.match(await read(file, { form: 'local' }), /2027-01-31T09:30:00/);
    });

  test('numbers and dates in the formats of XLSX', () => {
    const shown = (value: number, format: string, is1904 = false) => numberText(value, format, is1904, 'shown');
    const custom = new Map([[164, '0000000000']]);
    for (const [value, format, is] of [
      [42, formatOf(164, custom), '0000000042'],
      [42, '00000', '00042'],
      [1234567, '00000', '1234567'],
      [7, '"L-"0000', 'L-0007'],
      [123456, '000\\-000', '123-456'],
      [7, '[Red]\\P000;-0', 'P007'],
      [42, 'General', '42'],
      [1234.5, '#,##0.00', '1234.5'],
      [0.1 + 0.2, 'General', '0.3'],
      [0.25, formatOf(9, custom), '25%'],
      [46053, formatOf(14, custom), '31/01/2026'],
      [46053, '[$-809]dd mmmm yyyy;@', '31/01/2026'],
      [46053.395833333336, 'dd/mm/yyyy hh:mm', '31/01/2026 09:30'],
      [0.5, 'h:mm', '12:00'],
      [1e15, '0', '1000000000000000'],
      [1, '@', '1'],
    ] as const)
      assert.equal(shown(value, format), is, `${value} ${format}`);
    assert.equal(shown(44591, 'd/m/yy', true), '31/01/2026');
  });

  test('shared and rich texts, formulas with a stored value, errors, gaps and hidden sheets', async () => {
    const parts = xlsxParts({
      Hidden: rowsXml([['x']]),
      Learners:
        '<row r="2"><c r="B2" t="s"><v>1</v></c><c r="D2" t="str"><f>1&amp;[1]Other!A1</f><v>from a formula</v></c></row>' +
        '<row r="5"><c r="A5" t="e"><f>NA()</f><v>#N/A</v></c><c r="B5" t="b"><v>1</v></c><c r="C5" t="d"><v>2026-01-31</v></c></row>',
    });
    parts['xl/workbook.xml'] = parts['xl/workbook.xml']!.replace('name="Hidden"', 'name="Hidden" state="veryHidden"');
    parts['xl/_rels/workbook.xml.rels'] = parts['xl/_rels/workbook.xml.rels']!.replace(
      '</Relationships>',
      '<Relationship Id="s" Type="http://x/sharedStrings" Target="/xl/s.xml"/><Relationship Id="e" Type="http://x/externalLink" Target="http://evil.example/a.xlsx" TargetMode="External"/></Relationships>',
    );
    parts['xl/s.xml'] =
      '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>no</t></si><si><r><t>Zo</t></r><r><t>ë_x0041_, =1</t></r><rPh><t>reading</t></rPh></si></sst>';
    assert.equal(await read(zipped(parts)), '\n,"ZoëA, =1",,from a formula\n\n\n#N/A,TRUE,31/01/2026\n');
  });

  test('a sheet is named if several have rows', async () => {
    const two = zipped(xlsxParts({ 'Class 1': rowsXml([['a']]), 'Class 2': rowsXml([['b']]), Empty: '' }));
    await refuses(two, /rows in 2 sheets \(“Class 1”, “Class 2”\): enter the name of one sheet/);
    assert.equal(await read(two, { sheet: ' class 2 ' }), 'b\n');
    await assert.rejects(read(two, { sheet: 'Empty' }), /no visible sheet of this name/);
  });

  test('a file that is no workbook is returned unchanged', async () => {
    const csv = Buffer.from('ref,full_name');
    assert.equal(await workbookAsCsv(csv), csv);
  });
});

suite('hostile and damaged workbooks are refused with a sentence', () => {
  test('a part that unpacks to too many bytes, whatever size the archive claims', async () => {
    const bomb = sheet(text('a').repeat(1) + `<row>${text(' '.repeat(80 * 1024 * 1024))}</row>`);
    assert.ok(bomb.length < 200_000);
    await refuses(bomb, /too large when it is unpacked/);
    // The archive claims 100 bytes for the part.
    const lying = Buffer.from(bomb);
    for (let at = lying.indexOf('PK\u0001\u0002'); at >= 0; at = lying.indexOf('PK\u0001\u0002', at + 1))
      if (lying.subarray(at + 46, at + 80).includes('sheet0')) lying.writeUInt32LE(100, at + 24);
    await refuses(lying, /damaged/);
  });

  test('few texts that are repeated in many cells', async () => {
    const cells = `<c t="s"><v>0</v></c>`.repeat(90);
    const parts = xlsxParts({ Learners: `<row>${cells}</row>`.repeat(2000) });
    parts['xl/_rels/workbook.xml.rels'] = parts['xl/_rels/workbook.xml.rels']!.replace(
      '</Relationships>',
      '<Relationship Id="s" Type="http://x/sharedStrings" Target="s.xml"/></Relationships>',
    );
    parts['xl/s.xml'] = `<sst xmlns="http://x"><si><t>${'a'.repeat(10_000)}</t></si></sst>`;
    await refuses(zipped(parts), /row \d+: there is too much text/);
  });

  test('rows and columns beyond the limits, with the place', async () => {
    await refuses(sheet(`<row r="10000000">${text('a')}</row>`), /sheet “Learners”, row 10000000: .*more than 200,000/);
    await refuses(sheet('<row r="3"><c r="XFD3"><v>1</v></c></row>'), /row 3, column XFD: there are more than 100/);
    await refuses(sheet(`<row r="3">${text('a')}</row><row r="2">${text('b')}</row>`), /not in order/);
    assert.equal(await read(sheet(`<row r="1">${text('a')}</row><row r="1048576"/>`)), 'a\n');
    const cell = '<table:table-cell table:number-columns-repeated="16384"/>';
    const many = `<table:table-row table:number-rows-repeated="1048576">${cell}</table:table-row>`;
    const one = '<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row>';
    assert.equal(await read(zipped(odsParts(one + many))), 'a\n');
    const repeated = one.replace('<table:table-row>', '<table:table-row table:number-rows-repeated="10000000">');
    await refuses(zipped(odsParts(repeated)), /more than 200,000 rows|too much text/);
    const wide = one.replace('<table:table-cell>', '<table:table-cell table:number-columns-repeated="16384">');
    await refuses(zipped(odsParts(wide)), /column CW: there are more than 100 columns/);
  });

  test('entities, document types and external files are never read', async () => {
    const laughs = `<!DOCTYPE x [<!ENTITY a "${'ha'.repeat(100)}"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>`;
    for (const [part, entity] of [
      ['xl/worksheets/sheet0.xml', '&b;'],
      ['xl/worksheets/sheet0.xml', '&f;'],
    ] as const) {
      const parts = xlsxParts({ Learners: `<row>${text(entity)}</row>` });
      await refuses(zipped({ ...parts, [part]: laughs + parts[part]! }), /declares a document type/);
      await refuses(zipped(parts), /damaged/);
    }
    const ods = odsParts('');
    await refuses(zipped({ ...ods, 'content.xml': laughs + ods['content.xml']! }), /declares a document type/);
  });

  test('a formula without a stored value, with the place', async () => {
    await refuses(
      sheet('<row r="3"><c r="B3"><f>A1</f></c></row>'),
      /row 3, column B: the formula has no stored value/,
    );
    const formula = '<table:table-row><table:table-cell table:formula="of:=A1"/></table:table-row>';
    await refuses(zipped(odsParts(formula)), /row 1, column A: the formula has no stored value/);
  });

  test('old, protected, cut and other files', async () => {
    await refuses(Buffer.from('d0cf11e0a1b11ae1', 'hex'), /old one \(\.xls\) or has a password/);
    await refuses(Buffer.from('PK\u0003\u0004\0\0'), /damaged or has a password/);
    const whole = xlsx([['a']]);
    for (const length of [30, whole.length >> 1, whole.length - 5]) await refuses(whole.subarray(0, length), /damaged/);
    await refuses(zipped({ 'word/document.xml': '<x/>' }), /damaged/);
    await refuses(sheet('<row><c t="s"><v>7</v></c></row>'), /damaged/);
    await refuses(sheet('<row><c>'), /damaged/);
    await refuses(sheet(''), /no visible sheet with rows/);
  });

  test('several at once are all answered', async () => {
    const files = Array.from({ length: 6 }, (_, n) => xlsx([[`a${n}`]]));
    assert.deepEqual(
      await Promise.all(files.map((file) => read(file))),
      files.map((_, n) => `a${n}\n`),
    );
  });
});
