import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { consoleRoutes } from '../../src/web/console/routes.ts';
import { read } from '../support/structure/source-tree.ts';

type Lists = Record<'ingressFrom' | 'metricsFrom' | 'egressTo', unknown[]>;
type Rule = { from?: unknown[] | null; to?: unknown[] | null; ports?: { port: number }[] };
type Policy = { spec: { policyTypes: string[]; ingress?: Rule[]; egress?: Rule[] } };

/** The chart's network policy with these lists, as Helm fills what it uses there: an empty list is false. */
function networkPolicy(lists: Lists): Policy {
  const valuesOf = (words: string) =>
    [...words.matchAll(/\.Values\.networkPolicy\.(\w+)/g)].map(([, name]) => lists[name as keyof Lists]);
  const blocks: { shown: boolean; of: unknown }[] = [];
  const lines: string[] = [];
  for (const line of read('deploy/helm/templates/policies.yaml').split('\n')) {
    const [, word, words] = /^ *\{\{-? (if|with|end|toYaml|include) ?(.*?) ?\}\}$/.exec(line) ?? [];
    if (word === 'if' || word === 'with') {
      const given = valuesOf(words!);
      const isEnabled = words === '.Values.networkPolicy.enabled';
      assert.ok(isEnabled || given.every(Array.isArray), line);
      blocks.push({ shown: isEnabled || given.some((list) => list.length > 0), of: given[0] });
    } else if (word === 'end') blocks.pop();
    else if (blocks.some(({ shown }) => !shown) || word === 'include') continue;
    else if (word === 'toYaml') {
      const list = words!.startsWith('. ') ? blocks.at(-1)!.of : valuesOf(words!)[0];
      lines.push(line.replace(/\{\{.*/, JSON.stringify(list)));
    } else lines.push(line.replaceAll(/\{\{[^}]*\}\}/g, 'word'));
  }
  assert.equal(blocks.length, 0);
  const documents = parseAllDocuments(lines.join('\n')).map((one) => one.toJS() as Policy & { kind: string });
  return documents.find(({ kind }) => kind === 'NetworkPolicy')!;
}

test('an empty list of the network policy opens nothing: to Kubernetes a rule without senders or receivers is for all', () => {
  const { networkPolicy: given } = parse(read('deploy/helm/values.yaml')) as { networkPolicy: Lists };
  const { spec: full } = networkPolicy(given);
  assert.deepEqual(full.policyTypes, ['Ingress', 'Egress']);
  assert.deepEqual(
    full.ingress!.map(({ from }) => from),
    [given.ingressFrom, given.metricsFrom],
  );
  assert.deepEqual(full.egress![1]!.to, given.egressTo);

  for (const emptied of [['ingressFrom'], ['metricsFrom'], ['egressTo'], ['ingressFrom', 'metricsFrom', 'egressTo']]) {
    const { spec } = networkPolicy({ ...given, ...Object.fromEntries(emptied.map((name) => [name, []])) });
    assert.deepEqual(spec.policyTypes, ['Ingress', 'Egress']);
    assert.notEqual(spec.ingress, null);
    for (const { from } of spec.ingress ?? []) assert.ok((from ?? []).length > 0, emptied.join());
    const [names, ...others] = spec.egress!;
    assert.deepEqual(
      names!.ports!.map(({ port }) => port),
      [53, 53],
    );
    for (const { to } of others) assert.ok((to ?? []).length > 0, emptied.join());
    assert.equal((spec.ingress ?? []).length + others.length, 4 - emptied.length);
  }
});

test('the ingress lets through what the largest form of the console may have', () => {
  const { ingress } = parse(read('deploy/helm/values.yaml')) as { ingress: { annotations: Record<string, string> } };
  const [, max] = /^(\d+)m$/.exec(ingress.annotations['nginx.ingress.kubernetes.io/proxy-body-size']!)!;
  assert.ok(Number(max) * 1024 * 1024 >= Math.max(...consoleRoutes.map(({ upload = 0 }) => upload)));
});

test("the chart's version is the service's, by which it names the image", () => {
  const chart = parse(read('deploy/helm/Chart.yaml')) as { version: string; appVersion: string };
  assert.deepEqual([chart.version, String(chart.appVersion)], [manifest.version, manifest.version]);
});

test('a setting that the chart sets itself is refused among the others: Kubernetes would take the last of two', () => {
  const text = read('deploy/helm/templates/_helpers.tpl');
  const own = [...text.matchAll(/^- name: ([A-Z_]+)$/gm)].map(([, name]) => name!);
  assert.ok(own.includes('ARS_ERASURES_FILE') && own.length >= 7, own.join());
  const refused = new Set([...text.matchAll(/"((?:ARS_|DATABASE_)[A-Z_]+)" "/g)].map(([, name]) => name));
  // The image sets these for the ports that chart, probes and network policies name.
  const image = [...read('deploy/Dockerfile').matchAll(/\b(ARS_[A-Z_]+)=/g)].map(([, name]) => name!);
  assert.deepEqual(image, ['ARS_HOST', 'ARS_PORT', 'ARS_METRICS_PORT']);
  assert.deepEqual(
    [...own, ...image].filter((name) => !refused.has(name)),
    [],
  );
});
