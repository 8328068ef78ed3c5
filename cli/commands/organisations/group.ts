import type { App } from '../../../src/platform/app.ts';
import type { BrowsedGroup } from '../../../src/organisations/groups/browse.ts';
import {
  browseGroup,
  browseGroups,
  browseHistory,
  browseMembers,
  memberIds,
} from '../../../src/organisations/groups/browse.ts';
import { changeGroup } from '../../../src/organisations/groups/change.ts';
import { createGroup } from '../../../src/organisations/groups/create.ts';
import type { Moving } from '../../../src/organisations/groups/members.ts';
import { previewPasted } from '../../../src/organisations/groups/pasted-refs.ts';
import { readPastedRefs } from '../../../src/organisations/groups/pasted-refs.ts';
import { membershipRuns, orderMoves } from '../../../src/organisations/groups/runs.ts';
import { clientGroupTypes, groupTypes, teamType } from '../../../src/organisations/groups/types.ts';
import { formatPosition } from '../../../src/feed/time.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import type { Call, Command, Output } from '../../kit/command.ts';
import { Failure, Misuse } from '../../kit/command.ts';
import { readTextFile } from '../../kit/file.ts';
import type { Inside } from '../../kit/open.ts';
import { foundById, operator, organisationCommand } from '../../kit/open.ts';
import { flag, limit, line, or, parsed, required, text, word } from '../../kit/options.ts';
import { tableOf } from '../../kit/table.ts';

/** Groups of every type, and the members of groups and teams alike. */

type Kind = 'group' | 'team';

function payload({ group_id, type, ref, name: its, active: isActive, members, created_at, position }: BrowsedGroup) {
  const updated_at = formatPosition(position);
  return { group_id, type, ref, name: its, active: isActive, members, created_at, updated_at };
}

/** @throws Failure */
export async function groupOf(app: App, organisationId: number, id: string, kind: Kind): Promise<BrowsedGroup> {
  const find = async (uuid: string) => {
    const found = await browseGroup(app.db, organisationId, uuid, null);
    return kind === 'team' && found?.type !== teamType ? undefined : found;
  };
  return foundById(kind, id, find, { hint: `; ars ${kind} list shows them` });
}

/** All groups of a type, or of every type. */
export async function listGroups(app: App, organisationId: number, type: string | null, active: boolean | null) {
  const rows: BrowsedGroup[] = [];
  for (let after: string | null = null; ;) {
    const place = { after, limit: 500 };
    const page: BrowsedGroup[] = await browseGroups(app.db, organisationId, { type, active }, null, place);
    rows.push(...page);
    if (page.length < 500) return rows;
    after = page.at(-1)!.group_id;
  }
}

/** Null: both are meant. */
export const active = or(
  parsed('yes|no', 'yes or no', (given) => ({ yes: true, no: false })[given]),
  null,
);

export const listed = (rows: BrowsedGroup[]): Output => ({
  json: { data: rows.map(payload) },
  text: tableOf(rows, [
    'group_id',
    'type',
    'ref',
    ['active', (row) => (row.active ? 'yes' : 'no')],
    ['members', (row) => (row.members > limits.membersCounted ? `${limits.membersCounted}+` : row.members)],
    'name',
  ]),
});

/** What a command that renames, archives or brings back does; it shows what the group is then. */
const changing =
  <O>(kind: Kind, change: (options: O) => { name?: string; active?: boolean }) =>
  async ({ app, organisationId, act, positionals, options }: Call<O> & Inside): Promise<Output> => {
    const { group_id } = await groupOf(app, organisationId, positionals[0]!, kind);
    const given = { managingTeams: kind === 'team' };
    await act(group_id, (work) => changeGroup(work, organisationId, group_id, change(options), given));
    const now = await groupOf(app, organisationId, group_id, kind);
    return { json: payload(now), text: `${now.name} (${now.ref}) is ${now.active ? 'active' : 'archived'}.` };
  };

/** Runs the job to its end. If this process ends, another one continues the job. */
async function moved(
  { app, organisationId, act }: Inside,
  given: Moving & { learnerIds: readonly string[]; managingTeams: boolean },
): Promise<number> {
  if (given.learnerIds.length === 0) return 0;
  const runId = app.random.uuid();
  await act(given.joins ?? given.leaves, (work) => orderMoves(work, organisationId, { ...given, runId, by: operator }));
  await membershipRuns.goOn(app, organisationId, runId, { evenSuspended: true });
  return (await membershipRuns.find(app.db, organisationId, runId))!.changed;
}

/** Does it to everybody who is in the group that they leave: an order holds so many, and there is one after the other. */
async function movedAll(
  inside: Inside,
  given: { joins: string; leaves: string; managingTeams: boolean },
): Promise<number> {
  for (let changed = 0; ;) {
    const learnerIds = await memberIds(inside.app.db, inside.organisationId, given.leaves, limits.pastedRefs);
    const count = await moved(inside, { ...given, learnerIds });
    changed += count;
    if (learnerIds.length < limits.pastedRefs) return changed;
    if (count === 0) throw new Failure(`${changed} are moved, and then no further learner could be moved.`);
  }
}

type Looked = Awaited<ReturnType<typeof previewPasted>>;

const leftOut = (looked: Looked | null) => looked?.faults.map(({ row, sentence }) => ({ row, reason: sentence })) ?? [];

/** What came of a change of memberships, counted as the console counts. */
const outcomeOf = (json: object, sentence: string, left: { row: number; reason: string }[]): Output => ({
  json: { ...json, left_out: left },
  text: [sentence, ...left.map(({ row, reason }) => `Row ${row}: ${reason}`)].join('\n'),
  exitCode: left.length === 0 ? 0 : 1,
});

const pastedOf = async (file: string) => readPastedRefs(await readTextFile(file));

/** A command that adds or takes out those whose references stand in a file. */
function changeMembers(kind: Kind, how: 'join' | 'leave', declared: { name: string; summary: string; takes: string }) {
  return organisationCommand({
    ...declared,
    options: { dryRun: flag },
    prepare: (call) => pastedOf(call.positionals[1]!),
    run: async ({ prepared: pasted, ...call }) => {
      const { app, organisationId } = call;
      const { dryRun } = call.options;
      const { group_id } = await groupOf(app, organisationId, call.positionals[0]!, kind);
      const looked = await previewPasted(app.db, organisationId, group_id, pasted, how);
      const given = {
        joins: how === 'join' ? group_id : null,
        leaves: how === 'leave' ? group_id : null,
        learnerIds: looked.concerned,
        managingTeams: kind === 'team',
      };
      const changed = dryRun ? looked.concerned.length : await moved(call, given);
      const unchanged = looked.settled + looked.concerned.length - changed;
      const done = `${dryRun ? 'would be' : 'are'} ${how === 'join' ? 'added' : 'taken out'}`;
      return outcomeOf(
        { group_id, dry_run: dryRun, changed, unchanged },
        `${changed} ${done}, for ${unchanged} nothing changes.`,
        leftOut(looked),
      );
    },
  });
}

/** A command that shows who is a member now, or with `--history` who joined and who left. */
function showMembers(kind: Kind, takes: string): Command {
  return organisationCommand({
    name: `${kind} members`,
    summary: `Show who is in a ${kind}, or who joined and left`,
    takes,
    options: { history: flag, limit: limit(1000, 100_000) },
    run: async ({ app, organisationId, note, positionals, options: { history, limit: max } }) => {
      const group = await groupOf(app, organisationId, positionals[0]!, kind);
      await note(group.group_id);
      const output = <Row>(rows: Row[], columns: Parameters<typeof tableOf<Row>>[1]): Output => {
        const [data, more] = [rows.slice(0, max), rows.length > max];
        const beyond = more ? '\nThere are more: --limit takes up to 100000.' : '';
        return { json: { group_id: group.group_id, data, more }, text: `${tableOf(data, columns)}${beyond}` };
      };
      if (history) {
        const place = { from: Number.MAX_SAFE_INTEGER, skip: 0, limit: max + 1 };
        const passages = await browseHistory(app.db, organisationId, group.group_id, null, place);
        const rows = passages.map(({ at, kind: what, ...row }) => {
          return { at: formatPosition(at), what, learner_id: row.learner_id, ref: row.ref, actor: row.actor };
        });
        return output(rows, ['at', 'what', 'learner_id', 'ref', 'actor']);
      }
      const members = await browseMembers(app.db, organisationId, group, null, { after: null, limit: max + 1 });
      const rows = members.map(({ learner_id, ref, full_name, joined_position: since }) => {
        return { learner_id, ref, full_name, since: formatPosition(since) };
      });
      return output(rows, ['learner_id', 'ref', 'since', ['name', 'full_name']]);
    },
  });
}

/** Those whose references stand in a file, or everybody, out of one group into another of its type. */
function move(kind: Kind, id: string): Command {
  return organisationCommand({
    name: `${kind} move`,
    summary: `Move learners from one ${kind} to another in one step`,
    takes: 'FILE|-|--all',
    options: { from: required(text(id)), to: required(text(id)), all: flag },
    async prepare({ positionals: [file], options: { from, to, all } }) {
      if ((file === undefined) !== all) throw new Misuse('give a FILE of references, or --all');
      if (from === to) throw new Misuse('--from and --to must be different');
      return file === undefined ? null : pastedOf(file);
    },
    run: async ({ prepared: pasted, ...call }) => {
      const { app, organisationId: organisation, options } = call;
      const source = await groupOf(app, organisation, options.from, kind);
      const target = await groupOf(app, organisation, options.to, kind);
      if (source.group_id === target.group_id) throw new Failure('--from and --to are the same.');
      if (source.type !== target.type) throw new Failure('The groups are of different types.');
      const looked =
        pasted === null ? null : await previewPasted(app.db, organisation, source.group_id, pasted, 'leave');
      const moving = { joins: target.group_id, leaves: source.group_id, managingTeams: kind === 'team' };
      const changed =
        looked === null ? await movedAll(call, moving) : await moved(call, { ...moving, learnerIds: looked.concerned });
      return outcomeOf(
        { from: source.group_id, to: target.group_id, changed, unchanged: looked?.settled ?? 0 },
        `${changed} are moved from ${source.name} to ${target.name}.`,
        leftOut(looked),
      );
    },
  });
}

const name = line('N', limits.groupNameChars);

/** Commands that groups and teams have alike. */
export function memberCommands(kind: Kind, noun: string): Command[] {
  const id = `${noun}_ID`;
  const withFile = `${id} FILE|-`;
  return [
    organisationCommand({
      name: `${kind} rename`,
      summary: `Rename a ${kind}; whatever shows it is sent again`,
      takes: id,
      options: { name: required(name) },
      run: changing(kind, (options: { name: string }) => ({ name: options.name })),
    }),
    organisationCommand({
      name: `${kind} archive`,
      summary: `Archive a ${kind}: no result shows it any more, its members stay`,
      takes: id,
      run: changing(kind, () => ({ active: false })),
    }),
    organisationCommand({
      name: `${kind} bring-back`,
      summary: `Bring an archived ${kind} back`,
      takes: id,
      run: changing(kind, () => ({ active: true })),
    }),
    showMembers(kind, id),
    changeMembers(kind, 'join', {
      name: `${kind} add`,
      summary: `Add the learners whose references stand in a file to a ${kind}`,
      takes: withFile,
    }),
    changeMembers(kind, 'leave', {
      name: `${kind} remove`,
      summary: `Take the learners whose references stand in a file out of a ${kind}`,
      takes: withFile,
    }),
    move(kind, id),
  ];
}

export const commands: Command[] = [
  organisationCommand({
    name: 'group list',
    summary: 'List the groups',
    options: { type: or(word(groupTypes, 'T'), null), active },
    run: async ({ app, organisationId, options }) =>
      listed(await listGroups(app, organisationId, options.type, options.active)),
  }),
  organisationCommand({
    name: 'group create',
    summary: 'Create a group; one that is there is left as it is',
    options: {
      type: required(word(clientGroupTypes, 'T')),
      ref: required(line('R', limits.groupRefChars)),
      name: required(name),
    },
    run: async ({ organisationId, act, options }) => {
      const { row, created } = await act(null, async (work, about) => {
        const made = await createGroup(work, organisationId, options);
        about(made.row.group_id);
        return made;
      });
      return {
        json: { group_id: row.group_id, created },
        text: created ? `${row.group_id} is made.` : `It is there already: ${row.group_id}.`,
      };
    },
  }),
  ...memberCommands('group', 'GROUP'),
];
