import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { App } from '../../../src/platform/app.ts';
import type { Tx } from '../../../src/platform/db/database.ts';
import type { UnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { DatabaseUnavailable, lockHeld } from '../../../src/platform/db/connection/unavailable.ts';
import { lockFeed, readFeed } from '../../../src/feed/position.ts';
import { type Certificate, certificateText } from '../../../src/governance/offboarding/certificate.ts';
import { type NotDeleted, deleteOrganisation } from '../../../src/governance/offboarding/delete.ts';
import { exportOrganisation } from '../../../src/governance/offboarding/export.ts';
import { OtherFolder, refuseEarlierHistory } from '../../../src/governance/offboarding/folder.ts';
import { resumeOrganisation, suspendOrganisation } from '../../../src/governance/offboarding/suspend.ts';
import { findOrganisation } from '../../../src/organisations/organisations.ts';
import { findDeletion, recordExport } from '../../../src/organisations/suspension.ts';
import { findLineage } from '../../../src/governance/restore/lineage.ts';
import { isUuid } from '../../../src/platform/crypto/random.ts';
import { type Call, type Command, type Output, command, Failure, Misuse } from '../../kit/command.ts';
import { proveWritable, writeWhole } from '../../kit/in-place.ts';
import { type Inside, missing, organisationCommand, operator, withApp } from '../../kit/open.ts';
import { flag, reason, required, text } from '../../kit/options.ts';

const movedText =
  'Learners, results or groups changed while it ran: some of that may be missing, and files may not agree with each other. Run the same command again, once the organisation is suspended and nothing else is done to it.';

async function refuseDeletion(tx: Tx, publicId: string): Promise<void> {
  if ((await findDeletion(tx, publicId)) !== undefined)
    throw new Failure('Its deletion has begun: what is left of it is not everything.');
}

function failed(error: unknown): never {
  throw error instanceof OtherFolder || (error instanceof Error && error.message.startsWith('another export'))
    ? new Failure(`${error.message}.`)
    : error;
}

/**
 * Writes the files of the export. The audit row is written first, so that no personal data leaves the service
 * unrecorded.
 */
async function writeExport(call: Call<{ out: string }> & Inside) {
  const { app, organisation, signal } = call;
  await refuseDeletion(app.db, organisation.public_id);
  const lineage = await findLineage(app.db);
  const since = lineage === undefined || lineage.restores === 0 ? null : lineage.since;
  await refuseEarlierHistory(call.options.out, since).catch(failed);
  await call.note(`${organisation.public_id} begun`);
  const progress = (line: string) => call.progress(line);
  return exportOrganisation(app, organisation, call.options.out, progress, signal).catch((error: unknown) => {
    if (signal.aborted) throw new Failure('Stopped before the end: run the same command again.');
    return failed(error);
  });
}

async function exportAll(call: Call<{ out: string }> & Inside): Promise<Output> {
  const { app, organisationId: id } = call;
  const { public_id: publicId } = call.organisation;
  const folder = call.options.out;
  const exported = await writeExport(call);
  const { files, rows, evidence, evidenceRemoved: removed, sha256 } = exported;
  const hasMoved = async (tx: Tx) => (await readFeed(tx, id)).state !== exported.feedState;
  const record = async (work: UnitOfWork) => {
    await lockFeed(work, id);
    await refuseDeletion(work.tx, publicId);
    await recordExport(work.tx, id, exported);
    return hasMoved(work.tx);
  };
  const moved = await call.act(`${publicId} done ${sha256}`, record).catch(async (error: unknown) => {
    if (error instanceof DatabaseUnavailable && error.code !== lockHeld) {
      // The connection may be lost after the commit. If the database has recorded the export, the manifest stays.
      const now = await findOrganisation(app.db, publicId).catch(() => undefined);
      if (now?.export_sha256 === sha256) return hasMoved(app.db);
      throw new Failure(
        'The connection to the database was lost while the service recorded the export, so the record may be missing. The folder is complete. Run the same command again.',
      );
    }
    // The export is not recorded, so the command removes the manifest: the folder must not look like a complete export.
    await rm(join(folder, 'manifest.json'), { force: true });
    throw error;
  });
  const removedText =
    removed === 0
      ? ''
      : `; ${removed} evidence files of an earlier export were deleted there, because their results were withdrawn or erased since`;
  return {
    json: {
      ...{ organisation_id: publicId, out: folder, files, rows, evidence, evidence_removed: removed },
      ...{ changed_meanwhile: moved, manifest_sha256: sha256 },
    },
    text: `${rows} rows in ${files} files and ${evidence} evidence files are in ${folder}${removedText}; SHA-256 of manifest.json: ${sha256}${moved ? `\n${movedText}` : ''}`,
    exitCode: moved ? 1 : 0,
  };
}

/** Finds the stored certificate, which does not contain the organisation's name. */
async function keptCertificate(app: App, publicId: string): Promise<Certificate | null> {
  const found = isUuid(publicId) ? await findDeletion(app.db, publicId.toLowerCase()) : undefined;
  return found?.certificate == null ? null : (JSON.parse(found.certificate) as Certificate);
}

type Deleting = { confirm: string | undefined; withoutExport: boolean; certificate: string | undefined };

/** @returns null if the certificate is only printed. @throws Misuse */
function certificateFiles({ certificate: out }: Deleting): { json: string; text: string } | null {
  if (out === '') throw new Misuse('--certificate must name a file');
  return out === undefined ? null : { json: `${out}.json`, text: `${out}.txt` };
}

async function writeCertificate(call: Call<Deleting>, certificate: Certificate): Promise<Output> {
  const output = { json: certificate, text: certificateText(certificate) };
  const files = certificateFiles(call.options);
  if (files === null) return output;
  try {
    await writeWhole(files.json, `${JSON.stringify(certificate, null, 2)}\n`);
    await writeWhole(files.text, output.text);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // The organisation's name is stored nowhere else by now, so the command prints the certificate.
    call.step(
      `ars: ${error.message}; keep what is printed: the same command writes the certificate again, without the name`,
    );
    return { ...output, exitCode: 1 };
  }
  return output;
}

const refusals: Record<NotDeleted, string> = {
  open: 'The organisation is not suspended; ars organisation suspend closes it first.',
  held: 'A legal hold keeps something of the organisation: release it first.',
  unexported: 'Nothing has been exported of it: run ars organisation export first, or give --without-export.',
  outdated:
    'The export is from before the suspension, or records changed after the export began. So the export may be incomplete. Run ars organisation export again, into the same folder (after a restore, into a new one), or give --without-export.',
};

async function remove(call: Call<Deleting>): Promise<Output> {
  const [publicId] = call.positionals as [string];
  const { confirm: confirmed, withoutExport } = call.options;
  return withApp(async (app) => {
    const found = isUuid(publicId) ? await findOrganisation(app.db, publicId) : undefined;
    if (found === undefined) {
      const kept = await keptCertificate(app, publicId);
      if (kept === null)
        throw missing('organisation', publicId, { hint: '; ars organisation list shows them', where: '' });
      return writeCertificate(call, kept);
    }
    if (confirmed === undefined) throw new Misuse('--confirm NAME is required: the name of the organisation');
    if (confirmed !== found.name)
      throw new Failure(
        'The name is not the one of this organisation; ars organisation show shows it. Nothing is deleted.',
      );
    const files = certificateFiles(call.options);
    for (const file of files === null ? [] : Object.values(files))
      await proveWritable(file).catch((error: Error) => {
        throw new Failure(`${error.message}. Nothing is deleted.`);
      });
    const by = { actor: operator, requestId: app.random.uuid(), withoutExport };
    const deleted = await deleteOrganisation(app, found, by, (line) => call.progress(line), call.signal).catch(
      (error: unknown) => {
        if (call.signal.aborted) throw new Failure('Stopped before the end. Run the same command again to continue.');
        throw error;
      },
    );
    if (typeof deleted === 'string') throw new Failure(`${refusals[deleted]} Nothing is deleted.`);
    return writeCertificate(call, deleted);
  });
}

export const offboardingCommands: Command[] = [
  organisationCommand({
    name: 'organisation suspend',
    takes: 'ID',
    summary: 'Suspend an organisation',
    notes: 'Access keys, sign-ins, sittings and webhooks stop. The command organisation resume ends the suspension.',
    examples: ['$ORG --reason "Contract ended"', '$ORG --reason "Unpaid" --json'],
    about: { reason: 'The reason, for the audit log' },
    options: { reason },
    run: async ({ organisation: { public_id: publicId, name }, organisationId, act, options }) => {
      const { pausedEndpoints } = await act(publicId, async (work) => {
        const done = await suspendOrganisation(work, organisationId, options.reason);
        if (done === null) throw new Failure('The organisation is suspended already.');
        return done;
      });
      return {
        json: { organisation_id: publicId, suspended: true, paused_endpoints: pausedEndpoints },
        text: `${name} is suspended: its keys are refused, its people cannot sign in, and learners' links are closed. ${pausedEndpoints} webhook endpoints wait. ars organisation resume ends the suspension.`,
      };
    },
  }),
  organisationCommand({
    name: 'organisation resume',
    takes: 'ID',
    summary: 'End the suspension of an organisation',
    examples: ['$ORG', '$ORG --json'],
    run: async ({ organisation, act }) => {
      const { public_id: publicId, name } = organisation;
      const { resumedEndpoints } = await act(publicId, async (work) => {
        const done = await resumeOrganisation(work, organisation);
        if (done === null) throw new Failure('The organisation is not suspended.');
        if (done === 'deleting') throw new Failure('Its deletion has begun, and cannot be undone.');
        return done;
      });
      return {
        json: { organisation_id: publicId, suspended: false, resumed_endpoints: resumedEndpoints },
        text: `${name} is open again, and ${resumedEndpoints} webhook endpoints go on.`,
      };
    },
  }),
  organisationCommand({
    name: 'organisation export',
    takes: 'ID',
    summary: 'Export all data of an organisation into a folder',
    notes: 'The folder contains a manifest with hashes. Run the command again to continue.',
    examples: ['$ORG --out export', '$ORG --out export --json'],
    about: { out: 'The folder to write' },
    options: { out: required(text('DIR')) },
    run: exportAll,
  }),
  command({
    name: 'organisation delete',
    summary: 'Delete a suspended organisation and print the certificate',
    notes: 'Deletion cannot be undone. Without --confirm, the command says what would be deleted.',
    examples: ['$ORG', '$ORG --confirm "Riverside College" --certificate certificate.pdf'],
    about: {
      confirm: "The organisation's name, to delete it",
      withoutExport: 'Deletes although no export was made',
      certificate: 'The file for the certificate',
    },
    takes: 'ID',
    options: { confirm: text('NAME'), withoutExport: flag, certificate: text('FILE') },
    run: remove,
  }),
];
