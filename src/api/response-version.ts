import { hash } from 'node:crypto';
import { assessmentJson, learnerJson, scopeExitJson, storedColumns, tombstoneJson } from '../records/results/body.ts';
import { exampleContent } from '../records/results/schema.ts';
import { currentPayloadVersion } from '../platform/db/payload-version.ts';
import { groupPayload } from '../organisations/groups/schema.ts';
import type { Route } from './http/route.ts';
import { learnerPayload, learnerTombstoneJson } from '../records/learners/schema.ts';

const id = '00000000-0000-4000-8000-000000000001';
const position = 1_767_225_600_123_456;

/**
 * A sample of each payload that is assembled from stored text. The samples show changes in the assembly, which OpenAPI
 * does not show.
 */
export function payloadSamples(): string[] {
  const { body } = storedColumns(exampleContent);
  const group = { group_id: id, type: 'cohort', ref: 'r', name: 'N', active: true, created_at: new Date(0), position };
  const shown = { learner_id: id, shape: currentPayloadVersion, position };
  return [
    assessmentJson(
      { ...shown, assessment_id: id, learner: learnerJson('r', 'N'), body, report_sha256: null },
      '[]',
      '/',
    ),
    tombstoneJson(id, position),
    scopeExitJson(id, position),
    learnerPayload(
      { ...shown, ref: 'r', full_name: 'N', last_assessed_at: position, last_ids: [id], last_bodies: [body] },
      '[]',
    ),
    learnerTombstoneJson(id, position),
    JSON.stringify(groupPayload(group)),
  ];
}

/**
 * A hash that changes when a release sends other bytes for equal rows, so that ETags of earlier releases do not match.
 * @param samples payloads whose bytes can change while the schemas stay as they are
 */
export function responseVersion(routes: readonly Route[], samples: readonly string[]): string {
  const schemas = routes
    .filter((route) => route.method === 'GET')
    .map(({ path, answers }) => [path, answers[200]?.schema]);
  return hash('sha256', JSON.stringify([schemas, samples]), 'base64url').slice(0, 16);
}
