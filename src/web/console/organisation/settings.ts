import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { type ListedMail, listMails } from '../../../platform/mail/outbox.ts';
import { managers, roleMeanings, roleNames, roles } from '../../../organisations/users/roles.ts';
import { instant, facts, notice, code } from '../kit/blocks.ts';
import { type Answer, type ConsoleRoute, type Visit, get, post } from '../kit/route.ts';
import { listPage, formPage } from '../kit/page.ts';
import type { WrittenSettings } from '../../../organisations/description.ts';
import { isTimeZone, readSettingsOf, timeZones, writtenOf } from '../../../organisations/description.ts';
import { type Organisation, readOrganisation, updateOrganisation } from '../../../organisations/organisations.ts';
import { shortSubjectNames, subjects } from '../../../engine/scoring/levels.ts';
import { Fields } from '../kit/form.ts';
import { type FormVersion, overtakenNote, versionOf, sentVersion, saveVersion } from '../kit/form-version.ts';
import { readToken, readPage } from '../kit/paging.ts';
import { numeric } from '../kit/table.ts';

/** Pages for the settings that owners and admins can change. Only the operator sets plan, credits and UKPRN. */
export const settingsRoutes: ConsoleRoute[] = [
  get('/settings', managers, show, { menu: 'Settings', section: 'organisation' }),
  post('/settings', managers, save),
  get('/mails', managers, mails),
];

const labels: Record<keyof WrittenSettings, string> = {
  name: 'Name of the organisation',
  timeZone: 'Time zone',
  contact: 'Contact for learners (optional)',
  noticesEmail: 'Email address for notices (optional)',
  subjects: 'Subjects of an invitation',
  groupAutocreate: 'Unknown groups when a platform invites a learner',
  retakeGap: 'Days between two assessments in a subject (optional)',
  reminderDays: 'Days until learners who have not started get an email (optional)',
  fundingRules: 'URL of your funding rules (optional)',
  secondFactor: 'Roles that need a second factor',
  pilotItems: 'New questions on trial',
};

const autocreateChoices = [
  { value: 'on', label: 'Create them' },
  { value: 'off', label: 'Refuse them', hint: 'The API returns 422 group_autocreate_disabled.' },
];

const pilotChoices = [
  {
    value: 'on',
    label: 'Include up to 3 in a sitting',
    hint: 'They do not count. Answers without names show how hard questions are.',
  },
  {
    value: 'off',
    label: 'Include none',
    hint: 'Your learners’ answers are not used to find out how hard questions are.',
  },
];

const secondFactorChoices = [
  { value: 'some', label: 'Owners, admins and integration developers' },
  { value: 'all', label: 'All roles', hint: 'People without a second factor set it up at their next page.' },
];

async function show(visit: Visit): Promise<Answer> {
  const row = await readOrganisation(visit.app.db, visit.organisationId);
  const shown = writtenOf(row);
  return settingsPage(visit, row, shown, { version: versionOf(shown) });
}

function settingsFields({ app, base }: Visit, shown: WrittenSettings, f: Fields): Content {
  const listed = [...timeZones, ...(isTimeZone(shown.timeZone) ? [shown.timeZone] : [])];
  const zones = Object.fromEntries(listed.map((zone) => [zone, zone.replaceAll('_', ' ')]));
  return [
    f.text('name', labels.name, { hint: 'Learners see it on their pages. New evidence packs show it.' }),
    f.select('timeZone', labels.timeZone, zones, { hint: 'The console shows times in this zone. The API uses UTC.' }),
    f.text('contact', labels.contact, { hint: 'Such as a telephone number and its hours. Learner pages show it.' }),
    // Notices need a mail server, so without one the field is left out.
    app.settings.mailServer !== null &&
      f.text('noticesEmail', labels.noticesEmail, {
        hint: html`A shared mailbox that also gets notices about keys and webhook endpoints. <a href="${base}/mails">Emails</a>`,
        type: 'email',
      }),
    f.tick('subjects', labels.subjects, shortSubjectNames, {
      hint: 'The default for new invitations. Invitations that were sent do not change.',
    }),
    f.choose('groupAutocreate', labels.groupAutocreate, autocreateChoices),
    f.text('retakeGap', labels.retakeGap, {
      hint: 'Such as 90. An earlier assessment needs a reason.',
      inputmode: 'numeric',
      width: 10,
    }),
    app.settings.mailServer !== null &&
      f.text('reminderDays', labels.reminderDays, {
        hint: 'Such as 7. One email for each invitation. Empty: no reminders.',
        inputmode: 'numeric',
        width: 10,
      }),
    f.text('fundingRules', labels.fundingRules, {
      hint: 'A page such as your funder’s rules. Funding lists link to it.',
      type: 'url',
    }),
    f.choose('secondFactor', labels.secondFactor, secondFactorChoices),
    f.choose('pilotItems', labels.pilotItems, pilotChoices),
  ];
}

function settingsPage(
  visit: Visit,
  row: Organisation,
  shown: WrittenSettings,
  { version, faults = {}, overtaken }: FormVersion,
): Answer {
  const { base, query } = visit;
  const fields = (f: Fields) => [f.version(version), settingsFields(visit, shown, f)];
  const page = formPage(visit, {
    title: 'Settings',
    says: 'Name, time zone, invitations and groups of the organisation.',
    faults,
    intro: [notice(query, { saved: 'The settings are saved.' }), overtaken],
    button: 'Save',
    shown,
    fields,
    also: [
      html`<h2>Set by the operator</h2>`,
      facts({ Plan: row.plan, UKPRN: row.ukprn ?? 'Not recorded', 'Organisation ID': code(row.public_id) }),
      html`<h2>Retention</h2><p>The page <a href="${base}/data-protection/retention">Retention</a> sets how long each kind of data is kept.</p><h2>Roles</h2><p>The page <a href="${base}/people">People</a> sets each person’s role. The role decides which pages a person opens. Tutors see the learners of their <a href="${base}/teams">teams</a>.</p>`,
      facts(roles.map((role) => [roleNames[role], roleMeanings[role]] as const)),
    ],
  });
  return { ...page, status: overtaken && 409 };
}

async function save(visit: Visit): Promise<Answer> {
  const { app, base, organisation, organisationId: id, form: sent } = visit;
  const row = await readOrganisation(app.db, id);
  const hasMail = app.settings.mailServer !== null;
  const written: WrittenSettings = {
    name: sent.text('name'),
    timeZone: sent.raw('timeZone'),
    contact: sent.text('contact'),
    noticesEmail: hasMail ? sent.text('noticesEmail') : (row.notices_email ?? ''),
    subjects: sent.all('subjects'),
    groupAutocreate: sent.raw('groupAutocreate'),
    retakeGap: sent.text('retakeGap'),
    reminderDays: hasMail ? sent.text('reminderDays') : String(row.reminder_days ?? ''),
    fundingRules: sent.text('fundingRules'),
    secondFactor: sent.raw('secondFactor'),
    // A form from an older page has no such field.
    pilotItems: sent.raw('pilotItems') || writtenOf(row).pilotItems,
  };
  const read = readSettingsOf(written);
  if ('faults' in read) {
    const faults = Object.fromEntries(read.faults.map(({ field, sentence }) => [field, sentence]));
    return settingsPage(visit, row, written, { version: sentVersion(visit), faults });
  }
  const { notices_email: _, ...others } = read.changes;
  // Without a mail server the form has no field for notices, so the stored address stays.
  const changes = hasMail ? read.changes : others;
  const instead = await saveVersion(visit, {
    resource: organisation.public_id,
    read: async (tx) => writtenOf(await readOrganisation(tx, id)),
    written: writtenOf({ ...row, ...changes }),
    write: (work) => updateOrganisation(work, id, changes),
  });
  if (instead === null) return { to: `${base}/settings?did=saved` };
  const names = Object.keys(labels) as (keyof WrittenSettings)[];
  const overtaken = overtakenNote(names.map((name) => [labels[name], inWords(instead, name), inWords(written, name)]));
  return settingsPage(visit, row, written, { version: versionOf(instead), overtaken });
}

function inWords(settings: WrittenSettings, name: keyof WrittenSettings): string {
  if (name === 'groupAutocreate') return settings.groupAutocreate === 'on' ? 'Create them' : 'Refuse them';
  if (name === 'pilotItems') return pilotChoices.find((one) => one.value === settings.pilotItems)!.label;
  if (name === 'secondFactor') return secondFactorChoices.find((one) => one.value === settings.secondFactor)!.label;
  const value =
    name === 'subjects' ? subjects.filter((one) => settings.subjects.includes(one)).join(', ') : settings[name];
  return value === '' ? 'Nothing' : value;
}

/** The page's names for the causes of emails. A key is the first word of the stored cause. */
const causeNames: Record<string, string> = {
  invitation: 'Invitation',
  reminder: 'Reminder',
  scheduled_report: 'Scheduled report',
  key_link: 'Set-up link for a vendor',
  key_made: 'Key created',
  key_rolled: 'Key rotated',
  key_ending: 'Key ends soon',
  endpoint_failing: 'Webhook endpoint failing',
  endpoint_recovered: 'Webhook endpoint recovered',
  endpoint_disabled: 'Webhook endpoint disabled',
};

const states: Record<ListedMail['status'], string> = {
  waiting: 'Waiting',
  sending: 'Being sent',
  sent: 'Accepted by the mail server',
  refused: 'Refused by the mail server',
  expired: 'Not sent: the mail server could not be reached in time',
  unknown: 'Unknown: the connection ended before the mail server answered',
};

async function mails(visit: Visit): Promise<Answer> {
  const { app, base, zone, organisationId, query } = visit;
  const [ms, mailId] = readToken(query.get('after'), 'ms', 'uuid') ?? [];
  const after = mailId === undefined ? null : { createdAt: new Date(Number(ms)), mailId };
  const { rows, last } = await readPage((limit) => listMails(app.db, organisationId, { after, limit }));
  return listPage<ListedMail>(visit, {
    title: 'Emails',
    back: { to: `${base}/settings`, label: 'Settings' },
    intro: [
      html`<p>Emails of this organisation in the last ${limits.mailKeptMs / 86_400_000} days. The service deletes the recipient and the text of each email after it is sent.</p>`,
      app.settings.mailServer === null &&
        html`<p>No mail server is set, so no email is sent. Copy links and send them yourself.</p>`,
    ],
    caption: 'Emails, newest first',
    none: 'No email was sent. Invitations and notices appear here.',
    rows,
    columns: {
      Written: (row) => instant(row.created_at, zone),
      Subject: (row) => causeNames[row.cause.split(' ')[0]!] ?? 'Notice',
      State: (row) => states[row.status],
      Attempts: numeric((row) => row.attempts),
      'Next or last attempt': (row) => instant(row.finished_at ?? row.next_attempt_at, zone),
    },
    next: last && `${last.created_at.getTime()}.${last.mail_id}`,
  });
}
