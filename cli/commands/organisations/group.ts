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
import { type PastedPreview, previewPasted, readPastedRefs } from '../../../src/organisations/groups/pasted-refs.ts';
import { membershipRuns, orderMoves } from '../../../src/organisations/groups/runs.ts';
import { clientGroupTypes, groupTypes, teamType } from '../../../src/organisations/groups/types.ts';
import { formatPosition } from '../../../src/feed/time.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { type Call, type Command, type Output, Failure, Misuse } from '../../kit/command.ts';
import { readTextFile } from '../../kit/file.ts';
import { type Inside, foundById, operator, organisationCommand } from '../../kit/open.ts';
import { flag, limit, line, or, parsed, required, text, word } from '../../kit/options.ts';
import { tableOf } from '../../kit/table.ts';

type Kind = 'group' | 'team';

function payload({ group_id, type, ref, name: its, active: isActive, members, created_at, position }: BrowsedGroup) {
  const updated_at = formatPosition(position);
  return { group_id, type, ref, name: its, active: isActive, members, created_at, updated_at };
}

/** @throws Failure if there is no such group */
export async function groupOf(app: App, organisationId: number, id: string, kind: Kind): Promise<BrowsedGroup> {
  const find = async (uuid: string) => {
    const found = await browseGroup(app.db, organisationId, uuid, null);
    return kind === 'team' && found?.type !== teamType ? undefined : found;
  };
  return foundById(kind, id, find, { hint: `; ars ${kind} list shows them` });
}

/** @param type null: every type */
export async function listGroups(app: App, organisationId: number, type: string | null, active: boolean | null) {
  const rows: BrowsedGroup[] = [];
  for (let after: string | null = null; ;) {
    const options = { after, limit: 500 };
    const page: BrowsedGroup[] = await browseGroups(app.db, organisationId, { type, active }, null, options);
    rows.push(...page);
    if (page.length < 500) return rows;
    after = page.at(-1)!.group_id;
  }
}

/** The option `--active`. If the option is absent, null means active and archived groups. */
export const active = or(
  parsed('yes|no', 'yes or no', (input) => ({ yes: true, no: false })[input]),
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

const changing =
  <O>(kind: Kind, change: (options: O) => { name?: string; active?: boolean }) =>
  async ({ app, organisationId, act, positionals, options }: Call<O> & Inside): Promise<Output> => {
    const { group_id } = await groupOf(app, organisationId, positionals[0]!, kind);
    const managing = { managingTeams: kind === 'team' };
    await act(group_id, (work) => changeGroup(work, organisationId, group_id, change(options), managing));
    const now = await groupOf(app, organisationId, group_id, kind);
    return { json: payload(now), text: `${now.name} (${now.ref}) is ${now.active ? 'active' : 'archived'}.` };
  };

/** Orders a job and runs it to its end. If this process is killed, another process continues the job. */
async function moveLearners(
  { app, organisationId, act }: Inside,
  moving: Moving & { learnerIds: readonly string[]; managingTeams: boolean },
): Promise<number> {
  if (moving.learnerIds.length === 0) return 0;
  const runId = app.random.uuid();
  const order = { ...moving, runId, by: operator };
  await act(moving.joins ?? moving.leaves, (work) => orderMoves(work, organisationId, order));
  await membershipRuns.goOn(app, organisationId, runId, { evenSuspended: true });
  return (await membershipRuns.find(app.db, organisationId, runId))!.changed;
}

async function moveAll(
  inside: Inside,
  moving: { joins: string; leaves: string; managingTeams: boolean },
): Promise<number> {
  for (let changed = 0; ;) {
    const learnerIds = await memberIds(inside.app.db, inside.organisationId, moving.leaves, limits.pastedRefs);
    const count = await moveLearners(inside, { ...moving, learnerIds });
    changed += count;
    if (learnerIds.length < limits.pastedRefs) return changed;
    if (count === 0) throw new Failure(`${changed} are moved, and then no further learner could be moved.`);
  }
}

function outcomeOf(json: object, sentence: string, preview: PastedPreview | null): Output {
  const faults = preview?.faults ?? [];
  return {
    json: { ...json, left_out: faults.map(({ row, sentence: reason }) => ({ row, reason })) },
    text: [sentence, ...faults.map((one) => `Row ${one.row}: ${one.sentence}`)].join('\n'),
    exitCode: faults.length === 0 ? 0 : 1,
  };
}

const pastedOf = async (file: string) => readPastedRefs(await readTextFile(file));

function changeMembers(
  kind: Kind,
  how: 'join' | 'leave',
  declared: { name: string; summary: string; takes: string; examples: readonly [string, string] },
) {
  return organisationCommand({
    ...declared,
    options: { dryRun: flag },
    about: { dryRun: 'Says what would change, and changes nothing' },
    prepare: (call) => pastedOf(call.positionals[1]!),
    run: async ({ prepared: pasted, ...call }) => {
      const { app, organisationId } = call;
      const { dryRun } = call.options;
      const { group_id } = await groupOf(app, organisationId, call.positionals[0]!, kind);
      const preview = await previewPasted(app.db, organisationId, group_id, pasted, how);
      const { concerned: learnerIds, settled } = preview;
      const groups = how === 'join' ? { joins: group_id, leaves: null } : { joins: null, leaves: group_id };
      const moving = { ...groups, learnerIds, managingTeams: kind === 'team' };
      const changed = dryRun ? learnerIds.length : await moveLearners(call, moving);
      const unchanged = settled + learnerIds.length - changed;
      const done = `${dryRun ? 'would be' : 'are'} ${how === 'join' ? 'added' : 'taken out'}`;
      return outcomeOf(
        { group_id, dry_run: dryRun, changed, unchanged },
        `${changed} ${done}, for ${unchanged} nothing changes.`,
        preview,
      );
    },
  });
}

function showMembers(kind: Kind, takes: string): Command {
  return organisationCommand({
    name: `${kind} members`,
    summary: `Show the members of a ${kind}, or their changes`,
    takes,
    examples: [`--organisation $ORG ${takes}`, `--organisation $ORG ${takes} --history --limit 50`],
    options: { history: flag, limit: limit(1000, 100_000) },
    about: { history: 'Shows who joined and who left', limit: 'The most rows to print' },
    run: async ({ app, organisationId, note, positionals, options: { history, limit: max } }) => {
      const group = await groupOf(app, organisationId, positionals[0]!, kind);
      await note(group.group_id);
      const output = <Row>(rows: Row[], columns: Parameters<typeof tableOf<Row>>[1]): Output => {
        const [data, more] = [rows.slice(0, max), rows.length > max];
        const beyond = more ? '\nThere are more: --limit takes up to 100000.' : '';
        return { json: { group_id: group.group_id, data, more }, text: `${tableOf(data, columns)}${beyond}` };
      };
      if (history) {
        const options = { from: Number.MAX_SAFE_INTEGER, skip: 0, limit: max + 1 };
        const passages = await browseHistory(app.db, organisationId, group.group_id, null, options);
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

function move(kind: Kind, id: string): Command {
  return organisationCommand({
    name: `${kind} move`,
    summary: `Move learners from one ${kind} to another`,
    takes: 'FILE|-|--all',
    examples: [
      `--organisation $ORG --all --from ${id} --to ${id}`,
      `--organisation $ORG refs.csv --from ${id} --to ${id}`,
    ],
    about: {
      from: `The ${kind} that the learners leave`,
      to: `The ${kind} that the learners join`,
      all: `Moves all members, instead of the references in FILE`,
    },
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
      const preview =
        pasted === null ? null : await previewPasted(app.db, organisation, source.group_id, pasted, 'leave');
      const moving = { joins: target.group_id, leaves: source.group_id, managingTeams: kind === 'team' };
      const changed = await (preview === null
        ? moveAll(call, moving)
        : moveLearners(call, { ...moving, learnerIds: preview.concerned }));
      return outcomeOf(
        { from: source.group_id, to: target.group_id, changed, unchanged: preview?.settled ?? 0 },
        `${changed} are moved from ${source.name} to ${target.name}.`,
        preview,
      );
    },
  });
}

const name = line('N', limits.groupNameChars);

export function memberCommands(kind: Kind, noun: string): Command[] {
  const id = `${noun}_ID`;
  const withFile = `${id} FILE|-`;
  const twice = (takes: string) => [`--organisation $ORG ${takes}`, `--organisation $ORG ${takes} --json`] as const;
  return [
    organisationCommand({
      name: `${kind} rename`,
      summary: `Rename a ${kind}`,
      notes: 'Clients get the changed results again.',
      takes: id,
      examples: [
        `--organisation $ORG ${id} --name "Spring 2027"`,
        `--organisation $ORG ${id} --name "Spring 2027" --json`,
      ],
      about: { name: 'The new name' },
      options: { name: required(name) },
      run: changing(kind, (options: { name: string }) => ({ name: options.name })),
    }),
    organisationCommand({
      name: `${kind} archive`,
      summary: `Archive a ${kind}`,
      notes: `Results no longer show the ${kind}. Its members stay.`,
      takes: id,
      examples: twice(id),
      run: changing(kind, () => ({ active: false })),
    }),
    organisationCommand({
      name: `${kind} bring-back`,
      summary: `Make an archived ${kind} active again`,
      takes: id,
      examples: twice(id),
      run: changing(kind, () => ({ active: true })),
    }),
    showMembers(kind, id),
    changeMembers(kind, 'join', {
      name: `${kind} add`,
      summary: `Add the learners of a file to a ${kind}`,
      takes: withFile,
      examples: [`--organisation $ORG ${id} refs.csv`, `--organisation $ORG ${id} - --dry-run < refs.csv`],
    }),
    changeMembers(kind, 'leave', {
      name: `${kind} remove`,
      summary: `Remove the learners of a file from a ${kind}`,
      takes: withFile,
      examples: [`--organisation $ORG ${id} refs.csv`, `--organisation $ORG ${id} - --dry-run < refs.csv`],
    }),
    move(kind, id),
  ];
}

export const commands: Command[] = [
  organisationCommand({
    name: 'group list',
    summary: 'List the groups',
    examples: ['--organisation $ORG', '--organisation $ORG --type course --active yes'],
    about: { type: 'Only groups of this type', active: 'Only active groups, or only archived groups' },
    options: { type: or(word(groupTypes, 'T'), null), active },
    run: async ({ app, organisationId, options }) =>
      listed(await listGroups(app, organisationId, options.type, options.active)),
  }),
  organisationCommand({
    name: 'group create',
    summary: 'Create a group',
    notes: 'A group that exists already stays as it is.',
    examples: [
      '--organisation $ORG --type course --ref P-1 --name Plumbing',
      '--organisation $ORG --type cohort --ref C-26 --name "Autumn 2026" --json',
    ],
    about: { type: 'The type of the group', ref: "The group's reference in your system", name: "The group's name" },
    options: {
      type: required(word(clientGroupTypes, 'T')),
      ref: required(line('R', limits.groupRefChars)),
      name: required(name),
    },
    run: async ({ organisationId, act, options }) => {
      const made = await act({ of: 'group_id' }, async (work) => {
        const { row, created } = await createGroup(work, organisationId, options);
        return { group_id: row.group_id, created };
      });
      return {
        json: made,
        text: made.created ? `${made.group_id} is made.` : `It is there already: ${made.group_id}.`,
      };
    },
  }),
  ...memberCommands('group', 'GROUP'),
];
