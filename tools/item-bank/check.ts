import { BankFault, solveCuts } from '../../src/engine/scoring/cuts.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { constructFindings } from './checks/construct.ts';
import { coverageFindings, isChoice } from './checks/coverage.ts';
import { duplicateFindings } from './checks/duplicates.ts';
import { error, warning } from './checks/finding.ts';
import type { CheckedBank, Finding } from './checks/finding.ts';
import { factFindings } from './checks/facts.ts';
import { itemFindings } from './checks/items.ts';
import { optionOrderFindings } from './checks/option-order.ts';
import { positionFindings } from './checks/positions.ts';
import { statementCounts, statementFindings, statementLines } from './checks/statements.ts';
import type { StatementCount } from './checks/statements.ts';
import { meanGrade, readingFindings } from './checks/reading-level.ts';
import { proofSeeds, proveTemplate } from './checks/template-proof.ts';
import type { TemplateProof } from './checks/template-proof.ts';
import { contentHash, isLive, scoredItem } from '../../src/engine/item-bank/load.ts';
import type { BankFiles } from '../../src/engine/item-bank/load.ts';
import type { FileFault } from './files.ts';
import { domainsOf, shownType } from '../../src/engine/item-bank/schema.ts';
import type { Item } from '../../src/engine/item-bank/schema.ts';
import { templates } from '../../src/engine/item-bank/templates.ts';
import { levelsOf, subjects } from '../../src/engine/scoring/levels.ts';
import type { Level, Subject } from '../../src/engine/scoring/levels.ts';

export type { Finding } from './checks/finding.ts';

export type LevelCount = {
  level: Level;
  items: number;
  domains: Record<string, number>;
  /** The ability θ at which learners get 65 % of the level's items right on average. Null if there is no such θ. */
  cut: number | null;
  meanB: number | null;
  readingGrade: number | null;
};

export type SubjectCount = {
  subject: Subject;
  items: number;
  choiceShare: number;
  types: Record<string, number>;
  levels: LevelCount[];
};

export type CheckReport = {
  version: string;
  items: number;
  passages: number;
  subjects: SubjectCount[];
  statements: StatementCount[];
  templates: TemplateProof[];
  findings: Finding[];
};

const tally = (names: readonly string[]): Record<string, number> =>
  Object.fromEntries([...new Set(names)].sort().map((name) => [name, names.filter((other) => other === name).length]));

/** The rules about texts read one rendering of a template, so any seed is enough. The proof tries a thousand seeds. */
const looksSeed = 'check';

function shownItems(files: BankFiles, findings: Finding[]): CheckedBank['shown'] {
  const passages = new Map(files.passages.map((passage) => [passage.id, passage]));
  return files.items.flatMap((item): CheckedBank['shown'] => {
    if (item.type !== 'template') return [{ item, rendered: item, passage: passages.get(item.passage ?? '') ?? null }];
    const template = templates.get(item.template);
    if (!template) {
      findings.push(error('templates', item.id, `there is no template ${item.template}`));
      return [];
    }
    return [{ item, rendered: template.make(seededRandom(`${item.id}:${looksSeed}`)), passage: null }];
  });
}

function cutFindings(files: BankFiles): Finding[] {
  return subjects.flatMap((subject) => {
    try {
      solveCuts(subject, files.items.filter((item) => item.subject === subject && isLive(item)).map(scoredItem));
      return [];
    } catch (cause) {
      if (!(cause instanceof BankFault)) throw cause;
      return [error('cuts', null, cause.message)];
    }
  });
}

function count(bank: CheckedBank, subject: Subject): SubjectCount {
  const own = bank.items.filter((item) => item.subject === subject && isLive(item));
  let cuts: ReturnType<typeof solveCuts> = [];
  try {
    cuts = solveCuts(subject, own.map(scoredItem));
  } catch (cause) {
    if (!(cause instanceof BankFault)) throw cause;
  }
  return {
    subject,
    items: own.length,
    choiceShare: own.length === 0 ? 0 : own.filter(isChoice).length / own.length,
    types: tally(own.map((item) => (item.type === 'template' ? `template (${shownType(item)})` : item.type))),
    levels: levelsOf(subject).map((level) => {
      const at = own.filter((item) => item.level === level);
      const of = (item: Item) => item.subject === subject && item.level === level;
      return {
        level,
        items: at.length,
        domains: Object.fromEntries(
          domainsOf[subject].map((domain) => [domain, at.filter((item) => item.domain === domain).length]),
        ),
        cut: cuts.find((cut) => cut.level === level)?.theta ?? null,
        meanB: at.length === 0 ? null : at.reduce((sum, item) => sum + item.b, 0) / at.length,
        readingGrade: meanGrade(bank.shown, of),
      };
    }),
  };
}

/**
 * Checks a bank against every rule. `faults`: the faults found while the files were read. `seeds`: the number of seeds
 * for each template. Templates that no item uses are named, but not proved.
 */
export function checkBank(
  files: BankFiles,
  faults: readonly FileFault[] = [],
  seeds: number = proofSeeds,
): CheckReport {
  const findings: Finding[] = faults.map(({ id, fault }) => error('shape', id, fault));
  const bank: CheckedBank = { ...files, shown: shownItems(files, findings) };
  const used = new Set(files.items.flatMap((item) => (item.type === 'template' ? [item.template] : [])));
  const proofs = [...templates.values()]
    .filter((template) => used.has(template.id))
    .map((template) => proveTemplate(template, seeds));
  for (const id of templates.keys()) if (!used.has(id)) findings.push(warning('templates', id, 'is used by no item'));
  for (const proof of proofs) {
    findings.push(
      ...proof.faults.map(({ seed, fault }) =>
        error('templates', proof.template, seed === '' ? fault : `${fault} (seed ${seed})`),
      ),
    );
  }
  findings.push(
    ...itemFindings(bank),
    ...readingFindings(bank),
    ...constructFindings(bank),
    ...positionFindings(bank),
    ...optionOrderFindings(bank),
    ...factFindings(bank),
    ...duplicateFindings(bank),
    ...coverageFindings(files.items.filter(isLive)),
    ...statementFindings(files.items),
    ...cutFindings(files),
  );
  findings.sort((a, b) => (a.severity < b.severity ? -1 : a.severity > b.severity ? 1 : 0));
  return {
    version: `${files.number}-${contentHash(files).slice(0, 12)}`,
    items: files.items.length,
    passages: files.passages.length,
    subjects: subjects.map((subject) => count(bank, subject)),
    statements: statementCounts(files.items),
    templates: proofs,
    findings,
  };
}

const percent = (share: number) => `${Math.round(share * 100)} %`;
const figure = (value: number | null, places = 2) => (value === null ? '–' : value.toFixed(places));

/** The report as text: counts, then findings. */
export function reportText(report: CheckReport): string {
  const lines = [
    `Item bank ${report.version}: ${report.items} items, ${report.passages} passages, ${report.templates.length} templates`,
  ];
  for (const subject of report.subjects) {
    lines.push(
      '',
      `${subject.subject}: ${subject.items} items, ${percent(subject.choiceShare)} choice (${Object.entries(
        subject.types,
      )
        .map(([type, n]) => `${type} ${n}`)
        .join(', ')})`,
    );
    for (const level of subject.levels) {
      const domains = Object.entries(level.domains)
        .map(([domain, n]) => `${domain} ${n}`)
        .join(', ');
      lines.push(
        `  ${level.level.padEnd(7)} ${String(level.items).padStart(3)} items  cut ${figure(level.cut).padStart(5)}  mean b ${figure(level.meanB).padStart(5)}  grade ${figure(level.readingGrade, 1).padStart(4)}  (${domains})`,
      );
    }
  }
  lines.push(...statementLines(report.statements));
  const errors = report.findings.filter((finding) => finding.severity === 'error').length;
  lines.push('', `${errors} errors, ${report.findings.length - errors} warnings`);
  for (const { severity, rule, id, message } of report.findings)
    lines.push(`${severity}: ${rule}: ${id === null ? '' : `${id}: `}${message}`);
  return lines.join('\n');
}
