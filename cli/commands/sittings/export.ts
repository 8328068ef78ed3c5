import type { App } from '../../../src/platform/app.ts';
import { csvLine } from '../../../src/platform/formats/csv.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import { exportedResponses, responseColumns } from '../../../src/sittings/responses/export.ts';
import { type Command, command, Failure } from '../../kit/command.ts';
import { writeWhole } from '../../kit/in-place.ts';
import { note, organisationOf, withApp } from '../../kit/open.ts';
import { text, word } from '../../kit/options.ts';
import { writeOut } from '../../kit/terminal.ts';

async function organisationToExport(app: App, id: string | undefined): Promise<number | null> {
  if (id === undefined) return null;
  const { organisation_id, pilot_items } = await organisationOf(app, id);
  if (!pilot_items)
    throw new Failure(
      'The organisation does not allow its answers to be used for calibration. Ask its owner, then set "ars organisation update --pilot-items on".',
    );
  return organisation_id;
}

export const exportSittings: Command = command({
  name: 'sittings export',
  summary: 'Export answers without persons, for calibration',
  notes:
    'Without --organisation, the file has the answers of all organisations that allow it. The output is CSV. It is JSON lines with --json, or if the name of the file ends in .ndjson.',
  examples: ['--out answers.csv', '--organisation $ORG --subject maths --json'],
  about: {
    organisation: 'Only sittings of this organisation',
    subject: 'Only this subject',
    out: 'The file to write (default: standard output)',
  },
  options: { organisation: text('ID'), subject: word(subjects), out: text('FILE') },
  run: ({ options: { organisation, subject = null, out }, json, signal }) =>
    withApp(async (app) => {
      const organisationId = await organisationToExport(app, organisation);
      const asJson = out === undefined ? json : /\.ndjson$/i.test(out);
      await note(app, organisationId, 'sittings export', `${subject ?? 'all subjects'} as ${asJson ? 'JSON' : 'CSV'}`);
      const counts = { sittings: 0, answers: 0 };
      await app.db.snapshot(async (tx) => {
        async function* parts(): AsyncGenerator<string> {
          if (!asJson) yield csvLine(responseColumns, ',');
          for await (const rows of exportedResponses(app, tx, { organisationId, subject })) {
            signal.throwIfAborted();
            counts.sittings = rows.at(-1)?.sitting ?? counts.sittings;
            counts.answers += rows.length;
            yield rows
              .map((row) =>
                asJson
                  ? `${JSON.stringify(row)}\n`
                  : csvLine(
                      responseColumns.map((column) => String(row[column] ?? '')),
                      ',',
                    ),
              )
              .join('');
          }
        }
        if (out !== undefined) await writeWhole(out, parts());
        else for await (const part of parts()) await writeOut(part);
      });
      if (out === undefined) return { json: undefined, text: '' };
      const { sittings, answers } = counts;
      return {
        json: { ...counts, file: out },
        text: `${answers.toLocaleString('en-GB')} answers of ${sittings.toLocaleString('en-GB')} sittings are in ${out}.`,
      };
    }),
});
