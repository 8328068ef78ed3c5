import { assessmentJson, learnerJson, storedColumns } from '../../records/results/body.ts';
import { reportBase } from '../../records/results/record.ts';
import { formatMs } from '../../platform/time/clock.ts';
import { currentPayloadVersion } from '../../platform/db/payload-version.ts';
import type { Random } from '../../platform/crypto/random.ts';
import { type EventType, learnerGroupsUpdated } from '../../platform/validation/event-types.ts';

/** An example event of a type. Its records do not exist in the database. */
export function sampleEvent(
  type: EventType,
  { nowMs, random, baseUrl }: { nowMs: number; random: Random; baseUrl: string },
): string {
  const occurred_at = formatMs(nowMs);
  const group = { id: random.uuid(), ref: 'sample-cohort', name: 'Sample cohort', type: 'cohort' };
  if (type === learnerGroupsUpdated)
    return JSON.stringify({ event: type, learner_ref: 'sample-learner', added: [group.id], removed: [], occurred_at });
  const { body } = storedColumns({
    assessed_at_us: nowMs * 1000,
    subject: 'digital',
    framework: 'Essential digital skills',
    rqf_level: 'Level 1',
    rqf_level_code: 2,
    below_level_1: false,
    working_level: 'Level 1',
    recommended_next_level: 'Level 2',
    is_borderline: false,
    needs_review: false,
    domains: [
      { name: 'Using devices and handling information', score_pct: 82, status: 'secure' },
      { name: 'Being safe and responsible online', score_pct: 61, status: 'developing' },
    ],
    level_probabilities: {
      'Working towards Entry Level': 0,
      'Entry Level': 0.069,
      'Level 1': 0.811,
      'Level 2': 0.12,
      'Level 3': 0,
    },
  });
  const data = assessmentJson(
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
  return `{"event":"${type}","occurred_at":"${occurred_at}","data":${data},"group_ids":["${group.id}"]}`;
}
