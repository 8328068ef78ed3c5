import type { Organisation, OrganisationChanges } from '../../../src/organisations/organisations.ts';
import {
  createOrganisation,
  listOrganisations,
  plans,
  updateOrganisation,
} from '../../../src/organisations/organisations.ts';
import { findProvider, liftRequirement } from '../../../src/organisations/users/single-sign-on.ts';
import { grantCredits, listCreditEntries, hasCountedCredits } from '../../../src/organisations/credits.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { isTimeZone, readPageAddress } from '../../../src/organisations/description.ts';
import { offboardingCommands } from '../governance/offboarding.ts';
import { type Command, type Output, command, Failure, Misuse } from '../../kit/command.ts';
import { type Inside, act, organisationCommand, operator, withApp } from '../../kit/open.ts';
import * as option from '../../kit/options.ts';
import { fieldsOf, pick, tableOf } from '../../kit/table.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';

function payload(row: Organisation) {
  return {
    organisation_id: row.public_id,
    ...pick(row, 'name', 'plan', 'credits', 'group_autocreate', 'default_subjects', 'ukprn', 'contact', 'time_zone'),
    ...pick(row, 'notices_email', 'retake_gap_days', 'funding_rules_url', 'second_factor_for_all'),
    ...pick(row, 'pilot_items'),
    ...pick(row, 'suspended_at', 'created_at'),
  };
}

function outputOf(row: Organisation): Output {
  const inWords = {
    ...payload(row),
    credits: hasCountedCredits(row.plan) ? row.credits : 'not counted',
    group_autocreate: row.group_autocreate ? 'on' : 'off',
    retake_gap_days: row.retake_gap_days ?? 'none',
    second_factor_for_all: row.second_factor_for_all ? 'on' : 'off',
    pilot_items: row.pilot_items ? 'on' : 'off',
    suspended_at: row.suspended_at ?? 'no',
  };
  return { json: payload(row), text: fieldsOf(inWords) };
}

const name = option.line('N', limits.organisationNameChars);
const plan = option.word(plans);
const ukprn = option.orEmpty(
  option.checked('N', 'the eight digits of a UK provider reference number, the first of which is 1', (input) =>
    /^1[0-9]{7}$/.test(input),
  ),
);
const timeZone = option.checked('Z', 'a name of the IANA database, such as Europe/London', isTimeZone);
const page = option.parsed(
  'URL',
  'the address of a page, beginning with https://, or empty',
  (input) => readPageAddress(input) ?? undefined,
);

async function showLedger({ app, organisation, organisationId }: Inside, limit: number): Promise<Output> {
  const entries = await listCreditEntries(app.db, organisationId, { before: null, limit });
  const { public_id, credits, name: organisationName } = organisation;
  return {
    json: { organisation_id: public_id, credits, entries },
    text: `${organisationName} has ${credits} credits.\n\n${tableOf(entries, [
      ['no', 'entry_no'],
      ['time', 'at'],
      'kind',
      ['amount', ({ amount }) => (amount > 0 ? `+${amount}` : amount)],
      'balance',
      'actor',
      'invitation_id',
      'reason',
    ])}`,
  };
}

export const commands: Command[] = [
  command({
    name: 'organisation create',
    summary: 'Create an organisation',
    examples: ['--name "Riverside College"', '--name "Riverside College" --plan education --ukprn 10012345'],
    about: {
      name: 'The name of the organisation',
      plan: 'The plan',
      credits: 'Credits at the start',
      groupAutocreate: 'Whether provisioning may create groups',
      ukprn: 'UK Provider Reference Number, 8 digits',
    },
    options: {
      name: option.required(name),
      plan: option.or(plan, 'standard' as const),
      credits: option.or(option.count(0, 1_000_000_000), 0),
      groupAutocreate: option.or(option.onOff, true),
      ukprn: option.or(ukprn, null),
    },
    run: ({ options }) =>
      withApp(
        async (app) => {
          const row = await act(app, { of: 'organisation_id' }, 'organisation create', { of: 'public_id' }, (work) =>
            createOrganisation(work, options),
          );
          return { json: { organisation_id: row.public_id }, text: outputOf(row).text };
        },
        { mayBegin: true },
      ),
  }),
  command({
    name: 'organisation list',
    summary: 'List the organisations',
    examples: ['', '--json'],
    run: () =>
      withApp(async (app) => {
        const data = (await listOrganisations(app.db)).map(payload);
        return { json: { data }, text: tableOf(data, ['organisation_id', 'plan', 'credits', 'name']) };
      }),
  }),
  organisationCommand({
    name: 'organisation show',
    takes: 'ID',
    summary: 'Show an organisation',
    examples: ['$ORG', '$ORG --json'],
    run: async ({ organisation }) => outputOf(organisation),
  }),
  organisationCommand({
    name: 'organisation update',
    takes: 'ID',
    summary: "Change an organisation's settings",
    notes: 'An empty value removes what is stored.',
    examples: ['$ORG --plan unlimited', '$ORG --time-zone Europe/London --retake-gap 14'],
    about: {
      name: 'The name of the organisation',
      plan: 'The plan',
      groupAutocreate: 'Whether provisioning may create groups',
      defaultSubjects: 'Subjects of an invitation that names none, with commas',
      ukprn: 'UK Provider Reference Number, 8 digits',
      contact: 'The contact that learners see',
      timeZone: 'The time zone of dates, such as Europe/London',
      noticesEmail: 'The email address for notices',
      retakeGap: 'Days between two assessments of a subject',
      fundingRules: "URL of the organisation's funding rules",
      secondFactorForAll: 'Whether every role needs a second factor',
      pilotItems: 'Whether sittings have questions on trial, and answers are exported for calibration',
    },
    options: {
      name,
      plan,
      groupAutocreate: option.onOff,
      defaultSubjects: option.words('LIST', subjects, `a comma-separated list of ${subjects.join(', ')}`),
      ukprn,
      contact: option.orEmpty(option.line('C', limits.contactChars)),
      timeZone,
      noticesEmail: option.orEmpty(option.email('E', 'data@college.example')),
      retakeGap: option.orEmpty(option.count(0, limits.retakeGapDays, 'DAYS')),
      fundingRules: option.orEmpty(page),
      secondFactorForAll: option.onOff,
      pilotItems: option.onOff,
    },
    prepare({ options }): OrganisationChanges {
      const changes = {
        name: options.name,
        plan: options.plan,
        group_autocreate: options.groupAutocreate,
        default_subjects: options.defaultSubjects,
        ukprn: options.ukprn,
        contact: options.contact,
        time_zone: options.timeZone,
        notices_email: options.noticesEmail,
        funding_rules_url: options.fundingRules,
        second_factor_for_all: options.secondFactorForAll,
        pilot_items: options.pilotItems,
        retake_gap_days: options.retakeGap === 0 ? null : options.retakeGap,
      };
      const named = Object.entries(changes).filter(([, value]) => value !== undefined);
      if (named.length === 0)
        throw new Misuse(
          'give at least one of --name, --plan, --group-autocreate, --default-subjects, --ukprn, --contact, --time-zone, --notices-email, --retake-gap, --funding-rules, --second-factor-for-all, --pilot-items',
        );
      return Object.fromEntries(named);
    },
    run: async ({ organisation, organisationId, act: acts, prepared }) =>
      outputOf(await acts(organisation.public_id, (work) => updateOrganisation(work, organisationId, prepared))),
  }),
  organisationCommand({
    name: 'organisation sso',
    takes: 'ID',
    summary: 'Show single sign-on, or stop requiring it',
    notes: 'Old passwords do not work again. Invite a person with "ars user invite" for a new password.',
    examples: ['$ORG', '$ORG --required off'],
    about: { required: 'Accepts passwords again, if the identity provider and the emergency owner fail' },
    options: { required: option.word(['off']) },
    run: async ({ app, organisation, organisationId, act: acts, options: { required } }) => {
      if (required === 'off') await acts(organisation.public_id, (work) => liftRequirement(work, organisationId));
      const provider = await findProvider(app.db, app.keyring, organisationId);
      const shown = { issuer: provider?.issuer ?? null, required: provider?.required ?? false };
      const text = fieldsOf({ issuer: shown.issuer ?? 'none', required: shown.required ? 'yes' : 'no' });
      return { json: { organisation_id: organisation.public_id, ...shown }, text };
    },
  }),
  organisationCommand({
    name: 'organisation credits',
    takes: 'ID',
    summary: 'Show or change the credits of an organisation',
    examples: ['$ORG', '$ORG --add 200 --reason "Order 4711"'],
    about: {
      add: 'Credits to add. A negative number takes credits back',
      reason: 'The reason, for the ledger. Required with --add',
      limit: 'The most rows to print',
    },
    options: {
      add: option.parsed('N', 'a whole number', (input) => (/^-?\d{1,9}$/.test(input) ? Number(input) : undefined)),
      reason: option.maybeReason,
      limit: option.limit(50, 10_000),
    },
    prepare({ options: { add, reason } }) {
      if (add === undefined && reason !== undefined) throw new Misuse('--reason goes with --add');
      if (add !== undefined && reason === undefined) throw new Misuse('--reason is required');
    },
    run: async (call) => {
      const { organisation, organisationId, options } = call;
      const { add, reason = '' } = options;
      if (add === undefined) return showLedger(call, options.limit);
      const credits = await call.act(`${add > 0 ? '+' : ''}${add}`, async (work) => {
        const balance = await grantCredits(work, organisationId, add, { actor: operator, reason });
        if (balance === undefined) throw new Failure('the organisation has fewer credits than that');
        return balance;
      });
      const { public_id } = organisation;
      return { json: { organisation_id: public_id, credits }, text: `${organisation.name} has ${credits} credits.` };
    },
  }),
  ...offboardingCommands,
];
