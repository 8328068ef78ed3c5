/**
 * What a person may be in an organisation, the most powerful first. Which page each may open stands in
 * console/routes.ts.
 */
export const roles = ['owner', 'admin', 'developer', 'tutor', 'auditor'] as const;

export type Role = (typeof roles)[number];

export const roleNames: Record<Role, string> = {
  owner: 'Owner',
  admin: 'Admin',
  developer: 'Integration developer',
  tutor: 'Tutor',
  auditor: 'Auditor',
};

/** What each may do, in the words of the page on which it is chosen. */
export const roleMeanings: Record<Role, string> = {
  owner: 'Everything, other owners included.',
  admin: 'People, keys, webhooks, learners, results, groups and settings.',
  developer:
    'Keys, webhooks and the request log. Sees references and ids, no names, scores or evidence; keys that they make give those out.',
  tutor: 'The learners of their own teams: invitations, results, evidence and reviews.',
  auditor: 'Reads results, evidence and the audit log, and changes nothing.',
};

/** Who connects platforms, and makes keys for them. */
export const integrators: readonly Role[] = ['owner', 'admin', 'developer'];

/** Who invites learners and reviews their results: tutors those of their teams. */
export const inviters: readonly Role[] = ['owner', 'admin', 'tutor'];

/** Who sees learners and their results: tutors those of their teams. */
export const learnerReaders: readonly Role[] = ['owner', 'admin', 'tutor', 'auditor'];

/** Who sees what was done with the data of learners. */
export const auditReaders: readonly Role[] = ['owner', 'admin', 'auditor'];

/** Who sees what platforms asked for, and how far results have come. */
export const logReaders: readonly Role[] = ['owner', 'admin', 'developer', 'auditor'];

/** Who manages an organisation's people, and so knows them by name. */
export const managers: readonly Role[] = ['owner', 'admin'];

export function isRole(text: string): text is Role {
  return (roles as readonly string[]).includes(text);
}

/** Who can reach keys or people has to prove who they are by more than a password. */
export const needsSecondFactor = (role: Role): boolean => role === 'owner' || role === 'admin' || role === 'developer';

/** Owners are made and unmade by owners only. */
export function mayGive(giver: Role, role: Role): boolean {
  return giver === 'owner' || (giver === 'admin' && role !== 'owner');
}
