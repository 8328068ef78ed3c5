import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { readJsonObject } from '../../../src/api/http/body.ts';

const codeOf = (text: string): string => {
  try {
    readJsonObject(text);
    return 'read';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

suite('readJsonObject', () => {
  test('reads any object as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)])
          assert.deepEqual(readJsonObject(text), JSON.parse(text));
      }),
    );
  });

  test('a name twice in one object is refused, however deep and however it is written', () => {
    for (const text of [
      '{"a":1,"a":1}',
      '{"a":1,"\\u0061":2}',
      '{"x":[{"a":1,"b":{"c":1,"c":2}}]}',
      '{"a":{},"b":[1,[{"k":1,"k":1}]],"c":1}',
      '{"":1,"":2}',
      '{"a" :1, "a"\n:2}',
      '{"__proto__":1,"__proto__":2}',
    ]) {
      assert.equal(codeOf(text), 'invalid_json', text);
    }
  });

  test('the same name in different objects, and the same text as a value, are fine', () => {
    for (const text of [
      '{"a":{"a":1},"b":{"a":1}}',
      '{"x":[{"a":1},{"a":2}]}',
      '{"a":"a","b":"a"}',
      '{"a":"\\"a\\":1,","b":"{"}',
      '{"a":["b","b"],"b":["a"]}',
    ])
      assert.equal(codeOf(text), 'read', text);
  });

  test('__proto__ is a name like any other and reaches no prototype', () => {
    const value = readJsonObject('{"__proto__":{"admin":true}}');
    assert.deepEqual(Object.keys(value), ['__proto__']);
    assert.equal((value as { admin?: boolean }).admin, undefined);
  });

  test('anything but an object', () => {
    for (const text of ['[]', 'null', 'true', '1', '"x"']) assert.equal(codeOf(text), 'invalid_body', text);
    for (const text of [
      '',
      ' ',
      '{',
      '{]',
      '{"a":}',
      "{'a':1}",
      '{a:1}',
      '{"a":1}x',
      '\uFEFF{}',
      'undefined',
      '{"a":01}',
      '{"a":"\n"}',
      '{"a":.5}',
    ])
      assert.equal(codeOf(text), 'invalid_json', JSON.stringify(text));
  });

  test('deep nesting is read or refused, never a fault of ours', () => {
    const depth = 200_000;
    assert.match(codeOf(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`), /^(read|invalid_json)$/);
  });
});
