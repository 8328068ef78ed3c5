import type { Clock } from './time/clock.ts';
import type { Database } from './db/database.ts';
import type { Log } from './observability/log.ts';
import type { Random } from './crypto/random.ts';
import type { Secrets } from './crypto/secrets.ts';
import type { Settings } from './config/settings.ts';
import type { Keyring } from './crypto/keyring.ts';

/** Everything that the code needs from outside itself, and nothing more. */
export type App = {
  db: Database;
  clock: Clock;
  /** Compares the clock with the database's. */
  adjustClock(): Promise<void>;
  random: Random;
  settings: Settings;
  /** Keys derived from the service's secret, one for each purpose. */
  secrets: Secrets;
  /** Encrypts the signing secrets of webhook endpoints at rest. */
  keyring: Keyring;
  log: Log;
  /**
   * `pending`: a restore was found, and the list of erasures has not been applied since, so nobody's data may be shown.
   * `applied`: the restore after which this process has applied its list. `older`: the database lacked migrations of this
   * version, and the restore that explains it has not been taken up since. `since`: when the last restore was found that this
   * process knows of. See src/governance/restore/erasures.ts and lineage.ts.
   */
  restored: { pending: boolean; applied: string; older: boolean; since: Date | null };
};
