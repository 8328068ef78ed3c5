import { exampleEvent } from '../../api/reference/openapi-webhooks.ts';
import { assessmentJson, learnerJson, storedColumns } from '../../records/results/body.ts';
import { exampleContent } from '../../records/results/schema.ts';
import { reportBase } from '../../records/results/record.ts';
import { formatMs } from '../../platform/time/clock.ts';
import { currentPayloadVersion } from '../../platform/db/payload-version.ts';
import type { Random } from '../../platform/crypto/random.ts';
import type { EventType } from '../../platform/validation/event-types.ts';

/** An example event of a type. Its records do not exist in the database. */
export function sampleEvent(
  type: EventType,
  { nowMs, random, baseUrl }: { nowMs: number; random: Random; baseUrl: string },
): string {
  const group = { id: random.uuid(), ref: 'sample-cohort', name: 'Sample cohort', type: 'cohort' };
  const { body } = storedColumns({ ...exampleContent, assessed_at_us: nowMs * 1000 });
  const json = assessmentJson(
    {
      assessment_id: random.uuid(),
      learner_id: random.uuid(),
      position: nowMs * 1000,
      shape: currentPayloadVersion,
      learner: learnerJson('sample-learner', 'Sample Learner'),
      body,
      report_sha256: null,
    },
    JSON.stringify([group]),
    reportBase(baseUrl),
  );
  return JSON.stringify(exampleEvent(type, formatMs(nowMs), JSON.parse(json)));
}
