import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import { projectFiles, read } from '../../support/structure/source-tree.ts';

type Permissions = Record<string, 'read' | 'write'>;
type Step = { uses?: string; run?: string; if?: string; with?: Record<string, unknown>; env?: Record<string, string> };
type Job = { permissions?: Permissions; steps?: Step[]; uses?: string; env?: Record<string, string>; needs?: string[] };
type Workflow = { on: Record<string, unknown>; permissions: Permissions; jobs: Record<string, Job> };

const paths = projectFiles().filter((file) => /^\.github\/workflows\/.*\.ya?ml$/.test(file));
const workflows = paths.map((path) => ({ path, text: read(path), ...(parse(read(path)) as Workflow) }));
const jobs = workflows.flatMap(({ path, jobs: of }) =>
  Object.entries(of).map(([name, job]) => ({ name: `${path}: ${name}`, ...job })),
);
const release = workflows.find(({ path }) => path.endsWith('/release.yml'))!;

/** What sends something out of the repository, wherever it goes. */
const isPublishing = ({ uses = '', run = '', with: inputs = {} }: Step): boolean =>
  /\b(docker|helm|podman|oras) push\b|\bnpm publish\b|\bcosign (sign|attest)\b|\blogin\b/.test(run) ||
  uses.startsWith('docker/login-action@') ||
  (inputs.push !== undefined && inputs.push !== false) ||
  inputs['push-to-registry'] === true;

suite('workflows', () => {
  test('pin every action by its commit, with the version beside it', () => {
    assert.ok(workflows.length >= 4);
    for (const { path, text } of workflows)
      for (const [line, name] of text.matchAll(/^.*\buses: (\S+).*$/gm))
        if (!name!.startsWith('./'))
          assert.match(line, /uses: [\w.-]+(\/[\w.-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, `${path}: ${line}`);
    // One action has one version everywhere.
    const pins = new Set(
      workflows.flatMap(({ text }) => [...text.matchAll(/uses: (\S+@\S+)/g)].map(([, pin]) => pin!)),
    );
    assert.equal(new Set([...pins].map((pin) => pin.split('@')[0])).size, pins.size);
  });

  test('may read the source and nothing else, except the jobs that say what they write', () => {
    for (const { path, permissions } of workflows) assert.deepEqual(permissions, { contents: 'read' }, path);
    const written = jobs.flatMap(({ name, permissions = {} }) =>
      Object.entries(permissions)
        .filter(([, right]) => right === 'write')
        .map(([scope]) => `${name.replace('.github/workflows/', '')} ${scope}`),
    );
    assert.deepEqual(written.sort(), [
      'codeql.yml: analyse security-events',
      'release.yml: client id-token',
      'release.yml: image attestations',
      'release.yml: image id-token',
      'release.yml: release attestations',
      'release.yml: release contents',
      'release.yml: release id-token',
    ]);
    for (const { name, steps = [] } of jobs)
      for (const { uses = '', with: inputs } of steps)
        if (uses.startsWith('actions/checkout@')) assert.equal(inputs?.['persist-credentials'], false, name);
  });

  test('publish only where a secret is set', () => {
    const publishing = jobs.flatMap(({ name, env = {}, steps = [] }) =>
      steps.filter(isPublishing).map((step) => ({ name, env, step })),
    );
    assert.equal(publishing.length, 6);
    for (const { name, env, step } of publishing) {
      assert.match(name, /release\.yml/);
      assert.match(env.PUBLISH!, /^\$\{\{ secrets\.\w+ != '' && vars\.\w+ != '' \}\}$/, name);
      const guard = step.with?.push ?? step.if;
      assert.match(String(guard), /^(env\.PUBLISH == 'true'( && .*)?|\$\{\{ env\.PUBLISH \}\})$/, name);
    }
    for (const { name, steps = [] } of jobs)
      for (const { run = '' } of steps)
        for (const line of run.split('\n').filter((one) => one.includes('gh release')))
          assert.match(line, /--draft /, name);
  });

  test('put no text that others write into a shell', () => {
    for (const { name, steps = [] } of jobs)
      for (const { run = '' } of steps)
        for (const [, expression] of run.matchAll(/\$\{\{\s*(.*?)\s*\}\}/g))
          assert.match(expression!, /^(job\.services\.postgres\.id|needs\.version\.outputs\.version)$/, name);
  });

  test('of a pull request get no secret', () => {
    for (const { path, on, text } of workflows)
      if (!path.endsWith('/release.yml')) {
        assert.doesNotMatch(text, /\bsecrets\./, path);
        assert.ok(!('pull_request_target' in on), path);
      }
  });

  test('test a tag before they build, and build from a base that is pinned by its digest', () => {
    assert.deepEqual(Object.keys(release.on), ['push']);
    assert.equal(release.jobs.test!.uses, './.github/workflows/ci.yml');
    for (const name of ['image', 'chart', 'client']) assert.ok(release.jobs[name]!.needs!.includes('test'), name);
    assert.deepEqual(release.jobs.release!.needs, ['version', 'image', 'chart', 'client']);
    const bases = [...read('deploy/Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, base]) => base!);
    assert.equal(new Set(bases).size, 1);
    assert.match(bases[0]!, /^node:[\d.]+-bookworm-slim@sha256:[0-9a-f]{64}$/);
  });

  test('try each version of PostgreSQL that the documents name', () => {
    const ci = workflows.find(({ path }) => path.endsWith('/ci.yml'))!;
    const { strategy } = ci.jobs.postgres as { strategy: { matrix: { version: string[] } } };
    assert.deepEqual(strategy.matrix.version, ['15', '16', '17', '18']);
    assert.match(read('docs/operate/database.md'), /PostgreSQL 15 to 18/);
  });
});
