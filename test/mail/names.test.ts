import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameInLetter } from '../../src/mail/letter.ts';

test('a name that a mail program would make a link of is left out of a letter, and others are kept', () => {
  for (const name of [
    'evil.example',
    'Win: t.ly/abc',
    'x.com',
    'www.x.co',
    '1.1.1.1/x',
    'evil。com',
    'see https://x',
    'परीक्षा.भारत',
    'T.LY/abc',
    't.LY/a',
    'Claim at T.ME/prize',
    'x.com, see there',
    'Look: x.com!',
    'x.com Prize',
    '(t.me)',
    't.me?start=1',
    't.ly#a',
    't.ly:443/a',
    'T.LY:443/a',
    'n.中国/x',
    '1.1/x',
    'p.de Vries',
    'P.de',
    'X.la Prize',
    'see P.de/Vries',
  ])
    assert.equal(nameInLetter(name, 'your provider'), 'your provider', name);
  for (const name of [
    "St. John's College",
    'J.R. Smith',
    'Team 1.2',
    'Ada Byron',
    'A. N. Other',
    'Entry Level 3.',
    'J.Smith College',
    '1.10 key',
    'P.de Vries',
    'A.de Souza Ltd',
    'J.van Dyke',
    'J.van der Berg',
    'Entry 1.2: Reading',
    'J.Smith, tutor',
    'P.E/Games',
  ])
    assert.equal(nameInLetter(name, 'your provider'), name);
});

test('a name that turns the direction of the words after it is left out of a letter, one of either direction is kept', () => {
  for (const name of ['Kent \u202eegelloC', 'Kent \u2067College', '\u202bKent\u202c'])
    assert.equal(nameInLetter(name, 'your provider'), 'your provider');
  for (const name of ['مدرسة لندن', 'מכללת לונדון 2', 'Kent\u200e College'])
    assert.equal(nameInLetter(name, 'your provider'), name);
});
