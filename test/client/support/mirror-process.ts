import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Assessment, Filters } from '../../../client/src/index.ts';
import type { Key } from '../../contract/support/client.ts';
import type { ServiceProcess } from '../../laws/world/processes.ts';
import { serviceProcess } from '../../laws/world/processes.ts';
import type { DigestService } from './digest-service.ts';
import { digestService } from './digest-service.ts';

/** Mirrors and services in processes of their own, for `kill -9`. */

/**
 * A mirror polls once, in a process of its own.
 * @param given `file` holds the mirror; `dieAt`: the statement at which its process is killed, if it comes so far
 * @returns how it ended: the exit code, or the signal
 */
export async function mirrorProcess(given: {
  url: string;
  key: Key;
  file: string;
  filters?: Filters;
  pageSize?: number;
  dieAt?: number;
}): Promise<NodeJS.Signals | number | null> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'killed-mirror.ts')], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      NODE_TEST_CONTEXT: undefined,
      API: given.url,
      ACCESS_KEY_ID: given.key.access_key_id,
      SECRET_ACCESS_KEY: given.key.secret_access_key,
      MIRROR: given.file,
      FILTERS: JSON.stringify(given.filters ?? {}),
      PAGE_SIZE: String(given.pageSize ?? 7),
      ...(given.dieAt === undefined ? {} : { DIE_AT: String(given.dieAt) }),
    },
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return signal ?? code;
}

/** What a mirror's file holds, by id. */
export function heldIn(file: string): Map<string, Assessment> {
  const database = new DatabaseSync(file);
  const rows = database.prepare('select assessment_id, record from ars_assessment').all();
  database.close();
  return new Map(rows.map((row) => [row.assessment_id as string, JSON.parse(row.record as string) as Assessment]));
}

/** A service in a process of its own, behind an address that stays when it is killed and started again. */
export type KillableService = {
  front: DigestService;
  /** Kills it within the next request for results but `after`, and starts it again while the mirror is still asking. */
  killAt(after: number): void;
  /** Resolves once it is up again; true if it was killed at all. */
  settled(): Promise<boolean>;
  end(): Promise<void>;
};

/** Started until it is up: in a long run on a machine that is busy, its database may not answer in time. */
async function serviceUp(environment: Record<string, string>): Promise<ServiceProcess> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await serviceProcess(environment);
    } catch (error) {
      if (attempt === 5) throw error;
    }
  }
}

export async function killableService(environment: Record<string, string>): Promise<KillableService> {
  let behind: ServiceProcess = await serviceUp(environment);
  const front = await digestService(behind.url);
  let restarted: Promise<void> | null = null;
  return {
    front,
    killAt(after) {
      let left = after;
      restarted = null;
      front.interfere = (request) => {
        if (front.behind === null) {
          request.socket.destroy();
          return true;
        }
        if (restarted !== null || !request.url!.includes('/assessments') || left-- > 0) return false;
        // The request is on its way when the process ends.
        restarted = behind.kill().then(async () => {
          front.behind = null;
          behind = await serviceUp(environment);
          front.behind = behind.url;
        });
        return false;
      };
    },
    async settled() {
      await restarted;
      front.interfere = null;
      return restarted !== null;
    },
    end: () => behind.kill(),
  };
}
