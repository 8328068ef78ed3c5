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
const movedAt = () => dateTime('When the record left the feed. The parameter since filters by this time.');
const subject = () => Type.Enum([...subjects], { description: 'Subject of the assessment.' });

export const Domain = Type.Object(
  {
    name: Type.String({ description: 'Name of the domain.' }),
    score_pct: nullable(
      Type.Integer({ minimum: 0, maximum: 100, description: 'Score in per cent. Null: not judged.' }),
    ),
    status: nullable(
      Type.String({
        description:
          'Open enum: secure (score_pct from 65), developing (from 40), needs_support (below 40), not_assessed. It is judged at the level of the result, so most domains are secure: to plan teaching, read compared and next_level_pct. Null: not judged.',
        examples: ['secure'],
      }),
    ),
    next_level_pct: Type.Optional(
      nullable(
        Type.Integer({
          minimum: 0,
          maximum: 100,
          description: 'Like score_pct, but at the next higher level. Null: no score or no higher level.',
        }),
      ),
    ),
    compared: Type.Optional(
      nullable(
        Type.String({
          description:
            "Open enum: weaker, same or stronger than the learner's other domains. Null: too few questions to compare.",
          examples: ['weaker'],
        }),
      ),
    ),
    difference: Type.Optional(
      nullable(
        Type.Number({
          description: 'Difference from the mean of the other domains, in levels. Below 0: weaker. Null: not compared.',
        }),
      ),
    ),
    difference_se: Type.Optional(
      nullable(Type.Number({ minimum: 0, description: 'Standard error of the difference. Null: not compared.' })),
    ),
  },
  {
    $id: 'Domain',
    description: 'A domain of the subject, with its score. Results made elsewhere or earlier lack the last 4 fields.',
  },
);

const learner = Type.Object(
  {
    learner_id: Type.String({ format: 'uuid', description: 'ID of the learner. It does not change.' }),
    ref: nullable(Type.String({ description: 'Your own learner reference. Null: the learner has none.' })),
    full_name: Type.String({ description: 'Current name of the learner.' }),
  },
  { description: 'The learner who took the assessment.' },
);

const level = {
  rqf_level: nullable(
    Type.String({
      examples: ['Level 1'],
      description:
        'Placement within the RQF level descriptors: Entry Level, Level 1, Level 2 or Level 3. Null: below Entry Level or not placed.',
    }),
  ),
  rqf_level_code: nullable(
    Type.Integer({
      enum: [...levelCodes],
      description:
        'Level with the numbers of ILR PriorLevel: 1 is Entry Level, 2 is Level 1, 3 is Level 2, 5 is Level 3. Do not copy the code into an ILR return as prior attainment: it is an assessed level, not a qualification. Null with below_level_1 true: below Entry Level. Null with below_level_1 null: not placed.',
    }),
  ),
  below_level_1: nullable(
    Type.Boolean({
      description:
        'Whether the result is below Level 1. If subject is digital, this is the gate of the digital entitlement. Null: not placed.',
    }),
  ),
  working_level: nullable(
    Type.String({ examples: ['Level 1'], description: 'Level, with the sub-level of Entry Level. Open enum.' }),
  ),
  recommended_next_level: nullable(
    Type.String({
      examples: ['Level 2'],
      description: 'The level above working_level. Null: working_level is the highest level.',
    }),
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
          'Probability of each level, lowest level first. The names are values of working_level, and the sum is 1. ' +
          'The probabilities are provisional until answers have shown how difficult each question is, and allow for this error. ' +
          'Null: not known, as in most imported results, or a person has set the level.',
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
  domains: [
    {
      ...{ name: 'Number and the number system', score_pct: 71, status: 'secure', next_level_pct: 52 },
      ...{ compared: 'same', difference: 0.1, difference_se: 0.4 },
    },
  ],
  level_probabilities: exampleProbabilities,
};

export const Assessment = Type.Object(
  {
    assessment_id: assessmentId(),
    status: Type.Literal('completed', { description: 'A tombstone has the status deleted.' }),
    updated_at: dateTime('When anything in this record last changed. The parameter since filters by this time.'),
    learner,
    assessed_at: assessedAt(),
    subject: subject(),
    framework: Type.String({ description: 'Name of the assessment framework.' }),
    ...level,
    is_borderline: Type.Boolean({
      description:
        "True: the result is close to a level boundary. A 95% confidence interval crossed the deciding rule's threshold.",
    }),
    needs_review: Type.Boolean({
      description: 'True: the 2 scoring engines placed the result at least one full level apart.',
    }),
    reviewed_at: Type.Optional(
      dateTime(
        'When a person at the training provider last decided on this result. Absent without a human review. ' +
          'A review does not change is_borderline and needs_review.',
      ),
    ),
    domains: Type.Array(Domain, { description: 'The domains of the subject.' }),
    level_probabilities: levelProbabilities,
    evidence_pack_url: Type.String({ format: 'uri', description: 'URL of the evidence PDF in this API.' }),
    report_sha256: nullable(
      Type.String({
        pattern: sha256Pattern,
        description: 'SHA-256 of the evidence PDF. Null: no PDF exists yet. The first read creates the PDF.',
      }),
    ),
    groups: Type.Array(GroupSummary, { description: "The learner's active groups." }),
  },
  { $id: 'Assessment', description: 'The result of a completed assessment.' },
);

export const Tombstone = Type.Object(
  {
    assessment_id: assessmentId(),
    status: Type.Literal('deleted', { description: 'A result has the status completed.' }),
    updated_at: movedAt(),
  },
  { $id: 'Tombstone', description: 'The result was withdrawn. Remove it from your copy.' },
);

export const ScopeExitTombstone = Type.Object(
  {
    assessment_id: assessmentId(),
    updated_at: movedAt(),
    removed: Type.Object(
      {
        reason: Type.Literal('left_scope', { description: 'Always left_scope. The result still exists.' }),
        scope: Type.Literal('group_id', {
          description: 'Always group_id: the filter that the result no longer matches.',
        }),
      },
      { description: 'Only scope exits have this field.' },
    ),
  },
  {
    $id: 'ScopeExitTombstone',
    description: 'The learner left the requested groups. Only requests with group_id and since return scope exits.',
  },
);

export const FeedEntry = Type.Union([Assessment, Tombstone, ScopeExitTombstone], {
  $id: 'FeedEntry',
  description: 'A result, a tombstone or a scope exit.',
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
  n: Type.Integer({ ...whole, description: 'Number of results.' }),
  w1: Type.Integer({ ...whole, description: 'Sum of the first words of the results modulo 2^32.' }),
  w2: Type.Integer({ ...whole, description: 'Sum of the second words of the results modulo 2^32.' }),
};
const head = {
  bits: Type.Integer({
    minimum: 0,
    maximum: limits.digestBits,
    description: 'How many last bits of an ID are its bucket number.',
  }),
  through: dateTime('The X-Sync-Through at the time of the response.'),
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
  { $id: 'DigestBuckets', description: 'The sums of all buckets.' },
);
export const BucketMembers = Type.Object(
  {
    ...head,
    assessments: Type.Array(
      Type.Object({ assessment_id: assessmentId(), updated_at: dateTime('The updated_at of the result.') }),
      { description: 'The results in the requested buckets.' },
    ),
  },
  { $id: 'DigestMembers', description: 'The results in the requested buckets.' },
);

export const FeedDigest = Type.Union([BucketSums, BucketMembers], {
  $id: 'FeedDigest',
  description: 'The sums of all buckets, or the results in the requested buckets.',
});
