import { ApiError } from '../../platform/errors/errors.ts';
import { readBody } from '../http/body.ts';
import { PaginationSchema, listReply, singleReply } from '../http/list-reply.ts';
import { among, instant, one, safeWithSince, some, unsafeWithSince, yesOrNo } from '../http/query.ts';
import { isUuid } from '../../platform/crypto/random.ts';
import { type Call, type Route, bareJson, json } from '../http/route.ts';
import { changeGroup } from '../../organisations/groups/change.ts';
import { createGroup } from '../../organisations/groups/create.ts';
import { listGroups } from '../../organisations/groups/list.ts';
import { addMembers, removeMembers } from '../../organisations/groups/members.ts';
import {
  Group,
  GroupChange,
  GroupDetail,
  GroupInput,
  LearnerRefs,
  groupPayload,
} from '../../organisations/groups/schema.ts';
import { countMembers, findGroup } from '../../organisations/groups/store.ts';
import { groupTypes, teamType } from '../../organisations/groups/types.ts';
import { Type } from '../../platform/validation/type.ts';

const idParameter = {
  id: { description: "The group's ID.", schema: { type: 'string', format: 'uuid' } },
};

const groupQuery = [
  instant('since', 'Groups whose updated_at is at or after this time.', 'upper'),
  safeWithSince(some('type', 'One or more group types.', among(groupTypes))),
  unsafeWithSince(
    one('active', 'True: active groups only. False: archived groups only.', yesOrNo),
    'an incremental sync does not show that a group left the list. Sync without active, and read active of each group',
  ),
];

function groupId(params: Record<string, string>): string {
  if (!isUuid(params.id!)) throw new ApiError('not_found');
  return params.id!;
}

const refs = (description: string) => Type.Array(Type.String(), { description });

const detail = (row: Parameters<typeof groupPayload>[0], memberCount: number) => ({
  ...groupPayload(row),
  member_count: memberCount,
});

const membersHandler = (change: typeof addMembers | typeof removeMembers) => (call: Call) => {
  const learnerRefs = readBody(LearnerRefs, call).learner_refs;
  const id = groupId(call.params);
  const { organisationId, keyId: by } = call.caller;
  return call.change(async (work) =>
    bareJson(200, await change(work, organisationId, id, learnerRefs, { by }), { resource: id }),
  );
};

export const groupRoutes: Route[] = [
  {
    method: 'GET',
    path: '/groups',
    id: 'listGroups',
    tag: 'Groups',
    summary: 'List groups',
    description: 'Sync this list like results: read all pages, then send since.',
    query: groupQuery,
    paged: true,
    allowsRestrictedKeys: true,
    answers: {
      200: {
        description: 'A page of groups, by updated_at.',
        schema: Type.Object({
          data: Type.Array(Group, { description: 'The groups of this page.' }),
          pagination: PaginationSchema,
        }),
      },
    },
    handle: async (call) => {
      const { since, type, active } = call.query.values;
      return listReply(call, async (after, limit) => {
        const rows = await listGroups(
          call.app.db,
          call.caller.organisationId,
          {
            types: type ?? null,
            active: active === undefined ? null : active === 'true',
            groupIds: call.caller.keyScope?.groupIds ?? null,
          },
          after === null ? (since ?? 0) : after.value + 1,
          limit,
        );
        const json = (row: (typeof rows)[number]) => JSON.stringify(groupPayload(row));
        return { entries: rows.map((row) => ({ json: json(row), value: row.position, id: row.group_id })) };
      });
    },
  },
  {
    method: 'POST',
    path: '/groups',
    id: 'createGroup',
    tag: 'Groups',
    summary: 'Create a group',
    description: 'If a group with this type and ref exists, the endpoint returns this group unchanged with 200.',
    body: GroupInput,
    bodyExample: { type: 'cohort', ref: 'C-2026-01', name: 'January cohort' },
    codes: ['team_group_managed', 'group_limit_exceeded'],
    answers: {
      201: { description: 'The group is created.', schema: Type.Object({ data: Group }) },
      200: {
        description: 'The group exists, and is unchanged.',
        schema: Type.Object({ data: Group }),
      },
    },
    handle: async (call) => {
      const group = readBody(GroupInput, call);
      if (group.type === teamType) throw new ApiError('team_group_managed');
      return call.change(async (work) => {
        const { row, created } = await createGroup(work, call.caller.organisationId, group);
        return json(created ? 201 : 200, groupPayload(row), { resource: row.group_id });
      });
    },
  },
  {
    method: 'GET',
    path: '/groups/{id}',
    id: 'getGroup',
    tag: 'Groups',
    summary: 'Read a group',
    description: 'Returns the group, active or archived, with its number of members.',
    params: idParameter,
    query: [],
    allowsRestrictedKeys: true,
    answers: {
      200: {
        description: 'The group with its number of active members.',
        schema: Type.Object({ data: GroupDetail }),
      },
    },
    handle: async (call) => {
      const id = groupId(call.params);
      if (call.caller.keyScope?.groupIds?.includes(id) === false) throw new ApiError('not_found');
      const found = await call.app.db.snapshot(async (tx) => {
        const row = await findGroup(tx, call.caller.organisationId, id);
        return row === undefined ? undefined : { row, count: await countMembers(tx, call.caller.organisationId, id) };
      });
      if (found === undefined) throw new ApiError('not_found');
      return singleReply(call, json(200, detail(found.row, found.count), { resource: id }));
    },
  },
  {
    method: 'PATCH',
    path: '/groups/{id}',
    id: 'changeGroup',
    tag: 'Groups',
    summary: 'Rename, archive or reactivate a group',
    params: idParameter,
    description: 'Every learner and result that shows the group gets a new updated_at.',
    body: GroupChange,
    bodyExample: { active: false },
    codes: ['team_group_managed', 'group_limit_exceeded'],
    answers: {
      200: {
        description: 'The changed group.',
        schema: Type.Object({ data: GroupDetail }),
      },
    },
    handle: async (call) => {
      const change = readBody(GroupChange, call);
      const id = groupId(call.params);
      return call.change(async (work) => {
        const row = await changeGroup(work, call.caller.organisationId, id, change);
        return json(200, detail(row, await countMembers(work.tx, call.caller.organisationId, id)), { resource: id });
      });
    },
  },
  {
    method: 'POST',
    path: '/groups/{id}/members',
    id: 'addMembers',
    tag: 'Groups',
    summary: 'Add learners to a group',
    params: idParameter,
    description:
      'Every result of an added learner gets a new updated_at. The service sends learner.groups.updated for each learner. A repeat changes nothing. If a reference is malformed, the endpoint rejects the request and names its position. not_found lists references of no learner.',
    body: LearnerRefs,
    bodyExample: { learner_refs: ['LRN-000017', 'LRN-000042', 'LRN-999999'] },
    codes: ['team_group_managed'],
    answers: {
      200: {
        description: 'The outcome of each reference.',
        schema: Type.Object({
          added: refs('Learners who joined.'),
          already_members: refs('Learners who were members already.'),
          not_found: refs('References of no learner.'),
        }),
      },
    },
    handle: membersHandler(addMembers),
  },
  {
    method: 'POST',
    path: '/groups/{id}/members/remove',
    id: 'removeMembers',
    tag: 'Groups',
    summary: 'Remove learners from a group',
    params: idParameter,
    description:
      'An incremental sync with group_id receives scope exits. The service sends learner.groups.updated for each learner, and keeps the history. A repeat changes nothing. If a reference is malformed, the endpoint rejects the request and names its position. not_members lists references of no member.',
    body: LearnerRefs,
    bodyExample: { learner_refs: ['LRN-000017'] },
    codes: ['team_group_managed'],
    answers: {
      200: {
        description: 'The outcome of each reference.',
        schema: Type.Object({ removed: refs('Learners who left.'), not_members: refs('References of no member.') }),
      },
    },
    handle: membersHandler(removeMembers),
  },
];
