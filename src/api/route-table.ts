import { assessmentRoutes } from './routes/assessments.ts';
import { evidenceRoutes } from './routes/evidence.ts';
import { groupRoutes } from './routes/groups.ts';
import { invitationRoutes } from './routes/invitations.ts';
import { learnerRoutes } from './routes/learners.ts';
import { readOrganisation } from '../organisations/organisations.ts';
import { webhookRoutes } from './routes/webhooks.ts';
import { type Route, bareJson } from './http/route.ts';
import { Type } from '../platform/validation/type.ts';
import { listenRoute } from './listen.ts';

const health: Route = {
  method: 'GET',
  path: '/health',
  id: 'health',
  tag: 'Health',
  summary: 'Check the credentials',
  description: 'Returns 200 with the ID of your organisation if the access key is valid.',
  query: [],
  allowsRestrictedKeys: true,
  answers: {
    200: {
      description: 'The credentials are valid.',
      headers: ['Cache-Control'],
      schema: Type.Object({
        status: Type.Literal('ok', { description: 'Always ok.' }),
        organisation_id: Type.String({ format: 'uuid', description: 'ID of your organisation.' }),
        api_version: Type.Literal('v1', { description: 'Version of the API.' }),
      }),
    },
  },
  handle: async (call) => {
    const { public_id } = await readOrganisation(call.app.db, call.caller.organisationId);
    return bareJson(
      200,
      { status: 'ok', organisation_id: public_id, api_version: 'v1' },
      { headers: { 'cache-control': 'no-store' } },
    );
  },
};

export const routes: readonly Route[] = [
  health,
  ...assessmentRoutes,
  ...evidenceRoutes,
  ...learnerRoutes,
  ...invitationRoutes,
  ...groupRoutes,
  ...webhookRoutes,
  listenRoute,
];
