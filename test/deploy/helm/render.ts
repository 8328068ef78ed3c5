import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { Compile } from 'typebox/schema';
import { root } from '../../support/structure/source-tree.ts';

/** The chart, rendered by Go's template engine with Sprig, as Helm renders it (render.go). Helm itself is not needed. */

/** Where Debian puts the sources of Go packages. */
const packages = '/usr/share/gocode';
export const noEngine =
  spawnSync('go', ['version']).error === undefined && existsSync(join(packages, 'src/github.com/Masterminds/sprig'))
    ? false
    : 'Go or Sprig is not installed (Debian: golang-go, golang-github-masterminds-sprig-dev, golang-k8s-sigs-yaml-dev)';

export const chart = join(root, 'deploy/helm');
export type Values = Record<string, unknown>;
export type Resource = {
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  spec: any;
};

const source = join(import.meta.dirname, 'render.go');

/** The program, compiled once for each state of its source. */
function compiled(): string {
  const cache = join(root, 'node_modules/.cache/chart');
  const path = join(cache, createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 16));
  if (existsSync(path)) return path;
  mkdirSync(cache, { recursive: true });
  const draft = `${path}.${process.pid}`;
  const env = { ...process.env, GO111MODULE: 'off', GOPATH: packages, GOCACHE: join(cache, 'go') };
  const { status, stderr } = spawnSync('go', ['build', '-o', draft, source], { env, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  renameSync(draft, path);
  return path;
}

/** What the cluster has: objects by version, kind, namespace and name. */
export type Objects = Record<string, object>;

/** @returns the text of each template with these values over the chart's own. Throws what the chart fails with. */
export function texts(values: Values, objects: Objects = {}): Record<string, string> {
  const release = {
    Name: 'ars',
    Namespace: 'results',
    Service: 'Helm',
    IsInstall: true,
    IsUpgrade: false,
    Revision: 1,
  };
  const input = JSON.stringify({ values, release, objects });
  const { status, stdout, stderr } = spawnSync(compiled(), [chart], { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Record<string, string>;
}

/** @returns every resource of the chart with these values */
export function resources(values: Values, objects: Objects = {}): Resource[] {
  const { 'NOTES.txt': _notes, ...templates } = texts(values, objects);
  return Object.entries(templates).flatMap(([name, text]) =>
    parseAllDocuments(text).flatMap((document) => {
      if (document.errors.length > 0) throw new Error(`${name}: ${document.errors[0]!.message}\n${text}`);
      const resource = document.toJS() as Resource | null;
      return resource === null ? [] : [resource];
    }),
  );
}

const schema = Compile(JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')));

/** The chart's own values with others over them, as Helm merges them. */
export function merged(
  values: Values,
  into = parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as Values,
): Values {
  const isMap = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  return Object.entries(values).reduce((all, [key, value]) => {
    const before = all[key];
    return { ...all, [key]: isMap(value) && isMap(before) ? merged(value, before) : value };
  }, into);
}

/** @returns what the chart's schema says against these values over the chart's own */
export const faultsOf = (values: Values): string[] =>
  schema.Errors(merged(values))[1].map(({ instancePath, message }) => `${instancePath}: ${message}`);
