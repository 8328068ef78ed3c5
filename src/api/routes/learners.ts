import { assessmentJson } from '../../records/results/body.ts';
import { findLearnerAssessments } from '../../records/results/results.ts';
import { reportBase } from '../../records/results/record.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { PaginationSchema, listReply, singleReply } from '../http/list-reply.ts';
import { instant } from '../http/query.ts';
import { type Route, jsonText } from '../http/route.ts';
import { limits } from '../../platform/config/limits.ts';
import { isOpaqueRef, refPattern } from '../../platform/validation/personal-data.ts';
import { listLearners } from '../../records/learners/list.ts';
import { LearnerDetail, LearnerEntry, learnerPayload, learnerTombstoneJson } from '../../records/learners/schema.ts';
import { findLearner } from '../../records/learners/store.ts';
import { Type } from '../../platform/validation/type.ts';

const groupExample = {
  id: '5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d',
  ref: 'C-2026-01',
  name: 'January cohort',
  type: 'cohort',
};
const example = {
  learner_id: '0b7e1c52-93d4-4d1e-9a55-7c1f0e6b2a90',
  status: 'active',
  ref: 'LRN-000017',
  full_name: 'Ana Silva',
  last_assessed_at: '2026-01-31T09:00:00.000Z',
  last_assessed: [
    {
      subject: 'maths',
      assessment_id: '8f14e45f-ceea-467f-a1d6-3f2d5c0b9a11',
      assessed_at: '2026-01-31T09:00:00.000Z',
      rqf_level: 'Level 1',
      rqf_level_code: 2,
      below_level_1: false,
      working_level: 'Level 1',
      recommended_next_level: 'Level 2',
    },
  ],
  groups: [groupExample],
  updated_at: '2026-01-31T09:40:12.345Z',
};

const tombstoneExample = {
  learner_id: 'c9a646d3-9c61-4cb7-bfcd-ee2522c8f633',
  status: 'deleted',
  updated_at: '2026-01-31T09:41:00.000Z',
};

const learnerQuery = [instant('since', 'Learners whose updated_at is at or after it.', 'upper')];

export const learnerRoutes: Route[] = [
  {
    method: 'GET',
    path: '/learners',
    id: 'listLearners',
    tag: 'Learners',
    summary: 'List learners',
    description: 'A feed by updated_at, as of results: read all pages, then poll with since.',
    query: learnerQuery,
    paged: true,
    answers: {
      200: {
        description: 'A page of learners, by updated_at.',
        schema: Type.Object({
          data: Type.Array(LearnerEntry, { description: 'The entries of this page.' }),
          pagination: PaginationSchema,
        }),
        example: { data: [example, tombstoneExample], pagination: { limit: 100, has_more: false, next: null } },
      },
    },
    handle: async (call) => {
      const { organisationId } = call.caller;
      return listReply(call, async (after, limit) => {
        const { rows, sets } = await call.sets.with(call.app.db, organisationId, async () => {
          const from = after === null ? (call.query.values.since ?? 0) : after.value + 1;
          const read = await listLearners(call.app.db, organisationId, from, limit);
          return { ...read, setIds: read.rows.filter((row) => !row.deleted).map((row) => row.group_set_id) };
        });
        const entries = rows.map((row) => ({
          json: row.deleted
            ? learnerTombstoneJson(row.learner_id, row.position)
            : learnerPayload(row, sets.get(row.group_set_id)!.json),
          value: row.position,
          id: row.learner_id,
        }));
        return { entries };
      });
    },
  },
  {
    method: 'GET',
    path: '/learners/{ref}',
    id: 'getLearner',
    tag: 'Learners',
    summary: 'Read a learner with assessment history',
    query: [],
    description: 'Returns the learner with every completed result. Percent-encode the reference: / becomes %2F.',
    params: {
      ref: {
        description: 'Your own learner reference, percent-encoded: / becomes %2F.',
        schema: { type: 'string', maxLength: limits.learnerRefChars, pattern: refPattern },
        example: example.ref,
      },
    },
    answers: {
      200: {
        description: 'The learner and every completed result, newest first.',
        schema: Type.Object({ data: LearnerDetail }),
        example: { data: { ...example, assessments: [] } },
      },
    },
    handle: async (call) => {
      const ref = call.params.ref!;
      if (!isOpaqueRef(ref)) throw new ApiError('not_found');
      const { organisationId } = call.caller;
      const found = await call.app.db.snapshot(async (tx) => {
        const { rows: row, sets } = await call.sets.with(tx, organisationId, async () => {
          const read = await findLearner(tx, organisationId, ref);
          return {
            rows: read,
            groupsVersion: read?.groups_version ?? 0,
            setIds: read === undefined ? [] : [read.group_set_id],
          };
        });
        if (row === undefined) return undefined;
        return {
          row,
          groups: sets.get(row.group_set_id)!.json,
          assessments: await findLearnerAssessments(tx, organisationId, row.learner_id),
        };
      });
      if (found === undefined) throw new ApiError('not_found');
      const { row, groups, assessments } = found;
      const history = assessments
        .map((one) => assessmentJson(one, groups, reportBase(call.app.settings.baseUrl)))
        .join(',');
      return singleReply(
        call,
        jsonText(200, learnerPayload(row, groups, `,"assessments":[${history}]`), { resource: row.learner_id }),
      );
    },
  },
];
