#!/usr/bin/env node
import { systemClock } from '../src/platform/time/clock.ts';
import { runProgram } from './kit/run.ts';

/**
 * A second signal within this time counts as the same Ctrl+C, because npm repeats the terminal's signal to its script.
 */
const samePressMs = 1000;

const parentCheckMs = 500;

/** A stopped process ends after this time, even if a connection still waits for a lock of another process. */
const endMs = 1000;

/**
 * The signal aborts on SIGINT or SIGTERM, or when the npm process that started the command ends. A second Ctrl+C ends
 * this process.
 */
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
    // If npm is killed, its script receives no signal, so the script checks its parent.
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent) stopping.abort();
    }, parentCheckMs).unref();
  }
  return stopping.signal;
}

// If the program that reads the output ends first, this command still closes what it has opened.
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
if (begun[0]?.aborted === true) setTimeout(() => process.exit(), endMs).unref();
