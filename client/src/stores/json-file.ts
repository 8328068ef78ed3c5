import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Overtaken } from '../sync/outcome.ts';
import type { Row, Store } from '../sync/store.ts';

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

  const present = async (): Promise<string | null> => {
    try {
      return seenAs(await stat(path));
    } catch (error) {
      if ((error as { code?: string }).code === 'ENOENT') return null;
      throw error;
    }
  };

  /** Changes of another process count. A missing file is an empty mirror. */
  const refresh = async (): Promise<void> => {
    const there = await present();
    if (there === seen) return;
    content = there === null ? { state: null, results: {} } : contentOf(path, await readFile(path, 'utf8'));
    seen = there;
  };

  /** After a crash the file has either its old or its new content. */
  const write = async (next: Content): Promise<void> => {
    const { draft, file } = await openDraft(path);
    try {
      try {
        await file.writeFile(JSON.stringify(next));
        await file.sync();
        if ((await present()) !== seen) throw new Overtaken();
        seen = seenAs(await file.stat());
      } finally {
        await file.close();
      }
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    // The new name must reach the disk too, so the folder is flushed. Some systems do not support it.
    const folder = await open(dirname(path), 'r').catch(() => null);
    await folder?.sync().catch(() => {});
    await folder?.close();
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
        const { mtimeMs: writtenMs } = await stat(path).catch(() => ({ mtimeMs: 0 }));
        for (const name of await readdir(dirname(path))) {
          if (!name.startsWith(`${basename(path)}.`) || !/\.\d+\.new$/u.test(name)) continue;
          // A draft that is older than the file can no longer replace it.
          const draft = join(dirname(path), name);
          const { mtimeMs } = await stat(draft).catch(() => ({ mtimeMs: Infinity }));
          if (mtimeMs < writtenMs) await rm(draft, { force: true });
        }
      }),

    transaction: (work) =>
      inTurn(async () => {
        await refresh();
        const next: Content = { state: content.state, results: { ...content.results } };
        let isChanged = false;
        const result = await work({
          native: null,
          async readState() {
            return next.state;
          },
          async writeState(text) {
            next.state = text;
            isChanged = true;
          },
          async find(ids) {
            return ids.flatMap((id) => (Object.hasOwn(next.results, id) ? [next.results[id]!] : []));
          },
          async put(rows) {
            for (const row of rows) next.results[row.id] = row;
            isChanged = true;
          },
          async remove(ids) {
            for (const id of ids) delete next.results[id];
            isChanged = true;
          },
          async list(after, limit) {
            const ids = Object.keys(next.results).sort();
            return ids
              .filter((id) => after === null || id > after)
              .slice(0, limit)
              .map((id) => next.results[id]!);
          },
        });
        if (isChanged) await write(next);
        content = next;
        return result;
      }),
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
  throw new Error(`${path} is no mirror, or was damaged; take it away, and everything is read anew`);
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
