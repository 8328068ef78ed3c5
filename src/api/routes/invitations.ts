import { refuseTeams } from '../../organisations/groups/schema.ts';
import { readBody } from '../http/body.ts';
import { type Route, json } from '../http/route.ts';
import { provisionLearner } from '../../sittings/invitations/provision.ts';
import { ProvisionInput, Provisioned } from '../../sittings/invitations/schema.ts';
import { Type } from '../../platform/validation/type.ts';

const provisioned = {
  headers: ['Cache-Control'] as const,
  schema: Type.Object({ data: Provisioned }),
};

export const invitationRoutes: Route[] = [
  {
    method: 'POST',
    path: '/learners',
    id: 'provisionLearner',
    tag: 'Learners',
    summary: 'Provision a learner',
    description:
      'Creates the learner, adds the learner to the groups, and creates an assessment invitation. The invitation costs a credit unless the plan has no credits. If a learner with this ref exists, the endpoint updates the learner. If the learner has an open invitation, the endpoint returns this invitation with 200.',
    body: ProvisionInput,
    bodyExample: {
      full_name: 'Ana Silva',
      ref: 'LRN-000017',
      groups: [{ type: 'cohort', ref: 'C-2026-01', name: 'January cohort' }],
    },
    codes: ['team_group_managed', 'group_autocreate_disabled', 'group_limit_exceeded', 'insufficient_credits'],
    answers: {
      201: { description: 'The learner has a new invitation.', ...provisioned },
      200: { description: 'The learner has an open invitation, which the response shows.', ...provisioned },
    },
    handle: async (call) => {
      const { full_name, email = null, ref = null, groups = [] } = readBody(ProvisionInput, call);
      refuseTeams(groups);
      return call.change(async (work) => {
        const byRef = new Map(groups.map((group, at) => [`${group.type} ${group.ref}`, { ...group, at }]));
        const { organisationId, keyId } = call.caller;
        const input = { full_name, email, ref, groups: [...byRef.values()] };
        const { created, reply } = await provisionLearner(work, organisationId, input, keyId);
        return json(created ? 201 : 200, reply, {
          resource: reply.invitation_id,
          headers: { 'cache-control': 'no-store' },
        });
      });
    },
  },
];
