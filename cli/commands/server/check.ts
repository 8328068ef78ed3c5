import { repairDigest, verifyDigest } from '../../../src/feed/digest-repair.ts';
import { listOrganisations } from '../../../src/organisations/organisations.ts';
import type { App } from '../../../src/platform/app.ts';
import type { Place } from '../../../src/platform/db/stored-text.ts';
import { readReport } from '../../../src/records/evidence/evidence.ts';
import { holdsNationalInsuranceNumber } from '../../../src/platform/validation/personal-data.ts';
import { canRedact, findPersonalData, redactPlace } from '../../../src/governance/redaction/redaction.ts';
import { type Call, type Command, command } from '../../kit/command.ts';
import { act, note, organisationOf, withApp } from '../../kit/open.ts';
import { flag, text } from '../../kit/options.ts';
import { linesOf, table, tableOf } from '../../kit/table.ts';

/**
 * Shows an organisation by its public ID. Hides parts of a key that contain a National Insurance number, because the
 * output must not contain the number.
 */
function shown({ table: name, column, key }: Place, publicIds: Map<string, string>): Place {
  const parts = Object.entries(key).map(([part, id]) => {
    if (part === 'organisation_id') return [part, publicIds.get(id) ?? 'none'];
    return [part, holdsNationalInsuranceNumber(id) ? '(hidden)' : id];
  });
  return { table: name, column, key: Object.fromEntries(parts) as Record<string, string> };
}

const rowsOf = (places: Place[]) => table([['table', 'column', 'key'], ...places.map(rowOf)]);
const rowOf = ({ table: name, column, key }: Place) => [name, column, JSON.stringify(key)];

/** Redacts each place in its own transaction, with an audit row. If the command is stopped, the next run continues. */
async function redactAll(
  app: App,
  places: Place[],
  show: (place: Place) => Place,
  call: Call<unknown>,
): Promise<Place[]> {
  const redacted: Place[] = [];
  const packs = new Map<string, { organisationId: number; assessmentId: string }>();
  for (const place of places) {
    if (call.signal.aborted) break;
    const organisationId = Number(place.key.organisation_id ?? 0);
    const within = organisationId === 0 ? null : organisationId;
    const resource = rowOf(show(place)).join(' ');
    await act(app, within, 'check personal-data redact', resource, (work) => redactPlace(work, place));
    redacted.push(place);
    call.progress(`${redacted.length} of ${places.length} places`);
    const assessmentId = place.key.assessment_id;
    if (place.table === 'evidence') packs.set(assessmentId!, { organisationId, assessmentId: assessmentId! });
  }
  // The evidence packs are made again last, when all text that they show is redacted.
  for (const { organisationId, assessmentId } of packs.values()) await readReport(app, organisationId, assessmentId);
  return redacted;
}

async function check(call: Call<{ organisation: string | undefined; redact: boolean }>) {
  const { organisation: id, redact } = call.options;
  return withApp(async (app) => {
    const organisationId = id === undefined ? null : (await organisationOf(app, id)).organisation_id;
    const found = await findPersonalData(app.db, app.secrets, organisationId);
    await note(app, organisationId, 'check personal-data', null);
    const publicIds = new Map<string, string>();
    for (const one of await listOrganisations(app.db)) publicIds.set(String(one.organisation_id), one.public_id);
    const show = (place: Place) => shown(place, publicIds);
    const redacted = redact ? await redactAll(app, found.filter(canRedact), show, call) : [];
    const rest = found.filter((place) => !redacted.includes(place));
    return {
      json: { found: found.map(show), redacted: redacted.map(show) },
      text: linesOf(
        found.length === 0 && 'No stored text holds anything shaped like a National Insurance number.',
        redacted.length > 0 && `Redacted in ${redacted.length} places:\n${rowsOf(redacted.map(show))}`,
        redacted.length > 0 && rest.length > 0 && 'Left as it is:',
        rest.length > 0 && rowsOf(rest.map(show)),
      ),
      exitCode: rest.length === 0 ? 0 : 1,
    };
  });
}

type Found = { organisation_id: string; state: 'right' | 'differs' | 'repaired'; cells: number };

export const commands: Command[] = [
  command({
    name: 'check personal-data',
    summary: 'Find stored National Insurance numbers, or redact them',
    examples: ['--organisation $ORG', '--redact'],
    fails: 'Numbers are found, or the command has failed.',
    about: { organisation: 'Only this organisation', redact: 'Redacts the numbers that are found' },
    options: { organisation: text('ID'), redact: flag },
    run: check,
  }),
  command({
    name: 'digest verify',
    summary: 'Compare the digest of the feed with a recount',
    examples: ['', '--repair --organisation $ORG'],
    fails: 'A digest differs, or the command has failed.',
    about: { repair: 'Corrects digests that differ', organisation: 'Only this organisation' },
    options: { repair: flag, organisation: text('ID') },
    run: ({ options: { repair, organisation }, signal, progress }) =>
      withApp(async (app) => {
        const all = organisation === undefined ? listOrganisations(app.db) : [await organisationOf(app, organisation)];
        const organisations = await all;
        const found: Found[] = [];
        for (const { organisation_id: id, public_id } of organisations) {
          if (signal.aborted) break;
          progress(`${found.length} of ${organisations.length} organisations`);
          const differing = await verifyDigest(app, id);
          const cells = differing.length;
          let state: Found['state'] = cells === 0 ? 'right' : 'differs';
          if (state === 'differs' && repair) {
            await note(app, id, 'digest verify repair', null);
            await repairDigest(app, id);
            if ((await verifyDigest(app, id)).length === 0) state = 'repaired';
          }
          found.push({ organisation_id: public_id, state, cells });
        }
        return {
          json: { organisations: found },
          text: tableOf(found, [
            ['organisation', 'organisation_id'],
            ['digest', 'state'],
            ['cells that differed', 'cells'],
          ]),
          exitCode: found.some(({ state }) => state === 'differs') || signal.aborted ? 1 : 0,
        };
      }),
  }),
];
