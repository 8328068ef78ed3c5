import { limits } from '../config/limits.ts';
import { Counter, Gauge, Histogram } from './metrics.ts';

// A regular expression groups the digits, because the first use of Intl would take 20 ms at every start.
const max = String(limits.rowsCounted).replace(/\B(?=(?:\d{3})+$)/g, ',');

/** The service writes the metrics in this order. No label identifies an organisation, a key or a person. */

const quick = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;
const sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] as const;

export const requests = new Counter('ars_http_requests_total', 'Requests answered, by route and class of the status.', {
  labels: ['route', 'status'],
});
export const notModified = new Counter('ars_http_not_modified_total', 'Those of them that were answered with 304.', {
  labels: ['route'],
});
export const rateLimited = new Counter('ars_http_rate_limited_total', 'Those of them that were answered with 429.', {
  labels: ['route'],
});
export const requestTime = new Histogram(
  'ars_http_request_duration_seconds',
  'From the head of a request to its reply, by route. Listening to events lasts as long as its client wants.',
  { labels: ['route'], bounds: quick },
);
export const connections = new Gauge('ars_http_connections', 'Open connections of clients.');
export const opening = new Gauge(
  'ars_opening',
  '1 while the database is being opened: nothing is served before that.',
  { over: 'max' },
);
export const draining = new Gauge('ars_draining', '1 from the moment at which the service is told to stop.', {
  over: 'max',
});

export const admissionBatch = new Histogram('ars_admission_batch_size', 'Requests let in by one statement.', {
  bounds: sizes,
});
export const admissionTime = new Histogram(
  'ars_admission_duration_seconds',
  'What that statement took: credentials, rate limit, feed position, audit rows of repeated reads.',
  { bounds: quick },
);
export const auditBatch = new Histogram('ars_audit_batch_size', 'Audit rows committed together.', { bounds: sizes });
export const auditTime = new Histogram(
  'ars_audit_duration_seconds',
  'What their commit took; no reply leaves before.',
  { bounds: quick },
);
export const auditSealed = new Counter('ars_audit_blocks_sealed_total', 'Blocks of the audit log that were sealed.');

export const poolConnections = new Gauge(
  'ars_db_pool_connections',
  'Connections to the database, by pool and whether they are in use.',
  { labels: ['pool', 'state'] },
);
export const maxPool = new Gauge('ars_db_pool_connections_max', 'How many each pool may open.', { labels: ['pool'] });
export const poolWaiting = new Gauge('ars_db_pool_waiting', 'Who waits for a connection now.', { labels: ['pool'] });
export const poolWait = new Histogram('ars_db_pool_wait_seconds', 'How long a connection was waited for.', {
  labels: ['pool'],
  bounds: quick,
});
export const turnWait = new Histogram(
  'ars_change_wait_seconds',
  'How long a change waited for its turn among those of its organisation, before it took a connection.',
  { bounds: quick },
);
export const turnsRefused = new Counter(
  'ars_changes_refused_total',
  'Changes refused because no turn came: full, late, stopping; or left, when the client had gone.',
  { labels: ['why'], known: [['full'], ['late']] },
);
export const feedLockWait = new Histogram(
  'ars_feed_lock_wait_seconds',
  "How long a change waited for its organisation's feed lock, connection in hand.",
  { bounds: quick },
);

export const deliveryAttempts = new Counter('ars_webhook_attempts_total', 'Attempts to deliver an event, by outcome.', {
  labels: ['outcome'],
});
export const deliveryTime = new Histogram('ars_webhook_attempt_duration_seconds', 'What an attempt took.', {
  bounds: quick,
});
export const deadLetters = new Counter(
  'ars_webhook_dead_letters_total',
  'Deliveries given up after their last attempt.',
);
export const mailAttempts = new Counter('ars_mail_attempts_total', 'Mails handed to the mail server, by outcome.', {
  labels: ['outcome'],
});
export const digestDifferences = new Counter(
  'ars_digest_differences_total',
  'Group sets whose results were counted again and differed from the digest. Should never rise.',
);
export const logErrors = new Counter(
  'ars_log_errors_total',
  'Failures written to the log, by event, whatever ARS_LOG says.',
  {
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
  },
);

export const databaseUp = new Gauge(
  'ars_database_up',
  '1 when the database answered this reading, or has answered a process that opens it; the figures below are then its own. All processes share them.',
  { over: 'max' },
);
export const databaseDiskFull = new Gauge(
  'ars_database_disk_full',
  '1 when the disk of the database is full: no request can be answered.',
  { over: 'max' },
);
export const databaseReadOnly = new Gauge(
  'ars_database_read_only',
  '1 when the database takes no changes: a standby, or default_transaction_read_only is on.',
  { over: 'max' },
);
export const databaseEmbedded = new Gauge('ars_database_embedded', "1 when it is the service's own PostgreSQL.", {
  over: 'max',
});
export const databaseBytes = new Gauge('ars_database_bytes', 'What the database takes on the disk, without its log.', {
  over: 'max',
});
export const newestPosition = new Gauge(
  'ars_feed_newest_position_seconds',
  'The newest change in any feed, in seconds since 1970.',
  { over: 'max' },
);
export const webhookBacklog = new Gauge('ars_webhook_backlog', `Deliveries that are due now, counted up to ${max}.`, {
  over: 'max',
});
export const webhookOldest = new Gauge(
  'ars_webhook_oldest_due_seconds',
  'For how long the oldest of them has been due.',
  { over: 'max' },
);
export const webhookEndpoints = new Gauge(
  'ars_webhook_endpoints',
  'Endpoints, by status: active, failing (active, but the last attempts failed), paused, disabled.',
  { labels: ['status'], over: 'max' },
);
export const mailWaiting = new Gauge('ars_mail_waiting', `Mails in the outbox, counted up to ${max}.`, { over: 'max' });
export const mailOldest = new Gauge('ars_mail_oldest_seconds', 'Age of the oldest mail that still waits.', {
  over: 'max',
});
export const mailStuck = new Gauge('ars_mail_stuck_seconds', 'For how long mail has waited and none was sent.', {
  over: 'max',
});
export const auditUnsealed = new Gauge(
  'ars_audit_unsealed_rows',
  `Rows of the audit log that are not sealed yet, counted up to ${max}.`,
  { over: 'max' },
);
export const auditUnsealedAge = new Gauge(
  'ars_audit_unsealed_seconds',
  'Age of the oldest of them; two minutes are ordinary.',
  { over: 'max' },
);
export const sittingsOpen = new Gauge('ars_sittings_open', `Sittings under way, counted up to ${max}.`, {
  over: 'max',
});

export const processes = new Gauge('ars_processes', 'Processes that answered this reading.');
export const restarts = new Counter(
  'ars_process_restarts_total',
  'Processes that ended unasked and were started again (--processes).',
);
export const buildInfo = new Gauge(
  'ars_build_info',
  'Version and commit of the service, version of Node, role; the value is 1.',
  { labels: ['version', 'commit', 'node', 'role'], over: 'max' },
);
export const loopDelay = new Gauge(
  'nodejs_eventloop_delay_seconds',
  'By how much the event loop was late in the last half minute that is over: median, p99, max.',
  { labels: ['stat'], over: 'max' },
);
export const loopActive = new Counter(
  'nodejs_eventloop_active_seconds_total',
  'Time in which the event loop had something to do; its rate is the share of a core.',
);
export const heapUsed = new Gauge('nodejs_heap_used_bytes', "JavaScript's heap.");
export const externalUsed = new Gauge('nodejs_external_memory_bytes', 'Buffers outside the heap.');
export const cpuSeconds = new Counter('process_cpu_seconds_total', 'Processor time, user and system.');
export const residentBytes = new Gauge('process_resident_memory_bytes', 'Resident memory.');
export const startSeconds = new Gauge(
  'process_start_time_seconds',
  'When the youngest process started, in seconds since 1970.',
  { over: 'max' },
);
