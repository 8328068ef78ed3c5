import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { feedETag, noneMatch } from '../../src/feed/etag.ts';

const etag = feedETag(
  { position: 1_767_225_600_123_456, state: 5 },
  'https://results.example.org',
  '7\n/assessments\n\n100\n',
);

suite('feedETag', () => {
  test('is weak and differs by position, state, origin and request', () => {
    const others = [
      feedETag(
        { position: 1_767_225_600_123_456, state: 6 },
        'https://results.example.org',
        '7\n/assessments\n\n100\n',
      ),
      feedETag(
        { position: 1_767_225_600_123_476, state: 5 },
        'https://results.example.org',
        '7\n/assessments\n\n100\n',
      ),
      feedETag({ position: 1_767_225_600_123_456, state: 5 }, 'https://other.example.org', '7\n/assessments\n\n100\n'),
      feedETag(
        { position: 1_767_225_600_123_456, state: 5 },
        'https://results.example.org',
        '8\n/assessments\n\n100\n',
      ),
      feedETag(
        { position: 1_767_225_600_123_456, state: 5 },
        'https://results.example.org',
        '7\n/assessments\n\n200\n',
      ),
    ];
    assert.equal(new Set([etag, ...others]).size, 6);
    for (const one of [etag, ...others]) assert.match(one, /^W\/"[A-Za-z0-9_-]{24}"$/);
    assert.equal(
      feedETag(
        { position: 1_767_225_600_123_456, state: 5 },
        'https://results.example.org',
        '7\n/assessments\n\n100\n',
      ),
      etag,
    );
  });
});

suite('noneMatch', () => {
  const strong = etag.slice(2);
  test('compares weakly, with * and lists', () => {
    for (const header of [etag, strong, '*', ` ${etag}`, `"x", ${etag}`, `${strong},"x"`, 'W/"x" , ' + etag])
      assert.equal(noneMatch(header, etag), false, header);
    for (const header of [undefined, '', '"x"', 'W/"x"', strong.slice(1, -1), `"x", "y"`, `${etag.slice(0, -1)}x"`])
      assert.equal(noneMatch(header, etag), true, header ?? 'none');
  });
});
