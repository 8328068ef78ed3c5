/** Advisory locks, each held by one process at a time: any constants that nothing else in the database uses. */
export const advisoryLocks = {
  migration: 4_152_901,
  auditMonths: 4_152_902,
  auditIndexes: 4_152_903,
  eventMonths: 4_152_904,
  restamp: 4_152_906,
  digest: 4_152_907,
  lineage: 4_152_908,
  concurrentMigration: 4_152_909,
  erasures: 4_152_910,
} as const;
