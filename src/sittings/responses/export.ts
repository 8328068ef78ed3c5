import { setImmediate } from 'node:timers/promises';
import type { App } from '../../platform/app.ts';
import { statement, type Tx } from '../../platform/db/database.ts';
import type { Bank } from '../../engine/item-bank/load.ts';
import { itemHash } from '../../engine/item-bank/item-hash.ts';
import type { Subject } from '../../engine/scoring/levels.ts';
import type { ItemOutcome } from '../../engine/scoring/score.ts';
import { banksOf } from '../scoring/banks.ts';
import type { FrozenSettings } from '../delivery.ts';
import type { Client } from '../store.ts';

/** The columns in their order. docs/reference/responses.md describes them. */
export const responseColumns = [
  'sitting',
  'subject',
  'item',
  'item_hash',
  'position',
  'answered_at_month',
  'score',
  'max_score',
  'state',
  'working_ms',
  'device',
  'extra_time',
  'language',
  'bank_version',
  'outcome',
] as const;

/** One answer without its text. Nothing in it leads to the person or the organisation. */
export type ExportedResponse = {
  /** A number in random order, which is another one in each export. */
  sitting: number;
  subject: Subject;
  item: string;
  item_hash: string;
  position: number;
  answered_at_month: string;
  /** Null if the question was not reached. */
  score: 0 | 1 | null;
  max_score: 1;
  state: 'live' | 'pilot';
  working_ms: number | null;
  device: Client['device'];
  extra_time: 'yes' | 'no';
  language: Client['language'];
  bank_version: string;
  outcome: 'answered' | 'skipped' | 'not_reached';
};

type SittingToExport = {
  organisation_id: number;
  sitting_id: string;
  subject: Subject;
  bank_version: string;
  settings: string;
};

type ItemToExport = Client & {
  sitting_id: string;
  position: number;
  item_id: string;
  outcome: ItemOutcome;
  working_ms: number | null;
  pilot: boolean;
  month: string;
};

/**
 * Erased and withdrawn results have no content, so their sittings are left out. The order depends on a secret of this
 * export ($3), so that neighbours in the file need not be of one organisation.
 */
const openSittings = statement('response.open_sittings')`
  declare sitting_to_export no scroll cursor for
  select s.organisation_id, s.sitting_id, s.subject, s.bank_version, s.settings
    from sitting s join organisation o on o.organisation_id = s.organisation_id
   where s.status = 'completed' and s.result is not null and o.pilot_items and o.suspended_at is null
     and case when $1::int8 is null then not o.sandbox else o.organisation_id = $1 end
     and ($2::text is null or s.subject = $2)
   order by sha256(convert_to($3 || s.sitting_id::text, 'UTF8'))`;
const nextSittings = statement('response.next_sittings')`fetch 200 from sitting_to_export`;
const itemsOf = statement('response.items')`
  select i.sitting_id, i.position, i.item_id, i.outcome, i.working_ms, i.pilot, i.device, i.language,
         to_char(i.answered_at, 'YYYY-MM') as month
    from unnest($1::int8[], $2::uuid[]) k(organisation_id, sitting_id)
    join sitting_item i on i.organisation_id = k.organisation_id and i.sitting_id = k.sitting_id
   order by i.sitting_id, i.position`;

/** Times with all digits could identify a person who is in another list of times. */
const rounded = (ms: number | null): number | null => (ms === null ? null : Math.round(ms / 100) * 100);

/**
 * Yields the answers of completed sittings in small parts, from one snapshot.
 * @param tx a snapshot
 * @param organisationId null: of all organisations that allow it, without sandboxes
 */
export async function* exportedResponses(
  app: App,
  tx: Tx,
  { organisationId, subject }: { organisationId: number | null; subject: Subject | null },
): AsyncGenerator<ExportedResponse[]> {
  const secret = app.random.bytes(32).toString('hex');
  await tx.query(openSittings, [organisationId, subject, secret]);
  const hashes = new Map<string, string>();
  for (let number = 0; ;) {
    const sittings = await tx.query<SittingToExport>(nextSittings);
    if (sittings.length === 0) return;
    const keys = [sittings.map((one) => one.organisation_id), sittings.map((one) => one.sitting_id)];
    const items = Map.groupBy(await tx.query<ItemToExport>(itemsOf, keys), (item) => item.sitting_id);
    const part: ExportedResponse[] = [];
    for (const sitting of sittings) {
      const { bank } = await banksOf(app).version(tx, sitting.bank_version);
      number++;
      for (const item of items.get(sitting.sitting_id) ?? [])
        part.push(responseOf(number, sitting, item, hashOf(hashes, bank, item.item_id)));
    }
    yield part;
    // A pause between two parts lets other work have its turn.
    await setImmediate();
  }
}

function hashOf(hashes: Map<string, string>, bank: Bank, id: string): string {
  const key = `${bank.version} ${id}`;
  let hash = hashes.get(key);
  if (hash === undefined) {
    const item = bank.item(id)!;
    const passage = item.type === 'template' ? undefined : bank.passage(item.passage ?? '');
    hashes.set(key, (hash = itemHash(item, passage ?? null)));
  }
  return hash;
}

function responseOf(sitting: number, of: SittingToExport, item: ItemToExport, hash: string): ExportedResponse {
  const { outcome } = item;
  const { extra_time_pct } = JSON.parse(of.settings) as FrozenSettings;
  return {
    sitting,
    subject: of.subject,
    item: item.item_id,
    item_hash: hash,
    position: item.position,
    answered_at_month: item.month,
    score: outcome === 'not_reached' ? null : outcome === 'right' ? 1 : 0,
    max_score: 1,
    state: item.pilot ? 'pilot' : 'live',
    working_ms: rounded(item.working_ms),
    device: item.device,
    extra_time: extra_time_pct > 0 ? 'yes' : 'no',
    language: item.language,
    bank_version: of.bank_version,
    outcome: outcome === 'right' || outcome === 'wrong' ? 'answered' : outcome,
  };
}
