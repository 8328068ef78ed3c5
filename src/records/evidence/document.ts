import type { Block, DomainBar, EvidenceDocument } from './content.ts';
import { belowEntry, levelName, levelsOf } from '../../engine/scoring/levels.ts';
import { columns, facts, heading, levelsApart, paragraph, shortLevel } from './content.ts';
import { scaleOf, engagementFlags, sittingSections } from './document-sitting.ts';
import type { EvidenceAmendment, EvidenceInput, EvidenceSitting } from './input.ts';
import {
  borderlineWords,
  dateTime,
  domainStatus,
  importedBorderlineWords,
  levelCodeWords,
  reviewAdvice,
  plainText,
  provisionalText,
  reviewWords,
  subjectName,
} from './wording.ts';

export type { Block } from './content.ts';
export type { EvidenceInput, EvidenceEngagementFlags, EvidenceSitting } from './input.ts';

/** The version of the content. Raise this version when the same input would give different content. */
const documentVersion = 3;

/** Builds the content of the evidence pack from its input alone. @throws RangeError for a malformed date-time or URL */
export function buildDocument(input: EvidenceInput): EvidenceDocument {
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(input.verify_url))
    throw new RangeError('verify_url must be a plain ASCII http or https address');
  const { sitting, edition, replaces, ukprn, framework } = input;
  const id = plainText(input.assessment_id);
  return {
    version: documentVersion,
    language: 'en-GB',
    title: `Evidence pack ${id}, edition ${edition}`,
    reference: `Result ${id}, edition ${edition}`,
    organisation: plainText(input.organisation_name) + (ukprn === undefined ? '' : ` · ${plainText(`UKPRN ${ukprn}`)}`),
    heading: 'Evidence of assessed level',
    subheading: subjectName(plainText(input.subject)) + (framework === null ? '' : ` · ${plainText(framework)}`),
    learner: { label: 'Learner', value: nameOf(input.learner.full_name) },
    verify: { url: input.verify_url, label: 'Check this file' },
    blocks: [
      facts(
        ['Learner reference', input.learner.ref === null ? 'None recorded' : plainText(input.learner.ref)],
        ['Assessed', dateTime(input.assessed_at)],
        ['Result', id],
        ['Takes the place of', replaces && `Result ${plainText(replaces)}, which was withdrawn`],
        ['Edition', edition === 1 ? '1 (first)' : `${edition} (replaces edition ${edition - 1})`],
      ),
      placement(input),
      ...ladder(input),
      ...likelihood(input),
      ...domains(input),
      ...amendments(input),
      ...(sitting === undefined ? importedSections(input) : sittingSections(input, sitting)),
      heading('Countersignature'),
      paragraph(
        'For the provider: I have seen this evidence and confirm that it belongs to the learner named on the first page.',
      ),
      {
        kind: 'countersign',
        fields: [
          { label: 'Name', width: 4 },
          { label: 'Role', width: 3 },
          { label: 'Signature', width: 5 },
          { label: 'Date', width: 2 },
        ],
      },
      ...verification(input),
    ],
  };
}

/** A name that contains only joiners, fillers and blanks is invisible, so the page says that no name is recorded. */
function nameOf(fullName: string): string {
  const name = plainText(fullName);
  return /[^ \u034f\u115f\u1160\u17b4\u17b5\u200c\u200d\u2800\u3164\uffa0]/.test(name) ? name : 'No name recorded';
}

function placement(input: EvidenceInput): Block {
  const level = input.working_level ?? input.rqf_level;
  const sentences: string[] = [];
  if (input.rqf_level !== null)
    sentences.push(`RQF level: ${plainText(input.rqf_level)}${levelCodeWords(input.rqf_level_code)}.`);
  else if (input.below_level_1 === true)
    sentences.push(
      `RQF level: none. The result is below ${levelName(levelsOf(input.subject)[0]!)}, so no level or level code is given.`,
    );
  else sentences.push('RQF level: not recorded.');
  const { below_level_1: isBelow, recommended_next_level: next } = input;
  const gate = isBelow === null ? null : `The result is ${isBelow ? 'below Level 1' : 'at Level 1 or above'}.`;
  const parts = [gate, next === null ? null : `Recommended next level: ${plainText(next)}.`];
  if (parts.some((part) => part !== null)) sentences.push(parts.filter((part) => part !== null).join(' '));
  if (input.sitting !== undefined && level !== input.sitting.reconciled_level)
    sentences.push(
      `${input.replaces === undefined ? 'An amendment' : 'A person at the provider'} has changed the placement: the sitting itself ended at ${plainText(input.sitting.reconciled_level)}.`,
    );
  if (input.reviewed_at !== undefined)
    sentences.push(`A person at the provider looked at this result and decided on it: ${dateTime(input.reviewed_at)}.`);
  sentences.push('This is an assessed level of skill. It is not a qualification.');
  if (input.sitting?.provisional === true) sentences.push(provisionalText(input.sitting.calibration_sd));
  const flags = [
    ...(input.is_borderline === true ? [{ label: 'Borderline', text: borderlineText(input) }] : []),
    ...(input.needs_review === true ? [{ label: 'Needs review', text: reviewText(input) }] : []),
    ...engagementFlags(input.sitting),
  ];
  return { kind: 'placement', level: level === null ? 'Not placed' : plainText(level), sentences, flags };
}

/**
 * An imported result has no stored reason for the flag. If the interval of a sitting does not contain the threshold, an
 * amendment set the flag.
 */
function borderlineText({ sitting }: EvidenceInput): string {
  if (sitting === undefined) return importedBorderlineWords;
  return sitting.deciding_rule.inside_interval
    ? borderlineWords
    : 'Flagged by an amendment. The 95% confidence interval of the sitting does not hold the threshold of the deciding rule.';
}

function reviewText({ sitting, reviewed_at }: EvidenceInput): string {
  const isReviewed = reviewed_at !== undefined;
  if (sitting === undefined) return `Flagged where the result was made. ${reviewWords(isReviewed)}`;
  return (levelsApart(sitting.irt_level, sitting.rule_level) ?? 0) >= 1
    ? reviewWords(isReviewed)
    : `Flagged by an amendment; ${reviewAdvice(isReviewed)}`;
}

function ladder(input: EvidenceInput): Block[] {
  const placed = input.working_level ?? input.rqf_level;
  if (placed === null) return [];
  const title = heading('Where the result stands');
  if (input.sitting !== undefined) return [title, { kind: 'ladder', ...scaleOf(input.sitting, placed) }];
  const ladderOf = placed === levelName('entry') ? 'digital' : input.subject;
  const levels = [belowEntry, ...levelsOf(ladderOf).map(levelName)];
  // If an imported level is not on our ladder, a ladder would mislead, so the page shows none.
  if (!levels.includes(placed)) return [];
  const rung = (level: string) => ({ label: level, short: shortLevel(level), from: null, to: null });
  return [
    title,
    {
      kind: 'ladder',
      scale: null,
      rungs: levels.map((level) => ({ ...rung(level), placed: level === placed })),
      caption: 'The rungs are drawn equally wide. No score and no confidence interval were recorded with this result.',
      description: `Ladder of levels from ${levels[0]} to ${levels.at(-1)}; the result is at ${placed}. No confidence interval was recorded.`,
    },
  ];
}

/** Text with the most likely level and every level with a probability of at least 0.1 %. */
function likelihood({ level_probabilities: probabilities, sitting }: EvidenceInput): Block[] {
  if (probabilities == null) return [];
  const levels = Object.entries(probabilities).map(([level, p]) => ({ level: plainText(level), p }));
  const printed = levels.filter(({ p }) => p >= 0.001);
  if (printed.length === 0) return [];
  const likeliest = printed.reduce((best, one) => (one.p > best.p ? one : best));
  const each = printed.map(({ level, p }) => `${level} ${(100 * p).toFixed(1)}%`).join(', ');
  const others = levels.length > printed.length ? '; any other level less than 0.1%' : '';
  const from = sitting === undefined ? 'as recorded with the result' : 'given the answers, by the IRT engine';
  return [paragraph(`Most likely ${likeliest.level}. How likely each level is, ${from}: ${each}${others}.`)];
}

const fieldWords: Record<string, string> = {
  framework: 'Framework',
  rqf_level: 'RQF level',
  rqf_level_code: 'Level code',
  below_level_1: 'Below Level 1',
  working_level: 'Working level',
  recommended_next_level: 'Recommended next level',
  is_borderline: 'Borderline',
  needs_review: 'Needs review',
  domains: 'Domains',
  level_probabilities: 'Level probabilities',
};

function valueWords(value: unknown): string {
  if (value === null) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return plainText(String(value));
}

function changesWords(changes: EvidenceAmendment['changes']): string {
  const fields = changes.filter(({ field }) => field !== 'reviewed_at');
  return fields.length === 0 && changes.length > 0
    ? 'Nothing: a person looked at the result and confirmed it'
    : fields.map(changeWords).join('; ');
}

/** For a changed list, only its name is printed, because the page already shows the current list. */
function changeWords({ field, before, after }: { field: string; before: unknown; after: unknown }): string {
  const name = fieldWords[field] ?? plainText(field);
  if ([before, after].some((value) => typeof value === 'object' && value !== null)) return name;
  return `${name}: from ${valueWords(before)} to ${valueWords(after)}`;
}

function amendments(input: EvidenceInput): Block[] {
  if (!input.amendments?.length) return [];
  return [
    heading('Amendments'),
    {
      kind: 'table',
      caption: 'What was changed since the result was first recorded, and why',
      columns: columns({ When: 3, Why: 5, 'What was changed': 6 }),
      rows: input.amendments.map(({ at, reason, changes }) => [dateTime(at), plainText(reason), changesWords(changes)]),
    },
  ];
}

function domains(input: EvidenceInput): Block[] {
  if (input.domains.length === 0)
    return [heading('Domains'), paragraph('No domain scores were recorded with this result.')];
  const hasAnswered = input.domains.some(({ answered }) => answered != null);
  const rows = input.domains.map(({ name, score_pct: score, status, answered }): DomainBar => ({
    name: plainText(name),
    percent: score === null ? null : Math.min(100, Math.max(0, score)),
    figure: score === null ? 'No score' : `${score}%`,
    status: domainStatus(status === null ? null : plainText(status)),
    answered: hasAnswered ? String(answered ?? 'Not known') : null,
  }));
  const caption =
    input.sitting === undefined
      ? 'Scores as they were recorded with the result. The ticks stand at 40% and 65%.'
      : `Score: the share of the domain’s questions at ${domainsLevel(input, input.sitting)} that the learner is expected to answer correctly, not the ` +
        'share of the questions given. Ticks at 40% (developing) and 65% (secure). A domain with fewer than 3 answers has no score.';
  return [heading('Domains'), { kind: 'bars', rows, marks: [40, 65], caption }];
}

/**
 * Describes the level at which the domains are judged. Inputs of version 1 keep their wording, so that stored editions
 * still render to identical bytes.
 */
function domainsLevel(input: EvidenceInput, { domains_level: own, cuts, reconciled_level }: EvidenceSitting): string {
  if (own === undefined) return 'the deciding level';
  const placed = input.working_level ?? input.rqf_level;
  if (input.version !== 2 || own === placed) return `${plainText(own)}, the level of this result,`;
  if (own === cuts[0]?.level && (placed === belowEntry || reconciled_level === belowEntry))
    return `${plainText(own)}, the lowest level,`;
  return `${plainText(own)}, the level before the placement was changed,`;
}

/** If the service holds no sitting for the result, the page lists what is not known. */
function importedSections(input: EvidenceInput): Block[] {
  const origin =
    input.source === 'imported'
      ? 'This result was made elsewhere and recorded here for the provider named above.'
      : 'The details of the sitting behind this result are not held here.';
  const borderline =
    input.is_borderline === null
      ? 'Whether it is close to a level boundary was not recorded'
      : `It was recorded as ${input.is_borderline ? '' : 'not '}close to a level boundary`;
  const review =
    input.needs_review === null
      ? 'whether two methods of scoring disagreed was not recorded'
      : `${input.is_borderline === null ? 'it was recorded as ' : ''}${input.needs_review ? 'needing' : 'not needing'} review`;
  return [
    heading('What is known, and what is not'),
    paragraph(
      `${origin} This document shows what was recorded and adds nothing to it. ${borderline}, and ${review}. ` +
        'Not recorded here: start and finish, supervision, adjustments, the questions and answers, the scores behind the placement, ' +
        'how it was decided, and the learner’s declaration.',
    ),
  ];
}

function verification(input: EvidenceInput): Block[] {
  return [
    heading('How to verify this document'),
    paragraph(
      `Open ${input.verify_url} and choose the PDF file: your browser computes its SHA-256 hash and sends only the hash, never the file. ` +
        'Or compare the hash with report_sha256 of this result yourself; it stands outside the file, because no file can contain its own. ' +
        'A paper copy can’t be verified: ask the provider for the file. A later edition replaces this one; older ones stay on record.',
    ),
  ];
}
