/**
 * The specification as a list of sentences: those of paragraphs and lists each by itself, a row of a table as one, with the
 * heading that it stands under. What is said twice in different places is two sentences.
 */
export function sentencesOf(specification: string): { section: string; sentence: string }[] {
  const found: { section: string; sentence: string }[] = [];
  let [section, outer] = ['', ''];
  const lines = specification.split('\n');
  lines.forEach((line, i) => {
    const heading = /^(#+) (.*)$/.exec(line);
    if (heading !== null) {
      const [, marks, title] = heading;
      if (marks!.length <= 2) outer = title!;
      section = marks!.length <= 2 ? title! : `${outer} › ${title!}`;
      return;
    }
    if (line.trim() === '') return;
    if (line.startsWith('|')) {
      const isHead = /^\|[\s|:-]+$/.test(lines[i + 1] ?? '');
      if (!isHead && !/^\|[\s|:-]+$/.test(line)) found.push({ section, sentence: line });
      return;
    }
    const text = line.trim().replace(/^(?:-|\d+\.) /, '');
    for (const sentence of text.split(/(?<=[.;]) (?=[A-Z`'])/)) found.push({ section, sentence });
  });
  return found;
}
