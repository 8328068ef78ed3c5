import { assessmentIdParameter } from './assessments.ts';
import { findLiveInScope } from '../../records/results/results.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { byteRange } from '../http/range.ts';
import type { Route } from '../http/route.ts';
import { isUuid } from '../../platform/crypto/random.ts';
import { readReport } from '../../records/evidence/store.ts';

const fileHeaders = ['X-Report-SHA256', 'Content-Disposition', 'Accept-Ranges'] as const;

export const evidenceRoutes: Route[] = [
  {
    method: 'GET',
    path: '/assessments/{id}/report.pdf',
    id: 'getReport',
    tag: 'Assessments',
    summary: 'Read the evidence PDF',
    params: assessmentIdParameter,
    query: [],
    allowsRestrictedKeys: true,
    description: 'Returns the same bytes each time. X-Report-SHA256 contains their hash. The endpoint serves ranges.',
    answers: {
      200: {
        description: 'The PDF.',
        type: 'application/pdf',
        headers: fileHeaders,
      },
      206: {
        description: 'The requested range of the PDF.',
        type: 'application/pdf',
        headers: [...fileHeaders, 'Content-Range'],
      },
    },
    handle: async (call) => {
      const id = call.params.id!;
      const { app, caller } = call;
      const hidden =
        !isUuid(id) ||
        (caller.keyScope !== null &&
          (await findLiveInScope(app.db, caller.organisationId, id, caller.keyScope)) === undefined);
      const report = hidden ? undefined : await readReport(app, caller.organisationId, id);
      if (report === undefined) throw new ApiError('not_found');
      return byteRange(call, report.pdf, {
        etag: `"${report.sha256}"`,
        headers: {
          'content-type': 'application/pdf',
          'x-report-sha256': report.sha256,
          'content-disposition': `inline; filename="evidence-${id}.pdf"`,
        },
        resource: id,
      });
    },
  },
];
