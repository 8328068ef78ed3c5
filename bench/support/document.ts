const [opens, closes] = ['<!-- measured by npm run bench -->', '<!-- end of what npm run bench measured -->'];

/** One benchmark in docs/engineering/performance.md: its heading, a line on how it was measured, and its table. */
type Part = { heading: string; measured: string; rows: string[] };

const headingOf = (part: string) => /^### (.+)$/m.exec(part)?.[1];

function partsOf(document: string): { before: string; parts: string[]; after: string } {
  const [from, to] = [document.indexOf(opens), document.indexOf(closes)];
  if (from < 0 || to < from)
    throw new Error(`docs/engineering/performance.md has no place between "${opens}" and "${closes}".`);
  const parts = document.slice(from + opens.length, to).split(/^(?=### )/m);
  return {
    before: document.slice(0, from + opens.length),
    parts: parts.map((part) => part.trim()).filter((part) => part !== ''),
    after: document.slice(to),
  };
}

/** Whether a benchmark was measured at this commit. */
export const isMeasuredAt = (document: string, heading: string, commit: string): boolean =>
  partsOf(document).parts.some((part) => headingOf(part) === heading && part.includes(`commit ${commit},`));

/** The document with one part replaced or added. @param headings all headings in their order; others are left out */
export function documentWith(document: string, { heading, measured, rows }: Part, headings: string[]): string {
  const { before, parts, after } = partsOf(document);
  const text = new Map(parts.map((part) => [headingOf(part), part]));
  const table = ['|Figure|Measured (goal)|', '|-|-|', ...rows].join('\n');
  text.set(heading, `### ${heading}\n\n${measured}\n\n${table}`);
  const kept = headings.flatMap((one) => text.get(one) ?? []);
  return `${before}\n\n${kept.join('\n\n')}\n\n${after}`;
}
