import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { App } from '../../platform/app.ts';
import { contentOf } from '../results/body.ts';
import { type HistoryEntry, differences, historyOf } from '../results/lists/history.ts';
import type { StoredAssessment } from '../results/store.ts';
import { attachReport } from '../results/report.ts';
import { findLive } from '../results/results.ts';
import { type Database, type Tx, statement } from '../../platform/db/database.ts';
import { WriteQueues } from '../../platform/db/write-queue.ts';
import { type UnitOfWork, feedQueue, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { formatPosition } from '../../feed/time.ts';
import { withoutNationalInsuranceNumbers } from '../../platform/validation/personal-data.ts';
import { readOrganisation } from '../../organisations/organisations.ts';
import { type Level, levelName } from '../../engine/scoring/levels.ts';
import { engineVersions } from '../../engine/scoring/score.ts';
import type { EvidenceAmendment, EvidenceInput, EvidenceSitting } from './input.ts';
import { buildDocument } from './document.ts';
import { renderPdf, rendererVersion } from './pdf/pdf.ts';
import { type Report, redactedRenderer, storedReports } from './stored.ts';

export type { Report } from './stored.ts';

const newest = statement('evidence.newest')`
  select edition, input from evidence where organisation_id = $1 and assessment_id = $2 and input is not null order by edition desc limit 1`;
const insert = statement('evidence.insert')`
  insert into evidence (organisation_id, assessment_id, edition, sha256, pdf, input, renderer, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)`;

const inputOf = statement('evidence.input_of')`
  select input, sha256 from evidence where organisation_id = $1 and assessment_id = $2 and edition = $3 for update`;
const emptyFile = statement('evidence.empty_file')`
  update evidence set pdf = null, input = $4, renderer = '${redactedRenderer}'
   where organisation_id = $1 and assessment_id = $2 and edition = $3`;
const empty = statement('evidence.empty')`
  update evidence set pdf = null, input = null, withdrawn_at = $3 where organisation_id = $1 and assessment_id = $2`;

/** How often a read tries to make a report. An attempt fails if the result changes in the meantime. */
const maxAttempts = 20;

/**
 * Reads the evidence PDF of a live result; the first read makes and stores it. Rendering runs outside the transaction,
 * so it is repeated if the result changed in the meantime.
 * @returns undefined if there is no such live result
 */
export async function readReport(app: App, organisationId: number, assessmentId: string): Promise<Report | undefined> {
  const readStored = storedReports(app.db);
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const stored = await readStored(organisationId, assessmentId);
    if (stored !== null) return stored;
    const made = await makeOnce(app, organisationId, assessmentId);
    if (made !== 'changed') return made;
  }
  throw new Error(`the result ${assessmentId} changes without end`);
}

type Made = Report | undefined | 'changed';

const underWay = new WeakMap<Database, Map<string, Promise<Made>>>();

/** Makes a report. Simultaneous reads of a result wait for one rendering. */
function makeOnce(app: App, organisationId: number, assessmentId: string): Promise<Made> {
  const making = underWay.get(app.db) ?? new Map<string, Promise<Made>>();
  underWay.set(app.db, making);
  const name = `${organisationId} ${assessmentId}`;
  const made = making.get(name) ?? makeReport(app, organisationId, assessmentId).finally(() => making.delete(name));
  making.set(name, made);
  return made;
}

/**
 * Rendering blocks the event loop for milliseconds. So renderings wait in a queue, which lets other requests and
 * organisations run in between.
 */
const renderings = new WriteQueues({ quick: 2, slow: 0, slowMs: 60_000, max: Infinity });

/** A rendered edition that is not stored yet. */
export type Edition = Report & { input: EvidenceInput };

/** Renders an edition. It takes 10 ms of one core, so call it outside transactions. */
export function renderEdition(input: EvidenceInput): Edition {
  const pdf = renderPdf(buildDocument(input));
  return { input, pdf, sha256: hash('sha256', pdf, 'hex') };
}

/** Stores an edition. The caller stores the edition's hash with the result in the same transaction. */
export async function storeEdition(work: UnitOfWork, organisationId: number, { input, pdf, sha256 }: Edition) {
  const { assessment_id: id, edition } = input;
  const values = [id, edition, sha256, pdf, JSON.stringify(input), rendererVersion, new Date(work.nowMs)];
  await work.tx.query(insert, [organisationId, ...values]);
}

/**
 * Deletes the file of an edition that contains a National Insurance number. The input stays without the number, because
 * later editions need it.
 * @returns the hash of the deleted file; null if the input contained no number
 */
export async function redactEdition(tx: Tx, organisationId: number, assessmentId: string, edition: number) {
  const key = [organisationId, assessmentId, edition];
  const [row] = await tx.query<{ input: string | null; sha256: string }>(inputOf, key);
  if (row === undefined || row.input === null) return null;
  const input = withoutNationalInsuranceNumbers(row.input);
  if (input === row.input) return null;
  await tx.query(emptyFile, [...key, input]);
  return row.sha256;
}

/**
 * Deletes the files and inputs of a withdrawn result's editions. The hashes and dates stay, so that a file can still be
 * verified.
 */
export async function redactEditions(work: UnitOfWork, organisationId: number, assessmentId: string): Promise<void> {
  await work.tx.query(empty, [organisationId, assessmentId, new Date(work.nowMs)]);
}

export function verifyUrl(app: App): string {
  return `${app.settings.baseUrl}/verify`;
}

async function renderInTurn(organisationId: number, input: EvidenceInput): Promise<Edition> {
  const leave = await renderings.take({ name: String(organisationId), atOnce: 2 });
  try {
    await nextTurn();
    return renderEdition(input);
  } finally {
    leave();
  }
}

const amendmentsOf = (history: readonly HistoryEntry[]): EvidenceAmendment[] =>
  history.filter(({ kind }) => kind === 'amended').map(({ at, reason, changes }) => ({ at, reason, changes }));

/**
 * Makes the input of a result's next edition. All editions keep the sitting of the first edition.
 * @param of the result that has the earlier editions: the result itself, or the result that it replaces
 * @param judged the domains, if they were judged again
 */
async function nextInput(
  app: App,
  organisationId: number,
  row: Pick<StoredAssessment, 'assessment_id' | 'body' | 'assessed_at' | 'learner' | 'source'>,
  of: string,
  amendments: EvidenceAmendment[],
  judged: JudgedDomains | null = null,
): Promise<{ input: EvidenceInput; last: number }> {
  const organisation = await readOrganisation(app.db, organisationId);
  const [found] = await app.db.query<{ edition: number; input: string }>(newest, [organisationId, of]);
  const before = found === undefined ? null : (JSON.parse(found.input) as EvidenceInput);
  const answered = new Map((judged ?? before)?.domains.map((domain) => [domain.name, domain.answered]));
  const { assessed_at_us: _, domains, level_probabilities, ...fields } = contentOf(row.body, row.assessed_at);
  const replaces = of === row.assessment_id ? before?.replaces : of;
  const last = of === row.assessment_id ? (found?.edition ?? 0) : 0;
  const input: EvidenceInput = {
    version: 2,
    organisation_name: organisation.name,
    ...(organisation.ukprn !== null && { ukprn: organisation.ukprn }),
    learner: JSON.parse(row.learner),
    assessment_id: row.assessment_id,
    edition: last + 1,
    assessed_at: formatPosition(row.assessed_at),
    ...fields,
    domains: domains.map((domain) => {
      const n = answered.get(domain.name);
      return n === undefined ? domain : { ...domain, answered: n };
    }),
    ...(level_probabilities !== null && { level_probabilities }),
    verify_url: verifyUrl(app),
    source: row.source,
    ...(before?.sitting && { sitting: judged === null ? before.sitting : withDomains(before.sitting, judged) }),
    ...(replaces !== undefined && { replaces }),
    ...(amendments.length > 0 && { amendments }),
  };
  return { input, last };
}

/** This name in `versions` marks domains that were judged again. */
const domainsVersion = 'Domains';

function withDomains(sitting: EvidenceSitting, { domainLevel }: JudgedDomains): EvidenceSitting {
  const versions = sitting.versions.filter(({ name }) => name !== domainsVersion);
  versions.push({ name: domainsVersion, version: `judged by IRT engine ${engineVersions.irt}` });
  return { ...sitting, domains_level: levelName(domainLevel), versions };
}

type JudgedDomains = { domainLevel: Level; domains: readonly { name: string; answered: number }[] };

/** Renders the first edition of a result that will replace another result. */
export async function renderReplacement(
  app: App,
  organisationId: number,
  from: StoredAssessment,
  to: Pick<StoredAssessment, 'assessment_id' | 'body' | 'assessed_at' | 'learner' | 'source'>,
  { judged, ...why }: { at: string; reason: string; judged: JudgedDomains | null },
): Promise<Edition> {
  const history = (await historyOf(app.db, organisationId, from.assessment_id)) ?? [];
  const amendments = [...amendmentsOf(history), { ...why, changes: differences(from.body, to.body) }];
  const { input } = await nextInput(app, organisationId, to, from.assessment_id, amendments, judged);
  return renderInTurn(organisationId, input);
}

async function makeReport(app: App, organisationId: number, assessmentId: string): Promise<Made> {
  const row = await findLive(app.db, organisationId, assessmentId);
  if (row === undefined) return undefined;
  // Another process has made the report, so the caller must read it.
  if (row.report_sha256 !== null) return 'changed';
  const historyIn = async (tx: Tx) => (await historyOf(tx, organisationId, assessmentId)) ?? [];
  const history = await historyIn(app.db);
  const { input, last } = await nextInput(app, organisationId, row, assessmentId, amendmentsOf(history));
  const edition = await renderInTurn(organisationId, input);
  return withUnitOfWork(app, feedQueue(organisationId), async (work) => {
    // Attaching the first report changes the result, so the feed's lock is needed. An amendment and its reversal leave
    // the body unchanged, so the history and the editions are compared too.
    await lockFeed(work, organisationId);
    if ((await historyIn(work.tx)).length !== history.length) return 'changed' as const;
    const [latest] = await work.tx.query<{ edition: number }>(newest, [organisationId, assessmentId]);
    if ((latest?.edition ?? 0) !== last) return 'changed' as const;
    if (!(await attachReport(work, organisationId, row, edition.sha256))) return 'changed' as const;
    await storeEdition(work, organisationId, edition);
    return edition;
  });
}
