import type { GroupSpread } from '../src/assessments/spread.ts';
import { strengthsOf, spreadOf } from '../src/assessments/spread.ts';
import { everyProgress } from '../src/assessments/progress.ts';
import { levelNames } from '../src/console/results-filter.ts';
import { progressColumns } from '../src/console/results-progress.ts';
import { countsOf, latestOf } from '../src/console/results-spread.ts';
import { browseGroup } from '../src/groups/browse.ts';
import { limits } from '../src/limits.ts';
import { subjects } from '../src/scoring/levels.ts';
import { isUuid } from '../src/uuid.ts';
import type { Call, Command, Output } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { missing, option, organisationOf, requiredOption, table, withApp } from './open.ts';
import { filterOf, queryOf, readTarget, writeSheet } from './results-list.ts';

/** How groups stand, by the functions of the console's pages. */

function subjectOf(call: Call): number | null {
  const given = option(call, 'subject');
  if (given === undefined) return null;
  const at = subjects.findIndex((one) => one === given);
  if (at < 0) throw new Misuse(`--subject must be one of ${subjects.join(', ')}`);
  return at;
}

async function runSpread(call: Call): Promise<Output> {
  const id = requiredOption(call, 'organisation');
  const subject = subjectOf(call);
  const groupId = option(call, 'group')?.toLowerCase() ?? null;
  const type = option(call, 'type') ?? null;
  if ((groupId === null) === (type === null)) throw new Misuse('name either --type or --group');
  if (groupId !== null && !isUuid(groupId)) throw new Misuse('--group must be a UUID');
  return withApp(async (app) => {
    const { organisation_id: organisationId } = await organisationOf(app, id);
    const found: GroupSpread[] = [];
    for (let after: string | null = null; ;) {
      const which = { type, groupId, sight: null };
      const some: GroupSpread[] | null = await spreadOf(app.db, organisationId, which, after, limits.groupsListed);
      if (some === null) throw new Failure('Results are being counted after an upgrade: try again in some minutes.');
      found.push(...some);
      if (groupId !== null || some.length < limits.groupsListed) break;
      after = some.at(-1)!.group_id;
    }
    if (groupId !== null && found.length === 0) throw missing('group', groupId);
    const latest = groupId === null ? null : await latestOf(app.db, organisationId, groupId, null);
    const wanted = [...subjects.keys()].filter((at) => subject === null || at === subject);
    const data = found.flatMap((group) =>
      wanted.map((at) => {
        const counts = countsOf(group, at);
        return {
          group_id: group.group_id,
          name: group.name,
          subject: subjects[at]!,
          results: counts.reduce((total, one) => total + one, 0),
          levels: Object.fromEntries(levelNames.map((name, level) => [name, counts[level]!])),
          ...(latest === null
            ? {}
            : {
                // Of a large group the domains are those of the latest assessed alone.
                domains_of: { results: latest.bySubject[at]!.length, all: !latest.isMore },
                domains: strengthsOf(latest.bySubject[at]!).map(({ statuses, ...domain }) => ({
                  ...domain,
                  ...Object.fromEntries(statuses),
                })),
              }),
        };
      }),
    );
    return {
      json: { data },
      text: table([
        ['Group', 'Subject', 'Results', ...levelNames],
        ...data.map((row) => [row.name, row.subject, String(row.results), ...Object.values(row.levels).map(String)]),
      ]),
    };
  });
}

async function runProgress(call: Call): Promise<Output> {
  const id = requiredOption(call, 'organisation');
  const target = readTarget(call);
  const subject = subjectOf(call);
  const query = queryOf(call, ['team', 'group']);
  return withApp(async (app) => {
    const organisation = await organisationOf(app, id);
    const { groupIds } = filterOf(query, organisation.time_zone);
    if (groupIds.length === 0) throw new Misuse('--team or --group is required');
    for (const groupId of groupIds)
      if ((await browseGroup(app.db, organisation.organisation_id, groupId, null)) === undefined)
        throw missing('group', groupId);
    return writeSheet(app, call, organisation, {
      ...target,
      action: 'results progress',
      resource: `progress as ${target.format}: ${query.toString()}`,
      sheetOf: (tx) => ({
        name: 'Progress',
        columns: progressColumns(organisation.time_zone),
        rows: everyProgress(tx, organisation.organisation_id, { groupIds, sight: null, subject }, 200),
      }),
    });
  });
}

const text = { type: 'string' } as const;

export const reportCommands: Command[] = [
  {
    name: 'results spread',
    usage: '--organisation ID --type T|--group ID [--subject S]',
    summary: 'Count results at each level, group by group; of one group its domains, too',
    positionals: [0, 0],
    options: { organisation: text, type: text, group: text, subject: text },
    run: runSpread,
  },
  {
    name: 'results progress',
    usage: '--organisation ID [--team ID] [--group ID] [--subject S] [--format csv|xlsx|json] [--out FILE]',
    summary: "Set each learner's first result against the latest, for a group",
    positionals: [0, 0],
    options: { organisation: text, team: text, group: text, subject: text, format: text, out: text },
    run: runProgress,
  },
];
