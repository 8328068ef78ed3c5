import { nullable } from '../../platform/validation/fields.ts';
import { lastAssessedJson } from '../results/body.ts';
import { Assessment, LastAssessed } from '../results/schema.ts';
import { formatPosition } from '../../feed/time.ts';
import { GroupSummary } from '../../organisations/groups/schema.ts';
import { Type } from '../../platform/validation/type.ts';

export const learnerId = () => Type.String({ format: 'uuid', description: 'ID of the learner. It does not change.' });

const learnerProperties = {
  learner_id: learnerId(),
  status: Type.Literal('active', { description: 'A tombstone has the status deleted.' }),
  ref: nullable(Type.String({ description: 'Your own learner reference. Null: the learner has none.' })),
  full_name: Type.String({ description: 'Current name of the learner.' }),
  last_assessed_at: nullable(
    Type.String({
      format: 'date-time',
      description: 'When the learner finished the newest assessment. Null: no result.',
    }),
  ),
  last_assessed: Type.Array(LastAssessed, { description: 'The newest completed result of each subject.' }),
  groups: Type.Array(GroupSummary, { description: 'Active groups.' }),
  updated_at: Type.String({
    format: 'date-time',
    description: 'When anything in this record last changed. The parameter since filters by this time.',
  }),
};

export const Learner = Type.Object(learnerProperties, {
  $id: 'Learner',
  description: 'A learner with the newest result of each subject.',
});

export const LearnerTombstone = Type.Object(
  {
    learner_id: learnerId(),
    status: Type.Literal('deleted', { description: 'A learner has the status active.' }),
    updated_at: Type.String({
      format: 'date-time',
      description: 'When the learner was removed. The parameter since filters by this time.',
    }),
  },
  { $id: 'LearnerTombstone', description: 'The learner was erased or merged. Remove the learner from your copy.' },
);

export const LearnerEntry = Type.Union([Learner, LearnerTombstone], {
  $id: 'LearnerEntry',
  description: 'A learner or a tombstone.',
});

export const LearnerDetail = Type.Object(
  {
    ...learnerProperties,
    assessments: Type.Array(Assessment, { description: 'Completed results, newest first.' }),
  },
  { $id: 'LearnerDetail', description: 'A learner with every completed result.' },
);

export type LearnerColumns = {
  learner_id: string;
  /** The payload version (src/platform/db/payload-version.ts). */
  shape: number;
  ref: string | null;
  full_name: string;
  position: number;
  last_assessed_at: number | null;
  last_ids: string[] | null;
  last_bodies: string[] | null;
};

/** Makes the learner's JSON. `more`: further fields of the detail response, beginning with a comma. */
export function learnerPayload(row: LearnerColumns, groupsJson: string, more = ''): string {
  const lastAssessed = (row.last_ids ?? []).map((id, i) => lastAssessedJson(id, row.last_bodies![i]!)).join(',');
  return (
    `{"learner_id":"${row.learner_id}","status":"active","ref":${JSON.stringify(row.ref)},"full_name":${JSON.stringify(row.full_name)}` +
    `,"last_assessed_at":${row.last_assessed_at === null ? 'null' : `"${formatPosition(row.last_assessed_at)}"`}` +
    `,"last_assessed":[${lastAssessed}],"groups":${groupsJson},"updated_at":"${formatPosition(row.position)}"${more}}`
  );
}

export function learnerTombstoneJson(learnerId: string, position: number): string {
  return `{"learner_id":"${learnerId}","status":"deleted","updated_at":"${formatPosition(position)}"}`;
}
