import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { spawn } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';

/** A program and whatever it starts: they get a signal together, and none outlives the other. */

export function startGroup(program: string, args: string[], options: SpawnOptions): ChildProcess {
  return spawn(program, args, { ...options, detached: true });
}

/** @returns whether there was anybody */
export function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals | 0): boolean {
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
