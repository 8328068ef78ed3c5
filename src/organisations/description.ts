import { isEmailAddress } from '../platform/validation/email.ts';
import { limits } from '../platform/config/limits.ts';
import { holdsNationalInsuranceNumber, isStorableText } from '../platform/validation/personal-data.ts';
import { type Subject, subjects } from '../engine/scoring/levels.ts';
import type { OrganisationChanges, Organisation } from './organisations.ts';

export type WrittenSettings = {
  name: string;
  timeZone: string;
  contact: string;
  noticesEmail: string;
  subjects: readonly string[];
  groupAutocreate: string;
  retakeGap: string;
  reminderDays: string;
  fundingRules: string;
  secondFactor: string;
  pilotItems: string;
};

export type SettingFault = { field: keyof WrittenSettings; sentence: string };

/** The time zones that a form offers, from the IANA database. The most usual zone is first. */
export const timeZones: readonly string[] = [
  ...new Set(['Europe/London', 'UTC', ...Intl.supportedValuesOf('timeZone')]),
];

/** Also accepts older names of zones, which `timeZones` leaves out. */
export function isTimeZone(text: string): boolean {
  if (!/^[A-Z]\w+(\/[\w+-]+)*$/.test(text)) return false;
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone: text }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** Writes the https URL of a public page as browsers do; null for any other text. */
export function readPageAddress(text: string): string | null {
  if (text.length > limits.pageAddressChars || holdsNationalInsuranceNumber(text) || !URL.canParse(text)) return null;
  const { protocol, username, password, href } = new URL(text);
  return protocol === 'https:' && username === '' && password === '' && href.length <= limits.pageAddressChars
    ? href
    : null;
}

/** Null if the field is empty, and 0 if it contains no number. */
const daysOf = (text: string) => (text === '' ? null : /^\d{1,4}$/.test(text) ? Number(text) : 0);

/** @returns the changes, or every fault in the order of the fields */
export function readSettingsOf(
  written: WrittenSettings,
): { changes: OrganisationChanges } | { faults: SettingFault[] } {
  const faults: SettingFault[] = [];
  const fault = (field: keyof WrittenSettings, sentence: string) => void faults.push({ field, sentence });
  const { name, timeZone, contact, noticesEmail, groupAutocreate } = written;
  if (!isStorableText(name, limits.organisationNameChars))
    fault('name', `Enter a name of 1 to ${limits.organisationNameChars} characters.`);
  if (!isTimeZone(timeZone)) fault('timeZone', 'Choose a time zone.');
  if (contact !== '' && !isStorableText(contact, limits.contactChars))
    fault('contact', `Enter at most ${limits.contactChars} characters on one line, such as a telephone number.`);
  if (noticesEmail !== '' && !isEmailAddress(noticesEmail))
    fault('noticesEmail', 'Enter an email address, such as data@college.example, or leave it empty.');
  const chosen = subjects.filter((one) => written.subjects.includes(one));
  if (chosen.length === 0 || chosen.length < new Set(written.subjects).size)
    fault('subjects', 'Choose at least one subject.');
  if (groupAutocreate !== 'on' && groupAutocreate !== 'off') fault('groupAutocreate', 'Choose one of the two.');
  const [gap, reminder] = [written.retakeGap, written.reminderDays].map(daysOf) as [number | null, number | null];
  if (gap !== null && (gap < 1 || gap > limits.retakeGapDays))
    fault('retakeGap', `Enter a number of days from 1 to ${limits.retakeGapDays}, or leave it empty.`);
  if (reminder !== null && (reminder < 1 || reminder > limits.reminderDays))
    fault('reminderDays', `Enter a number of days from 1 to ${limits.reminderDays}, or leave it empty.`);
  const rules = written.fundingRules === '' ? null : readPageAddress(written.fundingRules);
  if (written.fundingRules !== '' && rules === null)
    fault('fundingRules', 'Enter a URL that begins with https://, or leave it empty.');
  const { secondFactor, pilotItems } = written;
  if (secondFactor !== 'all' && secondFactor !== 'some') fault('secondFactor', 'Choose one of the two.');
  if (pilotItems !== 'on' && pilotItems !== 'off') fault('pilotItems', 'Choose one of the two.');
  if (faults.length > 0) return { faults };
  return {
    changes: {
      name,
      time_zone: timeZone,
      contact: contact === '' ? null : contact,
      notices_email: noticesEmail === '' ? null : noticesEmail,
      default_subjects: chosen as Subject[],
      group_autocreate: groupAutocreate === 'on',
      retake_gap_days: gap,
      reminder_days: reminder,
      funding_rules_url: rules,
      second_factor_for_all: secondFactor === 'all',
      pilot_items: pilotItems === 'on',
    },
  };
}

export const writtenOf = (row: Organisation): WrittenSettings => ({
  name: row.name,
  timeZone: row.time_zone,
  contact: row.contact ?? '',
  noticesEmail: row.notices_email ?? '',
  subjects: row.default_subjects,
  groupAutocreate: row.group_autocreate ? 'on' : 'off',
  retakeGap: row.retake_gap_days === null ? '' : String(row.retake_gap_days),
  reminderDays: row.reminder_days === null ? '' : String(row.reminder_days),
  fundingRules: row.funding_rules_url ?? '',
  secondFactor: row.second_factor_for_all ? 'all' : 'some',
  pilotItems: row.pilot_items ? 'on' : 'off',
});
