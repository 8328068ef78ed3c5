/** Files by table. Other tables are exported under their own names. */
export const files: Record<string, { file: string; says: string }> = {
  organisation: { file: 'organisation', says: 'The organisation and what it has set.' },
  learner: { file: 'learners', says: 'Learners: reference, name, e-mail address. An erased one has no name.' },
  learner_change: { file: 'learner-changes', says: 'Who changed a learner, when and why.' },
  learner_group: { file: 'groups', says: 'Groups of every type, teams too.' },
  membership: { file: 'memberships', says: 'Who is or was in which group, from when until when.' },
  background_job: {
    file: 'jobs',
    says: 'Work in the background, such as imports and changes of many memberships: who ordered it, and what came of it.',
  },
  team_staff: { file: 'team-staff', says: 'Who works with which team.' },
  assessment: {
    file: 'results',
    says: 'Results: subject, level, probabilities, domains. A withdrawn one has no body.',
  },
  assessment_feed: { file: 'result-positions', says: 'When each result last changed, and which were withdrawn.' },
  assessment_change: {
    file: 'result-changes',
    says: 'Amendments and withdrawals: who, when, why, and what stood there before.',
  },
  evidence: {
    file: 'evidence',
    says: 'What each edition of an evidence file says, and its hash. The files are in the folder evidence: ID.pdf is the current edition of a result, ID-EDITION.pdf one that was superseded. Of withdrawn results there are none.',
  },
  invitation: { file: 'invitations', says: 'Invitations to assessments.' },
  sitting: { file: 'sittings', says: 'Sittings, and how their results were computed.' },
  sitting_item: { file: 'answers', says: 'Every question that was shown, what was answered, and how long it took.' },
  credit_entry: { file: 'credits', says: 'The ledger of credits.' },
  access_key: { file: 'keys', says: 'Access keys without their secrets.' },
  key_use: { file: 'key-uses', says: 'From which networks and clients keys were used.' },
  key_link: { file: 'key-links', says: 'Set-up links for vendors.' },
  webhook_endpoint: { file: 'webhooks', says: 'Webhook endpoints without their secrets.' },
  event: { file: 'events', says: 'What platforms were told, word for word.' },
  delivery: { file: 'deliveries', says: 'To which endpoint each event went, and what came of it.' },
  delivery_attempt: { file: 'delivery-attempts', says: 'Every attempt of a delivery.' },
  user_membership: { file: 'roles', says: 'Who belongs to the organisation in which role.' },
  user_invitation: { file: 'open-invitations-of-people', says: 'Links to the console that were not used.' },
  organisation_sso: { file: 'single-sign-on', says: 'The provider of sign-ins, without its secret.' },
};

/** Tables that are not exported, with the reason. */
export const leftOut: Record<string, string> = {
  audit: 'is in audit.ndjson, with its proof',
  audit_block: 'is in audit.ndjson, with the rows of each block',
  audit_chain: 'is the end of the chain of audit.ndjson',
  audit_hour: 'counts the audit log by the hour',
  digest_cell: 'sums over results',
  feed: 'the present position',
  group_set: 'follows from the memberships',
  group_set_group: 'follows from the memberships',
  idempotency: 'replies that are kept for a day, for repeated requests',
  learner_feed: 'positions of learners',
  learner_leaving: 'when to look whether anything is left of a learner',
  mail: 'mails that wait to be sent; their text is gone once they are',
  milestone: 'how far setting up an integration has come',
  sandbox_request: 'that a sandbox was asked for',
  scope_exit: 'follows from the memberships',
};

/** Text columns with secrets. Columns of bytes hold hashes and encrypted values, and are never exported. */
const secret = /secret|token|password/;

export const isReturned = (column: string, type: string): boolean =>
  column !== 'organisation_id' && type !== 'bytea' && !secret.test(column);
