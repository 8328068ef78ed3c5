/** Limits, times and other numbers of the service. A name ends in its unit: Chars, Bytes or Ms. */
export const limits = {
  pageDefault: 100,
  pageMax: 500,
  filterGroups: 20,
  /** Active groups of an organisation. Teams do not count. */
  groupsPerOrganisation: 500,
  groupsPerProvisioning: 20,
  learnerRefChars: 100,
  groupRefChars: 100,
  groupNameChars: 200,
  fullNameChars: 200,
  /** RFC 5321 allows 256 characters, and two of them are the brackets around the email address. */
  emailChars: 254,
  domainsPerResult: 50,
  levelsPerResult: 10,
  organisationNameChars: 200,
  contactChars: 200,
  pageAddressChars: 500,
  keyLabelChars: 100,
  viewNameChars: 60,
  /** Of the path and of the query of a saved view. */
  viewChars: 1000,
  /** Saved views of a person for one list. */
  viewsOfList: 20,
  scheduledReportsOfPerson: 20,
  scheduledReportsListed: 500,
  reasonChars: 500,
  supervisionChars: 200,
  /** A learner's answer is cut to this length. */
  answerChars: 500,
  refsPerRequest: 500,
  webhookGroups: 50,
  webhooksPerOrganisation: 20,
  /**
   * The most secrets that sign an endpoint's deliveries: the current secret, and secrets rotated within the last day.
   */
  webhookSecrets: 5,
  webhookUrlChars: 2048,
  /** The longest time from the first byte sent to an endpoint to the last byte received. */
  webhookAnswerMs: 15_000,
  webhookAnswerBytes: 256 * 1024,
  /**
   * `ars conform` removes the folder of a killed run after this time, because a younger folder may belong to a running
   * command.
   */
  conformLeftoverMs: 600_000,
  /** The most open requests for GET /events of one organisation in one process. */
  listenersPerOrganisation: 10,
  /** The pause between heartbeats. Proxies close connections that are silent for 30 to 60 seconds. */
  listenerHeartbeatMs: 15_000,
  bodyBytes: 1024 * 1024,
  /** A shorter response is not compressed, because it fits into one packet. */
  compressFromBytes: 1400,
  importLineBytes: 1024 * 1024,
  /** Records that an import writes in one transaction. A larger batch would keep other writers waiting. */
  importBatch: 2000,
  /** Learners that an import caches by reference, in about 300 bytes each. */
  importRemembered: 100_000,
  importBatchBytes: 16 * 1024 * 1024,
  wholeFileBytes: 64 * 1024 * 1024,
  urlBytes: 16 * 1024,
  /** If a change begins later than this after its request arrived, the service checks the access key again. */
  admittedMs: 1000,
  rateWindowMs: 60_000,
  /** Calls without a valid access key from one IP address in a window. Further calls get 429. */
  failedAttempts: 60,
  /** Refused calls that get their own audit rows, in one process and window. Further refused calls are only counted. */
  refusedListed: 1000,
  /** The longest time span of a block of the audit log, and the most rows in a block. */
  auditBlockMs: 60_000,
  auditBlockRows: 5000,
  /**
   * The sealer waits for open transactions that write to the audit log, with pauses that double up to this time. If one
   * is still open then, the sealer skips the round.
   */
  auditWriterWaitMs: 2000,
  replayedAtOnce: 2000,
  auditSealedTogether: 500,
  pagesPerAddress: 600,
  /** Console pages for one IP address in a window. All users of a college may share one IP address. */
  consolePagesPerAddress: 3000,
  passwordLeastChars: 12,
  passwordMostChars: 1000,
  /** Failed passwords or codes of one account, from one IP address or known browser, before attempts must wait. */
  signInFailuresPerAccount: 10,
  signInFailuresPerAddress: 50,
  /** The most guesses at one account in a day, from all IP addresses and unknown browsers (NIST SP 800-63B). */
  signInFailuresPerDay: 100,
  signInDayMs: 24 * 3600_000,
  /** How long a browser stays known after a sign-in. */
  deviceMs: 180 * 24 * 3600_000,
  /** After this many returns from identity providers without a sign-in, one IP address must wait. */
  signInReturnsPerAddress: 100,
  signInFailuresMs: 15 * 60_000,
  mailMs: 3 * 24 * 3600_000,
  /**
   * How long the service keeps the record of an email. The email address and the text are deleted when the sending
   * ends.
   */
  mailKeptMs: 30 * 24 * 3600_000,
  caseTextChars: 5000,
  /** How long the texts of a data subject request are kept after the request ends. */
  subjectRequestTextsMs: 3 * 366 * 24 * 3600_000,
  accessLogMs: 2 * 366 * 24 * 3600_000,
  /** How long the preview of a retention run is kept. */
  dryRunMs: 30 * 24 * 3600_000,
  userInvitationMs: 7 * 24 * 3600_000,
  usersPerOrganisation: 1000,
  sessionIdleMs: 2 * 3600_000,
  sessionMs: 12 * 3600_000,
  /** How long an ended session is stored, so that a form that was open in it can be kept. */
  sessionEndedMs: 24 * 3600_000,
  /** How long a form is stored while the person signs in at the identity provider. */
  keptFormMs: 15 * 60_000,
  /** The longest time between the password and the second factor. */
  sessionCodeMs: 10 * 60_000,
  /** A page that needs a recent proof of identity asks again if the last proof is older. */
  stepUpMs: 10 * 60_000,
  /** A further session ends the user's oldest session. */
  sessionsPerUser: 20,
  formBytes: 1024 * 1024,
  publicFormBytes: 16 * 1024,
  /** A request for a human review can take 24 KB, because percent-encoding takes up to 12 bytes for a character. */
  learnerFormBytes: 32 * 1024,
  formFields: 2000,
  queryFields: 500,
  formParts: 1000,
  learnerFormFields: 100,
  providerMs: 5000,
  /** How long a process keeps the metadata of an identity provider. */
  providerKeptMs: 5 * 60_000,
  /** How long a process waits after a failure before it reads an identity provider's metadata again. */
  providerFailedMs: 10_000,
  /** The number of newest deliveries in which the service searches for an endpoint's last success. */
  deliveriesLooked: 200,
  providersKept: 1000,
  providerBytes: 1024 * 1024,
  /** The client ID, client secret or tenant of an identity provider. */
  clientSecretChars: 500,
  /** Pages count up to this number, and then say that there are more. */
  maxCounted: 100,
  reviewTextChars: 2000,
  unopenedDays: 7,
  expiringDays: 3,
  keyUnusedDays: 30,
  newNetworkDays: 7,
  creditsLow: 20,
  /** The most requests for a human review of one result, and the pause between an answer and the next request. */
  reviewRequests: 5,
  reviewAgainMs: 24 * 3600_000,
  consoleRows: 50,
  importUploadBytes: 4 * 1024 * 1024,
  importRunBatch: 500,
  importFaultsShown: 200,
  importKeptMs: 24 * 3600_000,
  /** The longest time from an import's dry run to its end, including suspensions and failures. */
  importRunMs: 30 * 24 * 3600_000,
  importRunsKeptMs: 90 * 24 * 3600_000,
  /** The most dry runs of imported files at one time in a process. Each occupies a connection of the read pool. */
  importTrialsAtOnce: 2,
  exportsAtOnce: 2,
  exportMs: 15 * 60_000,
  exportPage: 1000,
  /** The most rows of a sheet (ECMA-376). The header is one of the rows. */
  sheetRows: 1_048_576,
  sheetCellChars: 32_767,
  /** A form lists up to this many groups. If there are more, the form offers a search. */
  groupsListed: 25,
  deletedAtOnce: 5000,
  retakeGapDays: 3650,
  reminderDays: 60,
  teamsPerOrganisation: 500,
  membersCounted: 1000,
  membersCountedInSight: 200,
  membersCountedOfOne: 100_000,
  /** If a group has more members, the list is ordered by ID instead of name. */
  membersSorted: 2000,
  /** A confirmation counts what a change affects up to this number. */
  reachCounted: 10_000,
  pastedRefs: 10_000,
  pastedFaultsShown: 200,
  membershipsAtOnce: 500,
  membershipRunsKeptMs: 30 * 24 * 3600_000,
  resendsKeptMs: 30 * 24 * 3600_000,
  groupsInChoice: 300,
  /** Metrics count up to this number of rows. */
  rowsCounted: 100_000,
  /** Requests for /healthz and /readyz from one IP address in a window. */
  probesPerAddress: 1200,
  keyPurposeChars: 300,
  keyContactChars: 200,
  /** The most groups of a restricted key, as many as one `group_id` filter takes. */
  keyGroups: 20,
  keyNetworks: 20,
  /** The length of a client's name, and the most pairs of network and client that are recorded for an access key. */
  keyClientChars: 60,
  keyUses: 20,
  /** The service sends an email this long before an access key expires. */
  keyEndingMs: 14 * 24 * 3600_000,
  /** After a rotation, the old and the new access key both work for this time. */
  keyOverlapMs: 7 * 24 * 3600_000,
  /** How long a vendor's set-up link is valid by default and at most. */
  keyLinkMs: 30 * 60_000,
  keyLinkMostMs: 24 * 3600_000,
  keyLinksShown: 50,
  idempotencyKeyChars: 255,
  idempotencyMs: 24 * 3600_000,
  /** A 503 response waits for its audit row at most this long, because the database may be unavailable. */
  rowOfUnavailableMs: 500,
  /** If a request has no response after this time, a repeated request takes over its Idempotency-Key. */
  idempotencyLeaseMs: 60_000,
  /**
   * A learner without reference or results is kept while an invitation, sitting or legal hold is open. The service
   * checks again after this time.
   */
  forgetLookMs: 3600_000,
  readConnections: 16,
  /** Idle connections that the pool keeps open, because preparing their statements again is expensive. */
  readConnectionsKept: 4,
  warmUpAfterMs: 2000,
  /** Quick changes that one process runs at the same time, each with its own connection. */
  quickChanges: 8,
  /** A change that takes longer counts as slow and makes room for a quick change. */
  slowChangeMs: 250,
  slowChanges: 8,
  /** The most changes that wait in one queue of a process. The service refuses further changes. */
  changesWaiting: 300,
  /** If a change waits longer than this for a lock of another process, the change gives its connection back. */
  lockWaitMs: 500,
  changeRetrySeconds: 5,
  inviteRows: 20_000,
  inviteTableBytes: 8 * 1024 * 1024,
  /** The size of one row of an invitation table, including all lines of the row. */
  inviteLineBytes: 64 * 1024,
  inviteLines: 200_000,
  /** The service recognises a file's encoding by this many bytes at its beginning. */
  inviteLookedAtBytes: 256 * 1024,
  importFormLines: 200_000,
  /** The bytes of all parts of a workbook that are read. They are counted while the parts are unpacked. */
  workbookUnpackedBytes: 64 * 1024 * 1024,
  workbookParts: 2000,
  workbookSheets: 50,
  workbookColumns: 100,
  workbookMs: 20_000,
  workbookMemoryMb: 256,
  /** The most workbooks that one process reads at the same time, each in its own thread. */
  workbooksAtOnce: 2,
  /** Rows that an invitation run writes in one transaction, while other writers of the organisation wait. */
  inviteBatch: 250,
  inviteDraftMs: 24 * 3600_000,
  /** The longest time of an invitation run, including the wait for credits. */
  inviteRunMs: 30 * 24 * 3600_000,
  startCodeMs: 10 * 60_000,
  startCodeTries: 5,
  inviteMailGapMs: 10 * 60_000,
  invitationMs: 28 * 24 * 3600_000,
  /** An older half-written file was left by a killed command, so the next command removes it. */
  leftPartMs: 3600_000,
  /** `ars restore --declare` moves a feed at most this far into the future, because positions never decrease. */
  shownAboveMs: 366 * 24 * 3600_000,
  /** About how many records one round of housekeeping compares with the digest. */
  digestScrubRecords: 50_000,
  /** The most buckets in one request for a digest, and the most bits of an ID that select a bucket. */
  digestBuckets: 64,
  digestBits: 16,
  /** How long `ars verify-sync` tries to reach a service that does not answer. */
  verifySyncReachMs: 2000,
  restampRecords: 50,
  /** The shortest pause between two steps of an upgrade, and the usual pause as a multiple of the step's duration. */
  upgradePauseMs: 20,
  upgradePauseShare: 10,
  upgradeLookMs: 5000,
  upgradeIdleMs: 60_000,
  /**
   * An idle process of an older version is connected for 30 seconds of every minute. An upgrade waits until no such
   * process was connected for this time.
   */
  upgradeAloneMs: 45_000,
  /** The distance between two feed positions in microseconds, so one millisecond has room for 50. */
  positionStepUs: 20,
  shards: 32,
  maxShards: 1024,
} as const;
