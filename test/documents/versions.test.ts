import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read } from '../support/structure/source-tree.ts';

/** What the reference had on 20 November 2026, when version 1 began: operations, and names of parameters and fields. */
const firstOperations = new Set(
  `GET /health|GET /assessments|GET /assessments/{id}|GET /assessments/{id}/report.pdf|GET /learners|POST /learners|
  GET /learners/{ref}|GET /groups|POST /groups|GET /groups/{id}|PATCH /groups/{id}|POST /groups/{id}/members|
  POST /groups/{id}/members/remove|GET /webhooks|POST /webhooks|DELETE /webhooks/{id}`.split(/\|\s*/),
);
const firstNames = new Set(
  `Idempotency-Key If-None-Match Range active added already_members api_version assessed_at assessed_from assessed_to
  assessment_id assessment_url assessments below_level_1 code created_at cursor data disabled_reason domains email error
  event_types evidence_pack_url expires_at framework full_name group_id group_ids groups has_more id invitation_id
  is_borderline last_assessed last_assessed_at learner learner_ref learner_refs limit member_count message name needs_review
  next not_found not_members organisation_id pagination reason recommended_next_level ref removed report_sha256 rqf_level
  rqf_level_code scope score_pct secret since sort status subject type updated_at url working_level`.split(/\s+/),
);

type Node = { [key: string]: unknown };
type Reference = { paths: Record<string, Record<string, Node>> };

/** Names of the parameters, and of the fields of every body, that an operation has. */
function namesOf(reference: Reference, operation: Node): Set<string> {
  const names = new Set<string>();
  const seen = new Set<string>();
  const look = (at: unknown): void => {
    if (Array.isArray(at)) return at.forEach(look);
    if (typeof at !== 'object' || at === null) return;
    const { $ref: place, properties, in: where, name } = at as Node;
    if (typeof place === 'string' && !seen.has(place)) {
      seen.add(place);
      const path = place.slice('#/'.length).split('/');
      look(path.reduce<any>((node, key) => node[key], reference));
    }
    if (typeof properties === 'object') for (const key of Object.keys(properties!)) names.add(key);
    if (where !== undefined) names.add(String(name));
    for (const [key, value] of Object.entries(at)) if (!/^examples?$/.test(key)) look(value);
  };
  look(operation);
  return names;
}

test('every addition to version 1 stands in docs/reference/versions.md', () => {
  const [, told] = read('docs/reference/versions.md').split('## Additions to version 1');
  const reference = JSON.parse(read('docs/openapi.json')) as Reference;
  const untold: string[] = [];
  for (const [path, operations] of Object.entries(reference.paths))
    for (const [method, operation] of Object.entries(operations)) {
      const called = `${method.toUpperCase()} ${path}`;
      if (!firstOperations.has(called)) {
        if (!told!.includes(`\`${called}\``)) untold.push(called);
        continue;
      }
      for (const name of namesOf(reference, operation))
        if (!firstNames.has(name) && !told!.includes(`\`${name}\``)) untold.push(`${called}: ${name}`);
    }
  assert.deepEqual(untold, []);
});
