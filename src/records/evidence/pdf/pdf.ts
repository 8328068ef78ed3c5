import type { EvidenceDocument } from '../content.ts';
import { Canvas } from './canvas.ts';
import { srgbProfile } from './icc.ts';
import { layOut } from './layout.ts';
import { PdfFile, pdfText, refTo } from './objects.ts';
import { Element, writeStructure } from './structure.ts';

/** Raise this version if the same input would give different bytes. The database keeps it with each file. */
export const rendererVersion = '3';

const producer = 'Assessment Results Service';
const profile = srgbProfile();

/** Renders a tagged PDF/A-1b file. The bytes depend on the document and `rendererVersion` alone. */
export function renderPdf(document: EvidenceDocument): Buffer {
  const file = new PdfFile();
  const root = file.allocate();
  const canvas = new Canvas(file);
  const structure = new Element('Document');
  layOut(document, canvas, structure);

  const { pages, tree } = canvas.write();
  const structureRoot = writeStructure(
    file,
    structure,
    pages,
    canvas.pages.map((page) => page.marks),
  );
  const metadata = file.addStream('/Type/Metadata/Subtype/XML', Buffer.from(xmp(document.title), 'utf8'), false);
  const icc = file.addStream('/N 3', profile);
  const info = file.add(`<</Title ${pdfText(document.title)}/Producer ${pdfText(producer)}>>`);
  file.set(
    root,
    `<</Type/Catalog/Pages ${refTo(tree)}/Lang ${pdfText(document.language)}/MarkInfo<</Marked true>>` +
      `/StructTreeRoot ${refTo(structureRoot)}/ViewerPreferences<</DisplayDocTitle true>>/Metadata ${refTo(metadata)}` +
      `/OutputIntents[<</Type/OutputIntent/S/GTS_PDFA1/OutputConditionIdentifier(sRGB)/Info(sRGB)/DestOutputProfile ${refTo(icc)}>>]>>`,
  );
  return file.toBytes(root, info);
}

const escapeXml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** The metadata names no person, because file managers and search engines show it. */
function xmp(title: string): string {
  return (
    '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n' +
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\n' +
    '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">' +
    `<dc:title><rdf:Alt><rdf:li xml:lang="x-default">${escapeXml(title)}</rdf:li></rdf:Alt></dc:title>` +
    '<dc:format>application/pdf</dc:format></rdf:Description>\n' +
    `<rdf:Description rdf:about="" xmlns:pdf="http://ns.adobe.com/pdf/1.3/"><pdf:Producer>${producer}</pdf:Producer></rdf:Description>\n` +
    '<rdf:Description rdf:about="" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/"><pdfaid:part>1</pdfaid:part>' +
    '<pdfaid:conformance>B</pdfaid:conformance></rdf:Description>\n' +
    '</rdf:RDF></x:xmpmeta>\n<?xpacket end="w"?>'
  );
}
