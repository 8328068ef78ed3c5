import type { Organisation, OrganisationChanges, Plan } from '../src/organisations/organisations.ts';
import {
  createOrganisation,
  listOrganisations,
  plans,
  updateOrganisation,
} from '../src/organisations/organisations.ts';
import { grantCredits, listCreditEntries } from '../src/organisations/credits.ts';
import { isEmailAddress } from '../src/email.ts';
import { limits } from '../src/limits.ts';
import { isTimeZone, readPageAddress } from '../src/organisations/description.ts';
import { leavingCommands } from './organisation-leaving.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import {
  act,
  numberOption,
  operator,
  option,
  organisationOf,
  readReason,
  requiredText,
  table,
  textOption,
  withApp,
} from './open.ts';
import { subjects } from '../src/scoring/levels.ts';

function payload(row: Organisation) {
  return {
    organisation_id: row.public_id,
    name: row.name,
    plan: row.plan,
    credits: row.credits,
    group_autocreate: row.group_autocreate,
    default_subjects: row.default_subjects,
    ukprn: row.ukprn,
    contact: row.contact,
    time_zone: row.time_zone,
    notices_email: row.notices_email,
    retake_gap_days: row.retake_gap_days,
    funding_rules_url: row.funding_rules_url,
    suspended_at: row.suspended_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  };
}

function text(row: Organisation): string {
  return table([
    ['organisation_id', row.public_id],
    ['name', row.name],
    ['plan', row.plan],
    ['credits', row.plan === 'standard' ? String(row.credits) : 'not counted'],
    ['group_autocreate', row.group_autocreate ? 'on' : 'off'],
    ['default_subjects', row.default_subjects.join(', ')],
    ['ukprn', row.ukprn ?? 'not given'],
    ['contact', row.contact ?? 'not given'],
    ['time_zone', row.time_zone],
    ['notices_email', row.notices_email ?? 'not given'],
    ['retake_gap_days', row.retake_gap_days === null ? 'none' : String(row.retake_gap_days)],
    ['funding_rules_url', row.funding_rules_url ?? 'not given'],
    ['suspended_at', row.suspended_at?.toISOString() ?? 'no'],
    ['created_at', row.created_at.toISOString()],
  ]);
}

/** @returns null where it is taken away, undefined where it is not given */
function readUkprn(call: Call): string | null | undefined {
  const ukprn = option(call, 'ukprn');
  if (ukprn === '') return null;
  if (ukprn !== undefined && !/^1[0-9]{7}$/.test(ukprn))
    throw new Misuse('--ukprn must be the eight digits of a UK provider reference number, the first of which is 1');
  return ukprn;
}

function readZone(call: Call): string | undefined {
  const zone = option(call, 'time-zone');
  if (zone !== undefined && !isTimeZone(zone))
    throw new Misuse('--time-zone must be a name of the IANA database, such as Europe/London');
  return zone;
}

/** @returns null where it is taken away, undefined where it is not given */
function readNoticesEmail(call: Call): string | null | undefined {
  const address = option(call, 'notices-email');
  if (address === '') return null;
  if (address !== undefined && !isEmailAddress(address))
    throw new Misuse('--notices-email must be an e-mail address, such as data@college.example');
  return address;
}

function readPlan(plan: string): Plan {
  if (!(plans as readonly string[]).includes(plan)) throw new Misuse(`--plan must be one of ${plans.join(', ')}`);
  return plan as Plan;
}

function readSwitch(call: Call, name: string): boolean | undefined {
  const value = option(call, name);
  if (value === undefined) return undefined;
  if (value !== 'on' && value !== 'off') throw new Misuse(`--${name} must be on or off`);
  return value === 'on';
}

function readSubjects(value: string): string[] {
  const list = [...new Set(value.split(','))];
  if (!list.every((one) => (subjects as readonly string[]).includes(one)))
    throw new Misuse(`--default-subjects must be a comma-separated list of ${subjects.join(', ')}`);
  return list;
}

function showLedger(call: Call) {
  if (option(call, 'reason') !== undefined) throw new Misuse('--reason goes with --add');
  const limit = numberOption(call, 'limit', 50, 1, 10_000);
  return withApp(async (app) => {
    const found = await organisationOf(app, call.positionals[0]!);
    const entries = await listCreditEntries(app.db, found.organisation_id, { before: null, limit });
    return {
      json: {
        organisation_id: found.public_id,
        credits: found.credits,
        entries: entries.map(({ at, ...entry }) => ({ ...entry, at: at.toISOString() })),
      },
      text: `${found.name} has ${found.credits} credits.\n\n${table([
        ['no', 'time', 'kind', 'amount', 'balance', 'actor', 'invitation_id', 'reason'],
        ...entries.map((entry) => [
          String(entry.entry_no),
          entry.at.toISOString(),
          entry.kind,
          entry.amount > 0 ? `+${entry.amount}` : String(entry.amount),
          String(entry.balance),
          entry.actor,
          entry.invitation_id ?? '',
          entry.reason ?? '',
        ]),
      ])}`,
    };
  });
}

export const commands: Command[] = [
  {
    name: 'organisation create',
    usage: '--name N [--plan standard|education|unlimited] [--credits N] [--group-autocreate on|off] [--ukprn N]',
    summary: 'Create an organisation',
    options: {
      name: { type: 'string' },
      plan: { type: 'string' },
      credits: { type: 'string' },
      'group-autocreate': { type: 'string' },
      ukprn: { type: 'string' },
    },
    run: async (call) => {
      const given = {
        name: requiredText(call, 'name', limits.organisationNameChars),
        plan: readPlan(option(call, 'plan') ?? 'standard'),
        credits: numberOption(call, 'credits', 0, 0, 1_000_000_000),
        groupAutocreate: readSwitch(call, 'group-autocreate') ?? true,
        ukprn: readUkprn(call) ?? null,
      };
      return withApp(
        async (app) => {
          const row = await act(app, null, 'organisation create', async (work) => {
            const made = await createOrganisation(work, given);
            return { result: made, resource: made.public_id, organisationId: made.organisation_id };
          });
          return { json: { organisation_id: row.public_id }, text: text(row) };
        },
        { mayBegin: true },
      );
    },
  },
  {
    name: 'organisation list',
    usage: '',
    summary: 'List the organisations',
    run: () =>
      withApp(async (app) => {
        const rows = await listOrganisations(app.db);
        return {
          json: { data: rows.map(payload) },
          text: table([
            ['organisation_id', 'plan', 'credits', 'name'],
            ...rows.map((row) => [row.public_id, row.plan, String(row.credits), row.name]),
          ]),
        };
      }),
  },
  {
    name: 'organisation show',
    usage: 'ID',
    summary: 'Show an organisation',
    positionals: [1, 1],
    run: (call) =>
      withApp(async (app) => {
        const row = await organisationOf(app, call.positionals[0]!);
        return { json: payload(row), text: text(row) };
      }),
  },
  {
    name: 'organisation update',
    usage:
      'ID [--name N] [--plan P] [--group-autocreate on|off] [--default-subjects LIST] [--ukprn N] [--contact C] [--time-zone Z] [--notices-email E] [--retake-gap DAYS] [--funding-rules URL]',
    summary: "Change an organisation's settings",
    positionals: [1, 1],
    options: {
      name: { type: 'string' },
      plan: { type: 'string' },
      'group-autocreate': { type: 'string' },
      'default-subjects': { type: 'string' },
      ukprn: { type: 'string' },
      contact: { type: 'string' },
      'time-zone': { type: 'string' },
      'notices-email': { type: 'string' },
      'retake-gap': { type: 'string' },
      'funding-rules': { type: 'string' },
    },
    run: async (call) => {
      const name = textOption(call, 'name', limits.organisationNameChars);
      const [plan, list] = [option(call, 'plan'), option(call, 'default-subjects')];
      const autocreate = readSwitch(call, 'group-autocreate');
      const ukprn = readUkprn(call);
      const contact = option(call, 'contact') === '' ? '' : textOption(call, 'contact', limits.contactChars);
      const [zone, notices] = [readZone(call), readNoticesEmail(call)];
      // An empty one, or 0, takes it away.
      const gap = option(call, 'retake-gap') === '' ? 0 : numberOption(call, 'retake-gap', -1, 0, limits.retakeGapDays);
      const rules = option(call, 'funding-rules');
      if (rules !== undefined && rules !== '' && readPageAddress(rules) === null)
        throw new Misuse('--funding-rules must be the address of a page, beginning with https://, or empty');
      const changes: OrganisationChanges = {
        ...(name === undefined ? {} : { name }),
        ...(plan === undefined ? {} : { plan: readPlan(plan) }),
        ...(autocreate === undefined ? {} : { group_autocreate: autocreate }),
        ...(list === undefined ? {} : { default_subjects: readSubjects(list) }),
        ...(ukprn === undefined ? {} : { ukprn }),
        ...(contact === undefined ? {} : { contact: contact === '' ? null : contact }),
        ...(zone === undefined ? {} : { time_zone: zone }),
        ...(notices === undefined ? {} : { notices_email: notices }),
        ...(rules === undefined ? {} : { funding_rules_url: rules === '' ? null : readPageAddress(rules) }),
        ...(gap < 0 ? {} : { retake_gap_days: gap === 0 ? null : gap }),
      };
      if (Object.keys(changes).length === 0)
        throw new Misuse(
          'give at least one of --name, --plan, --group-autocreate, --default-subjects, --ukprn, --contact, --time-zone, --notices-email, --retake-gap, --funding-rules',
        );
      return withApp(async (app) => {
        const found = await organisationOf(app, call.positionals[0]!);
        const row = await act(app, found.organisation_id, 'organisation update', async (work) => ({
          result: await updateOrganisation(work, found.organisation_id, changes),
          resource: found.public_id,
        }));
        return { json: payload(row), text: text(row) };
      });
    },
  },
  {
    name: 'organisation credits',
    usage: 'ID [--add N --reason R] [--limit N]',
    summary: 'Show the ledger of credits; add some, or take them back with a negative number',
    positionals: [1, 1],
    options: { add: { type: 'string' }, reason: { type: 'string' }, limit: { type: 'string' } },
    run: async (call) => {
      const by = option(call, 'add');
      if (by === undefined) return showLedger(call);
      if (!/^-?\d{1,9}$/.test(by)) throw new Misuse('--add must be a whole number');
      const reason = readReason(call);
      return withApp(async (app) => {
        const found = await organisationOf(app, call.positionals[0]!);
        const credits = await act(app, found.organisation_id, 'organisation credits', async (work) => {
          const balance = await grantCredits(work, found.organisation_id, Number(by), { actor: operator, reason });
          if (balance === undefined) throw new Failure('the organisation has fewer credits than that');
          return { result: balance, resource: `${Number(by) > 0 ? '+' : ''}${Number(by)}` };
        });
        return { json: { organisation_id: found.public_id, credits }, text: `${found.name} has ${credits} credits.` };
      });
    },
  },
  ...leavingCommands,
];
