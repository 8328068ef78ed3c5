/** The most powerful role first. src/web/console/routes.ts says which pages each role may open. */
export const roles = ['owner', 'admin', 'developer', 'reviewer', 'tutor', 'auditor'] as const;

export type Role = (typeof roles)[number];

export const roleNames: Record<Role, string> = {
  owner: 'Owner',
  admin: 'Admin',
  developer: 'Integration developer',
  reviewer: 'Reviewer',
  tutor: 'Tutor',
  auditor: 'Auditor',
};

export const roleMeanings: Record<Role, string> = {
  owner: 'Everything, including other owners.',
  admin: 'People, keys, webhooks, learners, results, groups and settings.',
  developer:
    'Keys, webhooks and API requests. Sees references and IDs, but no names, scores or evidence packs. Keys that they create can read those.',
  reviewer:
    'Reads all results and evidence, and decides on reviews. For assessors and internal quality assurers (IQA).',
  tutor: 'The learners of their own teams: invitations, results, evidence and reviews.',
  auditor: 'Reads results, evidence and the activity of people, and changes nothing.',
};

/** These roles create keys for platforms. */
export const integrators: readonly Role[] = ['owner', 'admin', 'developer'];

/** These roles invite learners; tutors only to their teams. */
export const inviters: readonly Role[] = ['owner', 'admin', 'tutor'];

/** These roles decide on reviews; tutors only in their teams. */
export const reviewers: readonly Role[] = ['owner', 'admin', 'reviewer', 'tutor'];

/** These roles draw samples for internal quality assurance. */
export const samplers: readonly Role[] = ['owner', 'admin', 'reviewer'];

/** These roles see learners and their results; tutors only in their teams. */
export const learnerReaders: readonly Role[] = ['owner', 'admin', 'reviewer', 'tutor', 'auditor'];

/** These roles see how the data of learners was used. */
export const auditReaders: readonly Role[] = ['owner', 'admin', 'auditor'];

/** These roles read the names of colleagues. */
export const peopleReaders: readonly Role[] = [...auditReaders, 'reviewer'];

/** These roles see the requests of platforms. */
export const logReaders: readonly Role[] = ['owner', 'admin', 'developer', 'auditor'];

export const managers: readonly Role[] = ['owner', 'admin'];

export function isRole(text: string): text is Role {
  return (roles as readonly string[]).includes(text);
}

/** Roles with access to keys or members need a second factor. An organisation can require one for all roles. */
export const needsSecondFactor = ({
  role,
  second_factor_for_all,
}: {
  role: Role;
  second_factor_for_all: boolean;
}): boolean => second_factor_for_all || integrators.includes(role);

/** Only owners may make a person an owner, or change the role of an owner. */
export function mayGive(giver: Role, role: Role): boolean {
  return giver === 'owner' || (giver === 'admin' && role !== 'owner');
}
