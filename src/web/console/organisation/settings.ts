import { html } from '../../../platform/html/html.ts';
import type { SettingFault, WrittenSettings } from '../../../organisations/description.ts';
import { isTimeZone, readSettingsOf, timeZones } from '../../../organisations/description.ts';
import type { Organisation } from '../../../organisations/organisations.ts';
import { readOrganisation, updateOrganisation } from '../../../organisations/organisations.ts';
import { shortSubjectNames, subjects } from '../../../engine/scoring/levels.ts';
import { managers, roleMeanings, roleNames, roles } from '../../../organisations/users/roles.ts';
import { facts, notice } from '../kit/blocks.ts';
import type { Faults } from '../kit/form.ts';
import { fieldsOf } from '../kit/form.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import type { Seen } from '../kit/form-version.ts';
import { markOf, overtakenNote, saveSeen, seenBy, seenField } from '../kit/form-version.ts';
import { get, post } from '../kit/route.ts';

/** Settings that owners and admins can change. The operator sets plan, credits and UKPRN. */
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
  return settingsPage(visit, row, shown, { seen: markOf(shown) });
}

function settingsPage(
  visit: Visit,
  row: Organisation,
  shown: WrittenSettings,
  { seen, faults = {}, overtaken }: Seen,
): Answer {
  const { app, base, query } = visit;
  const f = fieldsOf(visit, faults);
  const known = [...timeZones, ...(isTimeZone(shown.timeZone) ? [shown.timeZone] : [])];
  const zones = Object.fromEntries(known.map((zone) => [zone, zone.replaceAll('_', ' ')]));
  return {
    title: 'Settings',
    says: 'What holds for the whole organisation: name, clocks, invitations and groups.',
    main: html`${notice(query, { saved: 'The settings are saved.' })}${overtaken}${f.form('Save', {}, [
      seenField(seen),
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
      // Without a mail server there are no notices.
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
    ])}<h2>Set by whoever runs the service</h2>${facts({
      Plan: row.plan,
      UKPRN: row.ukprn ?? 'Not recorded',
      'Organisation id': html`<code>${row.public_id}</code>`,
    })}<h2>How long data is kept</h2><p>For how many months each kind is kept is set on the page <a href="${base}/data-protection/retention">Retention</a>.</p><h2>Who may see what</h2><p>It follows from the role, which is given on the page <a href="${base}/people">People</a>. Whose learners a tutor sees follows from their <a href="${base}/teams">teams</a>.</p>${facts(roles.map((role) => [roleNames[role], roleMeanings[role]] as const))}`,
    faults,
    status: overtaken && 409,
  };
}

async function save(visit: Visit): Promise<Answer> {
  const { app, base, organisation, organisationId: id, form: sent } = visit;
  const { public_id: publicId } = organisation;
  const row = await readOrganisation(app.db, id);
  const written: WrittenSettings = {
    name: sent.text('name'),
    timeZone: sent.raw('timeZone'),
    contact: sent.text('contact'),
    noticesEmail: app.settings.mailServer === null ? (row.notices_email ?? '') : sent.text('noticesEmail'),
    subjects: sent.all('subjects'),
    groupAutocreate: sent.raw('groupAutocreate'),
    retakeGap: sent.text('retakeGap'),
    fundingRules: sent.text('fundingRules'),
  };
  const read = readSettingsOf(written);
  if ('faults' in read)
    return settingsPage(visit, row, written, { seen: seenBy(visit), faults: faultsOf(read.faults) });
  const { notices_email: _, ...others } = read.changes;
  // A field that the form did not show keeps its stored value.
  const changes = app.settings.mailServer === null ? others : read.changes;
  const instead = await saveSeen(visit, {
    resource: publicId,
    read: async (tx) => writtenOf(await readOrganisation(tx, id)),
    written: writtenOf({ ...row, ...changes }),
    write: (work) => updateOrganisation(work, id, changes),
  });
  if (instead === null) return { to: `${base}/settings?did=saved` };
  const names = Object.keys(labels) as (keyof WrittenSettings)[];
  const overtaken = overtakenNote(names.map((name) => [labels[name], inWords(instead, name), inWords(written, name)]));
  return settingsPage(visit, row, written, { seen: markOf(instead), overtaken });
}

function inWords(settings: WrittenSettings, name: keyof WrittenSettings): string {
  if (name === 'groupAutocreate') return settings.groupAutocreate === 'on' ? 'Are made' : 'Are refused';
  const value =
    name === 'subjects' ? subjects.filter((one) => settings.subjects.includes(one)).join(', ') : settings[name];
  return value === '' ? 'Nothing' : value;
}

const faultsOf = (faults: SettingFault[]): Faults =>
  Object.fromEntries(faults.map(({ field, sentence }) => [field, sentence]));
