import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Row, Store } from '../sync/store.ts';

type Content = { state: string | null; results: Record<string, Row> };

/**
 * A mirror in one JSON file, which is written anew with every change: for some ten thousand results, and for one process
 * at a time. Each result stands under `results`, by its id, as `record`. `onChange` gets nothing to write beside it.
 */
export function jsonFileStore(path: string): Store<null> {
  let content: Content = { state: null, results: {} };
  let last: Promise<unknown> = Promise.resolve();

  /** The file is the old one or the new one, whole, whenever the machine stops. */
  const write = async (next: Content): Promise<void> => {
    const draft = `${path}.new`;
    const file = await open(draft, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify(next));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
    // That the name leads to the new file is a fact of the folder. Not every system lets one say so.
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
        try {
          content = contentOf(path, await readFile(path, 'utf8'));
        } catch (error) {
          if ((error as { code?: string }).code !== 'ENOENT') throw error;
        }
      }),

    transaction: (work) =>
      inTurn(async () => {
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

function contentOf(path: string, text: string): Content {
  try {
    const { state, results } = JSON.parse(text) as Content;
    if (typeof results === 'object' && results !== null) return { state: state ?? null, results };
  } catch {
    // Said below.
  }
  throw new Error(`${path} is no mirror, or was damaged; take it away, and everything is read anew`);
}
