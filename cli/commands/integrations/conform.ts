import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../../src/platform/time/clock.ts';
import { discardEmbedded } from '../../../src/platform/db/embedded/embedded.ts';
import { type ScenarioOutcome, type Setup, conform } from '../../../src/sandbox/conformance/conform.ts';
import { scenarios } from '../../../src/sandbox/conformance/scenarios.ts';
import type { Held, Runner } from '../../../src/sandbox/conformance/trial.ts';
import { startService } from '../../../src/main.ts';
import { openApp } from '../../../src/server/open-app.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import { createForwarder } from '../../../src/sandbox/conformance/forward.ts';
import { type Call, type Command, type Output, type Values, command, Failure } from '../../kit/command.ts';
import { type Columns, openForeignMirror } from './foreign-mirror.ts';
import { forwardTo } from './listen.ts';
import { count, or, required, text, words } from '../../kit/options.ts';
import { refuseBusyPort } from '../../kit/port.ts';
import { terminal } from '../../kit/terminal.ts';

/**
 * The service's clock is 10 minutes slow. A client that takes `since` from its own clock then asks for the future and
 * receives no results.
 */
const behindMs = 10 * 60_000;

export const clockBehind: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() - behindMs };

const environmentOf = (setup: Setup) => ({
  API: setup.api,
  ACCESS_KEY_ID: setup.accessKeyId,
  SECRET_ACCESS_KEY: setup.secretAccessKey,
  WEBHOOK_SECRET: setup.webhookSecret,
  GROUP_ID: setup.groupId,
});

/** Runs the client in a shell with its own process group, so that a kill reaches all processes of the client. */
export function runnerOf(command: string, setup: Setup): Runner {
  let child: ChildProcess | null = null;
  const env = { ...terminal().environment, ...environmentOf(setup) };
  return {
    async start() {
      child = spawn(command, { shell: true, detached: true, env, stdio: ['ignore', 'ignore', 'inherit'] });
      child.on('error', () => {});
    },
    async kill() {
      const killed = child;
      child = null;
      if (killed === null || killed.pid === undefined || killed.exitCode !== null || killed.signalCode !== null) return;
      const ended = once(killed, 'exit');
      try {
        process.kill(-killed.pid, 'SIGKILL');
      } catch {
        return;
      }
      await ended;
    },
    hasEnded: () => child !== null && (child.exitCode !== null || child.signalCode !== null),
  };
}

/**
 * Returns a function that reads the mirror. If a mirror can't be read, the function returns null unless `isNeeded`,
 * because the client may not have created the mirror yet.
 */
export function mirrorReader(location: string, columns: Columns): (isNeeded: boolean) => Promise<Held | null> {
  return async (isNeeded) => {
    try {
      const mirror = await openForeignMirror(location, columns);
      await mirror.close();
      return mirror;
    } catch (error) {
      if (error instanceof Failure && !isNeeded) return null;
      throw error;
    }
  };
}

const names = scenarios.map(({ name }) => name);

const options = {
  mirror: required(text('FILE|table:NAME')),
  forwardTo,
  start: text('COMMAND'),
  idColumn: or(text('C'), 'assessment_id'),
  updatedAtColumn: or(text('C'), 'updated_at'),
  only: or(words('SCENARIO,…', names, `one or more of ${names.join(', ')}, with commas between`), null),
  patience: or(count(1, 3600, 'SECONDS'), 90),
  port: or(count(0, 65_535), 0),
};

const marks = { passed: 'right ', failed: 'WRONG ', not_played: '  -   ' } as const;

function lines({ name, summary, outcome, because, faults }: ScenarioOutcome): string {
  const head = `${marks[outcome]}  ${name.padEnd(16)}  ${summary}`;
  const why = because === null ? [] : [`          not played: ${because}`];
  const found = faults.flatMap(({ sentence, ids }) => [
    `          ${sentence}`,
    ...(ids.length === 0 ? [] : [`            ${ids.join(' ')}`]),
  ]);
  return [head, ...why, ...found].join('\n');
}

function settingsUp(setup: Setup): string {
  const settings = Object.entries(environmentOf(setup)).map(([name, value]) => `  ${name}=${value}`);
  return `Start your client, with nothing stored, and these settings:\n\n${settings.join('\n')}      to follow one group, if it does\n`;
}

const folderName = 'ars-conform-';

/**
 * Removes the folders of killed runs, and their PostgreSQL servers, which survive a kill. Skips locked folders, and new
 * folders that a run may be about to lock.
 */
async function clearLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(folderName) || name.length !== folderName.length + 6) continue;
    const folder = join(tmpdir(), name);
    try {
      const { mtimeMs, uid } = await lstat(folder);
      const isOurs = uid === process.getuid?.() && systemClock.nowMs() - mtimeMs > limits.conformLeftoverMs;
      if (isOurs && (await discardEmbedded(join(folder, 'data')))) await rm(folder, { recursive: true, force: true });
    } catch {
      // Another run has removed the folder, or it can't be removed. The next run tries again.
    }
  }
}

async function run(call: Call<Values<typeof options>>) {
  const { mirror, forwardTo: url, start, idColumn: id, updatedAtColumn: updatedAt, only, port } = call.options;
  const readHeld = mirrorReader(mirror, { id, updatedAt, record: null, willWrite: false });
  const say = (line: string) => {
    (call.json ? terminal().errors : terminal().output).write(`${line}\n`);
  };
  await clearLeftovers();
  const folder = await mkdtemp(join(tmpdir(), folderName));
  try {
    // If root starts the command, PostgreSQL runs as a system user, who needs access to the folder.
    await chmod(folder, 0o755);
    // These settings do not come from the environment, because its variables are for the client and its mirror.
    const settings = readSettings({
      ARS_DATA_DIR: join(folder, 'data'),
      ARS_PORT: String(port),
      ARS_LOG: 'none',
      ARS_RATE_LIMIT: '1000000',
    });
    await refuseBusyPort(settings, 'all');
    call.step('Starting a service of its own …');
    const service = await startService(await openApp(settings, { clock: clockBehind }), 'web');
    const forwarder = url === undefined ? null : createForwarder(url, systemClock, call.signal);
    try {
      const outcomes = await conform({
        app: service.app,
        server: service.http!.fastify.server,
        url: service.url,
        forwarder,
        readHeld,
        prepare(setup) {
          call.progress('');
          if (start !== undefined) return runnerOf(start, setup);
          say(settingsUp(setup));
          return null;
        },
        only,
        patienceMs: call.options.patience * 1000,
        signal: call.signal,
        onOutcome: (outcome) => say(lines(outcome)),
      });
      return outputOf(outcomes, !call.signal.aborted);
    } finally {
      await forwarder?.close();
      await service.stop();
    }
  } finally {
    // PostgreSQL's files are elsewhere if its user can't open root's temporary folder, so `rm` alone is not enough.
    await discardEmbedded(join(folder, 'data'));
    await rm(folder, { recursive: true, force: true });
  }
}

function outputOf(scenarios: ScenarioOutcome[], isWhole: boolean): Output {
  const wrong = scenarios.filter(({ outcome }) => outcome === 'failed');
  const right = scenarios.filter(({ outcome }) => outcome === 'passed');
  const passed = wrong.length === 0 && isWhole;
  return {
    json: { passed, scenarios },
    text:
      wrong.length === 0
        ? `\nThe client is right in ${right.length} scenarios.`
        : `\nThe client is wrong in ${wrong.length} of ${scenarios.length} scenarios.`,
    exitCode: passed ? 0 : 1,
  };
}

export const commands: Command[] = [
  command({
    name: 'conform',
    summary: 'Test a client against a difficult service',
    notes: 'The command runs the service, starts the client, plays the scenarios, and says what the client does wrong.',
    examples: [
      '--mirror results.ndjson --start "python3 sync.py"',
      '--mirror table:results --start "node poll.js" --only restored-backup,interrupted',
    ],
    environment: { DATABASE_URL: 'The database of the local copy, for table:NAME' },
    fails: 'The client has failed a scenario, or the command has failed.',
    about: {
      mirror: 'The local copy that the client keeps',
      forwardTo: 'The URL of a webhook receiver to test',
      start: 'The command that starts the client',
      idColumn: 'The column of assessment_id',
      updatedAtColumn: 'The column of updated_at',
      only: 'Only these scenarios',
      patience: 'Seconds to wait for the client after each change',
      port: 'The port of the service',
    },
    options,
    run,
  }),
];
