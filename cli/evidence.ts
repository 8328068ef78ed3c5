import { hash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { exportEvidence } from '../src/evidence/export.ts';
import { editionBytes, inspect, isSha256, vouch } from '../src/evidence/verify.ts';
import { parseLowerBound } from '../src/feed/time.ts';
import { readOrganisation } from '../src/organisations/organisations.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { option, organisationOf, requiredOption, withApp } from './open.ts';

async function verify(call: Call) {
  const file = call.positionals[0]!;
  const bytes = await readFile(file).catch(() => { throw new Failure(`cannot read ${file}`); });
  const sha256 = hash('sha256', bytes, 'hex');
  const given = option(call, 'sha256')?.toLowerCase();
  if (given !== undefined) {
    if (!isSha256(given)) throw new Misuse('--sha256 must be 64 hexadecimal digits');
    const matches = given === sha256;
    return { json: { sha256, verdict: matches ? 'matches' : 'differs' }, exitCode: matches ? 0 : 1, text: matches ? 'The file has the given hash.' : `The file does not have the given hash: it has ${sha256}.` };
  }
  return withApp(async (app) => {
    const { verdict, edition, made_at } = await vouch(app, sha256);
    const found = await inspect(app, sha256);
    const organisation = found === null ? null : await readOrganisation(app.db, found.organisationId);
    const json = { sha256, verdict, edition, made_at, organisation_id: organisation?.public_id ?? null, assessment_id: found?.assessmentId ?? null, reproducible: found?.reproducible ?? null };
    const text = verdict === 'unknown' ? `Not vouched for: no evidence of a result that stands has the hash ${sha256}.`
      : `Genuine${verdict === 'current' ? ' and current' : ', but superseded by a later edition'}: edition ${edition} of result ${found!.assessmentId}, made ${made_at}.\n`
        + `${found!.reproducible ? 'This version of the service makes the same bytes again.' : found!.sameRenderer ? 'But this service makes other bytes from the stored content: its installation is damaged.' : 'This version of the service has another renderer than the file was made with.'}`;
    return { json, text, exitCode: verdict === 'unknown' ? 1 : 0 };
  });
}

async function exportAll(call: Call) {
  const id = requiredOption(call, 'organisation');
  const folder = requiredOption(call, 'out');
  const since = requiredOption(call, 'since');
  const sinceUs = parseLowerBound(/^\d{4}-\d\d-\d\d$/.test(since) ? `${since}T00:00:00Z` : since);
  if (sinceUs === null) throw new Misuse('--since must be a day or a date-time, such as 2026-01-31 or 2026-01-31T09:00:00Z');
  return withApp(async (app) => {
    const found = await organisationOf(app, id);
    const counts = await exportEvidence(app, found.organisation_id, sinceUs, folder, (done, total) => call.progress(`${done} of ${total} reports`), call.signal);
    const stopped = call.signal.aborted ? '\nStopped before the end: run the same command again to continue.' : '';
    return { json: counts, text: `${counts.exported} reports written, ${counts.unchanged} were there already. Manifest: ${folder}/manifest.csv and manifest.json${stopped}`, exitCode: call.signal.aborted ? 1 : 0 };
  });
}

export const commands: Command[] = [
  {
    name: 'evidence verify', usage: '[--sha256 HASH] FILE', summary: 'Check an evidence file against the database, or offline against a hash', positionals: [1, 1],
    options: { sha256: { type: 'string' } }, run: verify,
  },
  {
    name: 'evidence export', usage: '--organisation ID --since T --out DIR', summary: 'Write the evidence of all results since a day, with a manifest; run it again to continue',
    options: { organisation: { type: 'string' }, since: { type: 'string' }, out: { type: 'string' } }, run: exportAll,
  },
  {
    name: 'evidence edition', usage: '--organisation ID --out FILE SHA256', summary: 'Write any stored edition by its hash', positionals: [1, 1],
    options: { organisation: { type: 'string' }, out: { type: 'string' } },
    run: (call) => {
      const sha256 = call.positionals[0]!.toLowerCase();
      if (!isSha256(sha256)) throw new Misuse('the hash must be 64 hexadecimal digits');
      const out = requiredOption(call, 'out');
      return withApp(async (app) => {
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        const pdf = await editionBytes(app, found.organisation_id, sha256);
        if (pdf === undefined) throw new Failure('the organisation has no stored edition with this hash');
        await writeFile(out, pdf);
        return { json: { file: out, bytes: pdf.length }, text: `Wrote ${out}.` };
      });
    },
  },
];
