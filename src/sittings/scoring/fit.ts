import type { App } from '../../platform/app.ts';
import { statement } from '../../platform/db/database.ts';
import { probability } from '../../engine/scoring/irt.ts';
import type { ScoredItem } from '../../engine/scoring/cuts.ts';
import type { Subject } from '../../engine/scoring/levels.ts';
import type { ItemOutcome, ScoredResult } from '../../engine/scoring/score.ts';
import { banksOf } from './banks.ts';
import { nilUuid } from '../../platform/crypto/random.ts';

/**
 * How well an item fits the model in completed sittings. Expected answers use the learner's final estimate, which
 * includes the answer itself. A flag is a reason to check an item, not a proof.
 */
type ItemFit = {
  item_id: string;
  subject: Subject;
  bank_version: string;
  /** `shown`: sittings with the item. `exposure`: their share of the subject's sittings with this bank version. */
  shown: number;
  exposure: number;
  /** Scored answers, skipped ones included. */
  scored: number;
  right_share: number | null;
  expected_share: number | null;
  /** (right − expected) in standard errors. */
  z: number | null;
  /** Information-weighted mean square of the residuals: near 1 if the item fits the model. */
  infit: number | null;
  skipped: number;
  not_reached: number;
  flags: ('exposure' | 'harder' | 'easier' | 'misfit')[];
};

/** If an item is in a larger share of sittings, learners may pass on its answers. */
export const maxExposure = 0.6;
const maxZ = 3;
const infitRange = [0.75, 1.3] as const;
/** Items with fewer answers aren't flagged, because the flags would be due to chance. */
export const answersLeast = 100;

/** Running totals for one item, so that memory use doesn't grow with the number of answers. */
export class FitSums {
  shown = 0;
  scored = 0;
  right = 0;
  skipped = 0;
  notReached = 0;
  #expected = 0;
  #variance = 0;
  #squares = 0;

  add(item: ScoredItem, theta: number, outcome: ItemOutcome): void {
    this.shown++;
    if (outcome === 'not_reached') {
      this.notReached++;
      return;
    }
    if (outcome === 'skipped') this.skipped++;
    const p = probability(item, theta);
    const x = outcome === 'right' ? 1 : 0;
    this.scored++;
    this.right += x;
    this.#expected += p;
    this.#variance += p * (1 - p);
    this.#squares += (x - p) ** 2;
  }

  of(item: ScoredItem, bankVersion: string, sittings: number): ItemFit {
    const { scored, right } = this;
    const z = scored === 0 ? null : (right - this.#expected) / Math.sqrt(this.#variance);
    const infit = scored === 0 ? null : this.#squares / this.#variance;
    const exposure = this.shown / sittings;
    const flags: ItemFit['flags'] = [];
    if (sittings >= answersLeast && exposure > maxExposure) flags.push('exposure');
    if (scored >= answersLeast) {
      if (Math.abs(z!) > maxZ) flags.push(z! < 0 ? 'harder' : 'easier');
      if (infit! < infitRange[0] || infit! > infitRange[1]) flags.push('misfit');
    }
    return {
      item_id: item.id,
      subject: item.subject,
      bank_version: bankVersion,
      shown: this.shown,
      exposure,
      scored,
      right_share: scored === 0 ? null : right / scored,
      expected_share: scored === 0 ? null : this.#expected / scored,
      z,
      infit,
      skipped: this.skipped,
      not_reached: this.notReached,
      flags,
    };
  }
}

type FitReport = {
  sittings: { subject: Subject; bank_version: string; completed: number }[];
  items: ItemFit[];
};

const pageSize = 500;
const page = statement('sitting.answers_page')`
  select s.sitting_id, s.subject, s.bank_version, s.result,
         (select array_agg(i.item_id order by i.position) from sitting_item i where i.organisation_id = $1 and i.sitting_id = s.sitting_id and not i.pilot) as items,
         (select array_agg(i.outcome order by i.position) from sitting_item i where i.organisation_id = $1 and i.sitting_id = s.sitting_id and not i.pilot) as outcomes
    from sitting s
   where s.organisation_id = $1 and s.sitting_id > $2 and s.result is not null order by s.sitting_id limit ${pageSize}`;

type PageRow = {
  sitting_id: string;
  subject: Subject;
  bank_version: string;
  result: string;
  items: string[];
  outcomes: ItemOutcome[];
};

/** Reports exposure and fit of every item over the completed sittings of these organisations. */
export async function reportFit(app: App, organisationIds: readonly number[]): Promise<FitReport> {
  const groups = new Map<
    string,
    { subject: Subject; bank_version: string; completed: number; sums: Map<string, FitSums> }
  >();
  for (const organisationId of organisationIds) {
    let after = nilUuid;
    for (;;) {
      const rows = await app.db.query<PageRow>(page, [organisationId, after]);
      for (const row of rows) await addSitting(row);
      if (rows.length < pageSize) break;
      after = rows.at(-1)!.sitting_id;
    }
  }
  async function addSitting(row: PageRow): Promise<void> {
    const key = `${row.subject} ${row.bank_version}`;
    let group = groups.get(key);
    if (group === undefined)
      groups.set(
        key,
        (group = { subject: row.subject, bank_version: row.bank_version, completed: 0, sums: new Map() }),
      );
    group.completed++;
    const { itemsById } = (await banksOf(app).version(app.db, row.bank_version)).scoring[row.subject];
    const { irt } = JSON.parse(row.result) as ScoredResult;
    row.items.forEach((id, i) => {
      const sums = group.sums.get(id) ?? new FitSums();
      group.sums.set(id, sums);
      sums.add(itemsById.get(id)!, irt.theta, row.outcomes[i]!);
    });
  }
  const sorted = [...groups.values()].sort((a, b) =>
    a.subject + a.bank_version < b.subject + b.bank_version ? -1 : 1,
  );
  const items: ItemFit[] = [];
  for (const { subject, bank_version, completed, sums } of sorted) {
    // The report also includes items that were never shown.
    for (const item of (await banksOf(app).version(app.db, bank_version)).scoring[subject].bank.items)
      items.push((sums.get(item.id) ?? new FitSums()).of(item, bank_version, completed));
  }
  return {
    sittings: sorted.map(({ subject, bank_version, completed }) => ({ subject, bank_version, completed })),
    items,
  };
}
