import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Content } from '../../../src/platform/html/html.ts';
import { Markup, attributes, html } from '../../../src/platform/html/html.ts';

const hostile = `<script>alert("1")</script>'&`;

test('text is escaped, wherever it stands', () => {
  assert.equal(html`<p>${hostile}</p>`.text, '<p>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39;&amp;</p>');
  assert.equal(
    html`<p title="${hostile}">x</p>`.text,
    '<p title="&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39;&amp;">x</p>',
  );
  assert.equal(html`<p>${['a', html`<b>${'<'}</b>`, 1, null, false, undefined]}</p>`.text, '<p>a<b>&lt;</b>1</p>');
});

test('an attribute without quotes is refused', () => {
  assert.throws(() => html`<p title=${'x'}>`, /Quote the attribute/);
  assert.throws(() => html`<p ${'title'}>`, /Make attributes/);
});

test('event handlers, inline styles and addresses that run are refused', () => {
  assert.throws(() => html`<p onclick="${'x'}">`, /onclick/);
  assert.throws(() => html`<p style="${'x'}">`, /style/);
  assert.throws(() => html`<a href="${'javascript:alert(1)'}">`, /address/);
  assert.throws(() => html`<a href="${' data:text/html,x'}">`, /address/);
  assert.throws(() => attributes({ onclick: 'x' }), /onclick/);
  assert.throws(() => attributes({ href: 'javascript:alert(1)' }), /address/);
  assert.equal(html`<a href="${'/a?b=c:d'}">`.text, '<a href="/a?b=c:d">');
});

test('a script or a comment holds no text', () => {
  assert.throws(() => html`<script>${'x'}</script>`, /script/);
  assert.throws(() => html`<style>${'x'}</style>`, /style/);
  assert.throws(() => html`<!-- ${'x'} -->`, /comment/);
  assert.equal(html`<script src="${'/a.js'}"></script><p>${'<'}</p>`.text, '<script src="/a.js"></script><p>&lt;</p>');
});

test('promises, dates and other objects are refused, in text and in attributes', () => {
  for (const value of [Promise.resolve('x'), new Date(0), { text: 'x' }, Symbol('x'), () => 'x', true]) {
    assert.throws(() => html`<p>${value as Content}</p>`, TypeError);
    assert.throws(() => html`<p title="${value as Content}"></p>`, TypeError);
  }
  assert.throws(() => html`<p title="${new Markup('"')}"></p>`, TypeError);
});

test('attributes: true is the bare name, null and false leave it out, text is escaped', () => {
  assert.equal(
    html`<input${attributes({ checked: true, disabled: false, id: null, value: '"<', size: 3 })}>`.text,
    '<input checked value="&quot;&lt;" size="3">',
  );
});
