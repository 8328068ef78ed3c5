/** Every number that the contract sets, with the sentence it stands for (the specification, Limits; what it leaves open: docs/decisions). */
export const limits = {
  /** Page size when the request names none. */
  pageDefault: 100,
  /** Largest page. */
  pageMax: 500,
  /** Group ids in one group_id filter. */
  filterGroups: 20,
  /** Active groups, teams not counted, that an organisation may have. */
  groupsPerOrganisation: 500,
  /** Groups in one provisioning request. */
  groupsPerProvisioning: 20,
  /** Characters of a learner's reference. */
  learnerRefChars: 100,
  /** Characters of a group's reference. */
  groupRefChars: 100,
  /** Characters of a group's name. */
  groupNameChars: 200,
  /** Characters of a learner's full name. */
  fullNameChars: 200,
  /** Characters of an e-mail address (RFC 5321 path, without the brackets). */
  emailChars: 254,
  /** Domains of one result. */
  domainsPerResult: 50,
  /** Levels that one result's probabilities may name. */
  levelsPerResult: 10,
  /** Characters of an organisation's name. */
  organisationNameChars: 200,
  /** Characters of how learners reach their provider. */
  contactChars: 200,
  /** Characters of the address of a page of the provider's own. */
  pageAddressChars: 500,
  /** Characters of an access key's label. */
  keyLabelChars: 100,
  /** Characters of the reason for a change that an operator makes. */
  reasonChars: 500,
  /** Characters of what evidence says of a sitting's supervision. */
  supervisionChars: 200,
  /** Characters of one answer that are read and stored. */
  answerChars: 500,
  /** Learner references in one membership request. */
  refsPerRequest: 500,
  /** Groups that one webhook endpoint may be scoped to. */
  webhookGroups: 50,
  /** Webhook endpoints of one organisation. */
  webhooksPerOrganisation: 20,
  /** Secrets that sign an endpoint's deliveries at once: the current one and those rotated within the last day. */
  webhookSecrets: 5,
  /** Characters of a webhook endpoint's address. */
  webhookUrlChars: 2048,
  /** How long an endpoint may take to answer a delivery, from the first byte sent to the last received. */
  webhookAnswerMs: 15_000,
  /** Bytes of an endpoint's answer that are read: with more, the delivery failed. */
  webhookAnswerBytes: 256 * 1024,
  /** What a run of `ars conform` has left behind is removed by another once it is older. */
  conformLeftoverMs: 600_000,
  /** Requests that listen to events (GET /events) at once, of one organisation and in one process. */
  listenersPerOrganisation: 10,
  /** How often who listens hears that the connection is alive: oftener than proxies give up. */
  listenerHeartbeatMs: 15_000,
  /** Bytes of a request body. */
  bodyBytes: 1024 * 1024,
  /** Bytes from which on a reply is compressed for those who ask for it: less fits into one packet as it is. */
  compressFromBytes: 1400,
  /** Bytes of one line, or of one CSV record, of a file that is imported. */
  importLineBytes: 1024 * 1024,
  /** Records in one transaction of an import: large enough to be fast, small enough that other writers hardly wait. */
  importBatch: 2000,
  /** References of learners that an import remembers from one batch to the next: 300 bytes each. */
  importRemembered: 100_000,
  /** Bytes after which a batch of an import is full, however few records it has. */
  importBatchBytes: 16 * 1024 * 1024,
  /** Bytes of a file that a command reads as a whole. */
  wholeFileBytes: 64 * 1024 * 1024,
  /** Bytes of a request's address and query. */
  urlBytes: 16 * 1024,
  /** A change that begins later after its call was let in looks once more whether its key still stands. */
  admittedMs: 1000,
  /** The sliding window of the rate limit. */
  rateWindowMs: 60_000,
  /** Failed sign-ins from one address in a window, after which further failures get 429. */
  failedAttempts: 60,
  /** Refused calls that one process lists one by one in a window, from all addresses together; beyond, they are counted. */
  refusedListed: 1000,
  /** What one block of the sealed audit log spans at most, and how many rows it has. */
  auditBlockMs: 60_000,
  auditBlockRows: 5000,
  /** The sealer gives up for a round when a transaction that wrote rows of the log stays open for about twice as long. */
  auditWriterWaitMs: 2000,
  /** Events that one transaction sends an endpoint again, about. */
  replayedAtOnce: 2000,
  /** Organisations whose blocks are written in one transaction. */
  auditSealedTogether: 500,
  /** Pages (reference, check of evidence) that one address gets in a window. */
  pagesPerAddress: 600,
  /** Pages of the console that one address gets in a window: a whole college may sit behind it. */
  consolePagesPerAddress: 3000,
  /** Characters of a password, at least: length is what makes it hard to guess. */
  passwordLeastChars: 12,
  /** Characters of a password, at most. */
  passwordMostChars: 1000,
  /** Failed sign-ins of one account, and of one person's second factor, after which further attempts wait. */
  signInFailuresPerAccount: 10,
  /** Failed sign-ins from one address, after which further attempts wait. */
  signInFailuresPerAddress: 50,
  /** Returns from providers to one address that came to nothing, after which further ones wait. */
  signInReturnsPerAddress: 100,
  /** For how long failures count, from the first of them. */
  signInFailuresMs: 15 * 60_000,
  /** How long a mail is tried where nothing makes it useless before. */
  mailMs: 3 * 24 * 3600_000,
  /** How long it is known of a mail that it was sent, without its address and its text. */
  mailKeptMs: 30 * 24 * 3600_000,
  /** Characters of one text in a case. */
  caseTextChars: 5000,
  /** How long the texts of a case are kept after it was closed. */
  caseTextsMs: 3 * 366 * 24 * 3600_000,
  /** How long it is kept who opened which page about whom. */
  lookupsMs: 2 * 366 * 24 * 3600_000,
  /** How long the numbers of what retention would delete are kept. */
  rehearsalMs: 30 * 24 * 3600_000,
  /** How long an invitation to the console can be used. */
  userInvitationMs: 7 * 24 * 3600_000,
  /** People, and open invitations, of one organisation. */
  usersPerOrganisation: 1000,
  /** How long a session lasts without a request. */
  sessionIdleMs: 2 * 3600_000,
  /** How long a session lasts at all. */
  sessionMs: 12 * 3600_000,
  /** How long there is between the password and the second factor. */
  sessionCodeMs: 10 * 60_000,
  /** For how long a proof of who somebody is counts, before pages that need one. */
  stepUpMs: 10 * 60_000,
  /** Sessions of one person; a further one ends the oldest. */
  sessionsPerUser: 20,
  /** Bytes of a form of the console. */
  formBytes: 1024 * 1024,
  /** Bytes of a form that anyone can send. */
  publicFormBytes: 16 * 1024,
  /** Bytes of a form of a learner: a request for a review in any script, percent-encoded, has up to 24 KB. */
  learnerFormBytes: 32 * 1024,
  /** Fields of a form and of a query of the console; parts of a form with files; fields of a learner's form. */
  formFields: 2000,
  queryFields: 500,
  formParts: 1000,
  learnerFormFields: 100,
  /** How long a provider of sign-ins may take to answer. */
  providerMs: 5000,
  /** How long a process keeps what a provider says of itself. */
  providerKeptMs: 5 * 60_000,
  /** How long a provider that failed is not asked again what it says of itself. */
  providerFailedMs: 10_000,
  /** The newest deliveries of an endpoint that tell when it last took one. */
  deliveriesLooked: 200,
  /** Providers that a process keeps this of. */
  providersKept: 1000,
  /** Bytes of a provider's answer. */
  providerBytes: 1024 * 1024,
  /** Characters of what a provider gives out: client id, secret, tenant. */
  clientSecretChars: 500,
  /** What a page counts one by one; beyond, it says that there are more. */
  maxCounted: 100,
  /** Characters of what a learner writes who asks for a review, and of what they are told. */
  reviewTextChars: 2000,
  /** What the page of the day speaks of: invitations that nobody begins, or that end soon; keys, networks and credits. */
  unopenedDays: 7,
  expiringDays: 3,
  keyUnusedDays: 30,
  newNetworkDays: 7,
  creditsLow: 20,
  /** How often a learner may ask for a review of one result, and how long after an answer again. */
  reviewRequests: 5,
  reviewAgainMs: 24 * 3600_000,
  /** Rows of one page of a table in the console. */
  consoleRows: 50,
  /** Bytes of a file that is imported in the console, lines written in one transaction, and faults that are told of it. */
  importUploadBytes: 4 * 1024 * 1024,
  importRunBatch: 500,
  importFaultsShown: 200,
  /** How long an import waits to be confirmed, and how long it is known what came of one. */
  importKeptMs: 24 * 3600_000,
  /** How long after it was tried an import that was begun may take, suspension and failures included. */
  importRunMs: 30 * 24 * 3600_000,
  importRunsKeptMs: 90 * 24 * 3600_000,
  /** Files that one process tries at once before they are imported: each holds a connection of the reads. */
  importTrialsAtOnce: 2,
  /** Files of results that one process writes at once, and how long one may take. */
  exportsAtOnce: 2,
  exportMs: 15 * 60_000,
  /** Results that are read at once for a file. */
  exportPage: 1000,
  /** Rows of one sheet, its head included, and characters of a cell (ECMA-376, as spreadsheets keep to it). */
  sheetRows: 1_048_576,
  sheetCellChars: 32_767,
  /** Groups that a form lists at once; of more than that it looks for some. */
  groupsListed: 25,
  /** Rows that one transaction of an organisation's deletion deletes. */
  deletedAtOnce: 5000,
  /** Days that may have to pass between two assessments of a learner in a subject. */
  retakeGapDays: 3650,
  /** Active teams that an organisation may have. */
  teamsPerOrganisation: 500,
  /** Members that a list counts of each group, of those in sight, and that a group's own page counts; beyond, there are more. */
  membersCounted: 1000,
  membersCountedInSight: 200,
  membersCountedOfOne: 100_000,
  /** Members that are shown by name; more are shown in the order of their ids. */
  membersSorted: 2000,
  /** Results or deliveries that a confirmation counts; beyond, it says that there are more. */
  reachCounted: 10_000,
  /** References that somebody pastes at once, and rows that can't be used which are then shown. */
  pastedRefs: 10_000,
  pastedFaultsShown: 200,
  /** Learners whose memberships one transaction changes. */
  membershipsAtOnce: 500,
  /** How long it is known what a change of many memberships came to. */
  membershipRunsKeptMs: 30 * 24 * 3600_000,
  /** Groups that one choice lists. */
  groupsInChoice: 300,
  /** Rows that the metrics count of one kind; of more there are at least so many. */
  rowsCounted: 100_000,
  /** Probes of /healthz and /readyz that one address gets in a window. */
  probesPerAddress: 1200,
  /** Characters of what an access key is for, and of whom to ask about it. */
  keyPurposeChars: 300,
  keyContactChars: 200,
  /** Groups that a key may be bounded to, as many as one group_id filter takes. */
  keyGroups: 20,
  /** Networks that a key may be used from. */
  keyNetworks: 20,
  /** Characters that are kept of a client's name, and places (network and client) that are kept of each key. */
  keyClientChars: 60,
  keyUses: 20,
  /** How long before its end people are written of a key. */
  keyEndingMs: 14 * 24 * 3600_000,
  /** How long both keys work when one is rolled, unless another end is given. */
  keyOverlapMs: 7 * 24 * 3600_000,
  /** How long a vendor's set-up link can be used, unless less is given. */
  keyLinkMs: 30 * 60_000,
  keyLinkMostMs: 24 * 3600_000,
  /** Set-up links that a list shows. */
  keyLinksShown: 50,
  /** Characters of an Idempotency-Key. */
  idempotencyKeyChars: 255,
  /** How long a reply is kept for its Idempotency-Key. */
  idempotencyMs: 24 * 3600_000,
  /** How long the 503 of a call that the database did not finish waits for its row of the audit log. */
  rowOfUnavailableMs: 500,
  /** How long a request may hold its Idempotency-Key without an answer before a repeat may take it over. */
  idempotencyLeaseMs: 60_000,
  /** How soon a learner of whom nothing but an open invitation or sitting is left is looked at again. */
  leavingLookMs: 3600_000,
  /** Connections of a process for reads and single statements. */
  readConnections: 16,
  /** Of those, so many stay open while nobody asks for anything: what they have planned is there for who comes next. */
  readConnectionsKept: 4,
  /** How long after its start a process does what the first visitors would wait for. */
  warmUpAfterMs: 2000,
  /** Changes under way at once in a process, each with a connection. */
  quickChanges: 8,
  /** After how long a change no longer counts among those, so that it keeps nobody waiting. */
  slowChangeMs: 250,
  /** Changes that may have lasted longer than that, beside the others. */
  slowChanges: 8,
  /** Changes of one organisation that may wait for their turn in a process; more are refused at once. */
  changesWaiting: 300,
  /** How long a change waits, connection in hand, for a lock that another process holds, before it goes back into its lane. */
  lockWaitMs: 500,
  /** What Retry-After says when changes of the organisation have waited for too long, or too many do. */
  changeRetrySeconds: 5,
  /** Learners of one run of invitations, and bytes of the table that they come in. */
  inviteRows: 20_000,
  inviteTableBytes: 8 * 1024 * 1024,
  /** Of one row over all its lines. */
  inviteLineBytes: 64 * 1024,
  /** Blank ones are lines, too. */
  inviteLines: 200_000,
  /** By these its encoding is recognised. */
  inviteLookedAtBytes: 256 * 1024,
  /** Of a file that is imported in the console; each takes a turn of what everybody waits for. */
  importFormLines: 200_000,
  /** Rows of a run in one transaction: other writers of the organisation wait for no more than one. */
  inviteBatch: 250,
  /** How long a run is kept that was prepared and not begun. */
  inviteDraftMs: 24 * 3600_000,
  /** How long a run that was begun may take, waiting for credits included. */
  inviteRunMs: 30 * 24 * 3600_000,
  /** How long a start code can be used, and how often one can be tried. */
  startCodeMs: 10 * 60_000,
  startCodeTries: 5,
  /** How soon an invitation can be mailed again. */
  inviteMailGapMs: 10 * 60_000,
  /** How long an invitation can be opened. */
  invitationMs: 28 * 24 * 3600_000,
  /** How long ago a half-written file was last written to, for a command to take it for a killed one's. */
  leftPartMs: 3600_000,
  /** How far above the clock feeds may be told to go on after a restore. */
  shownAboveMs: 366 * 24 * 3600_000,
  /** Records that a round of housekeeping recounts, about. */
  digestScrubRecords: 50_000,
  /** Buckets whose members one request may ask for, and the bits of an id that buckets are told apart by, at most. */
  digestBuckets: 64,
  digestBits: 16,
  /** For how long `ars verify-sync` tries to reach a service that does not answer at all, before it says so. */
  verifySyncReachMs: 2000,
  /** Records that one transaction of a restamp moves. */
  restampRecords: 50,
  /** The least pause between two slices of a restamp, and the pause as a multiple of what the slice took. */
  upgradePauseMs: 20,
  upgradePauseShare: 10,
  /** How often it is looked whether older processes serve, and whether there is anything to restamp. */
  upgradeLookMs: 5000,
  upgradeIdleMs: 60_000,
  /** For how long no older process must have been seen: an idle one of the first release connects every minute, for 30 s. */
  upgradeAloneMs: 45_000,
  /** Microseconds between two records' positions, so that one millisecond never holds more than 50. */
  positionStepUs: 20,
  /** Parts that tables are divided into where a cluster is made, and may be: each is a table of its own on its node. */
  shards: 32,
  maxShards: 1024,
} as const;
