import type { App } from '../src/app.ts';
import type { BrowsedGroup } from '../src/groups/browse.ts';
import { browseGroup, browseGroups, browseHistory, browseMembers, memberIds } from '../src/groups/browse.ts';
import { changeGroup } from '../src/groups/change.ts';
import { createGroup } from '../src/groups/create.ts';
import type { Moving } from '../src/groups/members.ts';
import { lookUpPasted } from '../src/groups/pasted.ts';
import { readPastedRefs } from '../src/groups/pasted-refs.ts';
import { membershipRuns, orderMoves } from '../src/groups/runs.ts';
import { clientGroupTypes, groupTypes, teamType } from '../src/groups/types.ts';
import { formatPosition } from '../src/feed/time.ts';
import { limits } from '../src/limits.ts';
import { isUuid } from '../src/uuid.ts';
import type { Call, Command, Output } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { readTextFile } from './file.ts';
import {
  act,
  missing,
  numberOption,
  operator,
  option,
  organisationOf,
  requiredOption,
  requiredText,
  table,
  textOption,
  withApp,
} from './open.ts';

/** Groups of every type, and the members of groups and teams alike. */

function payload(row: BrowsedGroup) {
  return {
    group_id: row.group_id,
    type: row.type,
    ref: row.ref,
    name: row.name,
    active: row.active,
    members: row.members,
    created_at: row.created_at.toISOString(),
    updated_at: formatPosition(row.position),
  };
}

/** @throws Failure */
export async function groupOf(
  app: App,
  organisationId: number,
  id: string,
  kind: 'group' | 'team',
): Promise<BrowsedGroup> {
  const found = isUuid(id) ? await browseGroup(app.db, organisationId, id.toLowerCase(), null) : undefined;
  if (found === undefined || (kind === 'team' && found.type !== teamType))
    throw missing(kind, id, { hint: `; ars ${kind} list shows them` });
  return found;
}

/** All groups of a type, or of every type. */
export async function listGroups(app: App, organisationId: number, type: string | null, active: boolean | null) {
  const rows: BrowsedGroup[] = [];
  for (let after: string | null = null; ;) {
    const page: BrowsedGroup[] = await browseGroups(app.db, organisationId, { type, active }, null, {
      after,
      limit: 500,
    });
    rows.push(...page);
    if (page.length < 500) return rows;
    after = page.at(-1)!.group_id;
  }
}

/** @returns null where both are meant */
export function readActive(call: Call): boolean | null {
  const value = option(call, 'active');
  if (value === undefined) return null;
  if (value !== 'yes' && value !== 'no') throw new Misuse('--active must be yes or no');
  return value === 'yes';
}

export function listed(rows: BrowsedGroup[]): Output {
  return {
    json: { data: rows.map(payload) },
    text: table([
      ['group_id', 'type', 'ref', 'active', 'members', 'name'],
      ...rows.map((row) => [
        row.group_id,
        row.type,
        row.ref,
        row.active ? 'yes' : 'no',
        row.members > limits.membersCounted ? `${limits.membersCounted}+` : String(row.members),
        row.name,
      ]),
    ]),
  };
}

/** Renames, archives or brings back, and shows what it is then. */
export function changed(
  kind: 'group' | 'team',
  action: string,
  change: (call: Call) => { name?: string; active?: boolean },
): Command['run'] {
  return async (call) => {
    const wanted = change(call);
    return withApp(async (app) => {
      const { organisation_id: id } = await organisationOf(app, requiredOption(call, 'organisation'));
      const found = await groupOf(app, id, call.positionals[0]!, kind);
      await act(app, id, `${kind} ${action}`, async (work) => ({
        result: await changeGroup(work, id, found.group_id, wanted, { managingTeams: kind === 'team' }),
        resource: found.group_id,
      }));
      const now = await groupOf(app, id, found.group_id, kind);
      return { json: payload(now), text: `${now.name} (${now.ref}) is ${now.active ? 'active' : 'archived'}.` };
    });
  };
}

/** What came of a change of memberships, counted as the console counts. */
type Counts = { changed: number; unchanged: number; left_out: { row: number; reason: string }[] };

/** Does what was ordered to its end; another process goes on where this one is ended. */
export async function moved(
  app: App,
  organisationId: number,
  action: string,
  given: Moving & { learnerIds: readonly string[]; managingTeams: boolean },
): Promise<number> {
  if (given.learnerIds.length === 0) return 0;
  const runId = app.random.uuid();
  await act(app, organisationId, action, async (work) => ({
    result: await orderMoves(work, organisationId, { ...given, runId, by: operator }),
    resource: given.joins ?? given.leaves,
  }));
  await membershipRuns.goOn(app, organisationId, runId, { evenSuspended: true });
  return (await membershipRuns.find(app.db, organisationId, runId))!.changed;
}

/** Does it to everybody who is in the group that they leave: an order holds so many, and there is one after the other. */
async function movedAll(
  app: App,
  organisationId: number,
  action: string,
  given: { joins: string; leaves: string; managingTeams: boolean },
): Promise<number> {
  for (let changed = 0; ;) {
    const learnerIds = await memberIds(app.db, organisationId, given.leaves, limits.pastedRefs);
    const count = await moved(app, organisationId, action, { ...given, learnerIds });
    changed += count;
    if (learnerIds.length < limits.pastedRefs) return changed;
    if (count === 0) throw new Failure(`${changed} are moved, and then nobody more could be.`);
  }
}

/** Adds or takes out those whose references stand in a file. */
export function changeMembers(kind: 'group' | 'team', how: 'join' | 'leave'): Command['run'] {
  return async (call) => {
    const [groupId, file] = call.positionals as [string, string];
    const id = requiredOption(call, 'organisation');
    const pasted = readPastedRefs(await readTextFile(file));
    return withApp(async (app) => {
      const { organisation_id: organisationId } = await organisationOf(app, id);
      const group = await groupOf(app, organisationId, groupId, kind);
      const looked = await lookUpPasted(app.db, organisationId, group.group_id, pasted, how);
      const dryRun = call.options['dry-run'] === true;
      const count = dryRun
        ? looked.concerned.length
        : await moved(app, organisationId, `${kind} ${how === 'join' ? 'add' : 'remove'}`, {
            joins: how === 'join' ? group.group_id : null,
            leaves: how === 'leave' ? group.group_id : null,
            learnerIds: looked.concerned,
            managingTeams: kind === 'team',
          });
      const counts: Counts = {
        changed: count,
        unchanged: looked.settled + looked.concerned.length - count,
        left_out: looked.faults.map(({ row, sentence }) => ({ row, reason: sentence })),
      };
      const done = how === 'join' ? 'added' : 'taken out';
      return {
        json: { group_id: group.group_id, dry_run: dryRun, ...counts },
        text: [
          `${count} ${dryRun ? 'would be' : 'are'} ${done}, for ${counts.unchanged} nothing changes.`,
          ...counts.left_out.map(({ row, reason }) => `Row ${row}: ${reason}`),
        ].join('\n'),
        exitCode: counts.left_out.length === 0 ? 0 : 1,
      };
    });
  };
}

const beyondLimit = '\nThere are more: --limit takes up to 100000.';

/** Who is a member now, or with `--history` who joined and who left. */
export function showMembers(kind: 'group' | 'team'): Command['run'] {
  return async (call) => {
    const limit = numberOption(call, 'limit', 1000, 1, 100_000);
    const withHistory = call.options.history === true;
    return withApp(async (app) => {
      const { organisation_id: id } = await organisationOf(app, requiredOption(call, 'organisation'));
      const group = await groupOf(app, id, call.positionals[0]!, kind);
      await act(app, id, `${kind} members`, async () => ({ result: null, resource: group.group_id }));
      if (withHistory) {
        const from = Number.MAX_SAFE_INTEGER;
        const passages = await browseHistory(app.db, id, group.group_id, null, { from, skip: 0, limit: limit + 1 });
        const more = passages.length > limit;
        const data = passages.slice(0, limit).map(({ learner_id, ref, at, kind: what, actor }) => ({
          at: formatPosition(at),
          what,
          learner_id,
          ref,
          actor,
        }));
        return {
          json: { group_id: group.group_id, data, more },
          text: `${table([
            ['at', 'what', 'learner_id', 'ref', 'actor'],
            ...data.map((one) => [one.at, one.what, one.learner_id, one.ref ?? '', one.actor ?? '']),
          ])}${more ? beyondLimit : ''}`,
        };
      }
      const rows = await browseMembers(app.db, id, group, null, { after: null, limit: limit + 1 });
      const more = rows.length > limit;
      const data = rows.slice(0, limit).map((row) => ({
        learner_id: row.learner_id,
        ref: row.ref,
        full_name: row.full_name,
        since: formatPosition(row.joined_position),
      }));
      return {
        json: { group_id: group.group_id, data, more },
        text: `${table([
          ['learner_id', 'ref', 'since', 'name'],
          ...data.map((one) => [one.learner_id, one.ref ?? '', one.since, one.full_name]),
        ])}${more ? beyondLimit : ''}`,
      };
    });
  };
}

/** Those whose references stand in a file, or everybody, out of one group into another of its type. */
export function move(kind: 'group' | 'team'): Command['run'] {
  return async (call) => {
    const [file] = call.positionals;
    const all = call.options.all === true;
    if ((file === undefined) !== all) throw new Misuse('give a FILE of references, or --all');
    const [from, to] = [requiredOption(call, 'from'), requiredOption(call, 'to')];
    if (from === to) throw new Misuse('--from and --to must be different');
    const pasted = file === undefined ? null : readPastedRefs(await readTextFile(file));
    return withApp(async (app) => {
      const { organisation_id: id } = await organisationOf(app, requiredOption(call, 'organisation'));
      const [source, target] = [await groupOf(app, id, from, kind), await groupOf(app, id, to, kind)];
      if (source.group_id === target.group_id) throw new Failure('--from and --to are the same.');
      if (source.type !== target.type) throw new Failure('The groups are of different types.');
      const looked = pasted === null ? null : await lookUpPasted(app.db, id, source.group_id, pasted, 'leave');
      const moving = { joins: target.group_id, leaves: source.group_id, managingTeams: kind === 'team' };
      const count =
        looked === null
          ? await movedAll(app, id, `${kind} move`, moving)
          : await moved(app, id, `${kind} move`, { ...moving, learnerIds: looked.concerned });
      const left = looked?.faults.map(({ row, sentence }) => ({ row, reason: sentence })) ?? [];
      return {
        json: {
          from: source.group_id,
          to: target.group_id,
          changed: count,
          unchanged: looked?.settled ?? 0,
          left_out: left,
        },
        text: [
          `${count} are moved from ${source.name} to ${target.name}.`,
          ...left.map(({ row, reason }) => `Row ${row}: ${reason}`),
        ].join('\n'),
        exitCode: left.length === 0 ? 0 : 1,
      };
    });
  };
}

const organisation = { organisation: { type: 'string' } } as const;

/** Commands that groups and teams have alike. */
export function memberCommands(kind: 'group' | 'team', word: string): Command[] {
  const id = `${word}_ID`;
  return [
    {
      name: `${kind} rename`,
      usage: `--organisation ID ${id} --name N`,
      summary: `Rename a ${kind}; whatever shows it is sent again`,
      positionals: [1, 1],
      options: { ...organisation, name: { type: 'string' } },
      run: changed(kind, 'rename', (call) => ({ name: requiredText(call, 'name', limits.groupNameChars) })),
    },
    {
      name: `${kind} archive`,
      usage: `--organisation ID ${id}`,
      summary: `Archive a ${kind}: no result shows it any more, its members stay`,
      positionals: [1, 1],
      options: organisation,
      run: changed(kind, 'archive', () => ({ active: false })),
    },
    {
      name: `${kind} bring-back`,
      usage: `--organisation ID ${id}`,
      summary: `Bring an archived ${kind} back`,
      positionals: [1, 1],
      options: organisation,
      run: changed(kind, 'bring-back', () => ({ active: true })),
    },
    {
      name: `${kind} members`,
      usage: `--organisation ID ${id} [--history] [--limit N]`,
      summary: `Show who is in a ${kind}, or who joined and left`,
      positionals: [1, 1],
      options: { ...organisation, history: { type: 'boolean' }, limit: { type: 'string' } },
      run: showMembers(kind),
    },
    {
      name: `${kind} add`,
      usage: `--organisation ID ${id} FILE|- [--dry-run]`,
      summary: `Add the learners whose references stand in a file to a ${kind}`,
      positionals: [2, 2],
      options: { ...organisation, 'dry-run': { type: 'boolean' } },
      run: changeMembers(kind, 'join'),
    },
    {
      name: `${kind} remove`,
      usage: `--organisation ID ${id} FILE|- [--dry-run]`,
      summary: `Take the learners whose references stand in a file out of a ${kind}`,
      positionals: [2, 2],
      options: { ...organisation, 'dry-run': { type: 'boolean' } },
      run: changeMembers(kind, 'leave'),
    },
    {
      name: `${kind} move`,
      usage: `--organisation ID --from ${id} --to ${id} FILE|-|--all`,
      summary: `Move learners from one ${kind} to another in one step`,
      positionals: [0, 1],
      options: { ...organisation, from: { type: 'string' }, to: { type: 'string' }, all: { type: 'boolean' } },
      run: move(kind),
    },
  ];
}

export const commands: Command[] = [
  {
    name: 'group list',
    usage: '--organisation ID [--type T] [--active yes|no]',
    summary: 'List the groups',
    options: { ...organisation, type: { type: 'string' }, active: { type: 'string' } },
    run: async (call) => {
      const type = option(call, 'type') ?? null;
      if (type !== null && !groupTypes.includes(type))
        throw new Misuse(`--type must be one of ${groupTypes.join(', ')}`);
      const active = readActive(call);
      return withApp(async (app) => {
        const { organisation_id: id } = await organisationOf(app, requiredOption(call, 'organisation'));
        return listed(await listGroups(app, id, type, active));
      });
    },
  },
  {
    name: 'group create',
    usage: '--organisation ID --type T --ref R --name N',
    summary: 'Create a group; one that is there is left as it is',
    options: { ...organisation, type: { type: 'string' }, ref: { type: 'string' }, name: { type: 'string' } },
    run: async (call) => {
      const type = clientGroupTypes.find((one) => one === requiredOption(call, 'type'));
      if (type === undefined) throw new Misuse(`--type must be one of ${clientGroupTypes.join(', ')}`);
      const ref = requiredText(call, 'ref', limits.groupRefChars);
      const groupName = textOption(call, 'name', limits.groupNameChars);
      if (groupName === undefined) throw new Misuse('--name is required');
      return withApp(async (app) => {
        const { organisation_id: id } = await organisationOf(app, requiredOption(call, 'organisation'));
        const { row, created } = await act(app, id, 'group create', async (work) => {
          const result = await createGroup(work, id, { type, ref, name: groupName });
          return { result, resource: result.row.group_id };
        });
        return {
          json: { group_id: row.group_id, created },
          text: created ? `${row.group_id} is made.` : `It is there already: ${row.group_id}.`,
        };
      });
    },
  },
  ...memberCommands('group', 'GROUP'),
];
