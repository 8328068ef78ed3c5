import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { filters, moment, notice, progress } from '../../../../src/web/console/kit/blocks.ts';
import { fieldsOf } from '../../../../src/web/console/kit/form.ts';
import { Form } from '../../../../src/api/http/form.ts';
import { pager, pages, readSort, withQuery } from '../../../../src/web/console/kit/paging.ts';
import { numeric, sorted, table } from '../../../../src/web/console/kit/table.ts';

suite('what pages are built of', () => {
  test('a table is ordered by its head, whose links keep the filters and leave the page', () => {
    const query = new URLSearchParams('status=failed&sort=-at&after=x');
    const sort = readSort(query, ['name', 'at']);
    assert.deepEqual(sort, { by: 'at', descending: true });
    const text = table({ caption: 'All', sorting: { path: '/console/x', query, ...sort } }, [{ name: '<b>' }], {
      Name: sorted('name', (row) => row.name),
      At: { ...numeric(() => 7), sort: 'at' },
    })!.text;
    assert.match(text, /href="\/console\/x\?status=failed&amp;sort=name"/);
    assert.match(text, /aria-sort="descending"><a href="\/console\/x\?status=failed&amp;sort=at"/);
    assert.match(text, /&lt;b&gt;/);
    assert.deepEqual(readSort(new URLSearchParams('sort=constructor'), ['name', 'at']), {
      by: 'name',
      descending: false,
    });
  });

  test('addresses are made from the query that is there', () => {
    assert.equal(withQuery('/x', new URLSearchParams('a=1&b=2'), { a: null, c: '3 4' }), '/x?b=2&c=3+4');
    assert.equal(withQuery('/x', new URLSearchParams('a=1'), { a: null }), '/x');
    assert.equal(pages({ first: null, next: null }), null);
    assert.equal(pager({ path: '/x', query: new URLSearchParams('a=1') }, null), null);
    const { text } = pager({ path: '/x', query: new URLSearchParams('a=1&after=1&did=x') }, '2')!;
    assert.match(text, /href="\/x\?a=1">First page.*rel="next" href="\/x\?a=1&amp;after=2"/);
    assert.match(filters('/x', null).text, /method="get"/);
  });

  test('only words of the page itself are told', () => {
    assert.match(notice(new URLSearchParams('did=ended'), { ended: 'It has ended.' })!.text, /It has ended/);
    for (const word of ['constructor', '__proto__', '<b>', ''])
      assert.equal(notice(new URLSearchParams({ did: word }), { ended: '' }), null);
  });

  test('fields give back what was typed, as text', async () => {
    const sent = await Form.read('about=%0A%3C%2Ftextarea%3E&about=second&box=1&box=2');
    assert.equal(sent.raw('about'), 'second');
    assert.deepEqual(sent.all('box'), ['1', '2']);
    const f = fieldsOf({ form: sent, path: '/x' }, { about: 'Say more.' });
    assert.match(
      f.lines('about', 'About', { value: '\n</textarea>' }).text,
      /aria-invalid="true">\n\n&lt;\/textarea&gt;</,
    );
    assert.match(f.text('about', 'About').text, /value="second"/);
    assert.doesNotMatch(f.text('about', 'About', { type: 'password' }).text, /second/);
    assert.match(f.tick('box', 'Box', { 1: 'One', 3: 'Three' }).text, /value="1" checked.*value="3">/);
    assert.match(f.select('s', 'S', { a: 'A', b: 'B' }, { initial: 'b' }).text, /value="b" selected/);
    assert.match(f.form('Save').text, /href="#about">Say more\..*method="post" action="\/x"/);
    assert.match(progress('Sending', 1200, 5000, '/x').text, /1,200 of 5,000/);
  });

  test('moments are shown by the clocks of the organisation', () => {
    const at = new Date('2026-07-01T23:30:00Z');
    assert.match(moment(at, 'Europe/London').text, />2 July 2026 at 00:30</);
    assert.match(moment(at, 'UTC').text, /datetime="2026-07-01T23:30:00.000Z">1 July 2026 at 23:30</);
  });
});
