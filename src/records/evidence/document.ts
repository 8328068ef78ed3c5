import type { Block, DomainBar, EvidenceDocument } from './content.ts';
import { belowEntry, levelName, levelsOf } from '../../engine/scoring/levels.ts';
import { levelsApart, shortLevel } from './content.ts';
import { scaleOf, signFlags, sittingSections } from './document-sitting.ts';
import type { EvidenceAmendment, EvidenceInput, EvidenceSitting } from './input.ts';
import {
  borderlineWords,
  dateTime,
  domainStatus,
  importedBorderlineWords,
  levelCodeWords,
  lookAtIt,
  plainText,
  provisionalText,
  reviewWords,
  subjectName,
} from './wording.ts';

export type { Block, EvidenceDocument } from './content.ts';
export type { EvidenceInput, EvidenceSigns, EvidenceSitting } from './input.ts';

/** The version of the content model: it rises when the same input would say something else. */
export const documentVersion = 3;

/**
 * Builds the content of the evidence pack. Pure: no clock, no locale. Throws RangeError for a malformed date-time or
 * address.
 */
export function buildDocument(input: EvidenceInput): EvidenceDocument {
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(input.verify_url))
    throw new RangeError('verify_url must be a plain ASCII http or https address');
  const subject = subjectName(plainText(input.subject));
  const sitting = input.sitting;
  const id = plainText(input.assessment_id);
  return {
    version: documentVersion,
    language: 'en-GB',
    title: `Evidence pack ${id}, edition ${input.edition}`,
    reference: `Result ${id}, edition ${input.edition}`,
    organisation: [input.organisation_name, ...(input.ukprn === undefined ? [] : [`UKPRN ${input.ukprn}`])]
      .map(plainText)
      .join(' · '),
    heading: 'Evidence of assessed level',
    subheading: [subject, ...(input.framework === null ? [] : [plainText(input.framework)])].join(' · '),
    learner: { label: 'Learner', value: nameOf(input.learner.full_name) },
    verify: { url: input.verify_url, label: 'Check this file' },
    blocks: [
      {
        kind: 'facts',
        facts: [
          {
            label: 'Learner reference',
            value: input.learner.ref === null ? 'None recorded' : plainText(input.learner.ref),
          },
          { label: 'Assessed', value: dateTime(input.assessed_at) },
          { label: 'Result', value: id },
          ...(input.replaces === undefined
            ? []
            : [{ label: 'Takes the place of', value: `Result ${plainText(input.replaces)}, which was withdrawn` }]),
          {
            label: 'Edition',
            value: input.edition === 1 ? '1 (first)' : `${input.edition} (replaces edition ${input.edition - 1})`,
          },
        ],
      },
      placement(input),
      ...ladder(input),
      ...likelihood(input),
      ...domains(input),
      ...amendments(input),
      ...(sitting === undefined ? importedSections(input) : sittingSections(input, sitting)),
      { kind: 'heading', text: 'Countersignature' },
      {
        kind: 'paragraph',
        text: 'For the provider: I have seen this evidence and confirm that it belongs to the learner named on the first page.',
      },
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

/** Joiners, fillers and blanks alone would leave the place of the name empty. */
function nameOf(fullName: string): string {
  const name = plainText(fullName);
  return /[^ \u034f\u115f\u1160\u17b4\u17b5\u200c\u200d\u2800\u3164\uffa0]/.test(name) ? name : 'No name recorded';
}

function placement(input: EvidenceInput): Block {
  const level = input.working_level ?? input.rqf_level;
  const sentences: string[] = [];
  if (input.rqf_level !== null) {
    sentences.push(`RQF level: ${plainText(input.rqf_level)}${levelCodeWords(input.rqf_level_code)}.`);
  } else if (input.below_level_1 === true) {
    sentences.push(
      `RQF level: none. The result is below ${levelName(levelsOf(input.subject)[0]!)}, so no level or level code is given.`,
    );
  } else {
    sentences.push('RQF level: not recorded.');
  }
  const gate =
    input.below_level_1 === null
      ? []
      : [input.below_level_1 ? 'The result is below Level 1.' : 'The result is at Level 1 or above.'];
  const next =
    input.recommended_next_level === null
      ? []
      : [`Recommended next level: ${plainText(input.recommended_next_level)}.`];
  if (gate.length + next.length > 0) sentences.push([...gate, ...next].join(' '));
  if (input.sitting !== undefined && level !== input.sitting.reconciled_level) {
    sentences.push(
      `${input.replaces === undefined ? 'An amendment' : 'A person at the provider'} has changed the placement: the sitting itself ended at ${plainText(input.sitting.reconciled_level)}.`,
    );
  }
  if (input.reviewed_at !== undefined)
    sentences.push(`A person at the provider looked at this result and decided on it: ${dateTime(input.reviewed_at)}.`);
  sentences.push('This is an assessed level of skill. It is not a qualification.');
  if (input.sitting?.provisional === true) sentences.push(provisionalText(input.sitting.calibration_sd));
  const flags = [
    ...(input.is_borderline === true ? [{ label: 'Borderline', text: borderlineText(input) }] : []),
    ...(input.needs_review === true ? [{ label: 'Needs review', text: reviewText(input) }] : []),
    ...signFlags(input.sitting),
  ];
  return { kind: 'placement', level: level === null ? 'Not placed' : plainText(level), sentences, flags };
}

/** An imported flag is passed on, not vouched for; a flag that the sitting doesn't bear out came by an amendment. */
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
    : `Flagged by an amendment; ${lookAtIt(isReviewed)}`;
}

function ladder(input: EvidenceInput): Block[] {
  const placed = input.working_level ?? input.rqf_level;
  if (placed === null) return [];
  if (input.sitting !== undefined) {
    const { scale, rungs, caption, description } = scaleOf(input.sitting, placed);
    return [
      { kind: 'heading', text: 'Where the result stands' },
      { kind: 'ladder', rungs, scale, caption, description },
    ];
  }
  const ladderOf = placed === levelName('entry') ? 'digital' : input.subject;
  const levels = [belowEntry, ...levelsOf(ladderOf).map(levelName)];
  // Imported results may use names of their own: a ladder that doesn't hold the placement would only mislead.
  if (!levels.includes(placed)) return [];
  return [
    { kind: 'heading', text: 'Where the result stands' },
    {
      kind: 'ladder',
      scale: null,
      rungs: levels.map((level) => ({
        label: level,
        short: shortLevel(level),
        from: null,
        to: null,
        placed: level === placed,
      })),
      caption: 'The rungs are drawn equally wide. No score and no confidence interval were recorded with this result.',
      description: `Ladder of levels from ${levels[0]} to ${levels.at(-1)}; the result is at ${placed}. No confidence interval was recorded.`,
    },
  ];
}

/** The level that is most likely first in words, then every level that is likely enough to be printed. */
function likelihood({ level_probabilities: probabilities, sitting }: EvidenceInput): Block[] {
  if (probabilities === undefined || probabilities === null) return [];
  const levels = Object.entries(probabilities).map(([level, p]) => ({ level: plainText(level), p }));
  const printed = levels.filter(({ p }) => p >= 0.001);
  if (printed.length === 0) return [];
  const likeliest = printed.reduce((best, one) => (one.p > best.p ? one : best));
  const each = printed.map(({ level, p }) => `${level} ${(100 * p).toFixed(1)}%`).join(', ');
  const others = levels.length > printed.length ? '; any other level less than 0.1%' : '';
  const from = sitting === undefined ? 'as recorded with the result' : 'given the answers, by the IRT engine';
  return [
    {
      kind: 'paragraph',
      text: `Most likely ${likeliest.level}. How likely each level is, ${from}: ${each}${others}.`,
    },
  ];
}

/** A field of the result as the page names it. */
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

/** Lists are named only: the page shows what they are now. */
function changesWords(changes: EvidenceAmendment['changes']): string {
  const fields = changes.filter(({ field }) => field !== 'reviewed_at');
  return fields.length === 0 && changes.length > 0
    ? 'Nothing: a person looked at the result and confirmed it'
    : fields.map(changeWords).join('; ');
}

function changeWords({ field, before, after }: { field: string; before: unknown; after: unknown }): string {
  const name = fieldWords[field] ?? plainText(field);
  if ([before, after].some((value) => typeof value === 'object' && value !== null)) return name;
  return `${name}: from ${valueWords(before)} to ${valueWords(after)}`;
}

/** When, why and what: whoever holds an earlier edition sees how this one differs. */
function amendments(input: EvidenceInput): Block[] {
  if (input.amendments === undefined || input.amendments.length === 0) return [];
  return [
    { kind: 'heading', text: 'Amendments' },
    {
      kind: 'table',
      caption: 'What was changed since the result was first recorded, and why',
      columns: [
        { label: 'When', width: 3, align: 'left' },
        { label: 'Why', width: 5, align: 'left' },
        { label: 'What was changed', width: 6, align: 'left' },
      ],
      rows: input.amendments.map(({ at, reason, changes }) => [dateTime(at), plainText(reason), changesWords(changes)]),
    },
  ];
}

function domains(input: EvidenceInput): Block[] {
  if (input.domains.length === 0) {
    return [
      { kind: 'heading', text: 'Domains' },
      { kind: 'paragraph', text: 'No domain scores were recorded with this result.' },
    ];
  }
  const counted = input.domains.some((domain) => domain.answered !== undefined && domain.answered !== null);
  const rows = input.domains.map((domain): DomainBar => ({
    name: plainText(domain.name),
    percent: domain.score_pct === null ? null : Math.min(100, Math.max(0, domain.score_pct)),
    figure: domain.score_pct === null ? 'No score' : `${domain.score_pct}%`,
    status: domainStatus(domain.status === null ? null : plainText(domain.status)),
    answered: counted
      ? domain.answered === undefined || domain.answered === null
        ? 'Not known'
        : String(domain.answered)
      : null,
  }));
  const caption =
    input.sitting === undefined
      ? 'Scores as they were recorded with the result. The ticks stand at 40% and 65%.'
      : `Score: the share of the domain’s questions at ${domainsLevel(input, input.sitting)} that the learner is expected to answer correctly, not the ` +
        'share of the questions given. Ticks at 40% (developing) and 65% (secure). A domain with fewer than 3 answers has no score.';
  return [
    { kind: 'heading', text: 'Domains' },
    { kind: 'bars', rows, marks: [40, 65], caption },
  ];
}

/**
 * Editions of before the own level counted were judged at the deciding rule's, and keep their words, as do those that took
 * the level of the domains for that of the result.
 */
function domainsLevel(input: EvidenceInput, { domains_level: own, cuts, reconciled_level }: EvidenceSitting): string {
  if (own === undefined) return 'the deciding level';
  const placed = input.working_level ?? input.rqf_level;
  if (input.version !== 2 || own === placed) return `${plainText(own)}, the level of this result,`;
  if (own === cuts[0]?.level && (placed === belowEntry || reconciled_level === belowEntry))
    return `${plainText(own)}, the lowest level,`;
  return `${plainText(own)}, the level before the placement was changed,`;
}

/** Without a sitting the page says what it does not know, rather than leaving it out. */
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
    { kind: 'heading', text: 'What is known, and what is not' },
    {
      kind: 'paragraph',
      text:
        `${origin} This document shows what was recorded and adds nothing to it. ${borderline}, and ${review}. ` +
        'Not recorded here: start and finish, supervision, adjustments, the questions and answers, the scores behind the placement, ' +
        'how it was decided, and the learner’s declaration.',
    },
  ];
}

function verification(input: EvidenceInput): Block[] {
  return [
    { kind: 'heading', text: 'How to verify this document' },
    {
      kind: 'paragraph',
      text:
        `Open ${input.verify_url} and choose the PDF file: your browser computes its SHA-256 hash and sends only the hash, never the file. ` +
        'Or compare the hash with report_sha256 of this result yourself; it stands outside the file, because no file can contain its own. ' +
        'A paper copy can’t be verified: ask the provider for the file. A later edition replaces this one; older ones stay on record.',
    },
  ];
}
