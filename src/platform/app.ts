import type { Clock } from './time/clock.ts';
import type { Database } from './db/database.ts';
import type { Log } from './observability/log.ts';
import type { Random } from './crypto/random.ts';
import type { Secrets } from './crypto/secrets.ts';
import type { Settings } from './config/settings.ts';
import type { Keyring } from './crypto/keyring.ts';

/** Everything that the code needs from outside. */
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
   * `pending`: a restore was found and the list of erasures is not applied yet, so no personal data may be shown.
   * `applied`: the last restore to which this process applied its list. `older`: the database lacked migrations, which
   * a restore may explain. `since`: when the last restore was found. See src/governance/restore.
   */
  restored: { pending: boolean; applied: string; older: boolean; since: Date | null };
};
