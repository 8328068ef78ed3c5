import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import { renderItem } from '../load.ts';
import type { Item } from '../schema.ts';
import { agree, agreedPassage } from './qti-agree.ts';
import { EntryFault, ExchangeFault } from './json.ts';
import type { Exchanged } from './json.ts';
import { boardScale, itemXml, pictureHref, stimulusHref, stimulusXml } from './qti-item.ts';
import { itemFromXml } from './qti-read.ts';
import { element, findAll, readXml, writeXml, XmlFault } from './xml.ts';
import type { XmlElement } from './xml.ts';

const packageNamespace = 'http://www.imsglobal.org/xsd/qti/qtiv3p0/imscp_v1p1';
const itemType = 'imsqti_item_xmlv3p0';
const stimulusType = 'imsqti_stimulus_xmlv3p0';
const itemHref = (id: string): string => `items/${id}.xml`;

/** A template item is exported as one of its renderings, always the same. */
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

/** The files of a QTI 3.0 content package, by path: manifest, items, stimuli and pictures. */
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

/** The package as a ZIP file. The same bank gives the same bytes: the entries' times are fixed. */
export function toQti(bank: Exchanged, version: string): Uint8Array {
  // The earliest time that ZIP knows, in local time because that is what the format stores.
  const mtime = new Date(1980, 0, 1, 0, 0, 0);
  return zipSync(
    Object.fromEntries(
      [...packageFiles(bank, version)].map(([path, text]) => [path, [strToU8(text), { mtime, level: 6 }]]),
    ),
  );
}

const mostFiles = 10_000;
const mostBytes = 128 * 1024 * 1024;
const mostXmlBytes = 4 * 1024 * 1024;

function unpack(zip: Uint8Array): Map<string, string> {
  let files = 0;
  let bytes = 0;
  let unpacked: Record<string, Uint8Array>;
  try {
    unpacked = unzipSync(zip, {
      filter: (file) => {
        files += 1;
        if (!file.name.endsWith('.xml')) return false;
        bytes += file.originalSize;
        if (files > mostFiles || bytes > mostBytes || file.originalSize > mostXmlBytes)
          throw new ExchangeFault('The package is too large.');
        return true;
      },
    });
  } catch (cause) {
    if (cause instanceof ExchangeFault) throw cause;
    throw new ExchangeFault(`The package is not a ZIP file: ${(cause as Error).message}`);
  }
  return new Map(Object.entries(unpacked).map(([path, content]) => [path, strFromU8(content)]));
}

function parse(path: string, text: string): XmlElement {
  try {
    return readXml(text);
  } catch (cause) {
    if (cause instanceof XmlFault) throw new ExchangeFault(`${path}: ${cause.message}`);
    throw cause;
  }
}

/** Adds one file's item or passage, or why it can't be taken. */
function take(into: Exchanged, xml: XmlElement, type: string, defaults: Record<string, unknown>): void {
  try {
    if (type === stimulusType) {
      into.passages.push(agreedPassage(xml));
      return;
    }
    const item = itemFromXml(xml, defaults);
    agree(xml, item, (read) => renderItem(read, exportSeed));
    into.items.push(item);
  } catch (cause) {
    if (!(cause instanceof EntryFault)) throw cause;
    (into.rejected ??= []).push({ id: xml.attributes.identifier ?? '(without id)', reason: cause.message });
  }
}

/**
 * Reads a QTI 3.0 package, or a single item's XML. Only files that the manifest lists are read, and only from the
 * package. `defaults` stand in for what another tool's items can't say.
 */
export function fromQti(content: Uint8Array, defaults: Record<string, unknown> = {}): Exchanged {
  const read: Exchanged = { items: [], passages: [] };
  if (!(content[0] === 0x50 && content[1] === 0x4b)) {
    take(read, parse('The file', strFromU8(content)), itemType, defaults);
    return read;
  }
  const files = unpack(content);
  const manifest = files.get('imsmanifest.xml');
  if (manifest === undefined) throw new ExchangeFault('The package has no imsmanifest.xml.');
  for (const listed of findAll(parse('imsmanifest.xml', manifest), 'resource')) {
    const { type = '', href = '' } = listed.attributes;
    if (type !== itemType && type !== stimulusType) continue;
    const text = files.get(href);
    if (text === undefined) throw new ExchangeFault(`The manifest lists ${href}, which is not in the package.`);
    take(read, parse(href, text), type, defaults);
  }
  return read;
}
