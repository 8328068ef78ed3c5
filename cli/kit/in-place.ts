import { type Stats, createWriteStream, fstatSync } from 'node:fs';
import { chmod, chown, copyFile, readdir, realpath, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '../../src/platform/time/clock.ts';
import { limits } from '../../src/platform/config/limits.ts';
import { systemRandom } from '../../src/platform/crypto/random.ts';
import { Failure } from './command.ts';
import { terminal, writeOut } from './terminal.ts';

/**
 * Whether the old file's owner or group can't access the new file, which has another owner or group. The owner counts
 * as a member of the group.
 */
function locksOut(mode: number, sameOwner: boolean, sameGroup: boolean): boolean {
  const [owner, group, others] = [6, 3, 0].map((at) => (mode >> at) & 0o6) as [number, number, number];
  const remaining = sameGroup ? group : others;
  return (!sameOwner && (owner & ~remaining) !== 0) || (!sameGroup && (group & ~others) !== 0);
}

/** A rename onto a mount point or to another file system fails with these errors. The content is then copied. */
const notRenamed = new Set(['EBUSY', 'EXDEV']);

/**
 * Replaces a file with a new one that gets the old file's owner, group and rights.
 * @throws Failure if an owner or group would lose access; nothing is changed then
 */
export async function takePlace(beside: string, file: string): Promise<void> {
  const target = await realpath(file).catch(() => file);
  const replaced = await stat(target).catch(() => null);
  if (replaced !== null) {
    const { mode, uid, gid } = replaced;
    // Only root can change the owner. For other users, the second attempt changes only the group.
    await chown(beside, uid, gid).catch(() => chown(beside, -1, gid).catch(() => {}));
    const now = await stat(beside);
    if (locksOut(mode, now.uid === uid, now.gid === gid))
      throw new Failure(
        `Nothing was changed. Only root can give the new ${file} the present owner and group, without which present users lose access. Run the command as the file's owner, or as root.`,
      );
    await chmod(beside, mode & 0o777);
  }
  try {
    await rename(beside, target);
  } catch (error) {
    if (!notRenamed.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await copyFile(beside, target);
    await rm(beside, { force: true });
  }
}

/** Removes the `.part` files of killed commands, because they may contain data of erased learners. */
async function removeLeftParts(target: string): Promise<void> {
  const name = basename(target);
  for (const entry of await readdir(dirname(target)).catch(() => [])) {
    if (!entry.startsWith(name) || !/^\.[0-9a-f]{12}\.part$/.test(entry.slice(name.length))) continue;
    const path = join(dirname(target), entry);
    const writtenAt = (await stat(path).catch(() => null))?.mtimeMs;
    if (writtenAt !== undefined && writtenAt < systemClock.nowMs() - limits.leftPartMs) await rm(path, { force: true });
  }
}

/** Makes a new name next to a file, so that two commands that write one file use different parts. */
export async function besideOf(target: string): Promise<string> {
  await removeLeftParts(target);
  return `${target}.${systemRandom.bytes(6).toString('hex')}.part`;
}

/**
 * Renews the modification time of a `.part` file, so that other commands do not remove the file as left over.
 * @returns a function that ends the renewal
 */
export function keepFresh(beside: string, everyMs = limits.leftPartMs / 4): () => void {
  const timer = setInterval(() => {
    const now = new Date(systemClock.nowMs());
    void utimes(beside, now, now).catch(() => {});
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Whether standard output goes to this file, for example because the file is /dev/stdout. */
export function isStandardOutput(file: Stats | null): boolean {
  try {
    const { dev, ino } = fstatSync(terminal().output.fd!);
    return file !== null && file.dev === dev && file.ino === ino;
  } catch {
    // Standard output is closed.
    return false;
  }
}

async function writeToOutput(content: AsyncIterable<Uint8Array | string>): Promise<number> {
  terminal().outputHasFile = true;
  let bytes = 0;
  for await (const part of content) {
    await writeOut(part);
    bytes += Buffer.byteLength(part);
  }
  return bytes;
}

/**
 * Writes a new file and then replaces the old file with it. If there is no old file, only the owner may read the new
 * file. Pipes, devices and the target of standard output are written directly.
 */
export async function writeWhole(
  out: string,
  content: AsyncIterable<Uint8Array | string> | Uint8Array | string,
): Promise<number> {
  const old = await stat(out).catch(() => null);
  const isOutput = isStandardOutput(old);
  const isFile = !isOutput && (old?.isFile() ?? true);
  const writtenTo = isFile ? await besideOf(await realpath(out).catch(() => out)) : out;
  const isOne = typeof content === 'string' || content instanceof Uint8Array;
  const source = Readable.from(isOne ? [content] : content);
  try {
    if (isOutput) return await writeToOutput(source);
    const file = createWriteStream(writtenTo, { flags: isFile ? 'wx' : 'w', mode: 0o600 });
    await pipeline(source, file);
    if (isFile) await takePlace(writtenTo, out);
    return file.bytesWritten;
  } catch (error) {
    if (isFile) await rm(writtenTo, { force: true });
    throw (error as NodeJS.ErrnoException).syscall === undefined
      ? error
      : new Failure(`cannot write ${out}: ${(error as Error).message}`);
  }
}

/** Checks that a file can be written. Call this before an act that can't be undone. @throws Failure */
export async function proveWritable(out: string): Promise<void> {
  const old = await stat(out).catch(() => null);
  if (old?.isDirectory() === true) throw new Failure(`cannot write ${out}: it is a folder`);
  if (old?.isFile() === false) return;
  const beside = await besideOf(await realpath(out).catch(() => out));
  await writeFile(beside, '', { flag: 'wx', mode: 0o600 }).catch((error: Error) => {
    throw new Failure(`cannot write ${out}: ${error.message}`);
  });
  await rm(beside, { force: true });
}
