import { hash } from 'node:crypto';
import { sentenceOf } from '../../../records/results/result-fields.ts';
import { UnreadableFile } from '../../../platform/formats/lines.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import type { ImportRun, LineFault } from '../../../records/import/run.ts';
import {
  beginImport,
  importRuns,
  keepImport,
  DryRunsBusy,
  dryRunImport,
  whyCancelled,
} from '../../../records/import/run.ts';
import { limits } from '../../../platform/config/limits.ts';
import { uuidOf } from '../../../platform/crypto/random.ts';
import { managers } from '../../../organisations/users/roles.ts';
import { type Faults, buttonForm, hiddenField, fieldsOf } from '../kit/form.ts';
import { facts, moment, notice, progress, table, number, numeric } from '../kit/blocks.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { get, post, onceOf, inBackground, findOr404 } from '../kit/route.ts';
import { formPage, messagePage } from '../kit/page.ts';

/** A dry run shows the faults of a file of results. Then a background job writes the lines without faults. */
export const resultImportRoutes: ConsoleRoute[] = [
  get('/results/import', managers, showForm),
  post('/results/import', managers, tryFile, { upload: limits.importUploadBytes }),
  get('/results/import/{import_id}', managers, showRun),
  post('/results/import/{import_id}/start', managers, start),
  post('/results/import/{import_id}/cancel', managers, cancel),
];

const dateForms = {
  rfc3339: 'With a zone, such as 2026-01-31T09:00:00Z',
  uk: 'As in the United Kingdom, such as 31/01/2026 09:30',
};

const states: Record<ImportRun['status'], string> = {
  draft: 'Waits for you',
  running: 'Under way',
  waiting: 'Under way',
  cancelled: 'Cancelled',
  finished: 'Finished',
};

async function showForm(visit: Visit, faults: Faults = {}): Promise<Answer> {
  const { app, base, organisationId, zone } = visit;
  const runs = await importRuns.list(app.db, organisationId, 10);
  const page = formPage(visit, {
    title: 'Import results',
    faults,
    intro: html`<p>Results that were assessed elsewhere. The file is tried first: you see what is new, what would change, and what is wrong on which line. Nothing is written before you confirm.</p>`,
    button: 'Try it',
    upload: true,
    fields: (f) => [
      f.file('file', 'File', '.csv,.tsv,.ndjson,.jsonl,.txt', {
        hint: html`CSV as spreadsheets save it, or one JSON object a line, up to ${limits.importUploadBytes / 1024 / 1024} MB. <a href="/docs/admin.html">What its columns are</a>.`,
      }),
      f.lines('rows', 'Or paste it, with its first line', { rows: 6 }),
      f.choose('dates', 'Dates in it', dateForms, { initial: 'rfc3339' }),
      f.tick('events', 'Webhooks', [
        { value: 'yes', label: 'Tell them of new results', hint: 'Platforms that poll get them in any case.' },
      ]),
      hiddenField('once', app.random.uuid()),
    ],
    also: table<ImportRun>({ caption: 'The latest imports', none: null }, runs, {
      Begun: (run) => html`<a href="${base}/results/import/${run.run_id}">${moment(run.created_at, zone)}</a>`,
      State: (run) => states[run.status],
      Imported: numeric((run) => run.imported),
      Changed: numeric((run) => run.updated),
      Refused: numeric((run) => run.faulty + run.rejected),
    }),
  });
  return { ...page, back: { to: `${base}/results`, label: 'Results' } };
}

async function tryFile(visit: Visit): Promise<Answer> {
  const { app, base, organisation, organisationId, userId: by, form: sent, change } = visit;
  const pasted = sent.raw('rows');
  const bytes = sent.file('file') ?? (pasted.trim() === '' ? null : Buffer.from(pasted));
  if (bytes === null) return showForm(visit, { file: 'Choose a file, or paste what is in it.' });
  const dates = sent.raw('dates') === 'uk' ? 'uk' : 'rfc3339';
  const events = sent.all('events').includes('yes');
  // A form that is sent twice creates one import. The same form with another file, after "Back", creates another
  // import.
  const runId = uuidOf(onceOf(visit), JSON.stringify([hash('sha256', bytes), dates, events]));
  let trial;
  try {
    trial = await dryRunImport(app, { organisationId, publicId: organisation.public_id }, bytes, dates);
  } catch (error) {
    if (error instanceof DryRunsBusy)
      return {
        status: 503,
        headers: { 'retry-after': '30' },
        ...messagePage('Other files are being tried', 'Go back, and try again in a minute. Nothing was imported.'),
      };
    if (!(error instanceof UnreadableFile)) throw error;
    return showForm(visit, { file: `It could not be read: ${error.message}.` });
  }
  if (trial.rows.length === 0 && trial.faulty === 0)
    return showForm(visit, { file: 'There is no line in it that could be imported.' });
  await change((work) => keepImport(work, organisationId, { runId, by, dates, events, trial }).then(() => runId));
  return { to: `${base}/results/import/${runId}` };
}

const runOf = (visit: Visit): Promise<ImportRun> => findOr404(visit, 'import_id', (...of) => importRuns.find(...of));

function faultTable(run: ImportRun): Content {
  const faults = run.faults.filter((one) => one.isImported !== true);
  if (faults.length === 0) return null;
  const lines = run.faulty + run.rejected;
  const max = limits.importFaultsShown;
  const caption = faults.length >= max ? `The first ${number(max)} faults` : 'Every fault';
  return [
    html`<h2>What is wrong</h2><p>${lines === 1 ? 'One line is' : `${number(lines)} lines are`} left out. Mend them in your file and import it again: lines that are in already are passed over.</p>`,
    table<LineFault>({ caption, sticky: true }, faults, {
      Line: numeric((one) => one.line),
      Column: (one) => one.field.replace(/^learner\./, 'learner_'),
      'What is expected': (one) => sentenceOf(one).replace(/^.*? must be /, ''),
    }),
  ];
}

/** Damaged names are imported unchanged, so a note asks the person to check them first. */
function damagedLines(run: ImportRun) {
  const lines = run.faults.filter((one) => one.isImported === true).map((one) => number(one.line));
  if (lines.length === 0) return null;
  const shown = lines.slice(0, 20).join(', ');
  const more = lines.length > 20 ? ` and ${number(lines.length - 20)} more` : '';
  return html`<div class="note"><p>${lines.length === 1 ? 'A name looks' : 'Names look'} damaged on ${lines.length === 1 ? 'line' : 'lines'} ${shown}${more}: a letter may be lost, as in “Zo? Marsh” or “ZoÃ« Marsh”. Correct your file and import it again, or import them as they are.</p></div>`;
}

async function showRun(visit: Visit): Promise<Answer> {
  const { base, zone, query } = visit;
  const run = await runOf(visit);
  const here = `${base}/results/import/${run.run_id}`;
  const total = run.fresh + run.changed + run.same;
  const reached = run.imported + run.updated + run.unchanged + run.rejected;
  const back = { to: `${base}/results/import`, label: 'Import results' };
  if (run.status === 'draft')
    return {
      title: total === 0 ? 'Nothing can be imported' : `Import ${number(run.fresh + run.changed)} results?`,
      back,
      main: [
        html`<p>Nothing is written yet.</p>`,
        facts({
          'New results': number(run.fresh),
          'Results that change': number(run.changed),
          'Unchanged, passed over': number(run.same),
          'Lines with faults, left out': number(run.faulty),
          Webhooks: run.events ? 'Are told of new results' : 'Are not told',
        }),
        total > 0 && [
          damagedLines(run),
          html`<p>Results that are in cannot be taken back all at once: each is withdrawn by itself.</p>`,
          fieldsOf(visit).form('Import them', { to: `${here}/start` }),
        ],
        buttonForm(`${here}/cancel`, 'Cancel this import'),
        faultTable(run),
      ],
    };
  const isRunning = run.status === 'running';
  const isCancelled = run.status === 'cancelled';
  // Lines without an outcome were deleted: by cancelling the import, or by the erasure of their learner.
  const unwritten = isRunning ? 0 : total - reached;
  return {
    title: titles[run.status],
    back,
    main: [
      notice(query, { cancelled: 'Nothing more of it will be written.' }),
      isRunning && [progress('Written', reached, total, here), buttonForm(`${here}/cancel`, 'Cancel the rest')],
      isCancelled && html`<p>What was written until then stays; the other lines are deleted. ${whyCancelled(run)}</p>`,
      facts({
        Begun: moment(run.created_at, zone),
        Imported: number(run.imported),
        Changed: number(run.updated),
        Unchanged: number(run.unchanged),
        'Lines with faults, left out': number(run.faulty + run.rejected),
        [isCancelled ? 'Not written' : 'Not written: of people erased since']: unwritten > 0 && number(unwritten),
        Ended: moment(run.finished_at, zone),
      }),
      faultTable(run),
      html`<p><a href="${base}/results?source=imported&amp;sort=-changed">Imported results, the latest first</a></p>`,
    ],
  };
}

const titles = {
  running: 'Results are being imported',
  waiting: 'Results are being imported',
  finished: 'Results are imported',
  cancelled: 'The import was cancelled',
};

async function start(visit: Visit): Promise<Answer> {
  const { app, base, organisationId, change } = visit;
  const { run_id: id } = await runOf(visit);
  await change((work) => beginImport(work, organisationId, id), id);
  inBackground(app, 'import_run.failed', importRuns.run(app));
  return { to: `${base}/results/import/${id}` };
}

async function cancel(visit: Visit): Promise<Answer> {
  const { base, organisationId, change } = visit;
  const { run_id: id } = await runOf(visit);
  await change((work) => importRuns.cancel(work, organisationId, id), id);
  return { to: `${base}/results/import/${id}?did=cancelled` };
}
