import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { type ListedMail, listMails } from '../../../platform/mail/outbox.ts';
import { managers, roleMeanings, roleNames, roles } from '../../../organisations/users/roles.ts';
import { instant, numeric, readToken, readPage, facts, notice, code } from '../kit/blocks.ts';
import { type Answer, type ConsoleRoute, type Visit, get, post } from '../kit/route.ts';
import { listPage, formPage } from '../kit/page.ts';
import { type WrittenSettings, isTimeZone, readSettingsOf, timeZones } from '../../../organisations/description.ts';
import { type Organisation, readOrganisation, updateOrganisation } from '../../../organisations/organisations.ts';
import { shortSubjectNames, subjects } from '../../../engine/scoring/levels.ts';
import { Fields } from '../kit/form.ts';
import type { FormVersion } from '../kit/form-version.ts';
import { overtakenNote, versionOf, versionField, sentVersion, saveVersion } from '../kit/form-version.ts';

/** Pages for the settings that owners and admins can change. Only the operator sets plan, credits and UKPRN. */
export const settingsRoutes: ConsoleRoute[] = [
  get('/settings', managers, show, { menu: 'Settings', section: 'organisation' }),
  post('/settings', managers, save),
];

const writtenOf = (row: Organisation): WrittenSettings => ({
  name: row.name,
  timeZone: row.time_zone,
  contact: row.contact ?? '',
  noticesEmail: row.notices_email ?? '',
  subjects: row.default_subjects,
  groupAutocreate: row.group_autocreate ? 'on' : 'off',
  retakeGap: row.retake_gap_days === null ? '' : String(row.retake_gap_days),
  fundingRules: row.funding_rules_url ?? '',
});

const labels: Record<keyof WrittenSettings, string> = {
  name: 'Name of the organisation',
  timeZone: 'Time zone',
  contact: 'Contact for learners (optional)',
  noticesEmail: 'E-mail address for notices (optional)',
  subjects: 'Subjects of an invitation',
  groupAutocreate: 'Groups that do not exist when a platform invites a learner',
  retakeGap: 'Days between two assessments in a subject (optional)',
  fundingRules: 'Rules of your funding (optional)',
};

const autocreateChoices = [
  { value: 'on', label: 'Are made' },
  { value: 'off', label: 'Are refused', hint: 'The platform is answered 422 group_autocreate_disabled.' },
];

async function show(visit: Visit): Promise<Answer> {
  const row = await readOrganisation(visit.app.db, visit.organisationId);
  const shown = writtenOf(row);
  return settingsPage(visit, row, shown, { version: versionOf(shown) });
}

function settingsPage(
  visit: Visit,
  row: Organisation,
  shown: WrittenSettings,
  { version, faults = {}, overtaken }: FormVersion,
): Answer {
  const { app, base, query } = visit;
  const listed = [...timeZones, ...(isTimeZone(shown.timeZone) ? [shown.timeZone] : [])];
  const zones = Object.fromEntries(listed.map((zone) => [zone, zone.replaceAll('_', ' ')]));
  const fields = (f: Fields): Content => [
    versionField(version),
    f.text('name', labels.name, {
      hint: 'Learners see it on their pages, and evidence shows it from then on.',
      value: shown.name,
    }),
    f.select('timeZone', labels.timeZone, zones, {
      hint: 'All times in the console are by its clocks. The API and exports are always in UTC.',
      value: shown.timeZone,
    }),
    f.text('contact', labels.contact, {
      hint: 'Whom learners can ask, such as a telephone number and its hours. It stands on every page of theirs.',
      value: shown.contact,
    }),
    // Notices need a mail server, so without one the field is left out.
    app.settings.mailServer !== null &&
      f.text('noticesEmail', labels.noticesEmail, {
        hint: html`A shared mailbox that is told, beside owners and admins, when a key is made or ends, and when a webhook endpoint begins to fail. <a href="${base}/mails">What has been mailed</a>`,
        type: 'email',
        value: shown.noticesEmail,
      }),
    f.tick('subjects', labels.subjects, shortSubjectNames, {
      hint: 'What a new invitation asks of a learner. Invitations that are open stay as they are.',
      values: shown.subjects,
    }),
    f.choose('groupAutocreate', labels.groupAutocreate, autocreateChoices, { value: shown.groupAutocreate }),
    f.text('retakeGap', labels.retakeGap, {
      hint: 'Whoever invites a learner sooner than that has to say why, and the reason is kept. What platforms invite by the API is not held back.',
      inputmode: 'numeric',
      value: shown.retakeGap,
      width: 10,
    }),
    f.text('fundingRules', labels.fundingRules, {
      hint: 'The address of a page, such as your funder’s rules or your own. The lists for funding lead to it.',
      type: 'url',
      value: shown.fundingRules,
    }),
  ];
  const page = formPage(visit, {
    title: 'Settings',
    says: 'What holds for the whole organisation: name, clocks, invitations and groups.',
    faults,
    intro: [notice(query, { saved: 'The settings are saved.' }), overtaken],
    button: 'Save',
    fields,
    also: [
      html`<h2>Set by whoever runs the service</h2>`,
      facts({ Plan: row.plan, UKPRN: row.ukprn ?? 'Not recorded', 'Organisation id': code(row.public_id) }),
      html`<h2>How long data is kept</h2><p>For how many months each kind is kept is set on the page <a href="${base}/data-protection/retention">Retention</a>.</p><h2>Who may see what</h2><p>It follows from the role, which is given on the page <a href="${base}/people">People</a>. Whose learners a tutor sees follows from their <a href="${base}/teams">teams</a>.</p>`,
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
    fundingRules: sent.text('fundingRules'),
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
  if (name === 'groupAutocreate') return settings.groupAutocreate === 'on' ? 'Are made' : 'Are refused';
  const value =
    name === 'subjects' ? subjects.filter((one) => settings.subjects.includes(one)).join(', ') : settings[name];
  return value === '' ? 'Nothing' : value;
}

export const mailRoutes: ConsoleRoute[] = [get('/mails', managers, mails)];

/** What the page calls each cause of an email. The key is the first word of the stored cause. */
const causeNames: Record<string, string> = {
  invitation: 'An invitation of a colleague',
  key_link: 'A set-up link for a vendor',
  key_made: 'A key was made',
  key_rolled: 'A key was rolled',
  key_ending: 'A key ends soon',
  endpoint_failing: 'A webhook endpoint has begun to fail',
  endpoint_recovered: 'A webhook endpoint has recovered',
  endpoint_disabled: 'A webhook endpoint was disabled',
};

const states: Record<ListedMail['status'], string> = {
  waiting: 'Waits',
  sending: 'On its way',
  sent: 'Taken by the mail server',
  refused: 'Refused by the mail server',
  expired: 'Given up: the mail server could not be reached in time',
  unknown: 'Not known: the connection ended before the mail server had said whether it took it',
};

async function mails(visit: Visit): Promise<Answer> {
  const { app, base, zone, organisationId, query } = visit;
  const [ms, mailId] = readToken(query.get('after'), 'ms', 'uuid') ?? [];
  const after = mailId === undefined ? null : { createdAt: new Date(Number(ms)), mailId };
  const { rows, last } = await readPage((limit) => listMails(app.db, organisationId, { after, limit }));
  return listPage<ListedMail>(visit, {
    title: 'Mails',
    back: { to: `${base}/settings`, label: 'Settings' },
    intro: [
      html`<p>What was mailed for this organisation in the last ${limits.mailKeptMs / 86_400_000} days. To whom a mail went and what it said is forgotten once it has gone.</p>`,
      app.settings.mailServer === null &&
        html`<p>No mail server is set: nothing is mailed, and every link is copied by hand.</p>`,
    ],
    caption: 'Mails, the newest first',
    none: 'Nothing was mailed.',
    rows,
    columns: {
      Written: (row) => instant(row.created_at, zone),
      'What of': (row) => causeNames[row.cause.split(' ')[0]!] ?? 'A notice',
      State: (row) => states[row.status],
      Tried: numeric((row) => row.attempts),
      'Next or last': (row) => instant(row.finished_at ?? row.next_attempt_at, zone),
    },
    next: last && `${last.created_at.getTime()}.${last.mail_id}`,
  });
}
