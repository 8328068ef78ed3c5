import { type PdfFile, type Ref, pdfAscii, pdfNumber, pdfText, refTo } from './objects.ts';

/** Structure types of PDF 1.4 that the pages use. */
export type Tag =
  | 'Document'
  | 'Sect'
  | 'H1'
  | 'H2'
  | 'P'
  | 'L'
  | 'LI'
  | 'LBody'
  | 'Table'
  | 'TR'
  | 'TH'
  | 'TD'
  | 'Caption'
  | 'Figure'
  | 'Link';

type Mark = { page: number; mcid: number };
/**
 * `write` returns the annotation's dictionary. Its parameter is the annotation's key in the structure's number tree.
 */
type Annotation = { page: number; ref: Ref; write: (structParent: number) => string };
export type Attributes = { alt?: string; scope?: 'Column' | 'Row'; bbox?: readonly [number, number, number, number] };

/** A node of the structure tree, which gives the reading order. */
export class Element {
  readonly tag: Tag;
  readonly attributes: Attributes;
  readonly children: (Element | Mark | Annotation)[] = [];

  constructor(tag: Tag, attributes: Attributes = {}) {
    this.tag = tag;
    this.attributes = attributes;
  }

  add(tag: Tag, attributes: Attributes = {}): Element {
    const child = new Element(tag, attributes);
    this.children.push(child);
    return child;
  }
}

/**
 * Writes the structure tree and its annotations. Page `n` has key `n` in the number tree, and the annotations have the
 * keys after the last page.
 */
export function writeStructure(
  file: PdfFile,
  root: Element,
  pages: readonly Ref[],
  marksPerPage: readonly number[],
): Ref {
  const treeRoot = file.allocate();
  const parents: Ref[][] = marksPerPage.map((count) => new Array<Ref>(count).fill(0));
  const annotations: { key: number; ref: Ref }[] = [];

  const write = (element: Element, parent: Ref): Ref => {
    const ref = file.allocate();
    const first = element.children.find((child) => !(child instanceof Element));
    const home = first === undefined || first instanceof Element ? null : first.page;
    const kids = element.children.map((child) => {
      if (child instanceof Element) return refTo(write(child, ref));
      if ('mcid' in child) {
        parents[child.page]![child.mcid] = ref;
        return child.page === home
          ? String(child.mcid)
          : `<</Type/MCR/Pg ${refTo(pages[child.page]!)}/MCID ${child.mcid}>>`;
      }
      const key = pages.length + annotations.length;
      annotations.push({ key, ref });
      file.set(child.ref, child.write(key));
      return `<</Type/OBJR/Pg ${refTo(pages[child.page]!)}/Obj ${refTo(child.ref)}>>`;
    });
    const { alt, scope, bbox } = element.attributes;
    const attributes = [
      ...(scope === undefined ? [] : [`<</O/Table/Scope/${scope}>>`]),
      ...(bbox === undefined ? [] : [`<</O/Layout/Placement/Block/BBox[${bbox.map(pdfNumber).join(' ')}]>>`]),
    ];
    file.set(
      ref,
      `<</Type/StructElem/S/${element.tag}/P ${refTo(parent)}` +
        (home === null ? '' : `/Pg ${refTo(pages[home]!)}`) +
        (alt === undefined ? '' : `/Alt ${pdfText(alt)}`) +
        (attributes.length === 0 ? '' : `/A[${attributes.join('')}]`) +
        `/K[${kids.join(' ')}]>>`,
    );
    return ref;
  };

  const document = write(root, treeRoot);
  const numbers = [
    ...parents.map((refs, page) => `${page} ${refTo(file.add(`[${refs.map(refTo).join(' ')}]`))}`),
    ...annotations.map(({ key, ref }) => `${key} ${refTo(ref)}`),
  ];
  const parentTree = file.add(`<</Nums[${numbers.join(' ')}]>>`);
  file.set(
    treeRoot,
    `<</Type/StructTreeRoot/K[${refTo(document)}]/ParentTree ${refTo(parentTree)}` +
      `/ParentTreeNextKey ${pages.length + annotations.length}>>`,
  );
  return treeRoot;
}

/** A link to a URL. The link has the print flag, because PDF/A requires that annotations are printed. */
export function linkAnnotation(
  rectangle: readonly string[],
  address: string,
  description: string,
  structParent: number,
): string {
  return (
    `<</Type/Annot/Subtype/Link/Rect[${rectangle.join(' ')}]/F 4/Border[0 0 0]/Contents ${pdfText(description)}` +
    `/StructParent ${structParent}/A<</S/URI/URI ${pdfAscii(address)}>>>>`
  );
}
