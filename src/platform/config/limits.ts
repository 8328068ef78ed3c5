/** The numbers of the service. Chars, Bytes and Ms at the end of a name are their units. */
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
  /** The longest path of RFC 5321, without the brackets. */
  emailChars: 254,
  domainsPerResult: 50,
  levelsPerResult: 10,
  organisationNameChars: 200,
  contactChars: 200,
  /** The URL of a training provider's own page. */
  pageAddressChars: 500,
  keyLabelChars: 100,
  reasonChars: 500,
  supervisionChars: 200,
  /** Longer answers of learners are cut. */
  answerChars: 500,
  refsPerRequest: 500,
  webhookGroups: 50,
  webhooksPerOrganisation: 20,
  /** The current secret of an endpoint, and those rotated within the last day. */
  webhookSecrets: 5,
  webhookUrlChars: 2048,
  /** From the first byte sent to the last byte received. */
  webhookAnswerMs: 15_000,
  /** An endpoint's longer response makes the delivery fail. */
  webhookAnswerBytes: 256 * 1024,
  /** `ars conform` removes what another run left behind, once it is older. */
  conformLeftoverMs: 600_000,
  /** Requests of GET /events of one organisation in one process. */
  listenersPerOrganisation: 10,
  /** Proxies close connections that are silent for 30 to 60 seconds. */
  listenerHeartbeatMs: 15_000,
  bodyBytes: 1024 * 1024,
  /** A shorter response fits into one packet as it is. */
  compressFromBytes: 1400,
  importLineBytes: 1024 * 1024,
  /** Records in one transaction. More would keep other writers waiting. */
  importBatch: 2000,
  /** An import remembers each learner reference in about 300 bytes. */
  importRemembered: 100_000,
  importBatchBytes: 16 * 1024 * 1024,
  wholeFileBytes: 64 * 1024 * 1024,
  urlBytes: 16 * 1024,
  /** If a change begins later after admission, the service checks its key again. */
  admittedMs: 1000,
  rateWindowMs: 60_000,
  /** Failed sign-ins of one IP address. Further failures get 429. */
  failedAttempts: 60,
  /** Refused calls that one process lists in a window. It counts further ones. */
  refusedListed: 1000,
  /** The longest time span of one block, and its most rows. */
  auditBlockMs: 60_000,
  auditBlockRows: 5000,
  /** The sealer skips a round if a transaction that writes the log stays open twice as long. */
  auditWriterWaitMs: 2000,
  replayedAtOnce: 2000,
  auditSealedTogether: 500,
  pagesPerAddress: 600,
  /** A college may share one IP address. */
  consolePagesPerAddress: 3000,
  passwordLeastChars: 12,
  passwordMostChars: 1000,
  /** Failures of one account, and of one person's second factor. Further attempts wait. */
  signInFailuresPerAccount: 10,
  signInFailuresPerAddress: 50,
  /** Returns from identity providers to one IP address that ended in no sign-in. */
  signInReturnsPerAddress: 100,
  signInFailuresMs: 15 * 60_000,
  mailMs: 3 * 24 * 3600_000,
  /** How long the service knows that it sent an email. The email address and the text are deleted before. */
  mailKeptMs: 30 * 24 * 3600_000,
  caseTextChars: 5000,
  /** Counted from the end of a data subject request. */
  subjectRequestTextsMs: 3 * 366 * 24 * 3600_000,
  /** How long the access log is kept. */
  accessLogMs: 2 * 366 * 24 * 3600_000,
  /** How long the preview of a retention run is kept. */
  dryRunMs: 30 * 24 * 3600_000,
  userInvitationMs: 7 * 24 * 3600_000,
  usersPerOrganisation: 1000,
  sessionIdleMs: 2 * 3600_000,
  sessionMs: 12 * 3600_000,
  /** The time between the password and the second factor. */
  sessionCodeMs: 10 * 60_000,
  /** Pages that need a recent proof accept one of this age. */
  stepUpMs: 10 * 60_000,
  /** A further session ends the oldest. */
  sessionsPerUser: 20,
  formBytes: 1024 * 1024,
  publicFormBytes: 16 * 1024,
  /** A request for a human review in any script has up to 24 KB. */
  learnerFormBytes: 32 * 1024,
  formFields: 2000,
  queryFields: 500,
  formParts: 1000,
  learnerFormFields: 100,
  providerMs: 5000,
  /** How long a process keeps the metadata of an identity provider. */
  providerKeptMs: 5 * 60_000,
  /** How long a process waits after a failure before it reads the metadata again. */
  providerFailedMs: 10_000,
  /** The newest deliveries of an endpoint, which show its last success. */
  deliveriesLooked: 200,
  providersKept: 1000,
  providerBytes: 1024 * 1024,
  /** The client ID, client secret or tenant of an identity provider. */
  clientSecretChars: 500,
  /** Pages count up to this number, and then say that there are more. */
  maxCounted: 100,
  reviewTextChars: 2000,
  /** What the dashboard lists: unopened and ending invitations, access keys, networks and credits. */
  unopenedDays: 7,
  expiringDays: 3,
  keyUnusedDays: 30,
  newNetworkDays: 7,
  creditsLow: 20,
  /** Requests for a human review of one result, and the pause after an answer. */
  reviewRequests: 5,
  reviewAgainMs: 24 * 3600_000,
  consoleRows: 50,
  importUploadBytes: 4 * 1024 * 1024,
  importRunBatch: 500,
  importFaultsShown: 200,
  importKeptMs: 24 * 3600_000,
  /** Counted from the trial. Suspensions and failures are part of it. */
  importRunMs: 30 * 24 * 3600_000,
  importRunsKeptMs: 90 * 24 * 3600_000,
  /** Trials of imported files in one process. Each uses a connection of the reads. */
  importTrialsAtOnce: 2,
  /** Exported files in one process, and the longest time for one. */
  exportsAtOnce: 2,
  exportMs: 15 * 60_000,
  exportPage: 1000,
  /** ECMA-376. The head is one of the rows. */
  sheetRows: 1_048_576,
  sheetCellChars: 32_767,
  /** A form lists up to this number, and otherwise searches. */
  groupsListed: 25,
  deletedAtOnce: 5000,
  retakeGapDays: 3650,
  teamsPerOrganisation: 500,
  membersCounted: 1000,
  membersCountedInSight: 200,
  membersCountedOfOne: 100_000,
  /** A longer list of members is ordered by ID. */
  membersSorted: 2000,
  /** A confirmation counts up to this number. */
  reachCounted: 10_000,
  pastedRefs: 10_000,
  pastedFaultsShown: 200,
  membershipsAtOnce: 500,
  membershipRunsKeptMs: 30 * 24 * 3600_000,
  groupsInChoice: 300,
  /** Metrics count up to this number of rows. */
  rowsCounted: 100_000,
  /** Requests of /healthz and /readyz from one IP address in a window. */
  probesPerAddress: 1200,
  /** What an access key is for, and the person responsible for it. */
  keyPurposeChars: 300,
  keyContactChars: 200,
  /** As many as one group_id filter. */
  keyGroups: 20,
  keyNetworks: 20,
  /** The name of a client, and the pairs of network and client for each access key. */
  keyClientChars: 60,
  keyUses: 20,
  /** How long before its end the service sends an email about an access key. */
  keyEndingMs: 14 * 24 * 3600_000,
  /** Both access keys work after a rotation. */
  keyOverlapMs: 7 * 24 * 3600_000,
  /** The default for a vendor's set-up link. */
  keyLinkMs: 30 * 60_000,
  keyLinkMostMs: 24 * 3600_000,
  keyLinksShown: 50,
  idempotencyKeyChars: 255,
  idempotencyMs: 24 * 3600_000,
  /** How long a 503 waits for its row in the audit log. */
  rowOfUnavailableMs: 500,
  /** A repeated request takes over an Idempotency-Key after this time without a response. */
  idempotencyLeaseMs: 60_000,
  /** How soon the service checks again whether a learner has anything but an open invitation or sitting. */
  forgetLookMs: 3600_000,
  readConnections: 16,
  /** Idle connections that stay open, because their prepared statements are expensive. */
  readConnectionsKept: 4,
  warmUpAfterMs: 2000,
  /** Changes that run in a process, each with a connection. */
  quickChanges: 8,
  /** A longer change counts as slow, so that it delays nobody else. */
  slowChangeMs: 250,
  slowChanges: 8,
  /** Changes of one organisation that wait in one process. Further ones are refused. */
  changesWaiting: 300,
  /** A change gives its connection back if another process holds a lock for longer. */
  lockWaitMs: 500,
  changeRetrySeconds: 5,
  inviteRows: 20_000,
  inviteTableBytes: 8 * 1024 * 1024,
  /** One row, over all its lines. */
  inviteLineBytes: 64 * 1024,
  /** Blank lines count. */
  inviteLines: 200_000,
  /** The first bytes of a file, which show its encoding. */
  inviteLookedAtBytes: 256 * 1024,
  importFormLines: 200_000,
  /** Rows in one transaction. Other writers of the organisation wait for it. */
  inviteBatch: 250,
  inviteDraftMs: 24 * 3600_000,
  /** Includes the time that a run waits for credits. */
  inviteRunMs: 30 * 24 * 3600_000,
  /** How long a start code is valid, and how often it can be tried. */
  startCodeMs: 10 * 60_000,
  startCodeTries: 5,
  inviteMailGapMs: 10 * 60_000,
  invitationMs: 28 * 24 * 3600_000,
  /** A half-written file that is older was left by a killed command. */
  leftPartMs: 3600_000,
  /** How far above the clock a restore may move a feed. */
  shownAboveMs: 366 * 24 * 3600_000,
  /** Records that one round of housekeeping recounts, about. */
  digestScrubRecords: 50_000,
  /** Buckets in one request, and the most bits of an ID that choose a bucket. */
  digestBuckets: 64,
  digestBits: 16,
  /** How long `ars verify-sync` tries to reach a service that does not answer. */
  verifySyncReachMs: 2000,
  restampRecords: 50,
  /** The shortest pause between two slices of a restamp, and the pause as a multiple of the slice. */
  upgradePauseMs: 20,
  upgradePauseShare: 10,
  upgradeLookMs: 5000,
  upgradeIdleMs: 60_000,
  /** An idle older process connects every minute for 30 seconds, so none may have been connected for this time. */
  upgradeAloneMs: 45_000,
  /** Distance between two positions in microseconds. One millisecond holds at most 50. */
  positionStepUs: 20,
  /** Default and maximum of the shards of each table on Citus. */
  shards: 32,
  maxShards: 1024,
} as const;
