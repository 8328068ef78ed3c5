import { shortLevel } from '../../../records/evidence/content.ts';
import { type Content, attributes, html } from '../../../platform/html/html.ts';
import { type LearnerState, rungsOf, learnerStateOf } from '../../../records/directory/learner-state.ts';
import { type Subject, subjects, shortSubjectNames } from '../../../engine/scoring/levels.ts';
import { dayWords, day, facts, instant, moment, notice, code, shortId, typeWords } from '../kit/blocks.ts';
import { type ResultContent, contentOf } from '../../../records/results/body.ts';
import { placementWords } from '../../../records/results/lists/interval.ts';
import { readResumedAt } from '../../../feed/position.ts';
import { limits } from '../../../platform/config/limits.ts';
import type {
  LearnerHead,
  RecordedChange,
  RecordedInvitation,
  RecordedMembership,
  RecordedResult,
} from '../../../records/directory/learner-page.ts';
import { findLearnerHead, readRecord } from '../../../records/directory/learner-page.ts';
import { idleEnd } from '../../../sittings/working-time.ts';
import { type ResultSummary, findLearnerSummary } from '../../../api/tracer/identifier-lookup.ts';
import { auditReaders, inviters, managers, roles } from '../../../organisations/users/roles.ts';
import { actorNames, visibilityOf } from '../kit/reader.ts';
import { name } from '../kit/frame.ts';
import { groupPath } from '../groups/members.ts';
import { stateWords } from './learners.ts';
import { type Answer, type ConsoleRoute, type Visit, NoSuchPage, get } from '../kit/route.ts';
import { flagLabels } from '../results/results.ts';
import { traceLink } from '../organisation/trace.ts';
import { empty, table, plain } from '../kit/table.ts';

export const learnerRoutes: ConsoleRoute[] = [get('/learners/{learner_id}', roles, learner)];

/** A learner whom the person may not see gets the same 404 as an unknown learner. */
export async function headOf(visit: Visit): Promise<LearnerHead> {
  const { app, organisationId, params } = visit;
  const found = await findLearnerHead(app.db, organisationId, await visibilityOf(visit), params.learner_id!);
  if (found === undefined) throw new NoSuchPage();
  return found;
}

async function recordOf(visit: Visit, { learner_id: learnerId }: LearnerHead) {
  const { app, organisationId } = visit;
  const at = { limit: limits.consoleRows, now: new Date(app.clock.nowMs()) };
  return readRecord(app.db, organisationId, await visibilityOf(visit), learnerId, at);
}

async function learner(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, role, query } = visit;
  const head = await headOf(visit);
  if (head.full_name === '') return tombstone(visit, head);
  if (role === 'developer') return forDevelopers(visit, head);
  const [record, by] = await Promise.all([recordOf(visit, head), actorNames(visit)]);
  const resumedAt = await readResumedAt(app.db, id);
  return {
    title: 'Learner',
    heading: name(head.full_name),
    back: { to: `${base}/learners`, label: 'Learners' },
    main: [
      notice(query, {
        renamed: 'The name is corrected, here and in every result.',
        email: 'The email address is changed.',
        withdrawn: 'The result is withdrawn.',
        same: 'Nothing was changed. Your entry equals the stored value.',
      }),
      html`<p>Results, evidence packs, invitations, groups and history of this learner.</p>`,
      facts({
        Name: name(head.full_name),
        Reference: code(head.ref, 'None'),
        'Email address': inviters.includes(role) ? (head.email ?? 'None') : null,
        'Stored since': day(head.created_at, visit.zone),
        Changed: moment(head.position, visit.zone),
        'Learner ID': code(head.learner_id),
      }),
      actions(visit, head),
      html`<h2>Results</h2>`,
      resultsPart(visit, record.results),
      html`<h2>Invitations</h2>`,
      invitationsPart(visit, record.invitations, resumedAt),
      html`<h2>Groups</h2>`,
      groupsPart(visit, record.memberships),
      html`<h2>History</h2>`,
      historyPart(visit, record.changes, by),
    ],
  };
}

function actions({ base, role }: Visit, { learner_id: id, ref, email }: LearnerHead): Content {
  const here = `${base}/learners/${id}`;
  // The form finds an existing learner by reference. It would create a second learner if the learner has none.
  const canInvite = ref !== null && inviters.includes(role);
  const invite = canInvite && html`<a href="${base}/invite/one?learner_id=${id}">Invite learner</a>`;
  const report = html`<a href="${here}/report">Learner report (PDF)</a>`;
  const log = auditReaders.includes(role) && html`<a href="${here}/lookups">Access log</a>`;
  if (!managers.includes(role)) return html`<div class="actions">${invite}${report}${log}</div>`;
  return html`<div class="actions">${invite}${report}<a href="${here}/name">Correct name</a><a href="${here}/email">${email === null ? 'Add email address' : 'Change email address'}</a><a href="${here}/reference">${ref === null ? 'Add reference' : 'Change reference'}</a><a href="${here}/merge">Merge with another learner</a>${log}<a href="${here}/export">Export learner data</a><a href="${here}/hold">Place legal hold</a><a href="${base}/data-protection/open?learner=${id}">Record request</a><a class="danger" href="${here}/erase">Erase learner</a></div>`;
}

async function tombstone(visit: Visit, head: LearnerHead): Promise<Answer> {
  const { base, zone, role } = visit;
  const { learner_id: id, merged_into: into } = head;
  const { changes } = await recordOf(visit, head);
  const erased = changes.find((one) => one.kind === 'erased');
  const why =
    erased !== undefined
      ? 'This learner was erased. No data that identifies the person is kept.'
      : into !== null
        ? html`This learner was merged into <a href="${base}/learners/${into}">another learner</a>.`
        : 'This learner had no reference, and every result was withdrawn, so the learner was deleted.';
  return {
    title: 'Deleted learner',
    back: role === 'developer' ? { to: base, label: 'Dashboard' } : { to: `${base}/learners`, label: 'Learners' },
    main: [
      html`<p>${why} Connected platforms get a tombstone at their next poll, and delete their copies.</p>`,
      facts({ Since: moment(erased?.at ?? head.position, zone), 'Learner ID': code(id) }),
      managers.includes(role) &&
        erased !== undefined &&
        html`<p><a href="${base}/learners/${id}/erased">Erasure record</a></p>`,
    ],
  };
}

function resultsPart(visit: Visit, results: RecordedResult[]): Content {
  if (results.length === 0) return empty('There is no result yet. Results appear after an assessment.');
  const live = results.flatMap((one) => {
    const standing = learnerStateOf(one);
    return standing === null ? [] : [{ ...one, standing, content: contentOf(one.body!, one.assessed_at) }];
  });
  const withdrawn = results.filter((one) => one.body === null);
  const ofSubject = (subject: Subject) => live.filter(({ standing }) => standing.subject === subject);
  const isCut = results.length >= limits.consoleRows;
  return html`${isCut && html`<p>The newest ${limits.consoleRows} results are shown.</p>`}${subjects
    .filter((subject) => ofSubject(subject).length > 0)
    .map((subject) => subjectPart(visit, subject, ofSubject(subject)))}${
    withdrawn.length > 0 &&
    html`<h3>Withdrawn</h3>${table<RecordedResult>('Withdrawn results, whose content is deleted', withdrawn, {
      Assessed: (row) => day(row.assessed_at, visit.zone),
      Withdrawn: (row) => moment(row.position, visit.zone),
      Result: (row) => resultLinks(visit, row.assessment_id),
    })}`
  }`;
}

type Placed = RecordedResult & { standing: LearnerState; content: ResultContent };

function subjectPart(visit: Visit, subject: Subject, rows: Placed[]): Content {
  const { base, zone } = visit;
  const label = shortSubjectNames[subject];
  const chart = learnerChart(subject, label, rows.map(({ standing }) => standing).reverse(), zone);
  return html`<section class="beside"><h3>${label}</h3>${chart}${table<Placed>(`${label}, newest first`, rows, {
    Assessed: (row) => html`<a href="${base}/results/${row.assessment_id}">${day(row.assessed_at, zone)}</a>`,
    Level: plain(placementWords),
    '95 % interval': ({ standing }) => intervalWords(standing),
    Flags: ({ content }) => flagLabels(content),
    Evidence: (row) =>
      html`<a href="${base}/results/${row.assessment_id}/evidence">PDF<span class="unseen"> of ${label}, ${dayWords(row.assessed_at, zone)}</span></a>`,
    Result: (row) => resultLinks(visit, row.assessment_id),
  })}</section>`;
}

function intervalWords({ interval }: LearnerState): string {
  if (interval === null) return 'Not recorded';
  return interval.from === interval.to ? interval.from : `${interval.from} to ${interval.to}`;
}

const resultLink = ({ base }: Visit, assessmentId: string): Content =>
  html`<a href="${base}/results/${assessmentId}">${shortId(assessmentId)}</a>`;

const resultLinks = (visit: Visit, assessmentId: string): Content =>
  html`${resultLink(visit, assessmentId)} ${traceLink(visit, assessmentId)}`;

function invitationsPart({ base, role, zone }: Visit, rows: RecordedInvitation[], resumedAt: Date | null): Content {
  const words = (subject: string) => shortSubjectNames[subject as Subject] ?? subject;
  return table<RecordedInvitation>(
    { caption: 'Invitations, newest first', none: 'This learner has no invitation yet.' },
    rows,
    {
      Invited: (row) => html`<a href="${base}/invitations/${row.invitation_id}">${moment(row.created_at, zone)}</a>`,
      State: (row) =>
        html`${stateOf(row, resumedAt, zone)}${inviters.includes(role) && row.is_open && html` <a class="danger" href="${base}/invitations/${row.invitation_id}/cancel">Cancel<span class="unseen"> invitation</span></a>`}`,
      Subjects: (row) => row.subjects.map(words).join(', '),
      Finished: (row) => row.done.map(words).join(', ') || 'None',
      'Works until': (row) => moment(row.expires_at, zone),
    },
  );
}

/** Shows the state of an invitation. For a paused sitting it says until when the learner can continue. */
function stateOf({ state, last_seen_at }: RecordedInvitation, resumedAt: Date | null, zone: string): Content {
  if (state !== 'started' || last_seen_at === null) return stateWords[state];
  return html`Started; can be continued until ${moment(idleEnd(last_seen_at, resumedAt), zone)}`;
}

function groupsPart(visit: Visit, rows: RecordedMembership[]): Content {
  const { zone } = visit;
  return table<RecordedMembership>(
    { caption: 'Groups, current ones first', none: 'The learner is in no group yet.' },
    rows,
    {
      Group: (row) =>
        html`<a href="${groupPath(visit, row)}">${name(row.name)}</a>${row.active ? null : ' (archived)'}`,
      Type: (row) => typeWords(row.type),
      Reference: (row) => html`<code>${row.ref}</code>`,
      Since: (row) => day(row.joined_position, zone),
      Until: (row) => (row.left_position === null ? 'Now' : day(row.left_position, zone)),
    },
  );
}

const changeWords: Record<string, string> = {
  renamed: 'Name corrected',
  contacted: 'Email address changed',
  referenced: 'Reference changed',
  erased: 'Erased',
  merged: 'Merged',
  amended: 'Result amended',
  withdrawn: 'Result withdrawn',
};

function historyPart(visit: Visit, rows: RecordedChange[], by: (actor: string) => string): Content {
  return table<RecordedChange>({ caption: 'Changes, newest first', none: 'No change has been made yet.' }, rows, {
    Time: (row) => instant(row.at, visit.zone),
    Change: (row) =>
      html`${changeWords[row.kind] ?? row.kind}${row.subject === null ? null : `: ${shortSubjectNames[row.subject]}`}${row.assessment_id === null ? null : html` ${resultLink(visit, row.assessment_id)}`}`,
    By: (row) => by(row.actor),
    Reason: (row) => row.reason ?? 'None',
  });
}

/** Developers see references and IDs, but no names, levels or evidence. */
async function forDevelopers(visit: Visit, { learner_id }: LearnerHead): Promise<Answer> {
  const { app, base, organisationId: id, zone } = visit;
  const max = limits.consoleRows;
  const found = await findLearnerSummary(app.db, id, learner_id, max);
  if (found === undefined) throw new NoSuchPage();
  const { learner: one, results } = found;
  return {
    title: 'A learner’s results',
    main: [
      facts({
        Reference: code(one.ref, 'None'),
        'Learner ID': code(learner_id),
        Groups: one.groups.join('; ') || 'None',
      }),
      table<ResultSummary>(
        {
          caption: `Results, latest change first${results.length < max ? '' : `; the latest ${max}`}`,
          none: 'There is no result yet.',
        },
        results,
        {
          Result: (row) =>
            html`<a href="${base}/trace?assessment_id=${row.assessment_id}">${code(row.assessment_id)}</a>`,
          State: (row) => (row.deleted ? 'Withdrawn' : 'Completed'),
          Assessed: (row) => moment(row.assessed_at, zone),
          Updated: (row) => instant(row.position, zone),
        },
      ),
    ],
  };
}

/** The chart shows a learner's results over time, with 95 % intervals. A table on the page shows the same facts. */

const width = 360;
const rungHeight = 26;
const left = 78;
const right = 14;
const top = 8;
const foot = 24;

type Drawn = LearnerState & { at: number };

const isDrawn = (one: LearnerState): one is Drawn => one.at !== null;

/** @param standings the results, oldest first @returns null if no result has a level */
export function learnerChart(subject: Subject, label: string, standings: LearnerState[], zone: string): Content {
  const drawn = standings.filter(isDrawn);
  if (drawn.length === 0) return null;
  const rungs = rungsOf(subject);
  const height = top + rungs.length * rungHeight + foot;
  const [first, last] = [drawn[0]!.assessed_at, drawn.at(-1)!.assessed_at];
  const span = last - first;
  const inner = width - left - right - 24;
  const x = ({ assessed_at }: Drawn) =>
    Math.round(left + 12 + inner * (span === 0 ? 0.5 : (assessed_at - first) / span));
  const y = (at: number) => Math.round((top + (rungs.length - at) * rungHeight) * 10) / 10;
  const bands = drawn.slice(1).flatMap((one, i) => {
    const before = drawn[i]!;
    if (one.interval === null || before.interval === null) return [];
    const [a, b] = [x(before), x(one)];
    return [
      `${a},${y(before.interval.high)} ${b},${y(one.interval.high)} ${b},${y(one.interval.low)} ${a},${y(before.interval.low)}`,
    ];
  });
  const id = `chart-${subject}`;
  const dayText = (us: number) => dayWords(us, zone);
  return html`<svg class="chart" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${id}"><title id="${id}">${label}: ${drawn.length === 1 ? 'one result' : `${drawn.length} results`} on the ladder of levels, with 95 % intervals. The table below contains the same results.</title>${rungs.map(
    (rung, i) =>
      html`<line${attributes({ class: 'rung', x1: left, x2: width - right, y1: y(i), y2: y(i) })}/><text${attributes({ x: left - 6, y: y(i) - rungHeight / 2 + 4, 'text-anchor': 'end' })}>${shortLevel(rung)}</text>`,
  )}<line${attributes({ class: 'rung', x1: left, x2: width - right, y1: top, y2: top })}/>${bands.map(
    (points) => html`<polygon class="band" points="${points}"/>`,
  )}<polyline class="course" points="${drawn.map((one) => `${x(one)},${y(one.at)}`).join(' ')}"/>${drawn.map(
    (one) =>
      html`${one.interval !== null && html`<line${attributes({ class: 'interval', x1: x(one), x2: x(one), y1: y(one.interval.high), y2: y(one.interval.low) })}/>`}<circle${attributes({ class: 'dot', cx: x(one), cy: y(one.at), r: 5 })}/>`,
  )}<text${attributes({ x: left, y: height - 6 })}>${dayText(first)}</text>${
    span > 0 &&
    dayText(first) !== dayText(last) &&
    html`<text${attributes({ x: width - right, y: height - 6, 'text-anchor': 'end' })}>${dayText(last)}</text>`
  }</svg>`;
}
