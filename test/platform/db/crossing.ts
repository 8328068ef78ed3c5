/**
 * Statements that ask for rows of several organisations, each with its reason; the list may only become shorter
 * (docs/decisions/0030). `*` stands for what Citus refuses: a database that is distributed is asked in another way.
 */

const look = 'housekeeping looks everywhere for what is due, and does it organisation by organisation';
const prune = 'what has had its time goes everywhere at once';
const figure = 'a figure of the whole service, for its metrics';
const sealed = 'logs of many organisations, which every node seals for its own (docs/decisions/0009)';
const mixed = 'the file for calibration mixes all organisations, so that it does not show which answers are of one';
const batch = 'what is asked for at the same time is one statement, whoever asks';

export const crossing: Record<string, string> = {
  'admission.many': `* ${batch}`,
  'admission.many_answered': `* ${batch}`,
  'admission.one': '* the key says whose it is',
  'admission.one_answered': '* the key says whose it is',
  'assessment.live_each': `* ${batch}`,
  'attempt.unchanged': batch,
  'job.old': look,
  'job.open': look,
  'job.prune': prune,
  'audit.chain_begin': sealed,
  'audit.chain_move': sealed,
  'audit.forget_blocks': prune,
  'audit.forget_chains': prune,
  'audit.forget_hours': prune,
  'audit.forget_links': prune,
  'audit.forget_undated': prune,
  'audit.insert': batch,
  'audit.seal_block': sealed,
  'audit.seal_hours': sealed,
  'audit.unsealed': figure,
  'audit.waiting': look,
  'case.prune': prune,
  'digest.next_set': look,
  'event.newest_of_each': 'a process that follows events begins with all organisations that are listened to',
  'evidence.by_hash': 'whoever verifies a file has its hash, and nothing else',
  'evidence.current': batch,
  'feed.newest': figure,
  'feed.resume': 'an organisation and its sandbox are resumed together',
  'feed.suspend': 'an organisation and its sandbox are suspended together',
  'collectors.due': figure,
  'collectors.endpoints': figure,
  'idempotency.prune_whose': prune,
  'key_use.prune': batch,
  'key_use.record': batch,
  'lease.due': 'a worker asks who has something due',
  'lease.held': 'a worker asks for all endpoints that it holds',
  'lease.renew': 'a worker renews all endpoints that it holds',
  'learner.erasures': 'the list of erasures is compared with all organisations after a restore',
  'learner.leaving': look,
  'lookup.insert': batch,
  'lookup.prune': prune,
  'notice.prune': prune,
  'notice.with_new': look,
  'organisation.insert_feed': 'a new organisation begins in the shape of the others',
  'outcome.record_successes': `* ${batch}`,
  'prune.whose_rows': prune,
  'response.items': mixed,
  'response.open_sittings': mixed,
  'restamp.pending': look,
  'restored.anywhere': 'after a restore all feeds begin again',
  'restored.begin_again': 'after a restore all feeds begin again',
  'retention.due': look,
  'sandbox.requests': look,
  'scheduled_report.organisations': look,
  'sitting.idle': look,
  'sitting.open_count': figure,
  'webhook.all_secrets': 'a new service secret encrypts all secrets of endpoints again',
  'webhook.secrets_by_key': 'which secrets an earlier service secret encrypted',
};

/** The same of statements that are put together while verbs run. */
export const crossingAsTheyRun: Record<string, string> = {
  'audit.unsealed_in_audit': look,
  'delivery.awaited_in': look,
};

/** Unique without the organisation, and why it needn't be. */
export const keyedOtherwise: Record<string, string> = {
  rate_window_pkey:
    'the version before knows windows by their key alone; ars distribute puts the organisation before it',
};

/** Calls in statements that change rows whose value changes by itself. */
export const volatileCalls: Record<string, string> = {};

/**
 * What changes rows where they were found, and the statement that a cluster is asked instead: Citus refuses it where a statement is
 * carried out part by part, as everything is that inserts in its `with`. Null: the rows lie on the coordinator alone.
 */
export const foundByPlace: Record<string, string | null> = {};

/** Statements that aren't queries, and so have no plan. */
export const unexplained = ['digest.bucket_memory', 'response.next_sittings'];
