// Loaded before everything else in a process that runs with faults (LAW_MUTATION names them): replaces the source's text
// as it is loaded. With LAW_MUTATION_UNCHANGED everything is done but the replacing.
import { registerHooks } from 'node:module';
import { replaced } from './mutate-text.ts';
import { mutations } from './mutations.ts';

const names = process.env.LAW_MUTATION?.split(',') ?? [];
const faults = mutations.filter((one) => names.includes(one.name));
if (faults.length === 0 || faults.length !== names.length)
  throw new Error(`LAW_MUTATION names no mutation: ${process.env.LAW_MUTATION}`);
const unchanged = process.env.LAW_MUTATION_UNCHANGED !== undefined;
const root = new URL('../../', import.meta.url).href;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const changes = faults.flatMap((fault) => fault.changes).filter(({ file }) => url === root + file);
    if (changes.length === 0) return loaded;
    const source = replaced(loaded.source, changes, `a mutation of ${names.join()}`);
    return unchanged ? loaded : { ...loaded, source };
  },
});
