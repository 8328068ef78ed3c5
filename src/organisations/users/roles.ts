/** The most powerful role first. src/web/console/routes.ts says which pages each role may open. */
export const roles = ['owner', 'admin', 'developer', 'tutor', 'auditor'] as const;

export type Role = (typeof roles)[number];

export const roleNames: Record<Role, string> = {
  owner: 'Owner',
  admin: 'Admin',
  developer: 'Integration developer',
  tutor: 'Tutor',
  auditor: 'Auditor',
};

export const roleMeanings: Record<Role, string> = {
  owner: 'Everything, including other owners.',
  admin: 'People, keys, webhooks, learners, results, groups and settings.',
  developer:
    'Keys, webhooks and the request log. Sees references and IDs, but no names, scores or evidence packs. Keys that they create can read those.',
  tutor: 'The learners of their own teams: invitations, results, evidence and reviews.',
  auditor: 'Reads results, evidence and the audit log, and changes nothing.',
};

/** These roles create keys for platforms. */
export const integrators: readonly Role[] = ['owner', 'admin', 'developer'];

/** These roles invite learners and review results; tutors only in their teams. */
export const inviters: readonly Role[] = ['owner', 'admin', 'tutor'];

/** These roles see learners and their results; tutors only in their teams. */
export const learnerReaders: readonly Role[] = ['owner', 'admin', 'tutor', 'auditor'];

/** These roles see how the data of learners was used. */
export const auditReaders: readonly Role[] = ['owner', 'admin', 'auditor'];

/** These roles see the requests of platforms. */
export const logReaders: readonly Role[] = ['owner', 'admin', 'developer', 'auditor'];

export const managers: readonly Role[] = ['owner', 'admin'];

export function isRole(text: string): text is Role {
  return (roles as readonly string[]).includes(text);
}

/** Roles with access to keys or members need a second factor. */
export const needsSecondFactor = (role: Role): boolean => integrators.includes(role);

/** Only owners may make a person an owner, or change the role of an owner. */
export function mayGive(giver: Role, role: Role): boolean {
  return giver === 'owner' || (giver === 'admin' && role !== 'owner');
}
