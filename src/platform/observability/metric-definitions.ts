import { limits } from '../config/limits.ts';
import { Counter, Gauge, Histogram } from './metrics.ts';

// A regular expression groups the digits, because the first use of Intl would take 20 ms at every start.
const max = String(limits.rowsCounted).replace(/\B(?=(?:\d{3})+$)/g, ',');

/** The service writes the metrics in this order. Only metrics with the label `organisation` identify an organisation.
 * No label identifies a key or a person. */

const quick = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;
const sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] as const;

export const requests = new Counter('ars_http_requests_total', 'Responses, by route and class of status.', {
  labels: ['route', 'status'],
});
export const notModified = new Counter('ars_http_not_modified_total', 'Responses with status 304, by route.', {
  labels: ['route'],
});
export const rateLimited = new Counter('ars_http_rate_limited_total', 'Responses with status 429, by route.', {
  labels: ['route'],
});
export const requestTime = new Histogram(
  'ars_http_request_duration_seconds',
  'Time from the headers of a request to its response, by route. `GET /events` lasts until the client ends it.',
  { labels: ['route'], bounds: quick },
);
export const connections = new Gauge('ars_http_connections', 'Open connections of clients.');
export const opening = new Gauge('ars_opening', '1 while the process opens the database. It serves no requests yet.', {
  over: 'max',
});
export const draining = new Gauge('ars_draining', '1 while the process stops.', { over: 'max' });

export const admissionBatch = new Histogram('ars_admission_batch_size', 'Requests that one SQL statement admits.', {
  bounds: sizes,
});
export const admissionTime = new Histogram(
  'ars_admission_duration_seconds',
  'Time of the SQL statement that admits requests: access key, rate limit, feed position, audit rows of repeated reads.',
  { bounds: quick },
);
export const auditBatch = new Histogram('ars_audit_batch_size', 'Audit rows in one commit.', { bounds: sizes });
export const auditTime = new Histogram(
  'ars_audit_duration_seconds',
  'Time to commit audit rows. Responses wait for the commit.',
  { bounds: quick },
);
export const auditSealed = new Counter('ars_audit_blocks_sealed_total', 'Sealed blocks of the audit log.');

export const poolConnections = new Gauge('ars_db_pool_connections', 'Connections to the database, by pool and state.', {
  labels: ['pool', 'state'],
});
export const maxPool = new Gauge('ars_db_pool_connections_max', 'Maximum size of each pool.', { labels: ['pool'] });
export const poolWaiting = new Gauge('ars_db_pool_waiting', 'Tasks that wait, by pool.', { labels: ['pool'] });
export const poolWait = new Histogram('ars_db_pool_wait_seconds', 'Time that tasks waited for a connection, by pool.', {
  labels: ['pool'],
  bounds: quick,
});
export const turnWait = new Histogram(
  'ars_change_wait_seconds',
  'Time that a change waited in the write queue of its organisation, before it took a connection.',
  { bounds: quick },
);
export const turnsRefused = new Counter(
  'ars_changes_refused_total',
  'Changes refused in the write queue: full, late, stopping, or left (the client closed the connection).',
  { labels: ['why'], known: [['full'], ['late']] },
);
export const feedLockWait = new Histogram(
  'ars_feed_lock_wait_seconds',
  'Time that a change with a connection waited for the feed lock of its organisation.',
  { bounds: quick },
);

export const deliveryAttempts = new Counter('ars_webhook_attempts_total', 'Attempts to deliver an event, by outcome.', {
  labels: ['outcome'],
});
export const deliveryTime = new Histogram('ars_webhook_attempt_duration_seconds', 'Time of a delivery attempt.', {
  bounds: quick,
});
export const deadLetters = new Counter(
  'ars_webhook_dead_letters_total',
  'Deliveries that became dead letters after their last attempt.',
);
export const mailAttempts = new Counter('ars_mail_attempts_total', 'Attempts to send an email, by outcome.', {
  labels: ['outcome'],
});
/** Why a person did not prove their identity at the console. */
const signInFailureReasons = [
  'unknown_account',
  'wrong_password',
  'wrong_code',
  'too_many_attempts',
  'identity_provider',
] as const;
export type SignInFailure = (typeof signInFailureReasons)[number];
export const signInFailures = new Counter('ars_sign_in_failures_total', 'Failed sign-ins to the console, by reason.', {
  labels: ['reason'],
  known: signInFailureReasons.map((reason) => [reason]),
});
export const digestDifferences = new Counter(
  'ars_digest_differences_total',
  'Group sets whose results differed from the digest when they were counted again. Expected: 0.',
);
export const logErrors = new Counter('ars_log_errors_total', 'Failures by event, for every value of `ARS_LOG`.', {
  labels: ['event'],
  known: [
    ['audit.failed'],
    ['erasures.held'],
    ['erasures.not_applied'],
    ['database.older'],
    ['database.restored'],
    ['audit.month_kept'],
    ['housekeeping.failed'],
    ['retention.failed'],
    ['upgrade.failed'],
    ['webhook.worker_failed'],
  ],
});

export const databaseUp = new Gauge(
  'ars_database_up',
  '1 if the database responds. The metrics below then contain its values, which all processes share.',
  { over: 'max' },
);
export const databaseDiskFull = new Gauge(
  'ars_database_disk_full',
  '1 if the disk of the database is full. Every request gets 503.',
  { over: 'max' },
);
export const databaseReadOnly = new Gauge(
  'ars_database_read_only',
  '1 if the database accepts no changes: a standby, or `default_transaction_read_only` is on.',
  { over: 'max' },
);
export const databaseEmbedded = new Gauge('ars_database_embedded', '1 if the database is the embedded PostgreSQL.', {
  over: 'max',
});
export const databaseBytes = new Gauge('ars_database_bytes', 'Size of the database without its write-ahead log.', {
  over: 'max',
});
export const newestPosition = new Gauge(
  'ars_feed_newest_position_seconds',
  'Time of the newest change in any feed, in seconds since 1970.',
  { over: 'max' },
);
export const webhookBacklog = new Gauge('ars_webhook_backlog', `Deliveries that are due now, counted up to ${max}.`, {
  over: 'max',
});
export const webhookOldest = new Gauge(
  'ars_webhook_oldest_due_seconds',
  'Time since the oldest due delivery became due.',
  { over: 'max' },
);
export const webhookEndpoints = new Gauge(
  'ars_webhook_endpoints',
  'Webhook endpoints by status: active, failing (active, but the last attempts failed), paused, disabled.',
  { labels: ['status'], over: 'max' },
);
export const silentKeys = new Gauge(
  'ars_keys_silent',
  'Access keys that have been silent for `ARS_SILENT_AFTER` times their usual pause.',
  { over: 'max' },
);
const perOrganisation = (name: string, help: string) =>
  new Gauge(`ars_organisation_${name}`, `${help} Only with \`ARS_METRICS_ORGANISATIONS\`.`, {
    labels: ['organisation'],
    over: 'max',
  });
/** Metrics of the organisations that need attention most. All further organisations share the label `other`. */
export const organisationMetrics = {
  endpoints: perOrganisation('endpoints_broken', 'Failing and disabled webhook endpoints, by organisation.'),
  deadLetters: perOrganisation('dead_letters', 'Dead letters, by organisation.'),
  silentKeys: perOrganisation('keys_silent', 'Silent access keys, by organisation.'),
  oldestPending: perOrganisation('oldest_pending_seconds', 'Age of the oldest pending delivery, by organisation.'),
  failed: perOrganisation('failed_responses', 'Responses with 5xx in this hour and the hour before, by organisation.'),
};
export const mailWaiting = new Gauge('ars_mail_waiting', `Emails in the outbox, counted up to ${max}.`, {
  over: 'max',
});
export const mailOldest = new Gauge('ars_mail_oldest_seconds', 'Age of the oldest waiting email.', { over: 'max' });
export const mailStuck = new Gauge('ars_mail_stuck_seconds', 'Time since emails wait without any email being sent.', {
  over: 'max',
});
export const auditUnsealed = new Gauge(
  'ars_audit_unsealed_rows',
  `Unsealed rows of the audit log, counted up to ${max}.`,
  { over: 'max' },
);
export const auditUnsealedAge = new Gauge(
  'ars_audit_unsealed_seconds',
  'Age of the oldest unsealed row. Up to 2 minutes are normal.',
  { over: 'max' },
);
export const sittingsOpen = new Gauge('ars_sittings_open', `Sittings in progress, counted up to ${max}.`, {
  over: 'max',
});

export const processes = new Gauge('ars_processes', 'Processes that this reading covers.');
export const restarts = new Counter(
  'ars_process_restarts_total',
  'Restarts after a process ended unexpectedly (`--processes`).',
);
export const buildInfo = new Gauge(
  'ars_build_info',
  'Version and commit of the service, version of Node, and role. The value is 1.',
  { labels: ['version', 'commit', 'node', 'role'], over: 'max' },
);
export const loopDelay = new Gauge(
  'nodejs_eventloop_delay_seconds',
  'Delay of the event loop in the last complete 30 seconds: median, p99, maximum.',
  { labels: ['stat'], over: 'max' },
);
export const loopActive = new Counter(
  'nodejs_eventloop_active_seconds_total',
  'Busy time of the event loop. Its rate is the share of a core.',
);
export const heapUsed = new Gauge('nodejs_heap_used_bytes', 'Used JavaScript heap.');
export const externalUsed = new Gauge('nodejs_external_memory_bytes', 'Buffers outside the heap.');
export const cpuSeconds = new Counter('process_cpu_seconds_total', 'Processor time, user and system.');
export const residentBytes = new Gauge('process_resident_memory_bytes', 'Resident memory.');
export const startSeconds = new Gauge(
  'process_start_time_seconds',
  'Start time of the youngest process, in seconds since 1970.',
  { over: 'max' },
);
