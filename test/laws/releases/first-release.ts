import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../support/structure/source-tree.ts';
import { readyProcess } from '../world/processes.ts';

/** The commit with the schema of 1.0.0, and no later migration. */
const commit = '50fa25785374d2825e8df71dc8433562fc0df614';

export type FirstRelease = {
  /** Runs a command of the release with `--json`. */
  ars(words: readonly string[], environment: Record<string, string>): Promise<any>;
  start(environment: Record<string, string>, port?: number): ReturnType<typeof readyProcess>;
  remove(): void;
};

/** Takes 1.0.0 out of the history. @returns null if the history is not here */
export function firstRelease(): FirstRelease | null {
  const folder = mkdtempSync(join(tmpdir(), 'ars-first-'));
  const remove = () => rmSync(folder, { recursive: true });
  try {
    const files = execFileSync('git', ['archive', commit, 'cli', 'src', 'package.json', 'docs', 'client'], {
      cwd: root,
      maxBuffer: 2 ** 28,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    execFileSync('tar', ['-x', '-C', folder], { input: files });
  } catch {
    remove();
    return null;
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const program = join(folder, 'cli/ars.ts');
  return {
    async ars(words, environment) {
      const env = { ...process.env, ...environment };
      const { stdout } = await promisify(execFile)(process.execPath, [program, ...words, '--json'], { env });
      return JSON.parse(stdout);
    },
    start: (environment, port) => readyProcess([program, 'serve'], environment, port),
    remove,
  };
}
