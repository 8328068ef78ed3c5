import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { App } from '../../platform/app.ts';
import { contentOf } from '../results/body.ts';
import type { HistoryEntry } from '../results/lists/history.ts';
import { differences, historyOf } from '../results/lists/history.ts';
import type { StoredAssessment } from '../results/store.ts';
import { attachReport } from '../results/report.ts';
import { findLive } from '../results/results.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import { createWriteQueues } from '../../platform/db/write-queue.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { feedQueue, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { formatPosition } from '../../feed/time.ts';
import { withoutNationalInsuranceNumbers } from '../../platform/validation/personal-data.ts';
import { readOrganisation } from '../../organisations/organisations.ts';
import type { Level } from '../../engine/scoring/levels.ts';
import { levelName } from '../../engine/scoring/levels.ts';
import { engineVersions } from '../../engine/scoring/score.ts';
import type { EvidenceInput } from './document.ts';
import type { EvidenceAmendment, EvidenceSitting } from './input.ts';
import { buildDocument } from './document.ts';
import { renderPdf, rendererVersion } from './pdf/pdf.ts';
import type { Report } from './stored.ts';
import { redactedRenderer, storedReports } from './stored.ts';

export type { Report } from './stored.ts';

const newest = statement(
  'evidence.newest',
  `
  select edition, input from evidence where organisation_id = $1 and assessment_id = $2 and input is not null order by edition desc limit 1`,
);
const insert = statement(
  'evidence.insert',
  `
  insert into evidence (organisation_id, assessment_id, edition, sha256, pdf, input, renderer, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
);

const inputOf = statement(
  'evidence.input_of',
  'select input, sha256 from evidence where organisation_id = $1 and assessment_id = $2 and edition = $3 for update',
);
const emptyFile = statement(
  'evidence.empty_file',
  `
  update evidence set pdf = null, input = $4, renderer = '${redactedRenderer}'
   where organisation_id = $1 and assessment_id = $2 and edition = $3`,
);
const empty = statement(
  'evidence.empty',
  `
  update evidence set pdf = null, input = null, withdrawn_at = $3 where organisation_id = $1 and assessment_id = $2`,
);

/** How often a report is begun again because its result changed meanwhile. */
const attempts = 20;

/**
 * The evidence PDF of a live result: the stored bytes, or the first ones, which are stored before they are served. The
 * PDF is made outside the transaction; if the result changed meanwhile it is made again.
 * @returns undefined when there is no such live result
 */
export async function readReport(app: App, organisationId: number, assessmentId: string): Promise<Report | undefined> {
  const readStored = storedReports(app.db);
  for (let attempt = 0; attempt < attempts; attempt++) {
    const stored = await readStored(organisationId, assessmentId);
    if (stored !== null) return stored;
    const made = await makeOnce(app, organisationId, assessmentId);
    if (made !== 'changed') return made;
  }
  throw new Error(`the result ${assessmentId} changes without end`);
}

type Made = Report | undefined | 'changed';

const underWay = new WeakMap<Database, Map<string, Promise<Made>>>();

/** Makes a report; whoever asks for it meanwhile waits for the same one. */
function makeOnce(app: App, organisationId: number, assessmentId: string): Promise<Made> {
  let making = underWay.get(app.db);
  if (making === undefined) underWay.set(app.db, (making = new Map<string, Promise<Made>>()));
  const name = `${organisationId} ${assessmentId}`;
  let made = making.get(name);
  if (made === undefined) {
    made = makeReport(app, organisationId, assessmentId).finally(() => underWay.get(app.db)!.delete(name));
    making.set(name, made);
  }
  return made;
}

/**
 * Rendering holds the event loop for some milliseconds: a burst of first reads must leave enough of it to other
 * requests, and one organisation's burst must leave turns to others.
 */
const renderings = createWriteQueues({ quick: 2, slow: 0, slowMs: 60_000, max: Infinity });

/** One edition made, not yet stored. */
export type Edition = Report & { input: EvidenceInput };

/** Renders an edition. Costs some 10 ms of one core, so never inside a transaction. */
export function renderEdition(input: EvidenceInput): Edition {
  const pdf = renderPdf(buildDocument(input));
  return { input, pdf, sha256: hash('sha256', pdf, 'hex') };
}

/** Stores an edition in the transaction that ties its hash to the result. */
export async function storeEdition(
  work: UnitOfWork,
  organisationId: number,
  { input, pdf, sha256 }: Edition,
): Promise<void> {
  await work.tx.query(insert, [
    organisationId,
    input.assessment_id,
    input.edition,
    sha256,
    pdf,
    JSON.stringify(input),
    rendererVersion,
    new Date(work.nowMs),
  ]);
}

/**
 * Takes National Insurance numbers out of an edition: its file goes, its content stays without them, for the editions
 * to come. @returns the hash of the file that is gone; null when it held none
 */
export async function redactEdition(
  tx: Tx,
  organisationId: number,
  assessmentId: string,
  edition: number,
): Promise<string | null> {
  const key = [organisationId, assessmentId, edition];
  const [row] = await tx.query<{ input: string | null; sha256: string }>(inputOf, key);
  if (row === undefined || row.input === null) return null;
  const input = withoutNationalInsuranceNumbers(row.input);
  if (input === row.input) return null;
  await tx.query(emptyFile, [...key, input]);
  return row.sha256;
}

/**
 * Of the editions of a withdrawn result only hashes and dates stay, so that a file of it is still told from a forged
 * one.
 */
export async function redactEditions(work: UnitOfWork, organisationId: number, assessmentId: string): Promise<void> {
  await work.tx.query(empty, [organisationId, assessmentId, new Date(work.nowMs)]);
}

/** Where a file can be checked, as evidence prints it. */
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
 * What the next edition of a result says. An amendment doesn't change how the result came about: every edition tells of the
 * same sitting.
 * @param of the result whose editions came before
 * @param judged where the domains were judged anew: at which level, and from how many answers each
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
  const content = contentOf(row.body, row.assessed_at);
  const replaces = of === row.assessment_id ? before?.replaces : of;
  const last = of === row.assessment_id ? (found?.edition ?? 0) : 0;
  const input: EvidenceInput = {
    version: 2,
    organisation_name: organisation.name,
    ...(organisation.ukprn === null ? {} : { ukprn: organisation.ukprn }),
    learner: JSON.parse(row.learner),
    assessment_id: row.assessment_id,
    edition: last + 1,
    subject: content.subject,
    framework: content.framework,
    assessed_at: formatPosition(row.assessed_at),
    rqf_level: content.rqf_level,
    rqf_level_code: content.rqf_level_code,
    below_level_1: content.below_level_1,
    working_level: content.working_level,
    recommended_next_level: content.recommended_next_level,
    is_borderline: content.is_borderline,
    needs_review: content.needs_review,
    domains: content.domains.map((domain) =>
      answered.get(domain.name) === undefined ? domain : { ...domain, answered: answered.get(domain.name) },
    ),
    ...(content.level_probabilities === null ? {} : { level_probabilities: content.level_probabilities }),
    verify_url: verifyUrl(app),
    source: row.source,
    ...(before?.sitting === undefined
      ? {}
      : {
          sitting: judged === null ? before.sitting : withDomains(before.sitting, judged),
        }),
    ...(replaces === undefined ? {} : { replaces }),
    ...(content.reviewed_at === undefined ? {} : { reviewed_at: content.reviewed_at }),
    ...(amendments.length === 0 ? {} : { amendments }),
  };
  return { input, last };
}

/** Name of the version that domains were judged anew with, beside those that the sitting was scored with. */
const domainsVersion = 'Domains';

function withDomains(sitting: EvidenceSitting, { domainLevel }: JudgedDomains): EvidenceSitting {
  const versions = sitting.versions.filter(({ name }) => name !== domainsVersion);
  versions.push({ name: domainsVersion, version: `judged by IRT engine ${engineVersions.irt}` });
  return { ...sitting, domains_level: levelName(domainLevel), versions };
}

type JudgedDomains = { domainLevel: Level; domains: readonly { name: string; answered: number }[] };

/** The first edition of a result that takes another one's place, made before it is recorded. */
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
  // Another reader was first.
  if (row.report_sha256 !== null) return 'changed';
  const historyIn = async (tx: Tx) => (await historyOf(tx, organisationId, assessmentId)) ?? [];
  const history = await historyIn(app.db);
  const { input, last } = await nextInput(app, organisationId, row, assessmentId, amendmentsOf(history));
  const edition = await renderInTurn(organisationId, input);
  return withUnitOfWork(app, feedQueue(organisationId), async (work) => {
    // Under the feed's lock: the first generation is a change that mirrors must see. An amendment there and back again
    // looks as if nothing had happened, but for the result's history, and the edition that was made between.
    await lockFeed(work, organisationId);
    if ((await historyIn(work.tx)).length !== history.length) return 'changed' as const;
    const [latest] = await work.tx.query<{ edition: number }>(newest, [organisationId, assessmentId]);
    if ((latest?.edition ?? 0) !== last) return 'changed' as const;
    if (!(await attachReport(work, organisationId, row, edition.sha256))) return 'changed' as const;
    await storeEdition(work, organisationId, edition);
    return edition;
  });
}
