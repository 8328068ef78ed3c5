import type { TArrayOptions, TStringOptions } from 'typebox';
import {
  type Beside,
  emailAddress,
  learnerName,
  learnerRefExpected,
  learnerRefSchema,
  type Meaning,
  nullable,
  personalFault,
} from '../../platform/validation/fields.ts';
import { GroupInput, GroupSummary } from '../../organisations/groups/schema.ts';
import { learnerId } from '../../records/learners/schema.ts';
import { limits } from '../../platform/config/limits.ts';
import { isNameOf, isOpaqueRef } from '../../platform/validation/personal-data.ts';
import { Type } from '../../platform/validation/type.ts';

export const ProvisionInput = Type.Object(
  {
    full_name: learnerName(),
    email: Type.Optional(emailAddress()),
    ref: Type.Optional(
      Type.String({
        ...learnerRefSchema,
        description: 'Your own learner reference. If a learner has this reference, the endpoint updates the learner.',
        expected: learnerRefExpected,
        also: (ref: string, { fields }: Beside) =>
          personalFault(ref) ??
          (isOpaqueRef(ref) && (!isNameOf(ref, fields.full_name) || 'is the name of the learner')),
      } satisfies Meaning & TStringOptions),
    ),
    groups: Type.Optional(
      Type.Array(GroupInput, {
        maxItems: limits.groupsPerProvisioning,
        description: 'Groups of the learner. The endpoint creates missing groups. groups requires ref.',
        expected: `a list of at most ${limits.groupsPerProvisioning} groups, each with ref, name and type`,
        also: groupsAreRight,
      } satisfies Meaning & TArrayOptions),
    ),
  },
  { additionalProperties: false, $id: 'ProvisionInput', description: 'The learner to provision.' },
);

/** Each type and ref must have one name. Groups need a learner reference, so that the learner can be found again. */
function groupsAreRight(groups: GroupInput[], beside: Beside): boolean | string {
  const firsts = new Map<string, number>();
  for (const [at, { type, ref, name }] of groups.entries()) {
    const first = firsts.get(`${type} ${ref}`) ?? at;
    if (groups[first]!.name !== name)
      return `has two names for one type and ref, in groups[${first}] and groups[${at}]. Send one name`;
    firsts.set(`${type} ${ref}`, first);
  }
  return (
    groups.length === 0 ||
    beside.fields.ref !== undefined ||
    'is not allowed without ref. Send ref too, or leave groups out'
  );
}

export const Provisioned = Type.Object(
  {
    learner_id: learnerId(),
    ref: nullable(Type.String({ description: 'Your own learner reference. Null: the learner has none.' })),
    full_name: Type.String({ description: "The learner's full name." }),
    assessment_url: Type.String({
      format: 'uri',
      description: 'Link to the assessment. Give the link to this learner only.',
    }),
    invitation_id: Type.String({ format: 'uuid', description: "The invitation's ID." }),
    expires_at: Type.String({ format: 'date-time', description: 'When the invitation expires.' }),
    groups: Type.Array(GroupSummary, { description: 'All active groups of the learner.' }),
    archived_groups: Type.Array(GroupSummary, {
      description:
        'Archived groups of the request. The learner is a member, but responses show the groups only when they are active again.',
    }),
    created_at: Type.String({ format: 'date-time', description: 'When the invitation was created.' }),
  },
  { $id: 'Provisioned', description: 'The learner, and the open invitation.' },
);
