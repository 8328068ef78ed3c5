import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientOf } from '../../../src/web/player/client.ts';

const agents: [device: string | null, agent: string][] = [
  [
    'phone',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Mobile/15E148 Safari/604.1',
  ],
  [
    'phone',
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36',
  ],
  ['phone', 'Mozilla/5.0 (Android 14; Mobile; rv:132.0) Gecko/132.0 Firefox/132.0'],
  ['phone', 'Opera/9.80 (J2ME/MIDP; Opera Mini/9.80/190.283; U; en) Presto/2.5.25 Version/10.54'],
  [
    'tablet',
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
  ],
  [
    'tablet',
    'Mozilla/5.0 (iPad; CPU OS 12_5 like Mac OS X) AppleWebKit/605.1.15 Version/12.1 Mobile/15E148 Safari/604.1',
  ],
  ['tablet', 'Mozilla/5.0 (Android 14; Tablet; rv:132.0) Gecko/132.0 Firefox/132.0'],
  [
    'desktop',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
  ],
  [
    'desktop',
    'Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
  ],
  [
    'desktop',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15',
  ],
  [null, 'curl/8.5.0'],
  [null, ''],
];

for (const [device, agent] of agents)
  test(`${device ?? 'unknown'}: ${agent.slice(0, 60)}`, () =>
    assert.equal(clientOf({ 'user-agent': agent }).device, device));

test('of the languages only the first counts, and only as English, Welsh or another', () => {
  const languageOf = (text: string) => clientOf({ 'accept-language': text }).language;
  assert.deepEqual(['en-GB,en;q=0.9', 'cy', 'pl-PL,en;q=0.5', 'EN', '*', ''].map(languageOf), [
    'en',
    'cy',
    'other',
    'en',
    null,
    null,
  ]);
  assert.deepEqual(clientOf({}), { device: null, language: null });
});
