import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import manifest from '../../../package.json' with { type: 'json' };

const root = join(import.meta.dirname, '../../..');

function readText(...path: string[]): string {
  try {
    return readFileSync(resolve(...path), 'utf8').trim();
  } catch {
    return '';
  }
}

/** Reads Git's files directly, because a start must not wait for another program. */
function checkedOutCommit(): string {
  const [, linked = '.git'] = /^gitdir: (.+)$/.exec(readText(root, '.git')) ?? [];
  const head = readText(root, linked, 'HEAD');
  const [, ref] = /^ref: (.+)$/.exec(head) ?? [];
  if (ref === undefined) return head;
  // A linked worktree has its own HEAD, and its branches are in the folder that `commondir` names.
  const shared = resolve(root, linked, readText(root, linked, 'commondir'));
  const packed = () => readText(shared, 'packed-refs').split('\n');
  return readText(shared, ref) || (packed().find((line) => line.endsWith(` ${ref}`)) ?? '').split(' ')[0]!;
}

const isCommit = (text: string) => /^[0-9a-f]{7,64}$/.test(text);

/**
 * The version and commit that `ars --version`, the log's first line, `/readyz` and the metrics show. The commit comes
 * from the image's file `COMMIT` or from the checkout; otherwise it is `unknown`.
 */
export const build = {
  version: manifest.version,
  commit: [readText(root, 'COMMIT'), checkedOutCommit()].find(isCommit) ?? 'unknown',
};
