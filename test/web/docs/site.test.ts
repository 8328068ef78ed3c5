import assert from 'node:assert/strict';
import { posix } from 'node:path';
import { suite, test } from 'node:test';
import type { DefaultTreeAdapterTypes as Tree } from 'parse5';
import { parse } from 'parse5';
import { refusalsOf } from '../../../src/api/reference/codes.ts';
import { makeOpenApi } from '../../../src/api/reference/openapi.ts';
import { routes } from '../../../src/api/route-table.ts';
import { errorTable } from '../../../src/platform/errors/errors.ts';
import { defaultRateLimit, exampleOrigin } from '../../../src/platform/config/settings.ts';
import { beginning, renderMarkdown } from '../../../src/web/docs/markdown.ts';
import { wordsOf } from '../../../src/web/docs/search-index.ts';
import { makeSite } from '../../../src/web/docs/site.ts';
import { userPages } from '../../support/documents/documents.ts';

type PageTree = { path: string; elements: Tree.Element[]; faults: string[]; text: string };

function read(path: string, html: string): PageTree {
  const elements: Tree.Element[] = [];
  const faults: string[] = [];
  let text = '';
  const visit = (node: Tree.Node): void => {
    if ('tagName' in node) elements.push(node);
    if (node.nodeName === '#text') text += `${(node as Tree.TextNode).value} `;
    if ('childNodes' in node) node.childNodes.forEach(visit);
  };
  visit(parse(html, { onParseError: (error) => faults.push(`${path}: ${error.code} at ${error.startOffset}`) }));
  return { path, elements, faults, text };
}

const of = (element: Tree.Element, name: string) => element.attrs.find((one) => one.name === name)?.value;
const textIn = (node: Tree.ParentNode): string =>
  node.childNodes.map((one) => ('value' in one ? one.value : 'childNodes' in one ? textIn(one) : '')).join('');

suite('the documentation site', async () => {
  const site = await makeSite(exampleOrigin, defaultRateLimit);
  const pages = [...site.files]
    .filter(([path]) => path.endsWith('.html'))
    .map(([path, { body }]) => read(path, String(body)));
  const ids = new Map(
    pages.map(({ path, elements }) => [path, elements.flatMap((one) => of(one, 'id') ?? [])] as const),
  );

  test('is markup that a parser takes without a word', () => {
    assert.deepEqual(
      pages.flatMap((page) => page.faults),
      [],
    );
  });

  test('holds every page for users, and none for engineers', () => {
    const made = [...site.files.values()].map(({ body }) => /Made from <code>(.*?)<\/code>/.exec(String(body))?.[1]);
    const pages = made.filter((source) => source?.endsWith('.md') && !source.startsWith('examples/'));
    assert.deepEqual(pages.sort(), [...userPages, 'CHANGELOG.md'].sort());
  });

  test('blocks with a title become one group of tabs, also in a list and around comments', () => {
    const fence = (language: string, title: string) => `\`\`\`${language} tab="${title}"\n1 < 2\n\`\`\``;
    const source = `# Page\n\n${fence('sh', 'curl')}\n\n<!-- made: file a.py -->\n${fence('python', 'Python')}\n<!-- end -->\n\nText\n\n1. Step\n\n   ${fence('cs', 'C#').replaceAll('\n', '\n   ')}\n`;
    const { body } = renderMarkdown(source, {
      link: (href) => href,
      picture: (src) => ({ src, size: null, forms: [] }),
    });
    const { elements, faults } = read('page', `<!doctype html><title>x</title>${body.text}`);
    assert.deepEqual(faults, []);
    const groups = elements.filter((one) => of(one, 'class') === 'tabs');
    assert.deepEqual(
      groups.map((group) => textIn(group)),
      ['curl1 < 2Python1 < 2', 'C#1 < 2'],
    );
    const radios = elements.filter((one) => one.tagName === 'input');
    assert.deepEqual(
      radios.map((one) => `${of(one, 'name')} ${of(one, 'id')} ${of(one, 'checked') !== undefined}`),
      ['tab-1 tab-1-1 true', 'tab-1 tab-1-2 false', 'tab-2 tab-2-1 true'],
    );
  });

  test('every link leads to a page and an anchor that are there, and every picture too', () => {
    const lost = [...site.faults];
    for (const { path, elements } of pages) {
      for (const element of elements) {
        const to = of(element, 'href') ?? of(element, 'src');
        if (to === undefined || /^https?:/.test(to)) continue;
        const [address, anchor] = to.split('#') as [string, string?];
        const target = address === '' ? path : posix.join(posix.dirname(path), address);
        if (!site.files.has(target)) lost.push(`${path}: ${to}`);
        else if (anchor !== undefined && !ids.get(target)?.includes(decodeURIComponent(anchor)))
          lost.push(`${path}: ${to}`);
      }
    }
    assert.deepEqual(lost, []);
  });

  test('every page has a title and a description of its own, one first heading, and no id twice', () => {
    const titles = new Set<string>();
    for (const { path, elements } of pages) {
      const named = (name: string) => elements.filter((one) => one.tagName === name);
      const title = textIn(named('title')[0]!);
      assert.ok(title.length > 5 && !titles.has(title), `${path}: ${title}`);
      titles.add(title);
      const description = named('meta').find((one) => of(one, 'name') === 'description');
      const said = of(description!, 'content') ?? '';
      assert.ok(said.length > 20 && said.length <= 200, `${path}: ${said}`);
      assert.equal(named('h1').length, 1, path);
      const own = ids.get(path)!;
      assert.deepEqual(
        own.filter((id, i) => own.indexOf(id) !== i),
        [],
        path,
      );
      for (const image of named('img'))
        assert.ok((of(image, 'alt') ?? '').length > 3, `${path}: a picture says nothing`);
    }
  });

  test('nothing comes from elsewhere, and nothing runs or is styled in a page', () => {
    for (const { path, elements } of pages) {
      for (const element of elements) {
        for (const { name, value } of element.attrs) {
          assert.ok(!/^(on|style$|srcdoc$)/.test(name), `${path}: ${name}`);
          if (name === 'src' || (name === 'href' && element.tagName === 'link'))
            assert.doesNotMatch(value, /:|^\//, path);
        }
        if (element.tagName === 'script') assert.equal(textIn(element), '', path);
        assert.notEqual(element.tagName, 'style', path);
      }
    }
  });

  test('errors: every code that anything answers with has its place, and no other', () => {
    const codes = new Set([
      ...Object.keys(errorTable),
      ...routes.flatMap((route) => refusalsOf(route).map(({ code }) => code)),
    ]);
    const { elements } = pages.find((page) => page.path === 'reference/errors.html')!;
    const told = elements.filter((one) => one.tagName === 'h3').map((one) => of(one, 'id')!);
    assert.deepEqual(told.sort(), [...codes].sort());
  });

  test('reference: every operation, parameter, header, field and code', async () => {
    const document = await makeOpenApi(exampleOrigin);
    const { text, path } = pages.find((page) => page.path === 'reference.html')!;
    const words = new Set(text.match(/[\w.-]+/g));
    const wanted = new Set<string>();
    const namesIn = (value: unknown, key = ''): void => {
      if (Array.isArray(value)) value.forEach((one) => namesIn(one));
      else if (typeof value === 'object' && value !== null)
        for (const [name, one] of Object.entries(value)) {
          if (key === 'properties' || key === 'examples' || (key === 'headers' && !name.startsWith('$')))
            wanted.add(name);
          // A property may have the name of what OpenAPI calls something else.
          if (name !== 'example' && name !== 'value') namesIn(one, key === 'properties' ? '' : name);
        }
    };
    namesIn(document.paths);
    namesIn(document.webhooks);
    namesIn(document.components);
    for (const one of Object.values(document.components.parameters)) wanted.add(one.name);
    assert.ok(wanted.size > 120);
    assert.deepEqual(
      [...wanted].filter((name) => !words.has(name)),
      [],
    );
    for (const methods of Object.values(document.paths))
      for (const [method, { operationId }] of Object.entries(methods))
        assert.ok(method === 'head' || ids.get(path)!.includes(operationId), operationId);
  });

  test('the index of the search is small, and knows the parts of names', () => {
    const { body } = site.files.get('search-index.js')!;
    assert.ok(Buffer.byteLength(body) < 300_000, `${Buffer.byteLength(body)} bytes`);
    assert.deepEqual(
      [...wordsOf('The invalid_since of 9f86d081884c is 400, 12')],
      ['invalid_since', 'invalid', 'since', '400'],
    );
    assert.equal(beginning('One. Two words. Three more words.', 20), 'One. Two words.');
    assert.equal(beginning('No sentence ends in here', 14), 'No sentence …');
  });
});
