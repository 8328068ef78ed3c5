// Loaded before everything else in a process that runs with a fault (LAW_MUTATION names it): replaces the source's text as it is loaded.
import { registerHooks } from 'node:module';
import { mutations } from './mutations.ts';

const name = process.env.LAW_MUTATION;
const mutation = mutations.find((one) => one.name === name);
if (mutation === undefined) throw new Error(`LAW_MUTATION names no mutation: ${name}`);
const root = new URL('../../', import.meta.url).href;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const changes = mutation.changes.filter(({ file }) => url === root + file);
    if (changes.length === 0) return loaded;
    let source =
      loaded.source === null || loaded.source === undefined
        ? ''
        : Buffer.from(loaded.source as Uint8Array).toString('utf8');
    for (const { file, from, to } of changes) {
      const found = [...source.matchAll(anyLayout(from))];
      if (found.length !== 1) throw new Error(`the mutation ${name} no longer fits ${file}: ${from}`);
      source = source.replace(found[0]![0], () => to);
    }
    return { ...loaded, source };
  },
});

/** The text however a formatter lays out its white space. */
function anyLayout(text: string): RegExp {
  return new RegExp(
    text
      .split(/\s+/)
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('\\s+'),
    'g',
  );
}
