/**
 * Keeps the service's results in a sheet of Google Sheets: a row for each, changed when the result changes, gone when it is
 * withdrawn. Extensions, Apps Script: paste this file. Project Settings, Script Properties: API, ACCESS_KEY_ID and
 * SECRET_ACCESS_KEY. Then run `sync` once, allow what it asks for, and give it a time-driven trigger (every ten minutes).
 */
const SHEET = 'Results';
const RESTORES = 3;
const COLUMNS = [
  'assessment_id',
  'updated_at',
  'learner_ref',
  'full_name',
  'subject',
  'assessed_at',
  'rqf_level',
  'below_level_1',
  'working_level',
  'recommended_next_level',
  'is_borderline',
  'needs_review',
  'groups',
];

function onOpen() {
  SpreadsheetApp.getUi().createMenu('Results').addItem('Bring up to date', 'sync').addToUi();
}

/** Reads what has changed. Two at a time would each overwrite what the other has read. */
function sync() {
  const lock = LockService.getScriptLock();
  if (!lock.tryLock(0)) return;
  try {
    const held = readRows();
    const checkpoint = PropertiesService.getDocumentProperties().getProperty('checkpoint');
    // A sheet that somebody has emptied is filled again from the beginning.
    let from = checkpoint === null || held.size === 0 ? null : JSON.parse(checkpoint);
    for (let restores = 0; ; restores++) {
      try {
        let walk = walkFrom(from === null ? new Map() : held, from);
        if (walk === null) return console.log(`${held.size} results, nothing has changed`);
        if (!isProven(walk)) walk = walkFrom(new Map(), null);
        return console.log(
          `${walk.rows.size} results${isProven(walk) ? ", the service's digest is this sheet's" : ''}`,
        );
      } catch (error) {
        if (!(error instanceof Restored) || restores === RESTORES) throw error;
        from = null;
      }
    }
  } finally {
    lock.releaseLock();
  }
}

/** Reads a walk to its end and writes rows, then checkpoint: ended in between, the next run reads some results again. */
function walkFrom(rows, from) {
  let reply = get(`?limit=500${from === null ? '' : `&since=${from.since}`}`, from === null ? null : from.etag);
  if (from !== null) refuseRestored(reply, from.since);
  if (reply.page === null) return null;
  // Of the first page: what changes while the walk is on its way comes with the next one.
  const checkpoint = { since: reply.headers['x-sync-through'], etag: reply.headers.etag };
  for (;;) {
    for (const entry of reply.page.data) {
      // Tombstones say that a result was withdrawn, scope exits that it left a filter by group.
      if (entry.status === 'completed') rows.set(entry.assessment_id, rowOf(entry));
      else rows.delete(entry.assessment_id);
    }
    const { next } = reply.page.pagination;
    if (next === null) break;
    // Only the query is taken, so that the key pair never goes to another host.
    reply = get(next.slice(next.indexOf('?')), null);
    refuseRestored(reply, checkpoint.since);
  }
  writeRows(rows);
  PropertiesService.getDocumentProperties().setProperty('checkpoint', JSON.stringify(checkpoint));
  return { rows, digest: reply.headers['x-sync-digest'] };
}

/** Refuses a reply of a service that was restored to before the instant that a walk, or its checkpoint, began with. */
function refuseRestored({ headers }, start) {
  const isRestored = (headers['x-sync-restored'] || '') > start;
  if (isRestored || (headers['x-sync-through'] || start) < start) throw new Restored(RESTORED);
}

/** A page, which is null for 304, and its headers. Repeats what may pass, never before Retry-After is over. */
function get(query, etag) {
  const settings = PropertiesService.getScriptProperties();
  const headers = {
    'X-Access-Key-Id': settings.getProperty('ACCESS_KEY_ID'),
    'X-Secret-Access-Key': settings.getProperty('SECRET_ACCESS_KEY'),
  };
  if (etag !== null) headers['If-None-Match'] = etag;
  for (let attempt = 0; attempt < 8; attempt++) {
    let wait = Math.min(20, 2 ** attempt / 2) * (0.5 + Math.random() / 2);
    try {
      const address = `${settings.getProperty('API').replace(/\/+$/, '')}/assessments${query}`;
      const reply = UrlFetchApp.fetch(address, { headers, muteHttpExceptions: true, followRedirects: false });
      const status = reply.getResponseCode();
      const named = Object.fromEntries(
        Object.entries(reply.getHeaders()).map(([name, value]) => [name.toLowerCase(), value]),
      );
      if (status === 304) return { page: null, headers: named };
      if (status === 400 && reply.getContentText().includes('"invalid_cursor"')) throw new Restored(RESTORED);
      if (status === 200) return { page: JSON.parse(reply.getContentText()), headers: named };
      if (![429, 500, 502, 503, 504].includes(status))
        throw new Refused(`refused: ${status} ${reply.getContentText()}`);
      // A proxy may say it as a date.
      wait = Math.max(wait, Number(named['retry-after']) || 0);
    } catch (error) {
      if (error instanceof Refused || error instanceof Restored) throw error;
      // The connection ended, or the reply was cut off.
    }
    Utilities.sleep(wait * 1000);
  }
  throw new Error('The service does not answer; nothing is lost, the next run goes on.');
}

class Refused extends Error {}

/** The walk starts again without since, and replaces what is held. */
class Restored extends Error {}

const RESTORED = 'The service was restored from a backup again and again: the next run goes on.';

function rowOf(result) {
  const { learner, groups } = result;
  const told = {
    ...result,
    learner_ref: learner.ref,
    full_name: learner.full_name,
    groups: groups.map((one) => one.name).join(', '),
  };
  return COLUMNS.map((name) => (told[name] === null ? '' : String(told[name])));
}

/** Text that a sheet would compute, or take for a date, is kept as text: a name can begin with an equals sign. */
const asText = (value) => `'${value}`;

function sheet() {
  const book = SpreadsheetApp.getActiveSpreadsheet();
  return book.getSheetByName(SHEET) || book.insertSheet(SHEET);
}

function readRows() {
  const values = sheet().getDataRange().getDisplayValues().slice(1);
  return new Map(values.filter(([id]) => id !== '').map((row) => [row[0], row]));
}

function writeRows(rows) {
  const values = [COLUMNS, ...rows.values()].map((row) => row.map(asText));
  const target = sheet();
  const before = target.getLastRow();
  target.getRange(1, 1, values.length, COLUMNS.length).setValues(values);
  if (before > values.length)
    target.getRange(values.length + 1, 1, before - values.length, COLUMNS.length).clearContent();
  // What is in memory is written before the checkpoint is.
  SpreadsheetApp.flush();
}

/** Whether the rows are what the service's digest says: their number, and the sums of two words of each one's hash. */
function isProven({ rows, digest }) {
  if (digest === undefined) return true;
  let [one, two] = [0, 0];
  for (const [id, updatedAt] of rows.values()) {
    const bytes = id
      .replace(/-/g, '')
      .match(/../g)
      .map((hex) => parseInt(hex, 16));
    let time = Date.parse(updatedAt);
    const millis = [];
    for (let i = 0; i < 8; i++, time = Math.floor(time / 256)) millis.unshift(time % 256);
    const signed = [...bytes, ...millis].map((byte) => (byte > 127 ? byte - 256 : byte));
    const hash = Utilities.computeDigest(Utilities.DigestAlgorithm.SHA_256, signed).map((byte) => byte & 255);
    const word = (at) => ((hash[at] * 256 + hash[at + 1]) * 256 + hash[at + 2]) * 256 + hash[at + 3];
    [one, two] = [(one + word(0)) % 2 ** 32, (two + word(4)) % 2 ** 32];
  }
  return digest === `n=${rows.size};w1=${one};w2=${two}`;
}
