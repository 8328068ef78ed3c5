import type { Content, Markup } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import type { Namesake } from '../../../sittings/invitations/runs/namesakes.ts';
import { findNamesakes } from '../../../sittings/invitations/runs/namesakes.ts';
import type { RunRow } from '../../../sittings/invitations/runs/read-runs.ts';
import type { Doubt } from '../../../sittings/invitations/runs/row.ts';
import { doubtWords } from '../../../sittings/invitations/runs/row.ts';
import type { Cells, TableRow } from '../../../sittings/invitations/runs/table.ts';
import { repaired } from '../../../platform/validation/person-name.ts';
import { sameNameKey } from '../../../records/learners/keys.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { dayWords, number } from '../kit/blocks.ts';
import type { Choice, Faults, Form } from '../kit/form.ts';
import { hiddenField, fieldsOf, isFaulty } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import type { Visit } from '../kit/route.ts';
import { visibilityOf } from '../kit/visibility.ts';

/** Questions about rows of a table that may be wrong, asked before anyone is invited. */

const fieldOf = ({ row_no }: Pick<RunRow, 'row_no'>) => `row-${row_no}`;

/** Undoes a wrong reading of the file's encoding. */
const repairedCells = (cells: Cells): Cells =>
  Object.fromEntries(Object.entries(cells).map(([column, value]) => [column, repaired(value)]));

const repairedWords = (cells: Cells, doubts: readonly Doubt[]): string =>
  doubts.flatMap(({ about, column }) => (about === 'encoding' ? repaired(cells[column]!) : [])).join(', ');

const isRepairable = (cells: Cells) => Object.values(cells).some((value) => repaired(value) !== value);

const namesakeWords = (one: Namesake, zone: string): string =>
  `${one.full_name}, ${one.ref === null ? 'without a reference' : `reference ${one.ref}`}, here since ${dayWords(one.created_at, zone)}`;

export const namesakeChoices = (namesakes: readonly Namesake[], zone: string): Choice[] =>
  namesakes.map((one) => ({
    value: one.learner_id,
    label: `Invite the learner you have: ${namesakeWords(one, zone)}`,
  }));

export const namesakeLinks = (base: string, namesakes: readonly Namesake[]): Content =>
  namesakes.length === 0
    ? null
    : html` Look at ${namesakes.map((one, i) => html`${i === 0 ? null : ' and '}<a href="${base}/learners/${one.learner_id}">${name(one.full_name)}</a>`)}.`;

const isAbout = (doubts: readonly Doubt[], ...kinds: Doubt['about'][]) =>
  doubts.some(({ about }) => kinds.includes(about));

function choicesOf(cells: Cells, doubts: readonly Doubt[], namesakes: readonly Namesake[], zone: string): Choice[] {
  const isNew = isAbout(doubts, 'known', 'twice');
  return [
    { value: '', label: 'Choose' },
    ...(isAbout(doubts, 'encoding') && isRepairable(cells)
      ? [{ value: 'repair', label: `Correct it: ${repairedWords(cells, doubts)}` }]
      : []),
    ...namesakeChoices(namesakes, zone),
    { value: 'as_is', label: isNew ? 'Invite a new learner of this name' : 'It is right as it is' },
    { value: 'out', label: 'Leave this row out' },
  ];
}

/** @param more the number of rows that the next forms ask about */
export async function doubtsForm(
  visit: Visit,
  to: string,
  rows: readonly RunRow[],
  more: number,
  faults: Faults,
): Promise<Markup> {
  const { app, base, organisationId, zone } = visit;
  const f = fieldsOf(visit, faults);
  const known = rows.filter(({ ready }) => isAbout(ready!.doubts!, 'known')).map(({ ready }) => ready!.full_name);
  const found = await findNamesakes(app.db, organisationId, known, await visibilityOf(visit));
  const fields = rows.map((row) => {
    const doubts = row.ready!.doubts!;
    const namesakes = isAbout(doubts, 'known') ? (found.get(sameNameKey(row.ready!.full_name)) ?? []) : [];
    return [
      f.select(
        fieldOf(row),
        `Row ${row.row_no}: ${row.ready!.full_name}`,
        choicesOf(row.cells!, doubts, namesakes, zone),
        {
          hint: html`${doubts.map((doubt) => html`<code>${doubt.column}</code> ${doubtWords(doubt)}. `)}${namesakeLinks(base, namesakes)}`,
        },
      ),
      hiddenField('asked', String(row.row_no)),
    ];
  });
  const after = more === 0 ? null : html`<p>${number(more)} more will come after these.</p>`;
  return html`<h2>Is this right?</h2>${after}${f.form('Confirm the rows', { to }, fields)}`;
}

/** @returns the rows with the answers applied, or the fields without an answer */
export function readAnswers(sent: Form, rows: readonly RunRow[]): { given: TableRow[] } | { faults: Faults } {
  const faults: Faults = {};
  const given: TableRow[] = [];
  for (const row of rows) {
    const { row_no, ready } = row;
    const cells = row.cells!;
    const answer = sent.raw(fieldOf(row)).toLowerCase();
    const accepted = [cells.accepted, ...ready!.doubts!.map(({ about }) => about)].filter(Boolean).join(' ');
    if (answer === 'as_is') given.push({ row_no, cells: { ...cells, accepted } });
    else if (answer === 'repair') given.push({ row_no, cells: repairedCells(cells) });
    else if (isUuid(answer)) given.push({ row_no, cells: { ...cells, learner_id: answer } });
    else if (answer !== 'out') faults[fieldOf(row)] = `Choose what happens with row ${row_no}.`;
  }
  return isFaulty(faults) ? { faults } : { given };
}
