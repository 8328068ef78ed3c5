import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { App } from '../src/app.ts';
import { exportEvidence } from '../src/evidence/export.ts';
import type { Inspection } from '../src/evidence/verify.ts';
import { editionBytes, inspect, isSha256 } from '../src/evidence/verify.ts';
import { formatPosition } from '../src/feed/time.ts';
import { readOrganisation } from '../src/organisations/organisations.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { writeWhole } from './in-place.ts';
import { act, missing, option, organisationOf, requiredOption, timeOption, withApp } from './open.ts';

async function hashOf(file: string): Promise<string> {
  const digest = createHash('sha256');
  try {
    for await (const chunk of createReadStream(file)) digest.update(chunk as Buffer);
  } catch {
    throw new Failure(`cannot read ${file}`);
  }
  return digest.digest('hex');
}

function givenHash(text: string, what: string): string {
  const sha256 = text.trim().toLowerCase();
  if (!isSha256(sha256)) throw new Misuse(`${what} must be 64 hexadecimal digits`);
  return sha256;
}

async function verify(call: Call) {
  const expected = option(call, 'sha256');
  const given = expected === undefined ? undefined : givenHash(expected, '--sha256');
  const sha256 = await hashOf(call.positionals[0]!);
  if (given !== undefined) {
    const matches = given === sha256;
    return {
      json: { sha256, verdict: matches ? 'matches' : 'differs' },
      exitCode: matches ? 0 : 1,
      text: matches ? 'The file has the given hash.' : `The file does not have the given hash: it has ${sha256}.`,
    };
  }
  return withApp(async (app) => {
    const found = await inspect(app, sha256);
    const { verdict, edition, made_at, withdrawn_at, holder, reproducible } = found;
    const organisation = holder === null ? null : await readOrganisation(app.db, holder.organisationId);
    const whose =
      organisation === null
        ? `no file that this service has made has the hash ${sha256}.`
        : `edition ${edition} of result ${holder!.assessmentId} of ${organisation.name}, made ${made_at}.\n${againWords(found)}`;
    return {
      json: {
        sha256,
        verdict,
        edition,
        made_at,
        withdrawn_at,
        organisation_id: organisation?.public_id ?? null,
        assessment_id: holder?.assessmentId ?? null,
        reproducible,
      },
      text: `${standingWords(found)}: ${whose}`,
      exitCode: verdict === 'current' || verdict === 'superseded' ? 0 : 1,
    };
  });
}

function standingWords({ verdict, withdrawn_at }: Inspection): string {
  return {
    current: 'Genuine and current',
    superseded: 'Genuine, but superseded by an amendment',
    withdrawn: `Genuine, but its result was withdrawn on ${withdrawn_at?.slice(0, 10)}`,
    test: 'Made in a sandbox, and evidence of nothing',
    unknown: 'Not vouched for',
  }[verdict];
}

/** What became of its content, and whether this service would make the same file again. */
function againWords({ verdict, redacted, reproducible, sameRenderer }: Inspection): string {
  if (verdict === 'withdrawn') return 'Its content is gone.';
  if (redacted) return 'It held personal data that must not be stored, and was deleted: delete this copy too.';
  if (reproducible === true) return 'This version of the service makes the same bytes again.';
  if (sameRenderer === true)
    return 'But this service makes other bytes from the stored content: its installation is damaged.';
  return 'This version of the service has another renderer than the file was made with.';
}

/** Evidence is personal data, so its way out of the service is in the log. */
function audit(app: App, organisationId: number, action: string, resource: string): Promise<null> {
  return act(app, organisationId, action, async () => ({ result: null, resource }));
}

async function exportAll(call: Call) {
  const id = requiredOption(call, 'organisation');
  const folder = requiredOption(call, 'out');
  requiredOption(call, 'since');
  const sinceUs = timeOption(call, 'since')!;
  return withApp(async (app) => {
    const found = await organisationOf(app, id);
    await audit(app, found.organisation_id, 'evidence export', `results since ${formatPosition(sinceUs)}`);
    const counts = await exportEvidence(
      app,
      found.organisation_id,
      sinceUs,
      folder,
      (done, total) => call.progress(`${done} of ${total} reports`),
      call.signal,
    );
    const lines = [`${counts.exported} reports written, ${counts.unchanged} were there already.`];
    if (call.signal.aborted) lines.push('Stopped before the end: run the same command again to continue.');
    else lines.push(`Manifest: ${join(folder, 'manifest.csv')} and manifest.json`);
    if (counts.withdrawn.length > 0)
      lines.push(
        'These results have been withdrawn since an earlier export; delete their files:',
        ...counts.withdrawn.map((file) => `  ${join(folder, file)}`),
      );
    return {
      json: { ...counts, complete: !call.signal.aborted },
      text: lines.join('\n'),
      exitCode: call.signal.aborted ? 1 : 0,
    };
  });
}

async function writeEdition(call: Call) {
  const sha256 = givenHash(call.positionals[0]!, 'the hash');
  const out = requiredOption(call, 'out');
  return withApp(async (app) => {
    const found = await organisationOf(app, requiredOption(call, 'organisation'));
    const pdf = await editionBytes(app, found.organisation_id, sha256);
    if (pdf === undefined) throw missing('stored edition', sha256, { by: 'hash' });
    await audit(app, found.organisation_id, 'evidence edition', sha256);
    await writeWhole(out, pdf);
    return { json: { file: out, bytes: pdf.length }, text: `Wrote ${out}.` };
  });
}

export const commands: Command[] = [
  {
    name: 'evidence verify',
    usage: '[--sha256 HASH] FILE',
    summary: 'Check an evidence file against the database, or offline against a hash',
    positionals: [1, 1],
    options: { sha256: { type: 'string' } },
    run: verify,
  },
  {
    name: 'evidence export',
    usage: '--organisation ID --since T --out DIR',
    summary: 'Write the evidence of all results since a day, with a manifest; run it again to continue',
    options: { organisation: { type: 'string' }, since: { type: 'string' }, out: { type: 'string' } },
    run: exportAll,
  },
  {
    name: 'evidence edition',
    usage: '--organisation ID --out FILE SHA256',
    summary: 'Write any stored edition by its hash',
    positionals: [1, 1],
    options: { organisation: { type: 'string' }, out: { type: 'string' } },
    run: writeEdition,
  },
];
