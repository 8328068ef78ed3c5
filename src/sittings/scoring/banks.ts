import type { App } from '../../platform/app.ts';
import { type Bank, type BankFiles, bankOf, contentHash, loadBank } from '../../engine/item-bank/load.ts';
import { statement, type Tx } from '../../platform/db/database.ts';
import { type DeliveryPool, preparePool } from '../selection/pool.ts';
import { defaultSettings, type DeliverySettings } from '../selection/settings.ts';
import { prepareBank, type ScoringBank } from '../../engine/scoring/score.ts';
import type { Subject } from '../../engine/scoring/levels.ts';

const stored = statement('bank.stored')`select true as stored from bank_version where version = $1`;
const read = statement('bank.read')`select content from bank_version where version = $1`;
const insert = statement('bank.insert')`
  insert into bank_version (version, content, created_at) values ($1, $2, $3) on conflict do nothing`;

type ReadyBank = { bank: Bank; pools: Record<Subject, DeliveryPool>; scoring: Record<Subject, ScoringBank> };

export function ready(bank: Bank): ReadyBank {
  const each = <T>(make: (subject: Subject) => T) => ({
    digital: make('digital'),
    english: make('english'),
    maths: make('maths'),
  });
  return {
    bank,
    pools: each((subject) => preparePool(bank.subjects[subject].version, defaultSettings(subject))),
    scoring: each((subject) => prepareBank(bank.subjects[subject].version)),
  };
}

const banks = new WeakMap<App, Banks>();

/** Returns the banks of a running service. They are created once per `App`. */
export function banksOf(app: App): Banks {
  let found = banks.get(app);
  if (found === undefined) banks.set(app, (found = new Banks()));
  return found;
}

let shipped: ReadyBank | null = null;

function shippedBank(): ReadyBank {
  return (shipped ??= ready(loadBank()));
}

/** Keeps the shipped bank for new sittings, and stored versions for sittings that began before an upgrade. */
export class Banks {
  #ready = new Map<string, ReadyBank>();
  #pools = new Map<string, DeliveryPool>();
  readonly current: () => ReadyBank;

  constructor(current: () => ReadyBank = shippedBank) {
    this.current = current;
  }

  /**
   * Stores the shipped bank when a sitting begins from it. Each call asks the database, because a failover can lose a
   * stored version. The version in memory is stored, because an import may have changed the files.
   */
  async currentStored(tx: Tx, nowMs: number): Promise<ReadyBank> {
    const current = this.current();
    const { version, files, sha256 } = current.bank;
    if ((await tx.query(stored, [version])).length > 0) return current;
    if (contentHash(files) !== sha256) throw new Error(`bank version ${version} was changed in memory`);
    await tx.query(insert, [version, JSON.stringify(files), new Date(nowMs)]);
    return current;
  }

  async version(tx: Tx, version: string): Promise<ReadyBank> {
    const current = this.current();
    if (version === current.bank.version) return current;
    const loaded = this.#ready.get(version);
    if (loaded !== undefined) return loaded;
    const [row] = await tx.query<{ content: string }>(read, [version]);
    if (row === undefined) throw new Error(`bank version ${version} is not stored`);
    // Another request may have prepared this version during the query.
    const made = this.#ready.get(version) ?? ready(bankOf(JSON.parse(row.content) as BankFiles, version));
    this.#ready.set(version, made);
    return made;
  }

  async pool(tx: Tx, version: string, subject: Subject, delivery: DeliverySettings): Promise<DeliveryPool> {
    const { pools, bank } = await this.version(tx, version);
    const shared = pools[subject];
    const text = JSON.stringify(delivery);
    if (text === JSON.stringify(shared.settings)) return shared;
    const key = `${version} ${subject} ${text}`;
    let pool = this.#pools.get(key);
    if (pool === undefined) this.#pools.set(key, (pool = preparePool(bank.subjects[subject].version, delivery)));
    return pool;
  }
}
