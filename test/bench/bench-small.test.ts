// Tier: full. Runs each benchmark once on small data.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { steps } from '../../bench/steps.ts';
import { freshDatabase } from '../support/postgres.ts';
import { thisServer } from '../support/service.ts';

suite('one round on small data', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ars-figures-'));
  after(() => rmSync(folder, { recursive: true }));

  const programs = new Map(steps.map((step) => [step.run[0]!, step]));
  for (const [program, { small }] of programs)
    test(
      `of bench/scenarios/${program} ends, and gives figures`,
      { skip: small === null && 'it installs other services' },
      async () => {
        const server = await thisServer();
        const { url } = await freshDatabase(server, { migrated: false });
        const figures = join(folder, `${program}.ndjson`);
        const child = spawn(process.execPath, [`bench/scenarios/${program}`, ...small!], {
          cwd: join(import.meta.dirname, '../..'),
          stdio: ['ignore', 'ignore', 'pipe'],
          env: {
            ...process.env,
            DATABASE_URL: url,
            ARS_SECRET: 'a secret of the tests, longer than 32 characters',
            BENCH_FIGURES: figures,
          },
        });
        const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
        assert.equal(code, 0, said);
        for (const line of readFileSync(figures, 'utf8').trim().split('\n'))
          assert.ok(Number.isFinite((JSON.parse(line) as { value: unknown }).value), line);
      },
    );
});
