// Process: own. Reads the metrics of the process before anything is counted.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import '../../src/platform/observability/metric-definitions.ts';
import { exposition, metricsTable, readMetrics } from '../../src/platform/observability/metrics.ts';
import { makeSite } from '../../src/web/docs/site.ts';
import { projectFiles, read, root } from '../support/structure/source-tree.ts';

type Rules = { groups: { rules: { alert: string; expr: string; annotations: { runbook_url: string } }[] }[] };
type Dashboard = { panels: { id: number; title: string; targets: { expr: string }[] }[] };

const rules = (parse(read('deploy/alerts.yml')) as Rules).groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read('deploy/grafana.json')) as Dashboard;

/** Every name of a series that there can be, with the labels that it has. */
const series = new Map(
  metricsTable().flatMap(({ name, kind, labels }) =>
    kind === 'histogram'
      ? ['_bucket', '_sum', '_count'].map((end) => [name + end, [...labels, 'le']] as const)
      : [[name, labels] as const],
  ),
);

/** What a query names that isn't measured. `up`, `job` and `instance` are Prometheus's own. */
function unknownIn(query: string): string[] {
  const bare = query.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
  const named = [...bare.matchAll(/\b((?:ars|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)];
  // Others measure the disks, PostgreSQL and certificates; Prometheus itself says which alerts fire.
  assert.ok(named.length > 0 || /\b(up\{|ALERTS\{|(node|pg|probe)_\w+)/.test(bare), query);
  return named.flatMap(([, name, inside = '']) => {
    const labels = series.get(name!);
    if (labels === undefined) return [name!];
    return [...inside.matchAll(/(\w+)\s*[=!]/g)]
      .map(([, label]) => label!)
      .filter((label) => ![...labels, 'job', 'instance'].includes(label));
  });
}

test('alerts and dashboard name only what is measured', () => {
  for (const { alert, expr } of rules) assert.deepEqual(unknownIn(expr), [], alert);
  for (const { title, targets } of dashboard.panels)
    for (const { expr } of targets) assert.deepEqual(unknownIn(expr), [], title);
  assert.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length);
});

test('the dashboard shows what alerts go by', () => {
  const named = (query: string) =>
    [...query.matchAll(/\b((?:ars|process|nodejs)_\w+?)(?:_bucket)?(?=[[{) ]|$)/g)].map(([, name]) => name!);
  const shown = dashboard.panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => named(expr)));
  for (const { alert, expr } of rules)
    for (const name of named(expr)) assert.ok(shown.includes(name), `${alert}: ${name}`);
});

const eventsOf = (expr: string) =>
  [...expr.matchAll(/event=~?"([^"]+)"/g)].flatMap(([, events]) => events!.replaceAll('[.]', '.').split('|'));

test('the events that alerts name are logged somewhere', () => {
  const sources = projectFiles().filter((file) => /^src\/.*\.ts$/.test(file));
  const logged = sources.flatMap((file) =>
    [...read(file).matchAll(/log\.error\('([\w.]+)'/g)].map(([, event]) => event),
  );
  // A step of a background job that fails is logged under the kind of the job.
  for (const file of sources)
    for (const [, kind] of read(file).matchAll(/jobsOf<[^>]*>\(\{\s*kind: '(\w+)'/g)) logged.push(`${kind}.failed`);
  for (const { expr } of rules) for (const event of eventsOf(expr)) assert.ok(logged.includes(event), event);
});

test('what an alert waits to rise is there at 0 from the beginning: Prometheus sees no rise in the first event of a series', () => {
  const lines = exposition(readMetrics()).split('\n');
  const awaited = rules.flatMap(({ expr }) =>
    [...expr.matchAll(/increase\((ars_\w+(?:\{[^}]*\})?)\[/g)].map(([, one]) => one!),
  );
  assert.ok(awaited.length >= 4);
  for (const one of awaited) {
    const [, name, label = ''] = /^(\w+)(\{event)?/.exec(one)!;
    const events = eventsOf(one).map((event) => `${name!}${label}="${event}"} 0`);
    for (const line of events) assert.ok(lines.includes(line), line);
    // Without a condition, all series of the metric count.
    const all = lines.filter((line) => line === `${one} 0` || (line.startsWith(`${one}{`) && line.endsWith(' 0')));
    if (label === '') assert.ok(all.length > 0, one);
  }
});

test('the guide says what to do about each alert', async () => {
  const { files } = await makeSite('https://results.example.org', 300);
  const guide = read('docs/operate/alerts.md');
  for (const { alert, annotations } of rules) {
    assert.ok(guide.includes(`\n## ${alert}\n`), alert);
    const { pathname, hash } = new URL(annotations.runbook_url);
    assert.equal(hash, `#${alert.toLowerCase()}`);
    const page = files.get(pathname.replace(/^\/docs\//, ''));
    assert.ok(String(page!.body).includes(`id="${hash.slice(1)}"`), alert);
  }
});

test('Prometheus takes the rules', (t) => {
  const { error, status, stdout } = spawnSync('promtool', ['check', 'rules', join(root, 'deploy/alerts.yml')]);
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT')
    t.skip('promtool (package prometheus) is not installed');
  else assert.equal(status, 0, String(stdout));
});

/** Scrapes, 15 seconds apart; of a process that ends and is started again `stale` and `_` find nobody, `0` and `1` are what it says. */
const cases: { alert: string; before?: string; after: string; series: Record<string, string>; labels: object }[] = [
  {
    alert: 'ArsDatabaseAway',
    after: '4m',
    series: { 'ars_database_up{job="ars",instance="one"}': `1 1 0 ${'stale _ _ 0 '.repeat(4)}` },
    labels: { severity: 'page' },
  },
  {
    alert: 'ArsDatabaseDiskFull',
    before: '30s',
    after: '2m',
    series: { 'ars_database_disk_full{job="ars",instance="one"}': '0 0 0 0 1 1 1 1 1 1' },
    labels: { severity: 'page' },
  },
  {
    alert: 'ArsDatabaseReadOnly',
    before: '2m',
    after: '4m',
    series: { 'ars_database_read_only{job="ars",instance="one"}': '0 0 1x20' },
    labels: { severity: 'page' },
  },
  {
    alert: 'ArsOpening',
    after: '14m',
    series: { 'ars_opening{job="ars",instance="one"}': `0 0 stale ${'1 stale _ _ _ _ _ '.repeat(9)}` },
    labels: { severity: 'page', job: 'ars', instance: 'one' },
  },
  {
    alert: 'ArsPlatformSilent',
    after: '20m',
    series: { 'ars_keys_silent{job="ars",instance="one"}': '0x4 1x100' },
    labels: { severity: 'ticket' },
  },
  {
    alert: 'ArsBackupOld',
    before: '15m',
    after: '24m',
    series: { 'node_textfile_mtime_seconds{file="/a/ars-backup.prom"}': '-93000x100' },
    labels: { severity: 'page' },
  },
  {
    alert: 'ArsUpkeep',
    after: '80m',
    series: { 'ars_log_errors_total{job="ars",event="housekeeping.failed"}': '0x4 0+1x400' },
    labels: { severity: 'ticket', event: 'housekeeping.failed' },
  },
  {
    alert: 'ArsRestored',
    after: '10m',
    series: {
      'ars_log_errors_total{job="ars",instance="one",event="database.restored"}': '_x4 1x400',
      'ars_log_errors_total{job="ars",instance="two",event="audit.failed"}': '0x400',
    },
    labels: { severity: 'ticket' },
  },
  {
    alert: 'ArsRestored',
    before: '95m',
    after: '100m',
    series: { 'ars_log_errors_total{job="ars",instance="one",event="database.restored"}': '_x4 1x384 2x40' },
    labels: { severity: 'ticket' },
  },
];

test('alerts fire where a process ends and is started again, over and over, where upkeep fails, and after a restore', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ars-alerts-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'cases.yml');
  const tests = cases.map(({ alert, before = '30s', after, series, labels }) => ({
    interval: '15s',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values: values.trim() })),
    alert_rule_test: [
      { eval_time: before, alertname: alert, exp_alerts: [] },
      {
        eval_time: after,
        alertname: alert,
        exp_alerts: [{ exp_labels: labels, exp_annotations: annotationsOf(alert) }],
      },
    ],
  }));
  writeFileSync(file, stringify({ rule_files: [join(root, 'deploy/alerts.yml')], evaluation_interval: '15s', tests }));
  const { error, status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT')
    t.skip('promtool (package prometheus) is not installed');
  else assert.equal(status, 0, stdout + stderr);
});

/** As they are for the instance `one`. */
function annotationsOf(name: string): Record<string, string> {
  const { annotations } = rules.find(({ alert }) => alert === name)!;
  return Object.fromEntries(
    Object.entries(annotations).map(([key, text]) => [
      key,
      text
        .replace('{{ $value }}', '1')
        .replace('{{ $labels.instance }}', 'one')
        .replace('{{ $labels.event }}', 'housekeeping.failed'),
    ]),
  );
}
