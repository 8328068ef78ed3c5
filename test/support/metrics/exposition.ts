import assert from 'node:assert/strict';

/** Prometheus text (format 0.0.4), read by its grammar: whatever isn't in it fails. */
export function readExposition(text: string): {
  names: Set<string>;
  value(name: string, labels: Record<string, string>): number | undefined;
} {
  assert.ok(text.endsWith('\n'));
  const samples = new Map<string, number>();
  const kinds = new Map<string, string>();
  const names = new Set<string>();
  const key = (name: string, labels: Record<string, string>) =>
    JSON.stringify([name, ...Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1))]);
  let family = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const head = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line);
    if (head !== null) {
      const [, what, name, rest] = head;
      if (what === 'HELP') {
        assert.ok(!kinds.has(name!), `${name!} is there twice`);
        family = name!;
      } else {
        assert.equal(name, family, line);
        assert.match(rest!, /^(counter|gauge|histogram)$/);
        kinds.set(name!, rest!);
      }
      continue;
    }
    const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (NaN|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/.exec(line);
    assert.ok(sample !== null, `no sample: ${line}`);
    const [, name, inside = '', value] = sample;
    const kind = kinds.get(family);
    assert.match(
      name!,
      kind === 'histogram' ? new RegExp(`^${family}_(bucket|sum|count)$`) : new RegExp(`^${family}$`),
    );
    const labels: Record<string, string> = {};
    const rest = inside.replace(
      /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/g,
      (_all, label: string, shown: string) => {
        labels[label] = shown.replace(/\\(.)/g, (_escape, one: string) => (one === 'n' ? '\n' : one));
        return '';
      },
    );
    assert.equal(rest, '', line);
    assert.ok(!samples.has(key(name!, labels)), `twice: ${line}`);
    samples.set(key(name!, labels), Number(value!.replace('Inf', 'Infinity')));
    names.add(name!);
  }
  return { names, value: (name, labels) => samples.get(key(name, labels)) };
}
