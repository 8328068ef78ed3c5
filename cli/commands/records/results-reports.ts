import type { GroupDistribution } from '../../../src/records/results/lists/distribution.ts';
import { countsOf, latestOf, strengthsOf, distributionOf } from '../../../src/records/results/lists/distribution.ts';
import { everyProgress } from '../../../src/records/results/lists/progress.ts';
import { browseGroup } from '../../../src/organisations/groups/browse.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import { type Command, Misuse } from '../../kit/command.ts';
import { missing, organisationCommand } from '../../kit/open.ts';
import { or, text, uuid, word } from '../../kit/options.ts';
import { filterOf, queryOf, readTarget, target, writeSheet } from './results-list.ts';
import { table } from '../../kit/table.ts';
import { levelNames } from '../../../src/records/results/lists/filter-query.ts';
import { distanceColumns } from '../../../src/records/results/lists/progress-columns.ts';

const subject = word(subjects, 'S');

export const reportCommands: Command[] = [
  organisationCommand({
    name: 'results spread',
    summary: 'Count results at each level by group',
    notes: 'For one group, the command also counts domains.',
    examples: ['--organisation $ORG --type course', '--organisation $ORG --group GROUP_ID --subject english'],
    about: { type: 'Groups of this type', group: 'One group', subject: 'Only this subject' },
    options: { type: or(text('T'), null), group: or(uuid(), null), subject },
    prepare({ options: { type, group } }) {
      if ((group === null) === (type === null)) throw new Misuse('name either --type or --group');
    },
    run: async ({ app, organisationId, options }) => {
      const { type, group: groupId } = options;
      const found: GroupDistribution[] = [];
      for (let after: string | null = null; ;) {
        const of = { type, groupId, visibility: null };
        const page = distributionOf(app.db, organisationId, of, after, limits.groupsListed);
        const some: GroupDistribution[] = await page;
        found.push(...some);
        if (groupId !== null || some.length < limits.groupsListed) break;
        after = some.at(-1)!.group_id;
      }
      if (groupId !== null && found.length === 0) throw missing('group', groupId);
      const latest = groupId === null ? null : await latestOf(app.db, organisationId, groupId, null);
      const wanted = [...subjects.entries()].filter(
        ([, one]) => options.subject === undefined || one === options.subject,
      );
      const data = found.flatMap((group) =>
        wanted.map(([at, one]) => {
          const counts = countsOf(group, at);
          return {
            group_id: group.group_id,
            name: group.name,
            subject: one,
            results: counts.reduce((total, count) => total + count, 0),
            levels: Object.fromEntries(levelNames.map((name, level) => [name, counts[level]!])),
            ...(latest === null
              ? {}
              : {
                  // In a large group, `domains` counts only the newest results. Then `all` is false.
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
          ...data.map((row) => [row.name, row.subject, row.results, ...Object.values(row.levels)]),
        ]),
      };
    },
  }),
  organisationCommand({
    name: 'results progress',
    summary: "Compare each learner's first and latest result",
    examples: [
      '--organisation $ORG --group GROUP_ID',
      '--organisation $ORG --team TEAM_ID --format csv --out progress.csv',
    ],
    about: {
      team: 'The team to compare',
      group: 'The group to compare',
      subject: 'Only this subject',
      format: 'The format of the output',
      out: 'The file to write (default: standard output)',
    },
    options: { team: text('ID'), group: text('ID'), subject, ...target },
    prepare: (call) => ({ ...readTarget(call), query: queryOf(call, ['team', 'group']) }),
    run: async (call) => {
      const { app, organisation, organisationId, prepared, options } = call;
      const { groupIds } = filterOf(prepared.query, organisation.time_zone);
      if (groupIds.length === 0) throw new Misuse('--team or --group is required');
      for (const groupId of groupIds)
        if ((await browseGroup(app.db, organisationId, groupId, null)) === undefined) throw missing('group', groupId);
      const at = options.subject === undefined ? null : subjects.indexOf(options.subject);
      return writeSheet(app, call, organisation, {
        ...prepared,
        action: 'results progress',
        resource: `progress as ${prepared.format}: ${prepared.query.toString()}`,
        sheetOf: (tx) => ({
          name: 'Progress',
          columns: distanceColumns(organisation.time_zone),
          rows: everyProgress(tx, organisationId, { groupIds, visibility: null, subject: at }, 200),
        }),
      });
    },
  }),
];
