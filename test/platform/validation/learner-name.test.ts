import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { damageOf, isErrorValue, nameFault, repaired } from '../../../src/platform/validation/person-name.ts';
import { learners } from '../../sandbox/planned.ts';

const right = [
  ...[
    'Null',
    'True',
    'Ng',
    'Na',
    'Madonna',
    'N',
    'Ł',
    '李',
    '李小龍',
    'محمد علي',
    'Ngọc Ánh',
    'สมชาย',
    'Ἀθηνᾶ',
    'ʻAukai',
  ],
  ...['Anne Ångström-Ãvila', 'João Ãlvares', 'FERNÃO Â', 'Ñandú Ñuñez', 'FRANÇOIS ÉMİLE', 'Åse Õž', 'KRÓŻ'],
  ...['O’Neil-Smith Jr.', "D'Arcy", 'O`Brien', 'J. R. R. Tolkien', 'Ana "Annie" Silva', 'María José Mª', 'Learner 5'],
  ...['JANÍŠEK', 'Gal·la Mº', 'Émile «Mimi»', 'O´Brien', 'Ernest Err'],
  ...['🦊 Fox', 'Müller, Zoë', 'Smith & Daughter', 'An May', 'May Ngo'],
];

suite('a learner’s name', () => {
  test('is no error value of a spreadsheet, in whatever language and beside whatever', () => {
    const values =
      '#N/A #REF! #NAME? #VALUE! #DIV/0! #NULL! #NUM! #SPILL! #CALC! #GETTING_DATA #FIELD! #BLOCKED! #UNKNOWN! #CONNECT! #BUSY! #PYTHON! #EXTERNAL! #ERROR! #n/a #NV #BEZUG! #¡REF! #¿NOMBRE? #Н/Д! #NOM? Err:502 ######## ＃N/A';
    for (const value of values.split(' ')) {
      assert.ok(isErrorValue(value), value);
      assert.match(nameFault(value) ?? '', /error value/, value);
    }
    for (const name of ['Zoe #N/A', '#REF! Marsh', '(#VALUE!)', '#NOM ?', '#Н/Д', 'Zoe Err:508', 'N/A', 'n/a'])
      assert.match(nameFault(name) ?? '', /error value/, name);
    for (const group of ['#1', '# 5', 'C#', 'Team #5']) assert.equal(isErrorValue(group), false, group);
  });

  test('has a letter, and is no number or date', () => {
    for (const name of [
      '0',
      '-',
      '–',
      '?',
      '...',
      '12345',
      '1.5',
      '٣',
      '12/05/2026',
      '_',
      '()',
      '½',
      '🙂',
      '👍🏽',
      '１２',
      'Ⅳ',
      'ʼ',
      'ª',
    ])
      assert.match(nameFault(name) ?? '', /one letter/, name);
    for (const name of ['1.23E+11', '1,23E+11', '5E3', '12-May', 'May-26', '12-May-26'])
      assert.match(nameFault(name) ?? '', /number or a date/, name);
    assert.match(nameFault('Zo\uFFFD Marsh') ?? '', /lost/);
  });

  test('is asked about where it looks damaged, and would be repaired', () => {
    const damaged: [string, string][] = [
      ['ZoÃ« Marsh', 'Zoë Marsh'],
      ['SeÃ¡n Oâ€™Dell', 'Seán O’Dell'],
      ['Å‚ukasz', 'łukasz'],
      ['Ð˜Ð²Ð°Ð½', 'Иван'],
      ['ZoÃƒÂ«', 'Zoë'],
      ['NicolÃ', 'NicolÃ'],
      ['ï»¿Zoe', 'ï»¿Zoe'],
      ['Zoï¿½ Marsh', 'Zoï¿½ Marsh'],
      ['Ngá»c Ánh', 'Ngá»c Ánh'],
      ['Nu±ez', 'Nu±ez'],
      ['£ukasz', '£ukasz'],
      ['Jos=C3=A9', 'Jos=C3=A9'],
      ['Jos%C3%A9', 'Jos%C3%A9'],
      ['Jos\\u00e9', 'Jos\\u00e9'],
      ['Zo&euml; Marsh', 'Zo&euml; Marsh'],
      ['Zo√´ Marsh', 'Zo√´ Marsh'],
      ['Zo_x00EB_', 'Zo_x00EB_'],
    ];
    for (const [name, before] of damaged)
      assert.deepEqual([nameFault(name), damageOf(name), repaired(name)], [null, 'encoding', before], name);
    for (const name of ['?ukasz Marsh', 'Zo? Marsh', 'Marsh?', 'Zo？', '¿ukasz', 'Zo¿ Marsh'])
      assert.deepEqual([nameFault(name), damageOf(name)], [null, 'question_mark'], name);
  });

  test('signs that groups and reasons may have are no damage', () => {
    for (const text of ['Groupe N°5', 'Area in m²', 'Excel® course', '50% English', '½ day', 'Year 7 – £5'])
      assert.equal(damageOf(text), null, text);
  });

  test('that is right passes without a question, in every script', () => {
    for (const name of right)
      assert.deepEqual([nameFault(name), damageOf(name), repaired(name)], [null, null, name], name);
  });

  test('that a sandbox makes up passes without a question', () => {
    for (const { full_name: name } of learners) assert.deepEqual([nameFault(name), damageOf(name)], [null, null], name);
  });
});
