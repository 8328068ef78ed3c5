import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import manifest from '../../../package.json' with { type: 'json' };
import { consoleRoutes } from '../../../src/web/console/routes.ts';
import { read } from '../../support/structure/source-tree.ts';
import type { Resource, Values } from './render.ts';
import { faultsOf, merged, noEngine, resources, texts } from './render.ts';

type Lists = Record<'ingressFrom' | 'metricsFrom' | 'egressTo', unknown[]>;
type Rule = { from?: unknown[] | null; to?: unknown[] | null; ports?: { port: number }[] };

const claim = { erasures: { existingClaim: 'ars-erasures' } };
const digest = `sha256:${'ab'.repeat(32)}`;
const everything: Values = {
  ...claim,
  image: { digest },
  imagePullSecrets: [{ name: 'registry' }],
  serviceAccountName: 'results',
  settings: { ARS_TRUSTED_PROXIES: '10.42.0.0/16', ARS_AUDIT_MONTHS: 24, ARS_RATE_LIMIT: 1_000_000 },
  web: {
    autoscaling: { enabled: true, maxReplicas: 9 },
    nodeSelector: { disk: 'fast' },
    tolerations: [{ key: 'results', operator: 'Exists' }],
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
    priorityClassName: 'high',
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' },
      { maxSkew: 2, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' },
    ],
  },
  worker: { autoscaling: { enabled: true }, nodeSelector: { disk: 'slow' } },
  podAnnotations: { 'example.org/restarted': '2026-11-28' },
  ingress: { enabled: true, className: 'nginx' },
  metrics: {
    podMonitor: { enabled: true, labels: { release: 'prometheus' } },
    prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
  },
  command: ['restore', '--declare'],
};

/** The one resource of a kind, and of a name if there are several. */
const only = (all: Resource[], kind: string, name?: string): Resource => {
  const found = all.filter((one) => one.kind === kind && (name === undefined || one.metadata.name === name));
  assert.equal(found.length, 1, `${kind} ${name ?? ''}`);
  return found[0]!;
};

suite('the chart, rendered by the template engine of Helm', { skip: noEngine }, () => {
  test('is valid with the least and with every value, and each pod is closed', () => {
    for (const values of [claim, { erasures: { enabled: false } }, everything]) {
      assert.deepEqual(faultsOf(values), []);
      const all = resources(values);
      const pods = all.filter(({ kind }) => ['Deployment', 'Job'].includes(kind)).map(({ spec }) => spec.template.spec);
      assert.equal(pods.length, values === everything ? 4 : 3);
      for (const { automountServiceAccountToken, enableServiceLinks, securityContext, containers } of pods) {
        assert.deepEqual([automountServiceAccountToken, enableServiceLinks], [false, false]);
        assert.equal(securityContext.runAsNonRoot, true);
        assert.equal(containers.length, 1);
        assert.equal(containers[0].securityContext.readOnlyRootFilesystem, true);
        assert.ok(containers[0].resources.limits.memory);
      }
      for (const { metadata } of all) assert.equal(metadata.labels['app.kubernetes.io/instance'], 'ars');
    }
  });

  test('image, pull secrets, account and scheduling reach the pods of their role', () => {
    const all = resources(everything);
    const [web, worker, migrate] = ['ars-web', 'ars-worker', 'ars-migrate'].map(
      (name) => only(all, name === 'ars-migrate' ? 'Job' : 'Deployment', name).spec.template.spec,
    );
    for (const pod of [web, worker, migrate]) {
      assert.equal(pod.containers[0].image, `registry.example.org/assessment-results-service@${digest}`);
      assert.deepEqual(pod.imagePullSecrets, [{ name: 'registry' }]);
      assert.equal(pod.serviceAccountName, 'results');
    }
    const { nodeSelector, tolerations, affinity, priorityClassName } = everything.web as Values;
    for (const [name, value] of Object.entries({ nodeSelector, tolerations, affinity, priorityClassName }))
      assert.deepEqual(web[name], value, name);
    for (const pod of [worker, migrate]) assert.deepEqual(pod.nodeSelector, { disk: 'slow' });
    assert.equal(worker.tolerations, undefined);
    assert.deepEqual(
      web.topologySpreadConstraints.map((one: any) => [one.maxSkew, one.topologyKey, one.whenUnsatisfiable]),
      [
        [1, 'topology.kubernetes.io/zone', 'DoNotSchedule'],
        [2, 'kubernetes.io/hostname', 'ScheduleAnyway'],
      ],
    );
    for (const { labelSelector } of web.topologySpreadConstraints)
      assert.equal(labelSelector.matchLabels['app.kubernetes.io/component'], 'web');
    const tagged = only(resources({ ...claim, image: { tag: '1.1.0' } }), 'Deployment', 'ars-web');
    assert.match(tagged.spec.template.spec.containers[0].image, /:1\.1\.0$/);
  });

  test('an autoscaler alone decides the number of pods', () => {
    const all = resources(everything);
    for (const [role, max] of [
      ['web', 9],
      ['worker', 3],
    ] as const) {
      const { scaleTargetRef, maxReplicas } = only(all, 'HorizontalPodAutoscaler', `ars-${role}`).spec;
      assert.deepEqual([scaleTargetRef.name, maxReplicas], [`ars-${role}`, max]);
      assert.equal('replicas' in only(all, 'Deployment', `ars-${role}`).spec, false);
    }
    const plain = resources(claim);
    assert.ok(!plain.some(({ kind }) => kind === 'HorizontalPodAutoscaler'));
    assert.equal(only(plain, 'Deployment', 'ars-web').spec.replicas, 2);
  });

  test('a changed secret restarts the pods that read it, and so does a changed annotation', () => {
    const secret = 'v1/Secret/results/assessment-results-service';
    const annotations = (values: Values, objects = {}) =>
      only(resources(values, objects), 'Deployment', 'ars-worker').spec.template.metadata.annotations;
    const first = annotations(claim, { [secret]: { data: { ARS_SECRET: 'b25l' } } });
    const second = annotations(claim, { [secret]: { data: { ARS_SECRET: 'dHdv' } } });
    assert.match(first['checksum/secret'], /^[0-9a-f]{64}$/);
    assert.notEqual(first['checksum/secret'], second['checksum/secret']);
    assert.equal(annotations(claim)['checksum/secret'], undefined);
    assert.equal(annotations(everything)['example.org/restarted'], '2026-11-28');
  });

  test('the list of erasures needs a claim, or an operator who does without it', () => {
    assert.throws(
      () => texts({}),
      /erasures\.existingClaim is empty\. Name the claim .*set erasures\.enabled to false/,
    );
    const env = (values: Values) =>
      only(resources(values), 'Deployment', 'ars-web').spec.template.spec.containers[0].env.map((one: any) => one.name);
    assert.ok(env(claim).includes('ARS_ERASURES_FILE'));
    const without = { erasures: { enabled: false, existingClaim: 'ars-erasures' } };
    assert.ok(!env(without).includes('ARS_ERASURES_FILE'));
    assert.match(texts(without)['NOTES.txt']!, /A restore of the database brings erased learners back/);
    assert.doesNotMatch(texts(claim)['NOTES.txt']!, /brings erased learners/);
  });

  test('settings arrive as text, and one that the chart sets itself is refused', () => {
    const { env } = only(resources(everything), 'Deployment', 'ars-web').spec.template.spec.containers[0];
    const values = Object.fromEntries(env.map((one: any) => [one.name, one.value]));
    assert.deepEqual([values.ARS_RATE_LIMIT, values.ARS_AUDIT_MONTHS], ['1000000', '24']);
    assert.equal(env.length, new Set(env.map((one: any) => one.name)).size);
    for (const name of [...env.map((one: any) => one.name as string), 'ARS_PORT', 'ARS_SECRET'])
      if (!(name in (everything.settings as object)))
        assert.throws(
          () => texts({ ...claim, settings: { [name]: 'x' } }),
          new RegExp(`settings.${name} can't be set`),
        );
    assert.throws(() => texts({ ...claim, ingress: { enabled: true } }), /ARS_TRUSTED_PROXIES must be set/);
  });

  test('Prometheus finds the pods under the job that the alerts name, and has the alerts', () => {
    const all = resources(everything);
    const { spec, metadata } = only(all, 'PodMonitor');
    assert.equal(metadata.labels.release, 'prometheus');
    const [endpoint] = spec.podMetricsEndpoints;
    assert.deepEqual(endpoint.relabelings, [{ targetLabel: 'job', replacement: 'ars' }]);
    for (const role of ['web', 'worker']) {
      const { template } = only(all, 'Deployment', `ars-${role}`).spec;
      for (const [name, value] of Object.entries(spec.selector.matchLabels))
        assert.equal(template.metadata.labels[name], value);
      assert.ok(template.spec.containers[0].ports.some((port: any) => port.name === endpoint.port));
      assert.equal(template.metadata.annotations['prometheus.io/scrape'], undefined);
    }
    assert.deepEqual(only(all, 'PrometheusRule').spec, parse(read('deploy/alerts.yml')));
    const kinds = resources(claim).map(({ kind }) => kind);
    assert.ok(!kinds.includes('PodMonitor') && !kinds.includes('PrometheusRule'));
  });

  test('an empty list of the network policy opens nothing: to Kubernetes a rule without senders or receivers is for all', () => {
    const policy = (lists: object) =>
      only(resources({ ...claim, networkPolicy: lists }), 'NetworkPolicy').spec as {
        policyTypes: string[];
        ingress?: Rule[];
        egress?: Rule[];
      };
    const { networkPolicy: given } = parse(read('deploy/helm/values.yaml')) as { networkPolicy: Lists };
    const full = policy({});
    assert.deepEqual(full.policyTypes, ['Ingress', 'Egress']);
    assert.deepEqual(
      full.ingress!.map(({ from }) => from),
      [given.ingressFrom, given.metricsFrom],
    );
    assert.deepEqual(full.egress![1]!.to, given.egressTo);

    for (const emptied of [
      ['ingressFrom'],
      ['metricsFrom'],
      ['egressTo'],
      ['ingressFrom', 'metricsFrom', 'egressTo'],
    ]) {
      const spec = policy(Object.fromEntries(emptied.map((name) => [name, []])));
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
    assert.ok(!resources({ ...claim, networkPolicy: { enabled: false } }).some(({ kind }) => kind === 'NetworkPolicy'));
  });
});

test("the schema knows each of the chart's values, and refuses misspelt names and wrong kinds", () => {
  assert.deepEqual(faultsOf({}), []);
  const sections = Object.entries(merged({})).filter(
    ([name, value]) =>
      !['settings', 'podAnnotations'].includes(name) && typeof value === 'object' && !Array.isArray(value),
  );
  for (const [name] of sections) assert.notDeepEqual(faultsOf({ [name]: { misspelt: 'x' } }), [], name);
  for (const wrong of [
    { replicaCount: 2 },
    { web: { replicas: '2' } },
    { image: { digest: 'sha256:short' } },
    { settings: { ars_audit_months: '24' } },
    { baseUrl: 'https://results.example.org/' },
    { erasures: { existingClaim: null } },
  ])
    assert.notDeepEqual(faultsOf(wrong), [], JSON.stringify(wrong));
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
  assert.ok(own.includes('ARS_ERASURES_FILE') && own.length >= 6, own.join());
  const refused = new Set([...text.matchAll(/"((?:ARS_|DATABASE_)[A-Z_]+)" "/g)].map(([, name]) => name));
  // The image sets these for the ports that chart, probes and network policies name.
  const image = [...read('deploy/Dockerfile').matchAll(/\b(ARS_[A-Z_]+)=/g)].map(([, name]) => name!);
  assert.deepEqual(image, ['ARS_HOST', 'ARS_PORT', 'ARS_METRICS_PORT']);
  assert.deepEqual(
    [...own, ...image].filter((name) => !refused.has(name)),
    [],
  );
});
