import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { exportEvidence } from '../../../src/records/evidence/export.ts';
import { type Inspection, editionBytes, inspect, isSha256 } from '../../../src/records/evidence/verify.ts';
import { formatPosition } from '../../../src/feed/time.ts';
import { readOrganisation } from '../../../src/organisations/organisations.ts';
import { type Call, type Command, command, Failure, Misuse } from '../../kit/command.ts';
import { writeWhole } from '../../kit/in-place.ts';
import { missing, organisationCommand, withApp } from '../../kit/open.ts';
import { parsed, position, required, text } from '../../kit/options.ts';
import { linesOf } from '../../kit/table.ts';

async function hashOf(file: string): Promise<string> {
  const digest = createHash('sha256');
  try {
    for await (const chunk of createReadStream(file)) digest.update(chunk as Buffer);
  } catch {
    throw new Failure(`cannot read ${file}`);
  }
  return digest.digest('hex');
}

const hashExpected = '64 hexadecimal digits';

function readHash(text: string): string | undefined {
  const sha256 = text.trim().toLowerCase();
  return isSha256(sha256) ? sha256 : undefined;
}

async function verify(call: Call<{ sha256: string | undefined }>) {
  const { sha256: expected } = call.options;
  const sha256 = await hashOf(call.positionals[0]!);
  if (expected !== undefined) {
    const matches = expected === sha256;
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
    const ids = { organisation_id: organisation?.public_id ?? null, assessment_id: holder?.assessmentId ?? null };
    return {
      json: { sha256, verdict, edition, made_at, withdrawn_at, ...ids, reproducible },
      text: `${verdictWords(found)}: ${whose}`,
      exitCode: verdict === 'current' || verdict === 'superseded' ? 0 : 1,
    };
  });
}

function verdictWords({ verdict, withdrawn_at }: Inspection): string {
  return {
    current: 'Genuine and current',
    superseded: 'Genuine, but superseded by an amendment',
    withdrawn: `Genuine, but its result was withdrawn on ${withdrawn_at?.slice(0, 10)}`,
    test: 'Made in a sandbox, and evidence of nothing',
    unknown: 'Not vouched for',
  }[verdict];
}

/** Says whether this service can make the evidence pack again, byte for byte. */
function againWords({ verdict, redacted, reproducible, sameRenderer }: Inspection): string {
  if (verdict === 'withdrawn') return 'Its content is deleted.';
  if (redacted) return 'It held personal data that must not be stored, and was deleted: delete this copy too.';
  if (reproducible === true) return 'This version of the service makes the same bytes again.';
  if (sameRenderer === true)
    return 'But this service makes other bytes from the stored content: its installation is damaged.';
  return 'This version of the service has another renderer than the file was made with.';
}

export const commands: Command[] = [
  command({
    name: 'evidence verify',
    summary: 'Verify an evidence pack',
    notes: 'With --sha256, the command needs no database.',
    examples: ['evidence.pdf', 'evidence.pdf --sha256 HASH'],
    fails: 'The file is not the evidence pack, or the command has failed.',
    about: { sha256: 'The expected SHA-256 hash' },
    takes: 'FILE',
    options: { sha256: parsed('HASH', hashExpected, readHash) },
    run: verify,
  }),
  organisationCommand({
    name: 'evidence export',
    summary: 'Write evidence packs with a manifest',
    notes: 'Run the command again to continue.',
    examples: [
      '--organisation $ORG --out packs --since 2026-09-01',
      '--organisation $ORG --out packs --since 2026-09-01T00:00:00Z --json',
    ],
    about: { out: 'The folder to write', since: 'Only results that were assessed since this time' },
    options: { out: required(text('DIR')), since: required(position('T')) },
    run: async ({ app, organisationId, note, signal, progress, options: { since, out } }) => {
      // Evidence packs contain personal data, so the audit log records each export.
      await note(`results since ${formatPosition(since)}`);
      const onReport = (done: number, total: number) => progress(`${done} of ${total} reports`);
      const counts = await exportEvidence(app, organisationId, since, out, onReport, signal);
      return {
        json: { ...counts, complete: !signal.aborted },
        text: linesOf(
          `${counts.exported} reports written, ${counts.unchanged} were there already.`,
          signal.aborted
            ? 'Stopped before the end: run the same command again to continue.'
            : `Manifest: ${join(out, 'manifest.csv')} and manifest.json`,
          counts.withdrawn.length > 0 &&
            'These results have been withdrawn since an earlier export; delete their files:',
          ...counts.withdrawn.map((file) => `  ${join(out, file)}`),
        ),
        exitCode: signal.aborted ? 1 : 0,
      };
    },
  }),
  organisationCommand({
    name: 'evidence edition',
    summary: 'Write a stored edition of an evidence pack',
    examples: ['--organisation $ORG SHA256 --out edition.pdf', '--organisation $ORG SHA256 --out edition.pdf --json'],
    about: { out: 'The file to write' },
    takes: 'SHA256',
    options: { out: required(text('FILE')) },
    prepare({ positionals }) {
      const sha256 = readHash(positionals[0]!);
      if (sha256 === undefined) throw new Misuse(`the hash must be ${hashExpected}`);
      return sha256;
    },
    run: async ({ app, organisationId, note, prepared: sha256, options: { out } }) => {
      const pdf = await editionBytes(app, organisationId, sha256);
      if (pdf === undefined) throw missing('stored edition', sha256, { by: 'hash' });
      await note(sha256);
      await writeWhole(out, pdf);
      return { json: { file: out, bytes: pdf.length }, text: `Wrote ${out}.` };
    },
  }),
];
