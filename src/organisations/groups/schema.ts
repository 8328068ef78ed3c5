import { limits } from '../../platform/config/limits.ts';
import { ApiError, errorTable } from '../../platform/errors/errors.ts';
import type { TObjectOptions } from 'typebox';
import { type Meaning, learnerRefs, line } from '../../platform/validation/fields.ts';
import { clientGroupTypes, teamType } from './types.ts';
import { formatPosition } from '../../feed/time.ts';
import type { GroupRow } from './store.ts';
import { Type } from '../../platform/validation/type.ts';

export const GroupSummary = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    ref: Type.String({ description: "The client's own group reference." }),
    name: Type.String(),
    type: Type.String({ description: 'Open enum: tolerate values that you do not know.', examples: ['cohort'] }),
  },
  { $id: 'GroupSummary' },
);

const groupProperties = {
  id: Type.String({ format: 'uuid' }),
  ref: Type.String(),
  name: Type.String(),
  type: Type.String({
    description: "Open enum. Groups of type team are managed from the organisation's teams.",
    examples: ['cohort'],
  }),
  active: Type.Boolean({ description: 'False: archived.' }),
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
};

export const Group = Type.Object(groupProperties, { $id: 'Group' });

export const GroupDetail = Type.Object(
  {
    ...groupProperties,
    member_count: Type.Integer({ minimum: 0, description: 'Active members.' }),
  },
  { $id: 'GroupDetail' },
);

/**
 * A group in a request. The schema accepts the type `team`, because teams are refused later with their own error code.
 */
export const GroupInput = Type.Object(
  {
    ref: line(limits.groupRefChars),
    name: line(limits.groupNameChars),
    type: Type.Enum([...clientGroupTypes, teamType], {
      expected: `one of ${clientGroupTypes.join(', ')}`,
      shown: { enum: [...clientGroupTypes] },
    } satisfies Meaning),
  },
  { additionalProperties: false, $id: 'GroupInput', expected: 'an object with ref, name and type' } satisfies Meaning &
    TObjectOptions,
);

export type GroupInput = { type: string; ref: string; name: string };

/** @throws ApiError team_group_managed */
export function refuseTeams(groups: readonly { type: string }[]): void {
  const at = groups.findIndex((group) => group.type === teamType);
  if (at >= 0)
    throw new ApiError('team_group_managed', `groups[${at}].type is team. ${errorTable.team_group_managed[1]}`);
}

export const GroupChange = Type.Object(
  {
    name: Type.Optional(line(limits.groupNameChars)),
    active: Type.Optional(Type.Boolean({ expected: 'true or false' } satisfies Meaning)),
  },
  { additionalProperties: false, minProperties: 1, $id: 'GroupChange' },
);

export const LearnerRefs = Type.Object(
  { learner_refs: learnerRefs() },
  { additionalProperties: false, $id: 'LearnerRefs' },
);

export function groupPayload(row: GroupRow) {
  return {
    id: row.group_id,
    ref: row.ref,
    name: row.name,
    type: row.type,
    active: row.active,
    created_at: row.created_at.toISOString(),
    updated_at: formatPosition(row.position),
  };
}
