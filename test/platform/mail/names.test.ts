import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameInLetter } from '../../../src/platform/mail/template.ts';

test('a name in a letter holds nothing that a mail program would make a link of, and others stand as they are', () => {
  for (const [name, said] of [
    ['T.CO', 'T. CO'],
    ['see T.Co', 'see T. Co'],
    ['J.Li', 'J. Li'],
    ['Mr.Li', 'Mr. Li'],
    ['St.John', 'St. John'],
    ['J.Smith College', 'J. Smith College'],
    ['J.Smith, tutor', 'J. Smith, tutor'],
    ['P.de Vries', 'P. de Vries'],
    ['A.de Souza Ltd', 'A. de Souza Ltd'],
    ['J.van Dyke', 'J. van Dyke'],
    ['J.van der Berg', 'J. van der Berg'],
    ['A.N.Other', 'A.N. Other'],
    ['No.1 School', 'No. 1 School'],
    ['evil.example', 'evil. example'],
    ['evil.\u200eexample', 'evil. \u200eexample'],
    ['Win: t.ly/abc', 'Win: t. ly/abc'],
    ['x.com', 'x. com'],
    ['www.x.co', 'www. x. co'],
    ['1.1.1.1/x', '1. 1. 1. 1/x'],
    ['evil。com', 'evil。 com'],
    ['see https://x', 'see https: //x'],
    ['परीक्षा.भारत', 'परीक्षा. भारत'],
    ['T.LY/abc', 'T. LY/abc'],
    ['t.LY/a', 't. LY/a'],
    ['Claim at T.ME/prize', 'Claim at T. ME/prize'],
    ['x.com, see there', 'x. com, see there'],
    ['Look: x.com!', 'Look: x. com!'],
    ['x.com Prize', 'x. com Prize'],
    ['(t.me)', '(t. me)'],
    ['t.me?start=1', 't. me?start=1'],
    ['t.ly#a', 't. ly#a'],
    ['t.ly:443/a', 't. ly: 443/a'],
    ['T.LY:443/a', 'T. LY: 443/a'],
    ['n.中国/x', 'n. 中国/x'],
    ['1.1/x', '1. 1/x'],
    ['1.1:80', '1. 1:80'],
    ['p.de Vries', 'p. de Vries'],
    ['P.de', 'P. de'],
    ['X.la Prize', 'X. la Prize'],
    ['see P.de/Vries', 'see P. de/Vries'],
    ['a@t.co', 'a@t. co'],
    ['mailto:a@b', 'mailto: a@b'],
    ['1://x', '1: //x'],
  ] as const) {
    assert.equal(nameInLetter(name, 'your provider'), said);
    assert.equal(nameInLetter(said, 'your provider'), said);
  }
  for (const name of [
    "St. John's College",
    "O'Brien",
    'J.R. Smith',
    'U.K. Skills Ltd.',
    'Team 1.2',
    'Ada Byron',
    'A. N. Other',
    'Entry Level 3.',
    '1.10 key',
    'Entry 1.2: Reading',
    'Open 09:30',
    'P.E/Games',
    '...',
  ])
    assert.equal(nameInLetter(name, 'your provider'), name);
  assert.equal(nameInLetter(null, 'your provider'), 'your provider');
});

test('a name that turns the direction of the words after it is left out of a letter, one of either direction is kept', () => {
  for (const name of ['Kent \u202eegelloC', 'Kent \u2067College', '\u202bKent\u202c'])
    assert.equal(nameInLetter(name, 'your provider'), 'your provider');
  for (const name of ['مدرسة لندن', 'מכללת לונדון 2', 'Kent\u200e College'])
    assert.equal(nameInLetter(name, 'your provider'), name);
});
