import { isEmailAddress } from '../../../platform/validation/email.ts';
import type { GroupInput } from '../../../organisations/groups/schema.ts';
import { clientGroupTypes, teamType } from '../../../organisations/groups/types.ts';
import { damageOf, isErrorValue, nameFault } from '../../../platform/validation/person-name.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isNameOf, isOpaqueRef, isStorableText } from '../../../platform/validation/personal-data.ts';
import { type Subject, subjects as allSubjects } from '../../../engine/scoring/levels.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { type Purpose, purposes } from '../invitations.ts';
import type { Cells, InviteColumn } from './table.ts';

/**
 * The learner and the invitation in a row without faults. The row has not been compared with other rows or the
 * database.
 */
export type ReadyRow = {
  ref: string | null;
  /** The ID of a known learner, if the learner has no reference. */
  learner_id?: string;
  full_name: string;
  email: string | null;
  groups: GroupInput[];
  subjects: Subject[];
  extra_time_pct: number | null;
  supervision: string | null;
  supervisor: string | null;
  expires_at: string | null;
  purpose: Purpose | null;
  retake_reason: string | null;
  start_code: boolean | null;
  doubts?: Doubt[];
};

/**
 * A possible fault, by `about`. `encoding`: damaged letters. `question_mark`: a question mark may replace a letter.
 * `reference`: a spreadsheet may have changed the reference.
 * `known`: a learner already has the name. `twice`: another row (`row`) has the name.
 */
export type Doubt = {
  about: 'encoding' | 'question_mark' | 'reference' | 'known' | 'twice';
  column: InviteColumn;
  row?: number;
};

export function doubtWords({ about, row }: Doubt): string {
  switch (about) {
    case 'encoding':
      return 'looks damaged, because letters were read in another encoding';
    case 'question_mark':
      return 'has a question mark that may replace a lost letter';
    case 'reference':
      return 'looks like a date or a long number, which spreadsheets change';
    case 'known':
      return 'is also the name of an existing learner';
    case 'twice':
      return `is also the name in row ${row}`;
  }
}

/** A fault in a row: the column, and the values that the cell may contain. */
export type RowFault = { column: InviteColumn | 'row'; expected: string };

export type RowContext = {
  defaultSubjects: Subject[];
  /** The organisation's groups, without teams. */
  groups: readonly { type: string; ref: string; name: string; active: boolean }[];
  nowMs: number;
  /** The end of a day such as `2027-01-31` in the organisation's time zone; null if the text is not a day. */
  lastInstantOf(day: string): Date | null;
};

/** An invitation may end at most this many milliseconds from now. */
const latestMs = 366 * 24 * 3600_000;

const errorExpected = 'a value, instead of a spreadsheet error such as #N/A';
const line = (max: number) => `text of at most ${max} characters on one line, without a National Insurance number`;

function readSubjects(text: string): Subject[] | null {
  const words = text
    .toLowerCase()
    .split(/[\s,;/+&|]+/)
    .filter((word) => word !== '' && word !== 'and');
  if (words.length === 1 && words[0] === 'all') return [...allSubjects];
  const named = words.map((word) => (word === 'math' || word === 'mathematics' ? 'maths' : word));
  if (!named.every((word) => (allSubjects as readonly string[]).includes(word))) return null;
  return allSubjects.filter((subject) => named.includes(subject));
}

/** Splits `cohort: C-2026 = January cohort` into the type and the rest; null if the text has no type. */
function typedGroup(part: string): [type: string, rest: string] | null {
  const colon = part.indexOf(':');
  const [type, rest] = [part.slice(0, Math.max(colon, 0)).trimEnd(), part.slice(colon + 1).trim()];
  return /^[a-z_]+$/i.test(type) && rest !== '' ? [type, rest] : null;
}

function readGroups(text: string, known: RowContext['groups']): GroupInput[] | string {
  const found = new Map<string, GroupInput>();
  const parts = new Set(text.split(/[;|\n]/).map((one) => one.trim()));
  parts.delete('');
  if (parts.size > limits.groupsPerProvisioning) return `at most ${limits.groupsPerProvisioning} groups`;
  for (const part of parts) {
    const [type, rest] = typedGroup(part) ?? [];
    let group: GroupInput;
    if (type === undefined || rest === undefined) {
      const same = known.filter((one) => one.active && (one.ref === part || one.name === part));
      if (same.length !== 1)
        return `groups that there are, by reference or name, or new ones as “cohort: C-2026 = January cohort”; “${part.slice(0, 40).toWellFormed()}” is ${same.length === 0 ? 'none of them' : 'more than one of them: say its type'}`;
      group = { type: same[0]!.type, ref: same[0]!.ref, name: same[0]!.name };
    } else {
      const [ref, ...name] = rest.split('=').map((one) => one.trim()) as [string, ...string[]];
      if ([ref, name.join('=')].some(isErrorValue)) return errorExpected;
      const kind = type.toLowerCase();
      if (kind === teamType) return 'groups other than teams: choose a team for all rows instead';
      if (!(clientGroupTypes as readonly string[]).includes(kind))
        return `groups of one of the types ${clientGroupTypes.join(', ')}`;
      const existing = known.find((one) => one.type === kind && one.ref === ref);
      // If the group is new, another row may contain its name.
      group = { type: kind, ref, name: existing?.name ?? name.join('=') };
      const isNamed = group.name === '' || isStorableText(group.name, limits.groupNameChars);
      if (!isStorableText(group.ref, limits.groupRefChars) || !isNamed)
        return `groups with a reference and a name of 1 to ${limits.groupRefChars} characters`;
    }
    found.set(`${group.type} ${group.ref}`, group);
  }
  return [...found.values()];
}

function readExpiry(text: string, { lastInstantOf, nowMs }: RowContext): Date | null {
  const [, day, month, year] = /^(\d{1,2})[/.](\d{1,2})[/.](\d{4})$/.exec(text) ?? [];
  const iso = day === undefined ? text : `${year}-${month!.padStart(2, '0')}-${day.padStart(2, '0')}`;
  const end = lastInstantOf(iso);
  return end === null || end.getTime() <= nowMs || end.getTime() > nowMs + latestMs ? null : end;
}

const purposeWords: ReadonlyMap<string, Purpose> = new Map([
  ['initial', 'initial'],
  ['start', 'initial'],
  ['starting', 'initial'],
  ['progress', 'progress'],
  ['interim', 'progress'],
  ['end', 'end'],
  ['final', 'end'],
  ['exit', 'end'],
]);

const namesOfPeople: readonly InviteColumn[] = ['full_name', 'email', 'supervisor'];
const texts: readonly InviteColumn[] = ['groups', 'supervision', 'retake_reason'];
/**
 * A reference that a spreadsheet may have changed: `Mar-26`, `01/03/2026`, or zeros after the 15 digits that a
 * spreadsheet keeps.
 */
const reshaped = /^(?:\d{1,2}-[A-Z][a-z]{2}(?:-\d{2,4})?|[A-Z][a-z]{2}-\d{2}|\d{1,2}\/\d{1,2}\/\d{4}|\d{15}0+)$/;

const isAccepted = ({ accepted = '' }: Cells, { about }: Doubt): boolean => accepted.split(' ').includes(about);

function doubtsOf(cells: Cells): Doubt[] {
  const doubts: Doubt[] = [];
  for (const column of [...namesOfPeople, ...texts]) {
    const about = damageOf(cells[column] ?? '');
    if (about === 'encoding' || (about !== null && namesOfPeople.includes(column))) doubts.push({ about, column });
  }
  if (reshaped.test(cells.ref ?? '')) doubts.push({ about: 'reference', column: 'ref' });
  return doubts.filter((doubt) => !isAccepted(cells, doubt));
}

const refExpected = (ref: string): string =>
  /^\d(?:[.,]\d+)?E\+\d+$/i.test(ref)
    ? 'the full reference: the spreadsheet has shortened it. Format the column as text'
    : `letters, digits, . _ : / or -, at most ${limits.learnerRefChars}, beginning with a letter or digit; never a name, an email address or a National Insurance number`;

/** Reads a row without comparing it with others. @returns the row, or all its faults in the order of the columns */
export function readRow(cells: Cells, context: RowContext): { ready: ReadyRow } | { faults: RowFault[] } {
  const faults: RowFault[] = [];
  const fault = (column: RowFault['column'], expected: string) => void faults.push({ column, expected });
  const text = (column: InviteColumn, max: number): string | null => {
    const value = cells[column] ?? null;
    if (value !== null && isErrorValue(value)) fault(column, errorExpected);
    else if (value !== null && !isStorableText(value, max)) fault(column, line(max));
    return value;
  };
  const ref = cells.ref ?? null;
  if (ref !== null && (!isOpaqueRef(ref) || isNameOf(ref, cells.full_name ?? ''))) fault('ref', refExpected(ref));
  const id = cells.learner_id?.toLowerCase() ?? null;
  if (id !== null && !isUuid(id)) fault('learner_id', 'a learner_id as the service gives it, a UUID');
  const fullName = cells.full_name ?? '';
  const nameExpected = cells.full_name === undefined ? 'the learner’s full name' : nameFault(fullName);
  if (nameExpected !== null) fault('full_name', nameExpected);
  const email = cells.email ?? null;
  if (email !== null && !isEmailAddress(email)) fault('email', 'an email address, such as name@example.org');
  const groups = readGroups(cells.groups ?? '', context.groups);
  if (typeof groups === 'string') fault('groups', groups);
  else if (groups.length > 0 && ref === null && id === null)
    fault('ref', 'a reference if the row has groups, so that the learner can be found again');
  const subjects = cells.subjects === undefined ? context.defaultSubjects : readSubjects(cells.subjects);
  if (subjects === null || subjects.length === 0) fault('subjects', `some of ${allSubjects.join(', ')}, or all`);
  const extra = /^(\d{1,3}) ?%?$/.exec(cells.extra_time ?? '0')?.[1];
  if (extra === undefined || Number(extra) > 100) fault('extra_time', 'per cent from 0 to 100, such as 25');
  const supervision = text('supervision', limits.supervisionChars);
  const supervisor = text('supervisor', limits.supervisionChars);
  const expires = cells.expires === undefined ? null : readExpiry(cells.expires, context);
  if (cells.expires !== undefined && expires === null)
    fault('expires', 'a day after today and within a year, such as 31/01/2027 or 2027-01-31');
  const purpose =
    cells.purpose === undefined ? null : purposeWords.get(/^[a-z]*/.exec(cells.purpose.toLowerCase())![0]);
  if (purpose === undefined) fault('purpose', `one of ${purposes.join(', ')}`);
  const retake = text('retake_reason', limits.reasonChars);
  const code = (cells.start_code ?? '').toLowerCase();
  const startCode = code === '' ? null : ['yes', 'y', 'true', '1'].includes(code);
  if (startCode === false && !['no', 'n', 'false', '0'].includes(code)) fault('start_code', 'yes or no');
  if (cells.beyond !== undefined) fault('row', 'of no more cells than there are columns');
  if (faults.length > 0) return { faults };
  const doubts = doubtsOf(cells);
  return {
    ready: {
      ref,
      ...(id === null ? {} : { learner_id: id }),
      full_name: fullName,
      email,
      groups: groups as GroupInput[],
      subjects: subjects!,
      extra_time_pct: cells.extra_time === undefined ? null : Number(extra),
      supervision,
      supervisor,
      expires_at: expires?.toISOString() ?? null,
      purpose: purpose ?? null,
      retake_reason: retake,
      start_code: startCode,
      ...(doubts.length === 0 ? {} : { doubts }),
    },
  };
}
