import { isUtf8 } from 'node:buffer';
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import { renderItem } from '../../../src/engine/item-bank/load.ts';
import type { Item, Passage } from '../../../src/engine/item-bank/schema.ts';
import { agree, agreedPassage } from './qti-agree.ts';
import { EntryFault, ExchangeFault, fileOf } from './json.ts';
import type { Exchanged } from './json.ts';
import { foreignItem } from './qti-foreign.ts';
import { boardScale, itemXml, pictureHref, stimulusHref, stimulusXml } from './qti-item.ts';
import { plainXml } from './qti-plain.ts';
import { isOwnExport, otherItem, ownItem } from './qti-read.ts';
import type { Members } from './qti-read.ts';
import { element, findAll, findOne, localName, readXml, writeXml, XmlFault } from './xml.ts';
import type { XmlElement } from './xml.ts';

const packageNamespace = 'http://www.imsglobal.org/xsd/qti/qtiv3p0/imscp_v1p1';
const itemType = 'imsqti_item_xmlv3p0';
const stimulusType = 'imsqti_stimulus_xmlv3p0';
const itemHref = (id: string): string => `items/${id}.xml`;

/** A template item is exported as the rendering of this seed. */
const exportSeed = 'export';

function pictureSvg(item: Item): string | null {
  if (item.type !== 'hotspot' || item.surface.kind !== 'picture') return null;
  const boxes = item.surface.spots.flatMap((spot) => {
    const [x, y, width, height] = [spot.x, spot.y, spot.width, spot.height].map((at) => at * boardScale) as [
      number,
      number,
      number,
      number,
    ];
    return [
      element('rect', { x, y, width, height, fill: '#ffffff', stroke: '#0b0c0c', 'stroke-width': 2 }),
      element(
        'text',
        {
          x: x + width / 2,
          y: y + height / 2,
          'text-anchor': 'middle',
          'dominant-baseline': 'middle',
          'font-family': 'sans-serif',
          'font-size': 24,
        },
        spot.label,
      ),
    ];
  });
  return writeXml(
    element(
      'svg',
      { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${100 * boardScale} ${60 * boardScale}`, role: 'img' },
      element('title', {}, item.surface.description),
      boxes,
    ),
  );
}

function resource(identifier: string, type: string, href: string, dependencies: readonly string[]): XmlElement {
  return element(
    'resource',
    { identifier, type, href },
    element('file', { href }),
    dependencies.map((identifierref) => element('dependency', { identifierref })),
  );
}

const stimulusResource = (id: string): string => `stimulus-${id}`;
const pictureResource = (id: string): string => `picture-${id}`;

/** The files of a QTI 3.0 content package by path: manifest, items, stimuli and pictures. */
export function packageFiles(bank: Exchanged, version: string): Map<string, string> {
  const files = new Map<string, string>();
  const resources: XmlElement[] = [];
  for (const passage of bank.passages) {
    files.set(stimulusHref(passage.id), writeXml(stimulusXml(passage, version)));
    resources.push(resource(stimulusResource(passage.id), stimulusType, stimulusHref(passage.id), []));
  }
  for (const item of bank.items) {
    const rendered = renderItem(item, exportSeed);
    const picture = pictureSvg(item);
    if (picture !== null) {
      files.set(pictureHref(item.id), picture);
      resources.push(resource(pictureResource(item.id), 'webcontent', pictureHref(item.id), []));
    }
    files.set(itemHref(item.id), writeXml(itemXml(item, rendered, version)));
    resources.push(
      resource(`item-${item.id}`, itemType, itemHref(item.id), [
        ...(rendered.passage ? [stimulusResource(rendered.passage)] : []),
        ...(picture !== null ? [pictureResource(item.id)] : []),
      ]),
    );
  }
  const manifest = element(
    'manifest',
    {
      xmlns: packageNamespace,
      'xmlns:xsi': 'http://www.w3.org/2001/XMLSchema-instance',
      'xsi:schemaLocation': `${packageNamespace} https://purl.imsglobal.org/spec/qti/v3p0/schema/xsd/imsqtiv3p0_imscpv1p2_v1p0.xsd`,
      identifier: `bank-${version}`,
    },
    element('metadata', {}, element('schema', {}, 'QTI Package'), element('schemaversion', {}, '3.0.0')),
    element('organizations'),
    element('resources', {}, resources),
  );
  return new Map([['imsmanifest.xml', writeXml(manifest)], ...files]);
}

/** The package as a ZIP file. The times of the entries are fixed, so the same bank gives the same bytes. */
export function toQti(bank: Exchanged, version: string): Uint8Array {
  // The earliest time of the ZIP format, which stores local times.
  const mtime = new Date(1980, 0, 1, 0, 0, 0);
  return zipSync(
    Object.fromEntries(
      [...packageFiles(bank, version)].map(([path, text]) => [path, [strToU8(text), { mtime, level: 6 }]]),
    ),
  );
}

const maxFiles = 10_000;
const maxBytes = 128 * 1024 * 1024;
const maxXmlBytes = 4 * 1024 * 1024;

function unpack(zip: Uint8Array): Map<string, Uint8Array> {
  let files = 0;
  let bytes = 0;
  let unpacked: Record<string, Uint8Array>;
  try {
    unpacked = unzipSync(zip, {
      filter: (file) => {
        files += 1;
        if (!/\.xml$/iu.test(file.name)) return false;
        bytes += file.originalSize;
        if (files > maxFiles || bytes > maxBytes || file.originalSize > maxXmlBytes)
          throw new ExchangeFault('The package is too large.');
        return true;
      },
    });
  } catch (cause) {
    if (cause instanceof ExchangeFault) throw cause;
    throw new ExchangeFault(`The package is not a ZIP file: ${(cause as Error).message}`);
  }
  return new Map(Object.entries(unpacked).map(([path, content]) => [path.replaceAll('\\', '/'), content]));
}

/** @throws EntryFault if the document is not UTF-8, because its letters would be misread */
function textOf(content: Uint8Array): string {
  const text = strFromU8(content);
  const encoding = /^\ufeff?<\?xml[^>]*\sencoding\s*=\s*["']([^"']*)["']/u.exec(text)?.[1] ?? 'UTF-8';
  if (!isUtf8(content) || !/^(?:utf-?8|us-ascii)$/iu.test(encoding))
    throw new EntryFault('is not in UTF-8: save it in that encoding');
  return text;
}

function parse(path: string, content: Uint8Array): XmlElement {
  try {
    return readXml(textOf(content));
  } catch (cause) {
    if (cause instanceof XmlFault) throw new EntryFault(`${path}: ${cause.message}`);
    throw cause instanceof EntryFault ? new EntryFault(`${path} ${cause.message}.`) : cause;
  }
}

type Source = { file?: string | undefined; type: string; defaults: Members };

/** Adds the item or passage of one file, or the reason why it is rejected. */
function take(into: Exchanged, original: XmlElement, { file, type, defaults }: Source): void {
  const named = { ...(file === undefined ? {} : { file }), id: original.attributes.identifier ?? '(without id)' };
  try {
    const plain = plainXml(original);
    const entry = type === stimulusType ? agreedPassage(plain) : takenItem(into, original, plain, defaults, named);
    if (file !== undefined) fileOf.set(entry, file);
    if (type === stimulusType) into.passages.push(entry as Passage);
    else into.items.push(entry as Item);
  } catch (cause) {
    if (!(cause instanceof EntryFault)) throw cause;
    (into.rejected ??= []).push({ ...named, reason: cause.message });
  }
}

function takenItem(into: Exchanged, original: XmlElement, plain: XmlElement, defaults: Members, named: Named): Item {
  if (localName(plain) !== 'qti-assessment-item')
    throw new ExchangeFault(`A QTI 3.0 item begins with qti-assessment-item, not ${original.name}.`);
  if (isOwnExport(plain)) {
    const item = ownItem(plain);
    agree(plain, item, (read) => renderItem(read, exportSeed));
    return item;
  }
  const { xml, leftOut } = foreignItem(original, plain);
  if (defaults.subject === undefined)
    throw new EntryFault('is of another tool: say with --subject, --level and --domain where it belongs');
  for (const note of leftOut) (into.notes ??= []).push({ ...named, note: `is taken without ${note}` });
  return otherItem(xml, defaults);
}
type Named = { file?: string; id: string };

/** The folder of the manifest, because some tools put a folder into the ZIP file. */
function folderOf(files: ReadonlyMap<string, unknown>): string {
  const found = [...files.keys()].filter(
    (path) => /^(?:[^/]+\/)?imsmanifest\.xml$/u.test(path) && !path.startsWith('__MACOSX'),
  );
  if (found.includes('imsmanifest.xml')) return '';
  if (found.length !== 1)
    throw new ExchangeFault(`The package has ${found.length === 0 ? 'no' : 'more than one'} imsmanifest.xml.`);
  return found[0]!.slice(0, -'imsmanifest.xml'.length);
}

/** Resolves a percent-encoded path of the manifest, which is relative to the manifest or to its own base. */
function pathOf(href: string, ...bases: readonly (string | undefined)[]): string {
  const path = `${bases.map((base) => base ?? '').join('')}${href}`.replaceAll('\\', '/').replace(/^(?:\.\/)+/u, '');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The reason why a resource is not imported; null if the resource is no question. */
function otherKind(type: string): string | null {
  const version = /^imsqti_(?:item|stimulus)?_?xmlv(\d)p(\d)/u.exec(type);
  if (version !== null) return `is QTI ${version[1]}.${version[2]} (${type}), and the bank reads QTI 3.0`;
  return type.startsWith('imsqti_') ? `is no item or stimulus (${type}): only those are taken` : null;
}

/**
 * Reads a QTI 3.0 package, or the XML of one item. Only files that the manifest lists are read. `defaults`: values that
 * another tool's items lack. `name`: the file's name for messages.
 */
export function fromQti(content: Uint8Array, defaults: Members = {}, name?: string): Exchanged {
  const read: Exchanged = { items: [], passages: [] };
  if (!(content[0] === 0x50 && content[1] === 0x4b)) {
    take(read, parse('The file', content), { file: name, type: itemType, defaults });
    return read;
  }
  const files = unpack(content);
  const folder = folderOf(files);
  const manifest = parse('imsmanifest.xml', files.get(`${folder}imsmanifest.xml`)!);
  const bases = [manifest, findOne(manifest, 'resources')].map((node) => node?.attributes['xml:base']);
  for (const listed of findAll(manifest, 'resource')) takeListed(read, listed, { files, folder, bases, defaults });
  if (read.items.length + read.passages.length + (read.rejected ?? []).length === 0)
    throw new ExchangeFault('The package lists no item of QTI 3.0.');
  return read;
}

type Package = {
  files: ReadonlyMap<string, Uint8Array>;
  folder: string;
  bases: (string | undefined)[];
  defaults: Members;
};

function takeListed(read: Exchanged, listed: XmlElement, { files, folder, bases, defaults }: Package): void {
  const { type = '', identifier = '(without id)', 'xml:base': base } = listed.attributes;
  const href = listed.attributes.href ?? findOne(listed, 'file')?.attributes.href ?? '';
  const file = pathOf(href, ...bases, base);
  if (type !== itemType && type !== stimulusType) {
    const reason = otherKind(type);
    if (reason !== null) (read.rejected ??= []).push({ file, id: identifier, reason });
    return;
  }
  const content = files.get(`${folder}${href}`) ?? files.get(`${folder}${file}`);
  if (content === undefined) throw new ExchangeFault(`The manifest lists ${href}, which is not in the package.`);
  try {
    take(read, parse(file, content), { file, type, defaults });
  } catch (cause) {
    // The other files are imported even if one file cannot be read.
    if (!(cause instanceof ExchangeFault)) throw cause;
    (read.rejected ??= []).push({ file, id: identifier, reason: cause.message });
  }
}
