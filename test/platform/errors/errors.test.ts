import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { refusalsOf } from '../../../src/api/reference/codes.ts';
import { routes } from '../../../src/api/route-table.ts';
import { errorTable } from '../../../src/platform/errors/errors.ts';

suite('messages of the API', () => {
  const messages = new Set([
    ...Object.values(errorTable).map(([, message]) => message as string),
    ...routes.flatMap((route) => refusalsOf(route).map(({ message }) => message)),
  ]);

  test('say what is wrong, and then what to do', () => {
    const todo = /\. (Send|Take|Use|Leave|Check|Wait|Repeat|Retry|Ask|Archive|Remove|End|Create|Change|Correct)\b/;
    for (const message of messages) {
      assert.match(message, todo);
      assert.match(message, /\.$/);
      for (const sentence of message.split(/\. (?=[A-Z])/)) assert.ok(sentence.split(' ').length <= 25, sentence);
    }
  });

  test('keep to the words of the glossary', () => {
    for (const message of messages)
      assert.doesNotMatch(message, /e-mail|\bids?\b|\breply|\bmust\b|\btold\b|somebody|;/);
  });
});
