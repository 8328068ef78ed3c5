import { hash } from 'node:crypto';
import { sentenceOf } from '../../../records/results/result-fields.ts';
import { UnreadableFile } from '../../../platform/formats/lines.ts';
import { UnknownColumns } from '../../../records/learners/headings.ts';
import { importableFile, importColumnOf, importColumns } from '../../../records/import/columns.ts';
import { columnChoices, columnsPage, rememberColumns, tableFields } from '../invitations/column-map.ts';
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
import { buttonForm, hiddenField, fieldsOf } from '../kit/form.ts';
import { facts, moment, notice, progress, number } from '../kit/blocks.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { formRoutes, again, routesOf, onceOf, inBackground, findOr404 } from '../kit/route.ts';
import { formPage, busyPage } from '../kit/page.ts';
import { table, numeric } from '../kit/table.ts';

const ofImport = routesOf((visit) => findOr404(visit, 'import_id', (...of) => importRuns.find(...of)));
/** A dry run shows the faults of a file of results. Then a background job writes the lines without faults. */
export const resultImportRoutes: ConsoleRoute[] = [
  ...formRoutes('/results/import', managers, showForm, tryFile, { upload: limits.importUploadBytes }),
  ofImport.get('/results/import/{import_id}', managers, showRun),
  ofImport.post('/results/import/{import_id}/start', managers, start),
  ofImport.post('/results/import/{import_id}/cancel', managers, cancel),
];

const dateForms = {
  rfc3339: 'With a time zone, such as 2026-01-31T09:00:00Z',
  uk: 'United Kingdom, such as 31/01/2026 09:30',
};

const columnsToChoose = [...importColumns].map((value) => ({ value, label: value.replaceAll('_', ' ') }));

const backToForm = ({ base }: Visit) => ({ to: `${base}/results/import`, label: 'Import results' });

const states: Record<ImportRun['status'], string> = {
  draft: 'Not started',
  running: 'Running',
  waiting: 'Running',
  cancelled: 'Cancelled',
  finished: 'Finished',
};

async function showForm(visit: Visit): Promise<Answer> {
  const { app, base, organisationId, zone } = visit;
  const runs = await importRuns.list(app.db, organisationId, 10);
  const page = formPage(visit, {
    title: 'Import results',
    intro: html`<p>Import results that were assessed elsewhere. The service checks the file first and shows new results, changes and faults. Nothing is imported before you confirm.</p>`,
    button: 'Check file',
    upload: true,
    fields: (f) => [
      f.file('file', 'File', '.xlsx,.ods,.csv,.tsv,.ndjson,.jsonl,.txt', {
        hint: html`XLSX, ODS, CSV, or one JSON object per line, up to ${limits.importUploadBytes / 1024 / 1024} MB. <a href="/docs/providers/import-export.html">Columns of the file</a>`,
      }),
      f.lines('rows', 'Or paste the rows, with the header', { rows: 6 }),
      tableFields(f),
      f.choose('dates', 'Date format', dateForms, { initial: 'rfc3339' }),
      f.tick('events', 'Webhooks', [
        { value: 'yes', label: 'Send events about new results', hint: 'Platforms that poll get the results anyway.' },
      ]),
      hiddenField('once', app.random.uuid()),
    ],
    also: table<ImportRun>({ caption: 'Latest imports', none: null }, runs, {
      Started: (run) => html`<a href="${base}/results/import/${run.run_id}">${moment(run.created_at, zone)}</a>`,
      State: (run) => states[run.status],
      Imported: numeric((run) => run.imported),
      Changed: numeric((run) => run.updated),
      Refused: numeric((run) => run.faulty + run.rejected),
    }),
  });
  return { ...page, back: { to: `${base}/results`, label: 'Results' } };
}

async function tryFile(visit: Visit) {
  const { app, base, organisation, organisationId, userId: by, form: sent, change } = visit;
  const pasted = sent.raw('rows');
  const file = sent.file('file') ?? (pasted.trim() === '' ? null : Buffer.from(pasted));
  if (file === null) return again({ file: 'There is no file. Choose a file, or paste its rows.' });
  const dates = sent.raw('dates') === 'uk' ? 'uk' : 'rfc3339';
  const events = sent.all('events').includes('yes');
  // If a form is sent twice, it creates one import, unless the person went back and chose another file.
  let runId;
  let trial;
  const choices = await columnChoices(visit, 'import');
  try {
    const bytes = await importableFile(file, choices);
    runId = uuidOf(onceOf(visit), JSON.stringify([hash('sha256', bytes), dates, events]));
    trial = await dryRunImport(app, { organisationId, publicId: organisation.public_id }, bytes, dates);
  } catch (error) {
    if (error instanceof DryRunsBusy) return busyPage('Too many files are being checked', 'Nothing was imported.');
    if (error instanceof UnknownColumns)
      return columnsPage(visit, error, {
        back: backToForm(visit),
        choices: columnsToChoose,
        hidden: ['dates', 'events'],
      });
    if (!(error instanceof UnreadableFile)) throw error;
    return again({ file: `The file can’t be read: ${error.message}.` });
  }
  if (trial.rows.length === 0 && trial.faulty === 0)
    return again({ file: 'The file has no row to import. Check the file and its header.' });
  await rememberColumns(visit, 'import', choices, importColumnOf);
  await change((work) => keepImport(work, organisationId, { runId, by, dates, events, trial }).then(() => runId));
  return { to: `${base}/results/import/${runId}` };
}

function faultTable(run: ImportRun): Content {
  const faults = run.faults.filter((one) => one.isImported !== true);
  if (faults.length === 0) return null;
  const lines = run.faulty + run.rejected;
  const max = limits.importFaultsShown;
  const caption = faults.length >= max ? `The first ${number(max)} faults` : 'All faults';
  return [
    html`<h2>Faults</h2><p>${lines === 1 ? '1 line is' : `${number(lines)} lines are`} skipped. Correct your file and import it again. Lines that were imported before are skipped.</p>`,
    table<LineFault>({ caption, sticky: true }, faults, {
      Line: numeric((one) => one.line),
      Column: (one) => one.field.replace(/^learner\./, 'learner_'),
      Expected: (one) => sentenceOf(one).replace(/^.*? must be /, ''),
    }),
  ];
}

/** Damaged names are imported unchanged, so a note asks the person to check them first. */
function damagedLines(run: ImportRun) {
  const lines = run.faults.filter((one) => one.isImported === true).map((one) => number(one.line));
  if (lines.length === 0) return null;
  const shown = lines.slice(0, 20).join(', ');
  const more = lines.length > 20 ? ` and ${number(lines.length - 20)} more` : '';
  return html`<div class="note"><p>${lines.length === 1 ? 'A name looks' : 'Names look'} damaged on ${lines.length === 1 ? 'line' : 'lines'} ${shown}${more}: a letter may be lost, as in “Zo? Marsh” or “ZoÃ« Marsh”. Correct your file and check it again, or import the names unchanged.</p></div>`;
}

async function showRun(visit: Visit, run: ImportRun): Promise<Answer> {
  const { base, zone, query } = visit;
  const here = `${base}/results/import/${run.run_id}`;
  const total = run.fresh + run.changed + run.same;
  const reached = run.imported + run.updated + run.unchanged + run.rejected;
  const back = backToForm(visit);
  if (run.status === 'draft')
    return {
      title: total === 0 ? 'Nothing can be imported' : `Import ${number(run.fresh + run.changed)} results?`,
      back,
      main: [
        html`<p>Nothing is imported yet.</p>`,
        facts({
          'New results': number(run.fresh),
          'Results that change': number(run.changed),
          'Unchanged results, skipped': number(run.same),
          'Lines with faults, skipped': number(run.faulty),
          Webhooks: run.events ? 'Events about new results' : 'No events',
        }),
        total > 0 && [
          damagedLines(run),
          html`<p>An import can’t be undone. You can withdraw each result separately.</p>`,
          fieldsOf(visit).form('Import results', { to: `${here}/start` }),
        ],
        buttonForm(`${here}/cancel`, 'Cancel import'),
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
      notice(query, { cancelled: 'The import is cancelled. No more results are imported.' }),
      isRunning && [progress('Lines imported', reached, total, here), buttonForm(`${here}/cancel`, 'Cancel import')],
      isCancelled && html`<p>Imported results are kept; the other lines are deleted. ${whyCancelled(run)}</p>`,
      facts({
        Started: moment(run.created_at, zone),
        Imported: number(run.imported),
        Changed: number(run.updated),
        Unchanged: number(run.unchanged),
        'Lines with faults, skipped': number(run.faulty + run.rejected),
        [isCancelled ? 'Not imported' : 'Not imported, because the learner was erased']:
          unwritten > 0 && number(unwritten),
        Ended: moment(run.finished_at, zone),
      }),
      faultTable(run),
      html`<p><a href="${base}/results?source=imported&amp;sort=-changed">Imported results</a></p>`,
    ],
  };
}

const titles = {
  running: 'Results are being imported',
  waiting: 'Results are being imported',
  finished: 'Results are imported',
  cancelled: 'The import is cancelled',
};

async function start(visit: Visit, { run_id: id }: ImportRun): Promise<Answer> {
  const { app, base, organisationId, change } = visit;
  await change((work) => beginImport(work, organisationId, id), id);
  inBackground(app, 'import_run.failed', importRuns.run(app));
  return { to: `${base}/results/import/${id}` };
}

async function cancel(visit: Visit, { run_id: id }: ImportRun): Promise<Answer> {
  const { base, organisationId, change } = visit;
  await change((work) => importRuns.cancel(work, organisationId, id), id);
  return { to: `${base}/results/import/${id}?did=cancelled` };
}
