import { type Content, html } from '../../../platform/html/html.ts';
import { type KindName, type Months, defaultMonths, kindNames, kinds } from '../../../governance/retention/kinds.ts';
import { readMonths, readPolicy, setPolicy } from '../../../governance/retention/policy.ts';
import type { Run, Line } from '../../../governance/retention/run.ts';
import {
  learnersOf,
  linesOf,
  isOfUse,
  automatic,
  orderCounted,
  orderRun,
  retentionRuns,
  shareDone,
  stopRun,
} from '../../../governance/retention/run.ts';
import { uuidOf } from '../../../platform/crypto/random.ts';
import { managers, auditReaders } from '../../../organisations/users/roles.ts';
import { actorNames } from '../kit/reader.ts';
import { facts, moment, notice, progress, count, number, code } from '../kit/blocks.ts';
import { buttonForm, hiddenField, fieldsOf } from '../kit/form.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { routesOf, NoSuchPage, get, post, inBackground, onceOf, findOr404 } from '../kit/route.ts';
import { type FormVersion, overtakenNote, versionOf, sentVersion, saveVersion } from '../kit/form-version.ts';
import { confirmPage } from '../kit/page.ts';
import { table, numeric } from '../kit/table.ts';

/** Pages that set how long each kind of data is kept. A dry run counts the data before a job deletes it. */

const path = '/data-protection/retention';

const runOf = (visit: Visit): Promise<Run> => findOr404(visit, 'retention_id', (...of) => retentionRuns.find(...of));
const ofRun = routesOf(runOf);
const ofDryRun = routesOf(dryRunOf);
export const retentionRoutes: ConsoleRoute[] = [
  get(path, auditReaders, show),
  post(path, managers, save, { proof: true }),
  post(`${path}/preview`, managers, (visit) => order(visit, onceOf(visit), null)),
  ofRun.get(`${path}/runs/{retention_id}`, auditReaders, run),
  ...ofDryRun.form(`${path}/runs/{retention_id}/carry-out`, managers, showCarryOut, carryOut, { proof: true }),
  ofRun.post(`${path}/runs/{retention_id}/stop`, managers, stop),
];

const runsOnPage = 20;

const automaticWords = { off: 'Only when you start it here', on: 'Automatically, every day' };

const automaticChoices = [
  { value: 'off', label: automaticWords.off },
  { value: 'on', label: automaticWords.on, hint: 'Count due data first, to see what the first run deletes.' },
];

const keeps = (months: number | null): string => (months === null ? 'For ever' : count(months, 'month'));

type Written = { months: Record<KindName, string>; automatic: boolean };

const writtenOf = ({ months, automatic }: { months: Months; automatic: boolean }): Written => ({
  months: Object.fromEntries(kindNames.map((kind) => [kind, String(months[kind] ?? '')])) as Written['months'],
  automatic,
});

async function show(visit: Visit): Promise<Answer> {
  const shown = writtenOf(await readPolicy(visit.app.db, visit.organisationId));
  return retentionPage(visit, shown, { version: versionOf(shown) });
}

async function retentionPage(visit: Visit, shown: Written, form: FormVersion): Promise<Answer> {
  const { version, faults = {}, overtaken } = form;
  const { app, base, organisationId: id, zone, role, query } = visit;
  const [policy, runs, by] = await Promise.all([
    readPolicy(app.db, id),
    retentionRuns.list(app.db, id, runsOnPage),
    actorNames(visit),
  ]);
  const usual = defaultMonths();
  const isManager = managers.includes(role);
  const f = fieldsOf(visit, faults);
  return {
    title: 'Retention',
    back: { to: `${base}/data-protection`, label: 'Data subject requests' },
    faults,
    status: overtaken && 409,
    main: [
      notice(query, { saved: 'The retention periods are saved. Nothing was deleted.' }),
      overtaken,
      html`<p>Set how long to keep each kind of data. The months below are proposals that suit many training providers. Decide the periods, and state them in your privacy notice. Data under a <a href="${base}/data-protection/holds">legal hold</a> is kept.</p>`,
      facts({
        Saved:
          policy.changed_at === null
            ? 'Not yet: the months below are proposals'
            : html`${moment(policy.changed_at, zone)} by ${by(policy.changed_by!)}`,
        'Automatic deletion':
          policy.next_at === null
            ? 'Off: data is deleted only when you start it here'
            : html`Every day, next after ${moment(policy.next_at, zone)}`,
      }),
      html`<h2>Due data</h2><p>Count due data first. You see the numbers before anything is deleted.</p>`,
      isManager && buttonForm(`${base}${path}/preview`, 'Count due data', hiddenField('once', app.random.uuid())),
      table<Run>({ caption: 'Latest runs', none: 'No run yet. Count due data first.' }, runs, {
        Started: (one) => html`<a href="${base}${path}/runs/${one.run_id}">${moment(one.created_at, zone)}</a>`,
        What: (one) => (one.dry_run ? 'Counted' : 'Deleted'),
        By: (one) => actorOf(by, one.created_by),
        State: stateOf,
      }),
      html`<h2>Months</h2>`,
      isManager
        ? f.form('Save', {}, [
            f.version(version),
            kindNames.map((kind) =>
              f.text(kind, kinds[kind].label, {
                hint: `${kinds[kind].afterwards} ${kinds[kind].hint} Proposal: ${usual[kind]} months. Empty: for ever.`,
                value: shown.months[kind],
                width: 10,
                inputmode: 'numeric',
              }),
            ),
            f.choose('automatic', 'Delete due data', automaticChoices, { value: shown.automatic ? 'on' : 'off' }),
          ])
        : facts(kindNames.map((kind) => [kinds[kind].label, keeps(policy.months[kind])] as const)),
    ],
  };
}

const actorOf = (by: (actor: string) => string, actor: string): string =>
  actor === automatic ? 'Automatic' : by(actor);

function stateOf(one: Run): string {
  if (one.stopped_by !== null) return 'Stopped';
  if (one.finished_at !== null) return `${count(learnersOf(one), 'learner')}`;
  return `${Math.floor(100 * shareDone(one))} %`;
}

async function save(visit: Visit): Promise<Answer> {
  const { base, organisation, organisationId: id, userId: actor, form: sent } = visit;
  const months = Object.fromEntries(kindNames.map((kind) => [kind, sent.text(kind)])) as Written['months'];
  const automatic = sent.raw('automatic') === 'on';
  const typed: Written = { months, automatic };
  const read = readMonths(months);
  if ('faults' in read) return retentionPage(visit, typed, { version: sentVersion(visit), faults: read.faults });
  const entered = writtenOf({ months: read.months, automatic });
  const instead = await saveVersion(visit, {
    resource: organisation.public_id,
    read: async (tx) => writtenOf(await readPolicy(tx, id)),
    written: entered,
    write: (work) => setPolicy(work, id, { months: read.months, automatic, actor }),
  });
  if (instead === null) return { to: `${base}${path}?did=saved` };
  const inWords = (text: string) => keeps(text === '' ? null : Number(text));
  const overtaken = overtakenNote([
    ...kindNames.map(
      (kind) => [kinds[kind].label, inWords(instead.months[kind]), inWords(entered.months[kind])] as const,
    ),
    ['Delete due data', automaticWords[instead.automatic ? 'on' : 'off'], automaticWords[automatic ? 'on' : 'off']],
  ]);
  return retentionPage(visit, typed, { version: versionOf(instead), overtaken });
}

/** Starts a run. @param counted the dry run whose counted data is deleted; null starts a new dry run */
async function order(visit: Visit, runId: string, counted: Run | null): Promise<Answer> {
  const { app, base, organisationId: id, userId: actor, change } = visit;
  const { ordered } = await change(
    async (work) => {
      if ((await retentionRuns.find(work.tx, id, runId)) !== undefined) return { ordered: runId, isNew: false };
      const ordered =
        counted === null
          ? await orderRun(work, id, { runId, isDryRun: true, actor })
          : await orderCounted(work, id, { runId, counted, actor });
      return { ordered, isNew: true };
    },
    (outcome) => outcome.isNew && outcome.ordered,
  );
  if (ordered === null) return countAgain(visit, counted!);
  inBackground(app, 'retention.failed', retentionRuns.goOn(app, id, ordered));
  return { to: `${base}${path}/runs/${ordered}` };
}

function numbers(one: Run): Content {
  return table<Line>(one.dry_run ? 'Due data' : 'Deleted data', linesOf(one), {
    Kind: ({ kind }) => kinds[kind].label,
    Kept: ({ kind }) => keeps(one.months[kind]),
    Learners: numeric(({ tally }) => tally.learners),
    Items: numeric(({ tally }) => tally.items),
    'Kept by a hold': numeric(({ tally }) => tally.held),
  });
}

const countAgain = ({ base }: Visit, one: Run): Answer => ({ to: `${base}${path}/runs/${one.run_id}?did=again` });

async function run(visit: Visit, one: Run): Promise<Answer> {
  const { app, base, zone, role, query } = visit;
  const here = `${base}${path}/runs/${one.run_id}`;
  const by = await actorNames(visit);
  const isManager = managers.includes(role);
  const canDelete = one.dry_run && isOfUse(one, app.clock.nowMs()) && learnersOf(one) > 0;
  const again =
    'Nothing was deleted. The months have changed, or this count is older than 24 hours or incomplete. Count due data again.';
  return {
    title: one.dry_run ? 'Due data' : 'Deleted data',
    back: { to: base + path, label: 'Retention' },
    main: [
      notice(query, { again }),
      facts({
        Started: html`${moment(one.created_at, zone)} by ${actorOf(by, one.created_by)}`,
        State:
          one.finished_at === null
            ? 'Running'
            : one.stopped_by === null
              ? html`Done ${moment(one.finished_at, zone)}`
              : html`Stopped ${moment(one.finished_at, zone)} by ${actorOf(by, one.stopped_by)}. Data that was deleted before can’t be restored.`,
      }),
      one.finished_at === null && [
        progress('Learners checked, in per cent', Math.floor(100 * shareDone(one)), 100, here),
        isManager && buttonForm(`${here}/stop`, 'Stop run'),
      ],
      numbers(one),
      canDelete &&
        isManager &&
        html`<div class="actions"><a class="button" href="${here}/carry-out">Delete due data</a></div>`,
      linesOf(one)
        .filter(({ tally }) => tally.first.length > 0)
        .map(
          ({ kind, tally }) =>
            html`<h2>${kinds[kind].label}</h2><p>${tally.first.length < tally.learners ? `The first ${tally.first.length} of ${number(tally.learners)}, by ID:` : 'By ID:'}</p><ul>${tally.first.map((id) => html`<li><a href="${base}/learners/${id}${!one.dry_run && (kind === 'learners' || kind === 'invited') ? '/erased' : ''}">${code(id)}</a></li>`)}</ul>`,
        ),
    ],
  };
}

async function showCarryOut(visit: Visit, one: Run): Promise<Answer> {
  if (!isOfUse(one, visit.app.clock.nowMs())) return countAgain(visit, one);
  return confirmPage(visit, {
    title: 'Delete due data?',
    back: { to: `${visit.base}${path}/runs/${one.run_id}`, label: 'Due data' },
    says: [
      'The service deletes the data below in the background. This can’t be undone. Connected platforms get tombstones of erased learners and withdrawn results. Data that has become due since the count is deleted too. Learners under a new legal hold or with new activity are kept.',
    ],
    intro: numbers(one),
    button: 'Delete due data',
  });
}

async function dryRunOf(visit: Visit): Promise<Run> {
  const one = await runOf(visit);
  if (!one.dry_run || one.finished_at === null) throw new NoSuchPage();
  return one;
}

async function carryOut(visit: Visit, one: Run): Promise<Answer> {
  // The run's ID is derived from the dry run's ID, so a form that is sent twice starts one run.
  const runId = uuidOf('retention', one.run_id);
  const isOrdered = (await retentionRuns.find(visit.app.db, visit.organisationId, runId)) !== undefined;
  return isOrdered || isOfUse(one, visit.app.clock.nowMs()) ? order(visit, runId, one) : countAgain(visit, one);
}

async function stop(visit: Visit, { run_id: id }: Run): Promise<Answer> {
  const { base, organisationId, userId, change } = visit;
  await change((work) => stopRun(work, organisationId, id, { actor: userId }), id);
  return { to: `${base}${path}/runs/${id}` };
}
