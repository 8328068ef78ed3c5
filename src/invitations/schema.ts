import type { TArrayOptions, TStringOptions } from 'typebox';
import type { Beside, Meaning } from '../fields.ts';
import { emailAddress, learnerRefSchema, line, nullable } from '../fields.ts';
import { GroupInput, GroupSummary } from '../groups/schema.ts';
import { learnerId } from '../learners/schema.ts';
import { limits } from '../limits.ts';
import { isNameOf, isOpaqueRef } from '../personal-data.ts';
import { Type } from '../type.ts';

export const ProvisionInput = Type.Object(
  {
    full_name: line(limits.fullNameChars),
    email: Type.Optional(emailAddress()),
    ref: Type.Optional(
      Type.String({
        ...learnerRefSchema,
        expected: `an opaque reference of 1 to ${limits.learnerRefChars} letters, digits, . _ : / or -, starting with a letter or digit; never a name, an e-mail address or a National Insurance number`,
        also: (ref: string, { fields }: Beside) => isOpaqueRef(ref) && !isNameOf(ref, fields.full_name),
      } satisfies Meaning & TStringOptions),
    ),
    groups: Type.Optional(
      Type.Array(GroupInput, {
        maxItems: limits.groupsPerProvisioning,
        description: 'Requires ref. Missing groups are created, existing ones joined.',
        expected: `a list of at most ${limits.groupsPerProvisioning} groups, each with ref, name and type`,
        also: groupsAreRight,
      } satisfies Meaning & TArrayOptions),
    ),
  },
  { additionalProperties: false, $id: 'ProvisionInput' },
);

/** What no single group shows: their texts, one name for each type and ref, and a learner that can be found again. */
function groupsAreRight(groups: GroupInput[], beside: Beside): boolean | string {
  const names = new Map<string, string>();
  for (const group of groups) {
    for (const part of ['ref', 'name'] as const) {
      const { expected, also } = GroupInput.properties[part] as unknown as Meaning;
      const verdict = also!(group[part], beside);
      if (verdict !== true)
        return `a list of groups, each with a ${part} that is ${verdict === false ? expected : verdict}`;
    }
    const key = `${group.type} ${group.ref}`;
    if ((names.get(key) ?? group.name) !== group.name) return 'a list of groups with one name for each type and ref';
    names.set(key, group.name);
  }
  return (
    groups.length === 0 ||
    beside.fields.ref !== undefined ||
    'left out without a ref: the learner could not be found again'
  );
}

export const Provisioned = Type.Object(
  {
    learner_id: learnerId(),
    ref: nullable(Type.String()),
    full_name: Type.String(),
    assessment_url: Type.String({
      format: 'uri',
      description: 'Where the learner sits the assessment. Hand it to this learner only.',
    }),
    invitation_id: Type.String({ format: 'uuid' }),
    expires_at: Type.String({ format: 'date-time' }),
    groups: Type.Array(GroupSummary, { description: 'All active groups of the learner.' }),
    archived_groups: Type.Array(GroupSummary, {
      description: 'Groups of the request that are archived: joined, but shown nowhere until they are active again.',
    }),
    created_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'Provisioned' },
);
