import type { Column } from '../../../platform/formats/sheet.ts';
import { dayOf } from '../../../organisations/zone.ts';
import type { ExportedResult } from './export.ts';
import { isProvisional, placementOf } from './interval.ts';

/**
 * The columns of a file for people who prepare an ILR return (Department for Education, ILR specification 2025 to
 * 2026). Columns of the ILR have their ILR names. Assessed levels have other names, because they are not prior
 * attainment.
 */

/** The form of LearnRefNumber in the ILR specification. */
const isLearnRefNumber = (ref: string): boolean => /^[A-Za-z0-9 ]{1,12}$/.test(ref);

/** A Unique Learner Number has 10 digits, of which the last one is a check digit. */
export function isUln(ref: string): boolean {
  if (!/^[1-9]\d{9}$/.test(ref)) return false;
  const sum = [...ref.slice(0, 9)].reduce((total, digit, i) => total + Number(digit) * (10 - i), 0);
  return sum % 11 !== 0 && 10 - (sum % 11) === Number(ref[9]);
}

export const assessedBasis = 'Assessed skill, not prior attainment';

export function ilrColumns(ukprn: string | null, zone: string): Column<ExportedResult>[] {
  const text = (
    head: string,
    width: number,
    value: (row: ExportedResult) => string | null,
  ): Column<ExportedResult> => ({
    ...{ key: head, head, width, value },
    kind: 'text',
  });
  const ifFits = (fits: (ref: string) => boolean) => (row: ExportedResult) =>
    row.ref !== null && fits(row.ref) ? row.ref : null;
  return [
    text('UKPRN', 10, () => ukprn),
    text(
      'LearnRefNumber',
      14,
      ifFits((ref) => isLearnRefNumber(ref) && !isUln(ref)),
    ),
    text('ULN', 12, ifFits(isUln)),
    text('LearnerReference', 20, (row) => row.ref),
    text('FullName', 28, (row) => row.full_name),
    text('Subject', 10, ({ content }) => content.subject),
    text('AssessedLevel', 26, ({ content }) => placementOf(content)),
    {
      ...{ key: 'AssessedLevelCode', head: 'AssessedLevelCode', width: 8, kind: 'number' },
      value: ({ content }) => content.rqf_level_code,
    },
    text('AssessedBelowLevel1', 8, ({ content: { below_level_1: is } }) => (is === null ? null : is ? 'Yes' : 'No')),
    text('AssessedDate', 12, ({ content }) => dayOf(new Date(content.assessed_at_us / 1000), zone)),
    text('AssessedBasis', 34, () => assessedBasis),
    text('AssessedProvisional', 8, (row) => (isProvisional(row) ? 'Yes' : 'No')),
    text('AssessmentId', 38, (row) => row.assessment_id),
  ];
}
