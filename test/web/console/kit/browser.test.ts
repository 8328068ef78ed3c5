import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cookieHeader } from '../../../../src/api/http/browser.ts';

test('a session cookie ends with the browser session, and a cookie with a time has its seconds', () => {
  const of = (value: string | null, seconds?: number) => cookieHeader('https://a.example', 'session', value, seconds);
  assert.equal(of('x'), '__Host-session=x; Path=/; Secure; HttpOnly; SameSite=Lax');
  assert.equal(of('x', 600), '__Host-session=x; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=600');
  assert.match(of(null), /Max-Age=0/);
});
