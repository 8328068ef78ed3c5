import { ApiError } from '../../platform/errors/errors.ts';
import { faults, refusal } from '../../platform/validation/faults.ts';
import type { Cursor } from '../../feed/cursor.ts';
import {
  PaginationSchema,
  cacheHeaders,
  listReply,
  restoredHeader,
  singleReply,
  unknownLearner,
} from '../http/list-reply.ts';
import {
  type Parameter,
  among,
  digits,
  groupIds,
  instant,
  learnerRef,
  one,
  safeWithSince,
  some,
  splitQuery,
  unsafeWithSince,
  wholeNumber,
  yesOrNo,
} from '../http/query.ts';
import type { TracedResult } from '../tracer/facts.ts';
import { limits } from '../../platform/config/limits.ts';
import { subjects } from '../../engine/scoring/levels.ts';
import { type KeyScope, intersectScope } from '../../organisations/key-scope.ts';
import { isUuid, nilUuid } from '../../platform/crypto/random.ts';
import { type Call, type Reply, type Route, jsonText } from '../http/route.ts';
import { assessmentJson, scopeExitJson, tombstoneJson } from '../../records/results/body.ts';
import { digestJson, digestText, listWithDigest } from '../../records/results/pages/digest.ts';
import { facetsMatching, levelCodes } from '../../records/results/facet.ts';
import type { AssessmentFilter } from '../../records/results/pages/page-statements.ts';
import { findLearnerIds } from '../../records/results/pages/list.ts';
import { hashesOfRef } from '../../organisations/learner-ref.ts';
import { readLiveInScope } from '../../records/results/pages/live.ts';
import { reportBase } from '../../records/results/record.ts';
import { Assessment, FeedDigest, FeedEntry } from '../../records/results/schema.ts';
import { Type } from '../../platform/validation/type.ts';

/**
 * `excludes` says why a poll with this filter does not get a result; null: the poll gets the result. `sent`: the
 * parameter's value in the audit log.
 */
type Filter = Parameter<any> & { excludes?(sent: string, result: TracedResult): string | null };

const outside = (filter: Parameters<typeof facetsMatching>[0], { facet }: TracedResult) =>
  facetsMatching(filter)?.includes(facet) === false;

/** Filters by fields that never change. The list and the digest both have these filters. */
const facetQuery = {
  subject: {
    ...safeWithSince(some('subject', 'One or more subjects.', among(subjects))),
    excludes: (sent, result) => (outside({ subject: sent.split(',') }, result) ? 'it filters another subject' : null),
  },
  level: {
    ...safeWithSince(
      some(
        'rqf_level_code',
        'One or more of 1 (Entry), 2 (Level 1), 3 (Level 2), 5 (Level 3).',
        among(levelCodes.map(String), digits),
      ),
    ),
    excludes: (sent, result) =>
      outside({ rqf_level_code: sent.split(',').map(Number) }, result) ? 'it filters another level' : null,
  },
  belowLevel1: {
    ...safeWithSince(one('below_level_1', 'Whether the result is below Level 1.', yesOrNo)),
    excludes: (sent, result) =>
      outside({ below_level_1: sent === 'true' }, result) ? 'it filters another level' : null,
  },
} satisfies Record<string, Filter>;

/** The facets and groups that both the query and the key's scope allow. */
function digestFilter(
  values: Record<string, any>,
  keyScope: KeyScope | null,
): Pick<AssessmentFilter, 'facets' | 'groupIds'> {
  return {
    facets: facetsMatching({
      subject: intersectScope(values.subject ?? null, keyScope?.subjects ?? null),
      rqf_level_code: values.rqf_level_code?.map(Number) ?? null,
      below_level_1: values.below_level_1 === undefined ? null : values.below_level_1 === 'true',
    }),
    groupIds: intersectScope(values.group_id ?? null, keyScope?.groupIds ?? null),
  };
}

/** The order is the specification's order of error codes: the first fault in this order is reported. */
export const assessmentQuery: readonly Filter[] = [
  instant(
    'since',
    'Records whose updated_at is at or after this time: new and amended results, tombstones and, with group_id, scope exits. Send the X-Sync-Through of your last finished sync.',
    'upper',
  ),
  {
    ...learnerRef,
    excludes: (learnerId, result) => {
      if (learnerId === unknownLearner) return 'it asks for a learner_ref that no learner had';
      return [result.learner_id, ...result.merged_ids].includes(learnerId) ? null : 'it asks for another learner';
    },
  },
  facetQuery.subject,
  {
    ...safeWithSince(instant('assessed_from', 'Results assessed at or after this time.', 'lower')),
    excludes: (from, { assessed_at: at }) =>
      at < Date.parse(from) * 1000 ? 'it filters results that were assessed later' : null,
  },
  {
    ...safeWithSince(instant('assessed_to', 'Results assessed at or before this time.', 'upper')),
    excludes: (to, { assessed_at: at }) =>
      at > Date.parse(to) * 1000 ? 'it filters results that were assessed earlier' : null,
  },
  facetQuery.level,
  facetQuery.belowLevel1,
  {
    ...unsafeWithSince(
      some('status', 'completed, deleted or both.', among(['completed', 'deleted'])),
      'without deleted, an incremental sync does not show withdrawn results',
    ),
    excludes: (sent, { deleted }) => {
      if (sent.split(',').includes(deleted ? 'deleted' : 'completed')) return null;
      return deleted ? 'it asks for completed results only, without withdrawals' : 'it asks for withdrawals only';
    },
  },
  {
    ...groupIds,
    excludes: (sent, result) => {
      const groups = sent.split(',');
      if (groups.some((id) => result.group_ids.includes(id))) return null;
      return groups.length === 1
        ? `it filters group ${sent}, and the learner isn't in it`
        : "it filters groups, and the learner isn't in any of them";
    },
  },
  {
    ...one(
      'sort',
      'The order. By -updated_at, pages can miss records that change while you read.',
      among(['updated_at', '-updated_at', 'assessed_at', '-assessed_at']),
    ),
    withSince: { is: 'Rejected', why: 'an incremental sync has one order' },
  },
];

async function list(call: Call): Promise<Reply> {
  const { cursor, values } = call.query;
  // The service issues no cursor for `sort` with `since`, and invalid_cursor is the first code in the specification.
  if (values.sort !== undefined && values.since !== undefined)
    throw new ApiError(cursor === null ? 'sort_with_since' : 'invalid_cursor');
  const { app, sets, caller } = call;
  const ref: string | undefined = values.learner_ref;
  const filter: AssessmentFilter = {
    sinceUs: values.since ?? null,
    learner: ref === undefined ? null : { ref, hashes: hashesOfRef(app.secrets, caller.organisationId, ref) },
    ...digestFilter(values, caller.keyScope),
    assessedFromUs: values.assessed_from ?? null,
    assessedToUs: values.assessed_to ?? null,
    status: values.status === undefined || values.status.length === 2 ? null : values.status[0],
    sort: values.sort ?? 'updated_at',
  };
  const base = reportBase(app.settings.baseUrl);
  const byAssessed = filter.sort.endsWith('assessed_at');
  const { learner } = filter;
  const learnerId =
    learner === null ? null : async () => (await findLearnerIds(app.db, caller.organisationId, learner))[0] ?? null;
  const page = async (after: Cursor | null, limit: number) => {
    const { rows, sets: shown } = await sets.with(app.db, caller.organisationId, async () => {
      const request = { organisationId: caller.organisationId, filter, after, limit };
      const read = await listWithDigest(app.db, caller.feed, request);
      const live = read.page.rows.filter((row) => !row.exit && !row.deleted);
      const groupsVersion = read.page.rows[0]?.groups_version ?? 0;
      return { rows: read, groupsVersion, setIds: live.map((row) => row.group_set_id) };
    });
    const { page: found, digest } = rows;
    const entries = found.rows.map((row) => ({
      json: row.deleted
        ? tombstoneJson(row.assessment_id, row.position)
        : row.exit
          ? scopeExitJson(row.assessment_id, row.position)
          : assessmentJson(row as Parameters<typeof assessmentJson>[0], shown.get(row.group_set_id)!.json, base),
      value: byAssessed ? row.assessed_at : row.position,
      id: row.assessment_id,
    }));
    // `passedUs` belongs to no record, so the position has the nil UUID as its ID.
    return {
      entries,
      passed: found.passedUs === null ? null : { value: found.passedUs, id: nilUuid },
      headers: digest === null ? undefined : { 'x-sync-digest': digestText(digest) },
    };
  };
  return listReply(call, page, learnerId);
}

const digestQuery: readonly Parameter[] = [
  facetQuery.subject,
  facetQuery.level,
  facetQuery.belowLevel1,
  groupIds,
  one(
    'bits',
    `How many last bits of an ID are its bucket number. Default: ${limits.digestBits}, which makes ${2 ** limits.digestBits} buckets.`,
    wholeNumber(0, limits.digestBits),
  ),
  some('buckets', 'List the results in these buckets instead of sums.', wholeNumber(0, 2 ** limits.digestBits - 1), {
    max: limits.digestBuckets,
  }),
];

async function readDigest(call: Call): Promise<Reply> {
  const { values } = call.query;
  const bits: number = values.bits ?? limits.digestBits;
  const buckets: number[] | undefined = values.buckets;
  const sent = splitQuery(call.rawQuery).get('buckets') ?? [];
  const beyond = sent.flatMap((text) => text.split(',')).findIndex((bucket) => Number(bucket) >= 2 ** bits);
  if (beyond >= 0)
    throw new ApiError('invalid_buckets', refusal(`buckets[${beyond}]`, faults.notAllowed, `0 to ${2 ** bits - 1}`));
  const question = { ...digestFilter(values, call.caller.keyScope), bits, buckets };
  const data = await digestJson(call.app.db, call.caller, question);
  return jsonText(200, data, { headers: { ...cacheHeaders, ...restoredHeader(call.caller.feed) } });
}

export const assessmentIdParameter = {
  id: {
    description: "The assessment's ID.",
    schema: { type: 'string', format: 'uuid' },
  },
};

export const assessmentRoutes: Route[] = [
  {
    method: 'GET',
    path: '/assessments',
    id: 'listAssessments',
    tag: 'Assessments',
    summary: 'List results',
    query: assessmentQuery,
    paged: true,
    allowsRestrictedKeys: true,
    description:
      'Returns results by updated_at unless you send sort. For a full sync, follow pagination.next to the last page. For an incremental sync, set since to the X-Sync-Through of the last finished sync.',
    codes: ['sort_with_since'],
    answers: {
      200: {
        description: 'A page of the feed.',
        headers: ['X-Sync-Digest'],
        schema: Type.Object({
          data: Type.Array(FeedEntry, { description: 'The entries of this page.' }),
          pagination: PaginationSchema,
        }),
      },
    },
    handle: list,
  },
  {
    method: 'GET',
    path: '/assessments/digest',
    id: 'getAssessmentDigest',
    tag: 'Assessments',
    summary: 'Find differences in a local copy',
    description:
      'Use this endpoint if your own sums differ from X-Sync-Digest. First compare the sums of all buckets. Then send the buckets that differ: the response lists their results. Read each of these results by ID. If your copy has a result that its bucket does not list, the result was withdrawn or its learner has left the groups.',
    query: digestQuery,
    allowsRestrictedKeys: true,
    answers: {
      200: {
        description: 'The sums of all buckets. With buckets: the results in these buckets.',
        schema: Type.Object({ data: FeedDigest }),
        headers: ['Cache-Control', 'Vary', 'X-Sync-Restored'],
      },
    },
    handle: readDigest,
  },
  {
    method: 'GET',
    path: '/assessments/{id}',
    id: 'getAssessment',
    tag: 'Assessments',
    summary: 'Read a result',
    description: 'Returns one result as the feed shows it. For a withdrawn result, the endpoint returns 404.',
    params: assessmentIdParameter,
    query: [],
    allowsRestrictedKeys: true,
    answers: {
      200: { description: 'The result.', schema: Type.Object({ data: Assessment }) },
    },
    handle: async (call) => {
      const id = call.params.id!;
      const { organisationId, keyScope } = call.caller;
      const { rows: row, sets } = await call.sets.with(call.app.db, organisationId, async () => {
        const read = isUuid(id) ? await readLiveInScope(call.app.db, organisationId, id, keyScope) : undefined;
        return {
          rows: read,
          groupsVersion: read?.groups_version ?? 0,
          setIds: read === undefined ? [] : [read.group_set_id],
        };
      });
      if (row === undefined) throw new ApiError('not_found');
      return singleReply(
        call,
        jsonText(200, assessmentJson(row, sets.get(row.group_set_id)!.json, reportBase(call.app.settings.baseUrl)), {
          resource: id,
        }),
      );
    },
  },
];
