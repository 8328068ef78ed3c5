import { limits } from '../../platform/config/limits.ts';
import { nullable, sha256Pattern } from '../../platform/validation/fields.ts';
import { GroupSummary } from '../../organisations/groups/schema.ts';
import type { ResultContent } from './body.ts';
import { levelCodes } from './facet.ts';
import { subjects } from '../../engine/scoring/levels.ts';
import { Type } from '../../platform/validation/type.ts';

const assessmentId = () => Type.String({ format: 'uuid', description: "The result's ID. It never changes." });
const dateTime = (description: string) => Type.String({ format: 'date-time', description });
const assessedAt = () => dateTime('When the learner finished the assessment.');
const movedAt = () => dateTime('Sync position: when the record left the feed.');
const subject = () => Type.Enum([...subjects], { description: 'Subject of the assessment.' });

export const Domain = Type.Object(
  {
    name: Type.String({ description: 'Name of the domain.' }),
    score_pct: nullable(
      Type.Integer({ minimum: 0, maximum: 100, description: 'Score in per cent; null when not judged.' }),
    ),
    status: nullable(
      Type.String({
        description: 'Open enum: secure, developing, needs_support, not_assessed; null when not judged.',
        examples: ['secure'],
      }),
    ),
  },
  { $id: 'Domain', description: 'A part of the subject, and how the learner did in it.' },
);

const learner = Type.Object(
  {
    learner_id: Type.String({ format: 'uuid', description: 'Opaque; the same for as long as the learner exists.' }),
    ref: nullable(Type.String({ description: 'Your own learner reference.' })),
    full_name: Type.String({ description: "The learner's name now." }),
  },
  { description: 'The learner who took the assessment.' },
);

const level = {
  rqf_level: nullable(
    Type.String({
      examples: ['Level 1'],
      description: 'Placement within the RQF level descriptors: Entry Level, Level 1, Level 2, Level 3.',
    }),
  ),
  rqf_level_code: nullable(
    Type.Integer({
      enum: [...levelCodes],
      description: 'ILR PriorLevel code: Entry Level 1, Level 1 2, Level 2 3, Level 3 5.',
    }),
  ),
  below_level_1: nullable(
    Type.Boolean({
      description: 'The result is below Level 1: the digital entitlement eligibility gate where subject is digital.',
    }),
  ),
  working_level: nullable(
    Type.String({ examples: ['Level 1'], description: 'Level with its sub-level of Entry; open to other text.' }),
  ),
  recommended_next_level: nullable(
    Type.String({ examples: ['Level 2'], description: 'The level above working_level; null at the highest level.' }),
  ),
};

export const exampleProbabilities = {
  'Working towards Entry Level': 0,
  'Entry Level 1': 0,
  'Entry Level 2': 0.001,
  'Entry Level 3': 0.069,
  'Level 1': 0.81,
  'Level 2': 0.12,
  'Level 3': 0,
};

const levelProbabilities = nullable(
  Type.Unsafe<Record<string, number>>(
    Type.Object(
      {},
      {
        additionalProperties: Type.Number({ minimum: 0, maximum: 1 }),
        description:
          'The probability of each level by its name in working_level, lowest level first, in thousandths that add up to 1. ' +
          'Provisional until the difficulty of the questions is measured on answers; an assumed error of the difficulty is included. ' +
          'Null if the probability is unknown, as in most imported results, or if a person has set the level.',
        examples: [exampleProbabilities],
      },
    ),
  ),
);

/** The result that the API's examples and samples show. A new field of a result needs its value here. */
export const exampleContent: ResultContent = {
  assessed_at_us: Date.parse('2026-01-31T09:00:00.000Z') * 1000,
  subject: 'maths',
  framework: 'Functional Skills subject content',
  rqf_level: 'Level 1',
  rqf_level_code: 2,
  below_level_1: false,
  working_level: 'Level 1',
  recommended_next_level: 'Level 2',
  is_borderline: false,
  needs_review: false,
  domains: [{ name: 'Number and the number system', score_pct: 71, status: 'secure' }],
  level_probabilities: exampleProbabilities,
};

export const Assessment = Type.Object(
  {
    assessment_id: assessmentId(),
    status: Type.Literal('completed', { description: 'Distinguishes a result from a tombstone.' }),
    updated_at: dateTime('Sync position: rises whenever anything in this record changes.'),
    learner,
    assessed_at: assessedAt(),
    subject: subject(),
    framework: Type.String({ description: 'Name of the assessment framework.' }),
    ...level,
    is_borderline: Type.Boolean({ description: "A 95 % confidence interval crossed the deciding rule's threshold." }),
    needs_review: Type.Boolean({
      description: 'The two scoring engines placed the result a full level or more apart.',
    }),
    reviewed_at: Type.Optional(
      dateTime(
        'Time of the last human review of this result. Left out without a human review. ' +
          'The flags stay unchanged, because they show how the result came about.',
      ),
    ),
    domains: Type.Array(Domain, { description: 'The domains of the subject.' }),
    level_probabilities: levelProbabilities,
    evidence_pack_url: Type.String({ format: 'uri', description: 'Address of the evidence PDF in this API.' }),
    report_sha256: nullable(Type.String({ pattern: sha256Pattern, description: 'SHA-256 of the evidence PDF.' })),
    groups: Type.Array(GroupSummary, { description: "The learner's active groups." }),
  },
  { $id: 'Assessment', description: 'The result of a completed assessment.' },
);

export const Tombstone = Type.Object(
  {
    assessment_id: assessmentId(),
    status: Type.Literal('deleted', { description: 'Distinguishes a tombstone from a result.' }),
    updated_at: movedAt(),
  },
  { $id: 'Tombstone', description: 'The record was withdrawn: remove it.' },
);

export const ScopeExitTombstone = Type.Object(
  {
    assessment_id: assessmentId(),
    updated_at: movedAt(),
    removed: Type.Object(
      {
        reason: Type.Literal('left_scope', { description: 'The result still exists.' }),
        scope: Type.Literal('group_id', { description: 'The filter that the learner left.' }),
      },
      { description: 'Only scope exits have this field.' },
    ),
  },
  {
    $id: 'ScopeExitTombstone',
    description: 'Only on polls with group_id and since: the learner left the requested groups.',
  },
);

export const FeedEntry = Type.Union([Assessment, Tombstone, ScopeExitTombstone], {
  $id: 'FeedEntry',
  description: 'An entry of the feed of results: a result, a tombstone, or a scope exit.',
});

export const LastAssessed = Type.Object(
  {
    subject: subject(),
    assessment_id: assessmentId(),
    assessed_at: assessedAt(),
    ...level,
  },
  { $id: 'LastAssessed', description: 'The newest result in a subject.' },
);

const whole = { type: 'integer', minimum: 0 } as const;
const sums = {
  n: Type.Integer({ ...whole, description: 'Live results.' }),
  w1: Type.Integer({ ...whole, description: 'The sum of their first words modulo 2^32.' }),
  w2: Type.Integer({ ...whole, description: 'The sum of their second words modulo 2^32.' }),
};
const head = {
  bits: Type.Integer({
    minimum: 0,
    maximum: limits.digestBits,
    description: "Number of an ID's last bits that name its bucket.",
  }),
  through: dateTime('How far the feed went at the moment that this shows.'),
};

export const BucketSums = Type.Object(
  {
    ...head,
    ...sums,
    buckets: Type.Array(Type.Array(Type.Integer(whole), { minItems: 3, maxItems: 3 }), {
      description:
        'For each bucket, from 0 on: n, w1 and w2 of the results whose IDs end in its bits. Hash 24 bytes with SHA-256: the 16 bytes of the ID, then updated_at in milliseconds since 1970 as 8 bytes, big-endian. The first 8 bytes of the hash are the two words of a result.',
    }),
  },
  { $id: 'DigestBuckets', description: 'The sums of every bucket.' },
);
export const BucketMembers = Type.Object(
  {
    ...head,
    assessments: Type.Array(
      Type.Object({ assessment_id: assessmentId(), updated_at: dateTime('Sync position of the result.') }),
      { description: 'The results in the requested buckets.' },
    ),
  },
  { $id: 'DigestMembers', description: 'The results in the requested buckets.' },
);

export const FeedDigest = Type.Union([BucketSums, BucketMembers], {
  $id: 'FeedDigest',
  description: 'The sums of buckets, or with buckets the results in them.',
});
