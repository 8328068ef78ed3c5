import type { App } from '../app.ts';
import type { Bank, BankFiles } from '../bank/load.ts';
import { bankOf, loadBank, readBankFiles } from '../bank/load.ts';
import { statement } from '../db/database.ts';
import type { DeliveryPool, DeliverySettings } from './selection.ts';
import { defaultSettings, preparePool } from './selection.ts';
import type { ScoringBank } from '../scoring/score.ts';
import { prepareBank } from '../scoring/score.ts';
import type { Subject } from '../scoring/levels.ts';

const read = statement('bank.read', 'select content from bank_version where version = $1');
const insert = statement(
  'bank.insert',
  'insert into bank_version (version, content, created_at) values ($1, $2, $3) on conflict do nothing',
);

/** A bank made ready for delivery and scoring, by subject. */
export type ReadyBank = { bank: Bank; pools: Record<Subject, DeliveryPool>; scoring: Record<Subject, ScoringBank> };

function ready(bank: Bank): ReadyBank {
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

/** The one set of banks of a running service. */
export function banksOf(app: App): Banks {
  let found = banks.get(app);
  if (found === undefined) banks.set(app, (found = new Banks(app)));
  return found;
}

let shipped: ReadyBank | null = null;

/** The banks that sittings run on: the shipped one for new sittings, stored versions for those that began before an upgrade. */
export class Banks {
  #app: App;
  #ready = new Map<string, ReadyBank>();
  #stored = false;

  #pools = new Map<string, DeliveryPool>();

  constructor(app: App) {
    this.#app = app;
  }

  /** The shipped bank, stored before the first sitting is given from it. */
  async current(): Promise<ReadyBank> {
    shipped ??= ready(loadBank());
    if (!this.#stored) {
      await this.#app.db.query(insert, [
        shipped.bank.version,
        JSON.stringify(readBankFiles()),
        new Date(this.#app.clock.nowMs()),
      ]);
      this.#ready.set(shipped.bank.version, shipped);
      this.#stored = true;
    }
    return shipped;
  }

  /** The bank version that a sitting was begun with. */
  async version(version: string): Promise<ReadyBank> {
    await this.current();
    const found = this.#ready.get(version);
    if (found !== undefined) return found;
    const [row] = await this.#app.db.query<{ content: string }>(read, [version]);
    if (row === undefined) throw new Error(`bank version ${version} is not stored`);
    const made = ready(bankOf(JSON.parse(row.content) as BankFiles));
    this.#ready.set(version, made);
    return made;
  }

  /** The pool of a sitting: its bank version with the delivery settings that were frozen when it began. */
  async pool(version: string, subject: Subject, delivery: DeliverySettings): Promise<DeliveryPool> {
    const { pools, bank } = await this.version(version);
    const shared = pools[subject];
    const text = JSON.stringify(delivery);
    if (text === JSON.stringify(shared.settings)) return shared;
    const key = `${version} ${subject} ${text}`;
    let pool = this.#pools.get(key);
    if (pool === undefined) this.#pools.set(key, (pool = preparePool(bank.subjects[subject].version, delivery)));
    return pool;
  }
}
