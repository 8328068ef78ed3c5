import { hasCountedCredits } from '../../../src/organisations/credits.ts';
import { lastInstantOf } from '../../../src/organisations/zone.ts';
import { UnreadableFile } from '../../../src/platform/formats/lines.ts';
import { contextOf } from '../../../src/sittings/invitations/runs/context.ts';
import { type Check, type Checked, checkRows } from '../../../src/sittings/invitations/runs/check.ts';
import { type Run, pageOfRows } from '../../../src/sittings/invitations/runs/read-runs.ts';
import { type Namesake, findNamesakes } from '../../../src/sittings/invitations/runs/namesakes.ts';
import { type Doubt, doubtWords } from '../../../src/sittings/invitations/runs/row.ts';
import {
  beginRun,
  draftRun,
  endsAt,
  invitationRuns,
  whyCancelled,
} from '../../../src/sittings/invitations/runs/run.ts';
import { type TableRow, readInviteTable } from '../../../src/sittings/invitations/runs/table.ts';
import { sameNameKey } from '../../../src/records/learners/keys.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { isUuid } from '../../../src/platform/crypto/random.ts';
import { type Command, type Output, Failure } from '../../kit/command.ts';
import { readWholeFile } from '../../kit/file.ts';
import { act, missing, operator, organisationCommand } from '../../kit/open.ts';
import { flag } from '../../kit/options.ts';

const shownRows = 20;

const everyTeam = { visibility: null, teamId: null };
const count = (n: number, one: string) => `${n.toLocaleString('en-GB')} ${one}${n === 1 ? '' : 's'}`;

async function readTable(file: string) {
  const bytes = await readWholeFile(file, limits.inviteTableBytes);
  try {
    return await readInviteTable(bytes);
  } catch (error) {
    throw error instanceof UnreadableFile ? new Failure(`${file} can't be read: ${error.message}.`) : error;
  }
}

type Namesakes = ReadonlyMap<string, readonly Namesake[]>;

const means: Record<string, string> = {
  '--accept-names': 'takes names and references as they are.',
  '--new-learners':
    'invites a new learner for each of these names. To invite one that you have, give the reference, or put the learner’s ID into a column learner_id.',
};

function verdict(faulty: number, doubtful: number): string {
  if (faulty + doubtful === 0) return 'All rows are right.';
  const parts = [
    ...(faulty === 0 ? [] : [`${count(faulty, 'row')} must be corrected`]),
    ...(doubtful === 0 ? [] : [`${count(doubtful, 'row')} must be corrected or accepted`]),
  ];
  return `${parts.join(', ')}; nothing was written.`;
}

/** The options that accept doubtful rows, and the kinds of doubt that each option accepts. */
const optionsFor = {
  '--accept-names': ['encoding', 'question_mark', 'reference'],
  '--new-learners': ['known', 'twice'],
} as const;

/** Marks doubtful rows as accepted by the options, because a command can't ask. */
function accept(rows: readonly TableRow[], options: { acceptNames: boolean; newLearners: boolean }): TableRow[] {
  const accepted = [
    ...(options.acceptNames ? optionsFor['--accept-names'] : []),
    ...(options.newLearners ? optionsFor['--new-learners'] : []),
  ].join(' ');
  return rows.map(({ row_no, cells }) => ({ row_no, cells: accepted === '' ? cells : { ...cells, accepted } }));
}

function checkOutput({ rows, faulty, doubtful, known, again, credits }: Check, namesakes: Namesakes): Output {
  const idsOf = ({ ready }: Checked[number], { about }: Doubt): string[] =>
    about === 'known' ? (namesakes.get(sameNameKey(ready!.full_name)) ?? []).map((one) => one.learner_id) : [];
  const wrong = rows.filter((row) => row.faults.length > 0 || row.ready?.doubts !== undefined);
  const doubts = wrong.flatMap((row) =>
    row.faults.length > 0
      ? []
      : row.ready!.doubts!.map((doubt) => ({ row: row.row_no, doubt, ids: idsOf(row, doubt) })),
  );
  const shown = wrong
    .slice(0, shownRows)
    .flatMap((row) =>
      row.faults.length > 0
        ? row.faults.map(({ column, expected }) => `row ${row.row_no}: ${column} must be ${expected}`)
        : row.ready!.doubts!.map(
            (doubt) =>
              `row ${row.row_no}: ${doubt.column} ${[doubtWords(doubt), ...idsOf(row, doubt)].join(', learner_id ')}`,
          ),
    );
  const help = Object.entries(optionsFor).flatMap(([name, kinds]) =>
    doubts.some(({ doubt }) => (kinds as readonly string[]).includes(doubt.about)) ? [`${name} ${means[name]}`] : [],
  );
  const more = wrong.length > shownRows ? [`and ${count(wrong.length - shownRows, 'more row')} with faults`] : [];
  return {
    json: {
      rows: rows.length,
      faulty,
      doubtful,
      known,
      open_already: again,
      credits,
      doubts: doubts.map(({ row, doubt: { about, column }, ids }) => ({
        row,
        column,
        about,
        ...(ids.length === 0 ? {} : { learner_ids: ids }),
      })),
      faults: wrong.flatMap(({ row_no, faults }) => faults.map((fault) => ({ row: row_no, ...fault }))),
    },
    text: [
      `${count(rows.length, 'row')}: ${count(known, 'learner')} there already, ${count(again, 'open invitation')} to be given again, ${count(credits, 'credit')} needed. ${verdict(faulty, doubtful)}`,
      ...shown,
      ...more,
      ...help,
    ].join('\n'),
    exitCode: faulty + doubtful === 0 ? 0 : 1,
  };
}

function runOutput(run: Run): Output {
  const { run_id, status, total, reached, invited, again, refused } = run;
  const where =
    status === 'waiting'
      ? ` No credit is left: the run stopped after row ${reached}. It continues once there are credits, until ${endsAt(run).toISOString()}. Then it is cancelled.`
      : status === 'running'
        ? ` The run stopped after row ${reached}. The service continues it.`
        : status === 'cancelled'
          ? ` It was cancelled after row ${reached}. ${whyCancelled(run) ?? ''}`.trimEnd()
          : '';
  return {
    json: { run_id, status, total, reached, invited, open_already: again, refused },
    text: `${count(invited, 'learner')} invited, ${count(again, 'open invitation')} given again, ${count(refused, 'row')} refused, of ${count(total, 'row')}.${where}`,
    exitCode: status === 'finished' && refused === 0 ? 0 : 1,
  };
}

export const inviteCommands: Command[] = [
  organisationCommand({
    name: 'learner invite',
    summary: 'Invite the learners of a table',
    notes: 'The table is CSV, or cells from a spreadsheet. If a row is wrong, the command invites no learner.',
    examples: ['--organisation $ORG class.csv --check', '--organisation $ORG class.csv --mail'],
    fails: 'Rows are refused, or the command has failed.',
    about: {
      check: 'Checks the rows, and changes nothing',
      mail: 'Sends the links by email',
      acceptNames: 'Accepts names that look damaged',
      newLearners: 'Accepts new learners whose name exists already',
    },
    takes: 'FILE|-',
    options: { check: flag, mail: flag, acceptNames: flag, newLearners: flag },
    prepare: ({ positionals }) => readTable(positionals[0]!),
    run: async ({ app, organisation, organisationId, prepared: table, options, ...call }) => {
      const { time_zone: zone } = organisation;
      const context = await contextOf(app.db, organisation, app.clock.nowMs(), (day) => lastInstantOf(day, zone));
      const check = await checkRows(app, organisationId, accept(table, options), context, everyTeam);
      if (options.check || check.faulty + check.doubtful > 0) {
        const named = check.rows.filter(({ ready }) => ready?.doubts?.some(({ about }) => about === 'known'));
        const names = named.map(({ ready }) => ready!.full_name);
        return checkOutput(check, await findNamesakes(app.db, organisationId, names, null));
      }
      const runId = app.random.uuid();
      const credits = hasCountedCredits(organisation.plan) ? organisation.credits : null;
      const run = { runId, by: operator, check };
      await call.act(runId, async (work) => {
        await draftRun(work, organisationId, { ...run, ...everyTeam });
        const begun = await beginRun(work, organisationId, { ...run, mails: options.mail, visibility: null, credits });
        if (typeof begun === 'object')
          throw new Failure(
            `These rows need ${count(begun.credits, 'credit')}, ${begun.missing.toLocaleString('en-GB')} more than there are; nothing was written.`,
          );
        if (begun !== 'begun') throw new Failure('The rows have changed since they were checked; nothing was written.');
      });
      call.progress(`${count(table.length, 'row')} checked, being invited`);
      await invitationRuns.goOn(app, organisationId, runId, { signal: call.signal, evenSuspended: true });
      return runOutput((await invitationRuns.find(app.db, organisationId, runId))!);
    },
  }),
  organisationCommand({
    name: 'learner invite-run',
    summary: 'Show or cancel a run of invitations',
    examples: ['--organisation $ORG RUN_ID', '--organisation $ORG RUN_ID --cancel'],
    fails: 'The run is not finished, or it has refused rows.',
    about: { cancel: 'Ends the run. Invitations that were made stay' },
    takes: 'RUN_ID',
    options: { cancel: flag },
    run: async ({ app, organisationId, positionals, options }) => {
      const runId = positionals[0]!.toLowerCase();
      const find = async () => (isUuid(runId) ? invitationRuns.find(app.db, organisationId, runId) : undefined);
      if ((await find()) === undefined) throw missing('run', runId);
      if (options.cancel)
        await act(app, organisationId, 'learner invite-run --cancel', runId, async (work) => {
          if (!(await invitationRuns.cancel(work, organisationId, runId)))
            throw new Failure('The run has ended already.');
        });
      const output = runOutput((await find())!);
      const which = { after: 0, limit: 1000, which: 'faulty' } as const;
      const rows = await pageOfRows(app.db, organisationId, runId, which);
      const faults = rows.flatMap((row) => row.faults!.map((fault) => ({ row: row.row_no, ...fault })));
      return {
        json: { ...(output.json as object), faults },
        text: [output.text, ...faults.map((one) => `row ${one.row}: ${one.column} must be ${one.expected}`)].join('\n'),
      };
    },
  }),
];
