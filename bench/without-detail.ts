// Loaded before bench/service.ts by bench/poll.ts: rows of the log then hold what they held before they kept what a
// call asked for and got. What it replaces has to be there, once (test/bench.test.ts).
import { registerHooks } from 'node:module';

/** What is replaced in a file, and whether it was loaded so. */
export const changes = [
  { file: '/src/api/server.ts', from: /detail: detailOf\([^;]*?\}\),/g, to: 'detail: null,', made: false },
  {
    file: '/src/api/handle.ts',
    from: /detail: JSON\.stringify\([^;]*?bytes: body\.length \}\),/g,
    to: `detail: '',`,
    made: false,
  },
];

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const change = changes.find(({ file }) => url.endsWith(file));
    if (change === undefined) return loaded;
    const source = Buffer.from(loaded.source as Uint8Array).toString('utf8');
    if (source.match(change.from)?.length !== 1)
      throw new Error(`bench/without-detail.ts no longer fits ${change.file}`);
    change.made = true;
    return { ...loaded, source: source.replace(change.from, () => change.to) };
  },
});
