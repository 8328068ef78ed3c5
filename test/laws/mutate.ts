// Loaded before everything else in a process that runs with faults (LAW_MUTATION names them): replaces the source's text
// as it is loaded. With LAW_MUTATION_UNCHANGED everything is done but the replacing.
import { registerHooks } from 'node:module';
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
    let source =
      loaded.source === null || loaded.source === undefined
        ? ''
        : Buffer.from(loaded.source as Uint8Array).toString('utf8');
    for (const { file, from, to } of changes) {
      const found = [...source.matchAll(anyLayout(from))];
      if (found.length !== 1) throw new Error(`a mutation of ${names.join()} no longer fits ${file}: ${from}`);
      if (!unchanged) source = source.replace(found[0]![0], () => to);
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
