import type { Stats } from 'node:fs';
import { createWriteStream, fstatSync } from 'node:fs';
import { chmod, chown, copyFile, readdir, realpath, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '../../src/platform/time/clock.ts';
import { limits } from '../../src/platform/config/limits.ts';
import { systemRandom } from '../../src/platform/crypto/random.ts';
import { Failure } from './command.ts';
import { terminal, writeOut } from './terminal.ts';

/** Whether its owner or its group loses rights by a new owner or group; who owns a file is taken to be in its group. */
function locksOut(mode: number, sameOwner: boolean, sameGroup: boolean): boolean {
  const [owner, group, others] = [6, 3, 0].map((at) => (mode >> at) & 0o6) as [number, number, number];
  const left = sameGroup ? group : others;
  return (!sameOwner && (owner & ~left) !== 0) || (!sameGroup && (group & ~others) !== 0);
}

/** A mount point of its own can't be renamed over, and nothing is renamed onto another file system. */
const notRenamed = new Set(['EBUSY', 'EXDEV']);

/**
 * A file that was written beside another one takes its place as a whole, and is read and written by whom that one was.
 * Where none was, it keeps its own rights.
 * @throws Failure where somebody would be locked out; nothing is changed then
 */
export async function takePlace(beside: string, file: string): Promise<void> {
  const place = await realpath(file).catch(() => file);
  const there = await stat(place).catch(() => null);
  if (there !== null) {
    const { mode, uid, gid } = there;
    // Only root may give it to somebody else; whoever is in its group may give it to that.
    await chown(beside, uid, gid).catch(() => chown(beside, -1, gid).catch(() => {}));
    const now = await stat(beside);
    if (locksOut(mode, now.uid === uid, now.gid === gid))
      throw new Failure(
        `Whoever reads or writes ${file} could not do so any more, because only root can give the new one to the same owner and group: nothing was changed. Run the command as the file's owner, or as root.`,
      );
    await chmod(beside, mode & 0o777);
  }
  try {
    await rename(beside, place);
  } catch (error) {
    if (!notRenamed.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await copyFile(beside, place);
    await rm(beside, { force: true });
  }
}

/** Of commands that were killed while they wrote this file: it may be of somebody who was erased since. */
async function removeLeft(place: string): Promise<void> {
  const name = basename(place);
  for (const one of await readdir(dirname(place)).catch(() => [])) {
    if (!one.startsWith(name) || !/^\.[0-9a-f]{12}\.part$/.test(one.slice(name.length))) continue;
    const path = join(dirname(place), one);
    const writtenAt = (await stat(path).catch(() => null))?.mtimeMs;
    if (writtenAt !== undefined && writtenAt < systemClock.nowMs() - limits.leftPartMs) await rm(path, { force: true });
  }
}

/**
 * A name beside a file, for what is to take its place as a whole. Of two commands that write the same file each has one of its
 * own: a half of one would be renamed for the other's whole.
 */
export async function besideOf(place: string): Promise<string> {
  await removeLeft(place);
  return `${place}.${systemRandom.bytes(6).toString('hex')}.part`;
}

/**
 * A file that is written to seldom is nobody's who was killed.
 * @returns what ends this
 */
export function keepFresh(beside: string, everyMs = limits.leftPartMs / 4): () => void {
  const timer = setInterval(() => {
    const now = new Date(systemClock.nowMs());
    void utimes(beside, now, now).catch(() => {});
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Whether a name, such as /dev/stdout, leads to where standard output goes. */
export function isStandardOutput(there: Stats | null): boolean {
  try {
    const { dev, ino } = fstatSync(terminal().output.fd!);
    return there !== null && there.dev === dev && there.ino === ino;
  } catch {
    // It is closed.
    return false;
  }
}

/** A file in the place of the one that standard output goes to would take away what else is written there. */
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
 * Writes a file beside what is there, which stays until this is whole; only its owner may read a new one. What is no file, as a
 * pipe, is written to at once, as is standard output.
 * @returns how many bytes were written
 * @throws Failure where it can't be written
 */
export async function writeWhole(
  out: string,
  content: AsyncIterable<Uint8Array | string> | Uint8Array | string,
): Promise<number> {
  const there = await stat(out).catch(() => null);
  const isOutput = isStandardOutput(there);
  const isFile = !isOutput && (there?.isFile() ?? true);
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

/**
 * Tries whether a file can be written, and changes nothing: before what can't be undone.
 * @throws Failure where it can't be
 */
export async function proveWritable(out: string): Promise<void> {
  const there = await stat(out).catch(() => null);
  if (there?.isDirectory() === true) throw new Failure(`cannot write ${out}: it is a folder`);
  if (there?.isFile() === false) return;
  const beside = await besideOf(await realpath(out).catch(() => out));
  await writeFile(beside, '', { flag: 'wx', mode: 0o600 }).catch((error: Error) => {
    throw new Failure(`cannot write ${out}: ${error.message}`);
  });
  await rm(beside, { force: true });
}
