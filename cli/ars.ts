#!/usr/bin/env node
import { systemClock } from '../src/platform/time/clock.ts';
import { runProgram } from './kit/run.ts';

/** Within so long a second signal is the same Ctrl+C: npm passes on to its script what the terminal has sent to both. */
const samePressMs = 1000;

const parentLookMs = 500;

/** What a command that was told to stop still gets, once it has returned: somebody else's lock may hold a connection. */
const lastMs = 1000;

/** Aborted by SIGINT, by SIGTERM, and by the end of npm where npm started the command. A second Ctrl+C ends it at once. */
function stopSignal(): AbortSignal {
  const stopping = new AbortController();
  let firstMs: number | null = null;
  const stop = () => {
    const nowMs = systemClock.monotonicMs();
    if (firstMs !== null && nowMs - firstMs > samePressMs) process.exit(130);
    firstMs ??= nowMs;
    stopping.abort();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  if (process.env.npm_lifecycle_event !== undefined) {
    // npm that is killed outright tells its script nothing.
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent) stopping.abort();
    }, parentLookMs).unref();
  }
  return stopping.signal;
}

// Who reads the output may stop reading: the command still lets go of what it holds.
let unwritable = false;
process.stdout.on('error', () => {
  unwritable = true;
});
process.once('exit', () => {
  if (!unwritable || process.exitCode !== 0) return;
  process.stderr.write('ars: the output cannot be written\n');
  process.exitCode = 1;
});

const begun: AbortSignal[] = [];
process.exitCode = await runProgram(process.argv.slice(2), () => {
  const signal = stopSignal();
  begun.push(signal);
  return signal;
});
if (begun[0]?.aborted === true) setTimeout(() => process.exit(), lastMs).unref();
