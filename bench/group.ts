import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { spawn } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';

/**
 * A Node program and whatever it starts: they get a signal together, none outlives the other, and all end when whoever started
 * them has gone, however that was (bench/with-starter.ts).
 */

export function startGroup(args: string[], { stdio, ...options }: SpawnOptions & { stdio: Output }): ChildProcess {
  const preload = new URL('with-starter.ts', import.meta.url).href;
  return spawn(process.execPath, ['--import', preload, ...args], {
    ...options,
    detached: true,
    // Nothing is written to it: it ends with its writer.
    stdio: ['pipe', ...stdio],
  });
}

type Output = ['pipe' | 'inherit', 'pipe' | 'inherit'];

/** @returns whether there was anybody */
export function signalGroup({ pid }: { pid?: number }, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid!, signal);
  } catch {
    return false;
  }
}

/** Waits until nobody of it is left: those who don't end within some seconds are killed. */
export async function endGroup(child: ChildProcess, patienceMs = 20_000): Promise<void> {
  if (!signalGroup(child, 'SIGTERM')) return;
  const endMs = performance.now() + patienceMs;
  while (signalGroup(child, 0)) {
    if (performance.now() > endMs) {
      signalGroup(child, 'SIGKILL');
      return;
    }
    await wait(50);
  }
}
