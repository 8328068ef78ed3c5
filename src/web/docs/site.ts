import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { extname, join, posix } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { makeOpenApi, referenceFiles } from '../../api/reference/openapi.ts';
import { readExamples } from '../../api/reference/examples.ts';
import { html } from '../../platform/html/html.ts';
import { tokens } from '../../platform/html/assets.ts';
import contents from './contents.json' with { type: 'json' };
import { type Page, frame, relative, sectionsOf, siteTitle } from './frame.ts';
import { type Places, type Text, codeBlock, headingIds, renderMarkdown } from './markdown.ts';
import { referenceText } from './reference.ts';
import { searchIndex } from './search-index.ts';

export type SiteFile = { type: string; body: string | Buffer };

export type Site = {
  files: Map<string, SiteFile>;
  /** Messages about broken links in the sources. */
  faults: string[];
};

const root = join(import.meta.dirname, '../../..');

/** A page. Without `path`, its path is that of the source. Without `name`, its name is its title. */
type Entry = {
  source: string;
  path?: string;
  name?: string;
  about?: string;
  /** Terms by which the search finds the page although the page does not contain them. */
  words?: string;
};

/** The sections of pages in the order of the contents. Pages for engineers are not on the site. */
const sections: Record<string, Entry[]> = contents;

const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** The paths of all files under a folder, sorted and relative to the root of the repository. */
function filesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() && !/node_modules/.test(one.parentPath))
    .map((one) => posix.join(folder, posix.relative(join(root, folder), posix.join(one.parentPath, one.name))))
    .sort();
}

function entries(): (Entry & { path: string; group: string; listed: boolean })[] {
  const listed = Object.entries(sections).flatMap(([group, pages]) =>
    pages.map((one) => ({ path: filePath(one.source).replace(/\.md$/, '.html'), ...one, group, listed: true })),
  );
  const examples = readdirSync(join(root, 'examples'), { withFileTypes: true })
    .filter((one) => one.isDirectory())
    .map((one) => `examples/${one.name}`)
    .sort()
    .map((source) => ({ source, path: `${source}.html`, name: source, group: 'Sources', listed: false }));
  return [...listed, ...examples];
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.pdf': 'application/pdf',
};

const typeOf = (path: string) => types[extname(path)] ?? 'text/plain; charset=utf-8';

/** The size of a drawing. With a size, the page does not jump when the picture loads. */
function sizeOf(path: string): { width: number; height: number } | null {
  const box = path.endsWith('.svg') ? /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(read(path)) : null;
  return box === null ? null : { width: Number(box[1]), height: Number(box[2]) };
}

/** Further files of a picture, and the readers whom each suits. The first that suits is shown. */
const forms = [
  { end: '-phone-dark', media: '(max-width: 44em) and (prefers-color-scheme: dark)' },
  { end: '-phone', media: '(max-width: 44em)' },
  { end: '-dark', media: '(prefers-color-scheme: dark)' },
];

/** Resolves links from a page to other pages, to source files of examples, and to other files. */
class Linker {
  readonly faults: string[] = [];
  /** Files that pages link to. The site contains copies of these files. */
  readonly taken = new Set<string>();
  readonly #pages: Map<string, string>;

  constructor(pages: Map<string, string>) {
    this.#pages = pages;
  }

  placesFor(folder: string, path: string): Places {
    const link = (href: string): string => {
      if (/^[a-z]+:/i.test(href) || href.startsWith('#')) return href;
      const [address, anchor] = href.split('#') as [string, string?];
      const target = posix.join(folder, address).replace(/\/$/, '');
      const [to, own] = this.#place(target) ?? [null];
      if (to === null) {
        this.faults.push(`A page of ${folder} links to ${href}`);
        return href;
      }
      const end = anchor ?? own;
      return `${relative(path, to)}${end === undefined ? '' : `#${end}`}`;
    };
    return {
      link,
      picture: (href) => {
        const target = posix.join(folder, href);
        const others = forms.map(({ end, media }) => ({ media, href: href.replace('.webp', `${end}.webp`) }));
        return {
          src: link(href),
          size: this.taken.has(target) ? sizeOf(target) : null,
          forms: others
            .filter((one) => one.href !== href && existsSync(join(root, posix.join(folder, one.href))))
            .map((one) => ({ media: one.media, src: link(one.href) })),
        };
      },
    };
  }

  #place(target: string): [path: string, anchor?: string] | null {
    const page = this.#pages.get(target) ?? this.#pages.get(posix.join(target, 'README.md'));
    if (page !== undefined) return [page];
    const example = /^(examples\/[^/]+)\/(.+)$/.exec(target);
    if (example !== null && existsSync(join(root, target)))
      return [this.#pages.get(example[1]!)!, sectionId(example[2]!)];
    // A page for engineers is not on the site, so a link to it is a fault.
    if (target.endsWith('.md') || !existsSync(join(root, target)) || !statSync(join(root, target)).isFile())
      return null;
    this.taken.add(target);
    return [filePath(target)];
  }
}

const sectionId = (file: string) => headingIds()(file);
const filePath = (source: string) => source.replace(/^docs\//, '');

function exampleText(folder: string, places: Places): Text {
  const files = filesUnder(folder);
  const readme = files.find((file) => file.endsWith('/README.md'));
  const said = renderMarkdown(readme === undefined ? `# ${folder}\n` : read(readme), places);
  const headings = [...said.headings];
  const sections = files
    .filter((file) => file !== readme)
    .map((file) => {
      const name = file.slice(folder.length + 1);
      headings.push({ id: sectionId(name), depth: 2, text: name });
      return html`<h2 id="${sectionId(name)}">${name}</h2>${codeBlock(read(file), extname(file).slice(1))}`;
    });
  const about = said.about === '' ? `The sources of ${folder}.` : said.about;
  return { ...said, headings, about, body: html`${said.body}${sections}` };
}

function home(pages: readonly Page[]): Page {
  const sections = [...sectionsOf(pages)].map(([name, ofSection]) => ({ id: headingIds()(name), name, ofSection }));
  const source = 'README.md';
  // The first paragraph of the README says what the service does.
  const about = read(source).split('\n\n')[1]!;
  const body = html`<h1 id="top">${siteTitle}</h1><p class="lead">${about}</p>
${sections.map(
  ({ id, name, ofSection }) =>
    html`<h2 id="${id}">${name}</h2><ul class="cards">${ofSection.map((one) => html`<li><a href="${one.path}">${one.name}</a><p>${one.about}</p></li>`)}</ul>`,
)}`;
  const headings = sections.map(({ id, name }) => ({ id, depth: 2, text: name }));
  const site = { title: siteTitle, name: siteTitle, path: 'index.html', group: 'Home', listed: false, source };
  return { ...site, body, headings, about };
}

/** @param origin the origin of the service, for the examples in the reference */
export async function makeSite(origin: string, rateLimit: number): Promise<Site> {
  const document = await makeOpenApi(origin, rateLimit);
  const examples = await readExamples();
  const all = entries();
  const linker = new Linker(new Map(all.map((one) => [one.source, one.path])));
  const pages = all.map((entry): Page => {
    const { source, path } = entry;
    const isFolder = extname(source) === '';
    const places = linker.placesFor(isFolder ? source : posix.dirname(source), path);
    const isReference = source === 'docs/openapi.json';
    const textOf = isFolder ? exampleText : (file: string, from: Places) => renderMarkdown(read(file), from);
    const text = isReference ? referenceText(document, examples) : textOf(source, places);
    return { ...text, ...entry, name: entry.name ?? text.title, about: entry.about ?? text.about };
  });
  pages.unshift(home(pages));
  const files = new Map<string, SiteFile>();
  const put = (path: string, body: string | Buffer) => files.set(path, { type: typeOf(path), body });
  for (const page of pages) {
    put(page.path, frame(pages, page));
    // Making all pages takes long, so other requests run between two pages.
    await setImmediate();
  }
  put('style.css', tokens + read('src/web/docs/style.css'));
  put('search.js', read('src/web/docs/search.js'));
  put('search-index.js', searchIndex(pages));
  for (const source of linker.taken) put(filePath(source), readFileSync(join(root, source)));
  for (const [name, textOf] of Object.entries(referenceFiles)) put(name, textOf(document));
  return { files, faults: linker.faults };
}
