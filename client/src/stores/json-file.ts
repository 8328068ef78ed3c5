import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Overtaken } from '../sync/outcome.ts';
import type { Row, Store, StoreTransaction } from '../sync/store.ts';

type Content = { state: string | null; results: Record<string, Row> };

/** Identifies a version of the file. */
const seenAs = ({ ino, mtimeMs, size }: Stats): string => `${ino} ${mtimeMs} ${size}`;

/**
 * A mirror in one JSON file, which is rewritten with every change: for about 10,000 results, and best for one process.
 * If a second process writes, its changes are read, and the change is applied again. Each result is in `results` under
 * its ID, as `record`. `onChange` cannot write to this store.
 */
export function jsonFileStore(path: string): Store<null> {
  let content: Content = { state: null, results: {} };
  /** The file that `content` was read from or written to; null while there is none. */
  let seen: string | null = null;
  let last: Promise<unknown> = Promise.resolve();

  /** Changes of another process count. A missing file is an empty mirror. */
  const refresh = async (): Promise<void> => {
    const there = await versionOf(path);
    if (there === seen) return;
    content = there === null ? { state: null, results: {} } : contentOf(path, await readFile(path, 'utf8'));
    seen = there;
  };

  const write = async (next: Content): Promise<void> => {
    seen = await replaceFile(path, JSON.stringify(next), async () => {
      if ((await versionOf(path)) !== seen) throw new Overtaken();
    });
  };

  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };

  return {
    open: () =>
      inTurn(async () => {
        await refresh();
        await removeOldDrafts(path);
      }),

    transaction: (work) =>
      inTurn(async () => {
        await refresh();
        const next: Content = { state: content.state, results: { ...content.results } };
        let isChanged = false;
        const result = await work(
          transactionOn(next, () => {
            isChanged = true;
          }),
        );
        if (isChanged) await write(next);
        content = next;
        return result;
      }),
  };
}

/** @returns null if there is no file */
async function versionOf(path: string): Promise<string | null> {
  try {
    return seenAs(await stat(path));
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * After a crash the file has either its old or its new content.
 * @param check runs last before the new content replaces the old
 * @returns the new version
 */
async function replaceFile(path: string, text: string, check: () => Promise<void>): Promise<string> {
  const { draft, file } = await openDraft(path);
  try {
    let version: string;
    try {
      await file.writeFile(text);
      await file.sync();
      await check();
      version = seenAs(await file.stat());
    } finally {
      await file.close();
    }
    await rename(draft, path);
    // The new name must reach the disk too.
    await flushFolder(dirname(path));
    return version;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Some systems cannot flush a folder. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => null);
  await folder?.sync().catch(() => {});
  await folder?.close();
}

/** A draft that is older than the file can no longer replace it. */
async function removeOldDrafts(path: string): Promise<void> {
  const { mtimeMs: writtenMs } = await stat(path).catch(() => ({ mtimeMs: 0 }));
  for (const name of await readdir(dirname(path))) {
    if (!name.startsWith(`${basename(path)}.`) || !/\.\d+\.new$/u.test(name)) continue;
    const draft = join(dirname(path), name);
    const { mtimeMs } = await stat(draft).catch(() => ({ mtimeMs: Infinity }));
    if (mtimeMs < writtenMs) await rm(draft, { force: true });
  }
}

function transactionOn(content: Content, onChange: () => void): StoreTransaction<null> {
  return {
    native: null,
    async readState() {
      return content.state;
    },
    async writeState(text) {
      content.state = text;
      onChange();
    },
    async find(ids) {
      return ids.flatMap((id) => (Object.hasOwn(content.results, id) ? [content.results[id]!] : []));
    },
    async put(rows) {
      for (const row of rows) content.results[row.id] = row;
      onChange();
    },
    async remove(ids) {
      for (const id of ids) delete content.results[id];
      onChange();
    },
    async list(after, limit) {
      const ids = Object.keys(content.results).sort();
      return ids
        .filter((id) => after === null || id > after)
        .slice(0, limit)
        .map((id) => content.results[id]!);
    },
  };
}

/** A file that no other process has opened. */
async function openDraft(path: string): Promise<{ draft: string; file: FileHandle }> {
  for (let count = 0; ; count++) {
    const draft = `${path}.${count}.new`;
    try {
      return { draft, file: await open(draft, 'wx', 0o600) };
    } catch (error) {
      if ((error as { code?: string }).code !== 'EEXIST') throw error;
    }
  }
}

function contentOf(path: string, text: string): Content {
  try {
    const { state, results } = JSON.parse(text) as Content;
    if (typeof results === 'object' && results !== null)
      return {
        state: state ?? null,
        results: Object.fromEntries(Object.entries(results).map(([id, row]) => [id, rowUnder(id, row)])),
      };
  } catch {
    // Said below.
  }
  throw new Error(`${path} is not a mirror, or is damaged. Remove the file, and the mirror runs a full sync`);
}

/** A damaged row counts as different. Its key in the file is its ID. */
function rowUnder(id: string, row: Partial<Row> | null): Row {
  const { updated_at, generation, check, record } = row ?? {};
  const textOf = (one: unknown) => (typeof one === 'string' ? one : '');
  return {
    id,
    updated_at: textOf(updated_at),
    generation: Number.isSafeInteger(generation) ? generation! : 0,
    check: textOf(check),
    record: record ?? (null as never),
  };
}
