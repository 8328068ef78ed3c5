import { type Bank, bankOf, loadBank } from '../../../src/engine/item-bank/load.ts';
import type { Item } from '../../../src/engine/item-bank/schema.ts';
import { banksOf, ready } from '../../../src/sittings/scoring/banks.ts';
import type { TestService } from '../../support/service.ts';

const isOnText = (item: Item): boolean => item.type !== 'template' && item.passage !== undefined;

/** The shipped bank with every eighth item on trial. */
export function bankWithPilots(): Bank {
  const { files } = loadBank();
  const items = files.items.map((item, i): Item =>
    i % 8 === 0 && item.state !== 'retired' && !isOnText(item) ? { ...item, state: 'pilot' } : item,
  );
  return bankOf({ ...files, number: files.number + 1, items });
}

/** New sittings of the service use the bank. */
export function useBank(service: TestService, bank: Bank): void {
  const made = ready(bank);
  Object.assign(banksOf(service.app), { current: () => made });
}
