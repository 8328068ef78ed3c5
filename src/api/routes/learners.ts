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

const learnerQuery = [instant('since', 'Learners whose updated_at is at or after this time.', 'upper')];

export const learnerRoutes: Route[] = [
  {
    method: 'GET',
    path: '/learners',
    id: 'listLearners',
    tag: 'Learners',
    summary: 'List learners',
    description: 'Sync this list like results: read all pages, then send since.',
    query: learnerQuery,
    paged: true,
    answers: {
      200: {
        description: 'A page of learners, by updated_at.',
        schema: Type.Object({
          data: Type.Array(LearnerEntry, { description: 'The entries of this page.' }),
          pagination: PaginationSchema,
        }),
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
    description: 'Returns the learner with every completed result. Send the reference percent-encoded: / becomes %2F.',
    params: {
      ref: {
        description: 'Your own learner reference, percent-encoded: / becomes %2F.',
        schema: { type: 'string', maxLength: limits.learnerRefChars, pattern: refPattern },
      },
    },
    answers: {
      200: {
        description: 'The learner and every completed result, newest first.',
        schema: Type.Object({ data: LearnerDetail }),
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
