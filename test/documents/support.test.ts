import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { read } from '../support/structure/source-tree.ts';

test('the page of supported versions names what continuous integration tries', () => {
  const row = (part: string) =>
    new RegExp(`^\\| ${part} \\| (.*?) \\|`, 'm').exec(read('docs/operate/support.md'))![1]!;
  const { jobs } = parse(read('.github/workflows/ci.yml')) as {
    jobs: { postgres: { strategy: { matrix: { version: string[] } } } };
  };
  const numbers = (text: string) => text.match(/\d+(\.\d+)?/g);
  assert.deepEqual(numbers(row('PostgreSQL')), jobs.postgres.strategy.matrix.version);
  const node = manifest.dependencies.node.split('.')[0]!;
  assert.match(row('Node of the service'), new RegExp(`^${node},`));
  const named = /You need Node (\S+) or later/.exec(read('README.md'))![1]!;
  assert.match(row('Node for `npm ci`'), new RegExp(`^${named} or later`));
  const ci = read('.ci/run');
  const minor = (name: string) => new RegExp(`\\b${name}@(?:npm:\\w+@)?(\\d+\\.\\d+)`).exec(ci)![1]!;
  assert.deepEqual(numbers(row('Client library')), [
    ...['node20', 'node22', 'node24'].map((name) => minor(name).split('.')[0]!),
    node,
    minor('bun'),
    minor('deno'),
    minor('typescript5').split('.')[0]!,
    manifest.devDependencies.typescript.split('.')[0]!,
  ]);
  const { kubeVersion } = parse(read('deploy/helm/Chart.yaml')) as { kubeVersion: string };
  assert.match(kubeVersion, new RegExp(`^>=${numbers(row('Kubernetes'))![0]}\\.`));
});
