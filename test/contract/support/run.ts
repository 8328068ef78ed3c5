// The contract suite against a service that runs somewhere: node test/contract/support/run.ts --base-url U --key K --secret S
import { spawn } from 'node:child_process';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { 'base-url': { type: 'string' }, key: { type: 'string' }, secret: { type: 'string' } },
});
const {
  'base-url': given = process.env.ARS_CONTRACT_BASE_URL,
  key = process.env.ARS_CONTRACT_KEY,
  secret = process.env.ARS_CONTRACT_SECRET,
} = values;
if (given === undefined || !URL.canParse(given) || key === undefined || secret === undefined) {
  console.error(
    'Usage: node test/contract/support/run.ts --base-url https://results.example.org --key ACCESS_KEY_ID --secret SECRET_ACCESS_KEY',
  );
  process.exit(2);
}
const files: string[] = [];
const folder = join(import.meta.dirname, '..');
for await (const file of glob('**/*.test.ts', { cwd: folder })) files.push(join(folder, file));
const runner = spawn(process.execPath, ['--test', '--test-concurrency=1', '--test-reporter=spec', ...files.sort()], {
  stdio: 'inherit',
  env: {
    ...process.env,
    ARS_CONTRACT_BASE_URL: given.replace(/(\/api\/v1)?\/*$/, ''),
    ARS_CONTRACT_KEY: key,
    ARS_CONTRACT_SECRET: secret,
  },
});
runner.once('exit', (code) => process.exit(code ?? 1));
