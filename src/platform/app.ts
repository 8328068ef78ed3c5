import type { Clock } from './time/clock.ts';
import type { Database } from './db/database.ts';
import type { Log } from './observability/log.ts';
import type { Random } from './crypto/random.ts';
import type { Secrets } from './crypto/secrets.ts';
import type { Settings } from './config/settings.ts';
import type { Keyring } from './crypto/keyring.ts';

/** Everything that code gets from outside: the database, time, randomness, settings, keys and the log. */
export type App = {
  db: Database;
  clock: Clock;
  adjustClock(): Promise<void>;
  random: Random;
  settings: Settings;
  /** Keys derived from the service's secret, one for each purpose. */
  secrets: Secrets;
  keyring: Keyring;
  log: Log;
  /**
   * `pending`: the service has detected a restore and not applied the list of erasures, so it shows no personal data.
   * `applied`: the last restore for which this process has applied the list.
   * `older`: the database lacked migrations, which a restore may explain.
   * `since`: when the service detected the last restore. See src/governance/restore.
   */
  restored: { pending: boolean; applied: string; older: boolean; since: Date | null };
};
