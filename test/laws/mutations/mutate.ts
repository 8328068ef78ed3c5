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
const root = new URL('../../../', import.meta.url).href;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    let { source } = loaded;
    for (const { name, changes } of faults) {
      const here = changes.filter(({ file }) => url === root + file);
      if (here.length === 0) continue;
      const changed = replaced(source, here, `The mutation ${name}`);
      if (!unchanged) source = changed;
    }
    return { ...loaded, source };
  },
});
