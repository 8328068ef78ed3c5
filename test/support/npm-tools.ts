import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Packages in a temporary folder. If npm cannot install them, `missing` says so, and the test is skipped with it. */
export type Tools = {
  folder: string;
  missing: string | null;
  /** Runs a command of the packages. It also gives the output of a command that fails. */
  call(command: string, ...words: string[]): Promise<{ code: number; output: string }>;
};

/** Installs pinned packages that are too large for our own dependencies. */
export async function installTools(...packages: string[]): Promise<Tools> {
  const folder = await mkdtemp(join(tmpdir(), 'ars-tools-'));
  after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--fetch-retries=1'];
  const missing = await run('npm', ['install', ...options, ...packages], { cwd: folder }).then(
    () => null,
    ({ stderr }: { stderr: string }) =>
      `npm cannot install ${packages.join(', ')}: ${/npm error code (\w+)/.exec(stderr)?.[1] ?? 'unknown reason'}.`,
  );
  return {
    folder,
    missing,
    async call(command, ...words) {
      const program = join(folder, 'node_modules/.bin', command);
      const { code, stdout, stderr } = await run(program, words, { cwd: folder, maxBuffer: 2 ** 26 }).then(
        (done) => ({ code: 0, ...done }),
        (failed: { code: number; stdout: string; stderr: string }) => failed,
      );
      return { code, output: stdout + stderr };
    },
  };
}
