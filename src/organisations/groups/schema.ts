import { limits } from '../../platform/config/limits.ts';
import { ApiError, errorTable } from '../../platform/errors/errors.ts';
import type { TObjectOptions, TSchemaOptions } from 'typebox';
import { type Meaning, learnerRefs, line } from '../../platform/validation/fields.ts';
import { clientGroupTypes, teamType } from './types.ts';
import { formatPosition } from '../../feed/time.ts';
import type { GroupRow } from './store.ts';
import { Type } from '../../platform/validation/type.ts';

const groupId = () => Type.String({ format: 'uuid', description: "The group's ID. It never changes." });
const groupRef = () => Type.String({ description: 'Your own group reference.' });
const groupName = () => Type.String({ description: 'Name of the group.' });

export const GroupSummary = Type.Object(
  {
    id: groupId(),
    ref: groupRef(),
    name: groupName(),
    type: Type.String({ description: 'Open enum. Accept values that you do not know.', examples: ['cohort'] }),
  },
  { $id: 'GroupSummary', description: 'A group of a learner.' },
);

const groupProperties = {
  id: groupId(),
  ref: groupRef(),
  name: groupName(),
  type: Type.String({
    description: 'Open enum. The organisation manages groups of type team in the console.',
    examples: ['cohort'],
  }),
  active: Type.Boolean({ description: 'False: the group is archived.' }),
  created_at: Type.String({ format: 'date-time', description: 'When the group was created.' }),
  updated_at: Type.String({
    format: 'date-time',
    description: 'When the group last changed. The parameter since filters by this time.',
  }),
};

export const Group = Type.Object(groupProperties, { $id: 'Group', description: 'A group of learners.' });

export const GroupDetail = Type.Object(
  {
    ...groupProperties,
    member_count: Type.Integer({ minimum: 0, description: 'Number of active members.' }),
  },
  { $id: 'GroupDetail', description: 'A group with its number of members.' },
);

/**
 * A group in a request. The schema accepts the type `team`, because teams are refused later with their own error code.
 */
export const GroupInput = Type.Object(
  {
    ref: line(limits.groupRefChars, 'Your own group reference. type and ref identify the group.'),
    name: line(limits.groupNameChars, 'Name of the group.'),
    type: Type.Enum([...clientGroupTypes, teamType], {
      expected: `one of ${clientGroupTypes.join(', ')}`,
      shown: { enum: [...clientGroupTypes], description: 'Type of the group.' },
    } satisfies Meaning),
  },
  {
    additionalProperties: false,
    $id: 'GroupInput',
    description: 'A group to create, or an existing group.',
    expected: 'an object with ref, name and type',
  } satisfies Meaning & TObjectOptions,
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
    name: Type.Optional(line(limits.groupNameChars, 'The new name.')),
    active: Type.Optional(
      Type.Boolean({
        description: 'False archives the group. True reactivates the group.',
        expected: 'true or false',
      } satisfies Meaning & TSchemaOptions),
    ),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    $id: 'GroupChange',
    description: 'Changes to the group: at least one field.',
  },
);

export const LearnerRefs = Type.Object(
  { learner_refs: learnerRefs() },
  { additionalProperties: false, $id: 'LearnerRefs', description: 'The learners to add or remove.' },
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
