import { type Content, html } from '../../../platform/html/html.ts';
import { keepTableColumns, readTableColumns, type TableKind } from '../../../organisations/table-columns.ts';
import { limits } from '../../../platform/config/limits.ts';
import { recogniseEncoding } from '../../../platform/formats/lines.ts';
import type { ColumnChoices, UnknownColumns } from '../../../records/learners/headings.ts';
import { choicesToRemember, isNationalNumber, leftOut } from '../../../records/learners/headings.ts';
import { type Choice, type Faults, type Fields, hiddenField } from '../kit/form.ts';
import { formPage } from '../kit/page.ts';
import type { Page } from '../kit/frame.ts';
import type { Visit } from '../kit/route.ts';

/** A page on which a person chooses what the columns of a table contain. The organisation's choices are remembered. */

export const tableFiles = '.xlsx,.ods,.csv,.tsv,.txt,text/csv';

export const tableFields = (f: Fields): Content => [
  f.text('sheet', 'Sheet (optional)', { hint: 'Only if several sheets of the workbook have rows.', width: 20 }),
  f.tick('ask', 'Columns', { yes: 'Choose the columns of the table by hand' }),
];

const field = (i: number) => `column-${i}`;

export async function columnChoices(visit: Visit, kind: TableKind): Promise<ColumnChoices & { sheet: string }> {
  const { app, organisationId, form: sent } = visit;
  const chosen: string[] = [];
  while (chosen.length < limits.workbookColumns && sent.raw(field(chosen.length)) !== '')
    chosen.push(sent.raw(field(chosen.length)));
  return {
    sheet: sent.text('sheet'),
    chosen: chosen.length === 0 ? null : chosen,
    asks: sent.raw('ask') === 'yes',
    remembered: await readTableColumns(app.db, organisationId, kind),
  };
}

type Asking = { back: { to: string; label: string }; choices: readonly Choice[]; hidden: readonly string[] };

/** Shows the columns of a table that could not be read without a choice. */
export function columnsPage(visit: Visit, { message, columns, table }: UnknownColumns, asking: Asking): Page {
  const { form: sent } = visit;
  const isAsked = sent.raw(field(0)) !== '';
  const isSmall = table.length <= limits.formBytes;
  const { encoding, markBytes } = recogniseEncoding(table);
  const text = () => new TextDecoder(encoding ?? 'utf-8').decode(table.subarray(markBytes));
  const faults: Faults = isAsked ? { [field(0)]: `The columns are not complete: ${message}.` } : {};
  const choices = [{ value: leftOut, label: 'Leave out' }, ...asking.choices];
  return formPage(visit, {
    title: 'Choose columns',
    back: asking.back,
    faults,
    intro: html`<p>Choose what each column of your table contains. Nothing is read from a column at “Leave out”. Your organisation’s next table is read in this way.</p>`,
    button: 'Check rows',
    upload: true,
    fields: (f) => [
      columns.map(({ heading, sample, column }, i) => [
        hiddenField('heading', heading),
        f.select(field(i), heading.trim().slice(0, 60) || `Column ${i + 1}, without a heading`, choices, {
          initial: column === 'any_id' ? 'ref' : (column ?? leftOut),
          hint: hintOf(heading, sample),
        }),
      ]),
      isSmall ? hiddenField('rows', text()) : f.file('file', 'Choose the file again, because it is large', tableFiles),
      ['sheet', 'once', ...asking.hidden].map((name) => sent.all(name).map((value) => hiddenField(name, value))),
    ],
  });
}

function hintOf(heading: string, sample: string): string {
  const first = sample === '' ? 'The first row is empty here.' : `The first row has “${sample.slice(0, 40)}”.`;
  return isNationalNumber(heading)
    ? `${first} Leave it out: a reference is shown on pages and in URLs, and this number identifies a person for life.`
    : first;
}

/** Remembers the choices of the form, after the table was read with them. */
export async function rememberColumns(
  { change, organisationId, form: sent }: Visit,
  kind: TableKind,
  { chosen }: ColumnChoices,
  recognise: (heading: string) => string | undefined,
): Promise<void> {
  const headings = sent.all('heading');
  if (!chosen || headings.length !== chosen.length) return;
  const changes = choicesToRemember(headings, chosen, recognise);
  await change(
    (work) => keepTableColumns(work, organisationId, kind, changes),
    // The row of an import names its run.
    () => kind === 'invite' && `columns: ${kind}`,
  );
}
