import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { canonical } from '../../../src/engine/item-bank/canonical.ts';
import { writeBankFiles } from '../../../tools/item-bank/import.ts';
import { bankOf, contentHash, itemsDirectory } from '../../../src/engine/item-bank/load.ts';
import { readBankFiles } from '../../../tools/item-bank/files.ts';
import type { BankFiles } from '../../../src/engine/item-bank/load.ts';
import { domainShares } from '../../../src/engine/item-bank/blueprint.ts';
import type { Item } from '../../../src/engine/item-bank/schema.ts';
import { templates } from '../../../src/engine/item-bank/templates.ts';
import type { EvidenceInput } from '../../../src/records/evidence/document.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import type { ScoredResult } from '../../../src/engine/scoring/score.ts';
import { Banks, ready } from '../../../src/sittings/scoring/banks.ts';
import { withService } from '../../support/service.ts';
import { invited } from '../../sittings/learner.ts';

/**
 * Every template that a version of the bank was ever stored with, and a hash of what it makes of 500 seeds. Stored versions
 * have items but no templates, so what a template makes decides what sittings under way show, count and choose. None is
 * taken away, and what one makes stays as it is: a changed `make` is another template, with an id of its own, and the items
 * of the old one are retired. Its hash is renewed, on purpose, only where it made a wrong key, or where nothing changes that
 * a learner sees (a rationale).
 * A new template ships one release before the first item that uses it: during an upgrade, processes of the release before
 * serve sittings that began on the new one.
 */
const everUsed: Record<string, string> = {
  e1_add_more: '1e21f280f94891b8',
  e1_change_from_20p: 'f2812fa56f5c6a12',
  e1_hours_later: 'da5169783a88c4c1',
  e1_table_more: 'ca96af9e6d16817c',
  e1_take_away: '77667dff375f2f22',
  e2_add_carry: 'c2fdba040e2a4493',
  e2_bar_compare: 'a5c674e1e10f83a4',
  e2_change_from_pound: 'e27e5d8dda4a0b41',
  e2_groups: '4e3824db247664c2',
  e2_hours_open: 'ea70c1c29639e1c7',
  e2_left_over: 'c1777092012640dd',
  e3_bill: 'd0ee6eb04e590e7a',
  e3_fraction_of: '1306621ded9dbc35',
  e3_line_change: '09054a35c2857d28',
  e3_minutes_between: 'd22cf8f584110a84',
  e3_round: '2e27de8832cf2c45',
  e3_round_100: 'cbc47cd92b3868e9',
  e3_stock_left: '006da19dab0bcc90',
  e3_weekly_pay: 'f8e028d73b74d582',
  l1_call_out: '261971b31d06f70c',
  l1_fence: '6f7cbe0f5e9dfc7c',
  l1_map_scale: '918044530e57efc6',
  l1_mean: '42ab3cf37c95d767',
  l1_percentage_of: '782f8a5e988f21ae',
  l1_probability: 'bb30f5bf26721e25',
  l1_recipe: 'ed18f36ea24e62e4',
  l1_sale_price: '477b1aa538599079',
  l1_simple_interest: '5dcd6381079b816c',
  l2_average_speed: 'f951c2bb33d0a005',
  l2_both_happen: '22be1e97ab7eb8dc',
  l2_cylinder_litres: 'd4fbd1f2d6010e2b',
  l2_fraction_left: '690c9c8e6b248542',
  l2_mean_of_frequencies: '2c5fa8896d54728d',
  l2_percentage_change: 'e7f45ba3f36d81ff',
  l2_reverse_percentage: '2f6ecca1989082ee',
  l2_share_in_ratio: 'a7087f469c41d37b',
  l2_take_home: 'd14f8144fe0eaea7',
  l3_at_least_one: 'b9347b701b8942e0',
  l3_compound_interest: '6b732b447e42a6e3',
  l3_fill_a_tank: '1dba1a4f54bdd795',
  l3_height_from_angle: '627647440ecfb327',
  l3_interquartile_range: '641f9f6aeacdeef8',
  l3_rectangle_sides: '0ebf04db49fca7a4',
  l3_standard_deviation: 'ee1219c13dc21a6c',
  l3_two_prices: 'e4789ef6ad891077',
  l3_two_without_replacement: '7894eec2b958f976',
  l3_years_to_fall: '57fc95ae89ccd2fb',
};

const seeds = Array.from({ length: 500 }, (_, at) => String(at + 1));

test('templates never go, and make what they always made', () => {
  const made = [...templates.values()].map(({ id, make }) => {
    const hash = createHash('sha256');
    for (const seed of seeds) hash.update(canonical(make(seededRandom(seed)))).update('\n');
    return [id, hash.digest('hex').slice(0, 16)] as const;
  });
  assert.deepEqual(Object.fromEntries(made), everUsed);
});

test('a version is stored with what its process holds, whatever an import made of the files since', async () => {
  const service = await withService({ own: 'Looks at all stored versions of the item bank.' });
  const folder = mkdtempSync(join(tmpdir(), 'bank-'));
  const directory = pathToFileURL(`${folder}/`);
  try {
    cpSync(itemsDirectory, directory, { recursive: true });
    const files = readBankFiles(directory);
    writeBankFiles(directory, { ...files, number: files.number + 1 });
    const held = ready(bankOf(readBankFiles(directory)));
    const [first, ...rest] = files.items as [Item, ...Item[]];
    writeBankFiles(directory, {
      ...files,
      number: files.number + 2,
      items: [{ ...first, b: first.b + 0.01 }, ...rest],
    });
    await new Banks(() => held).currentStored(service.app.db, 0);
    const [row] = await service.app.db.query<{ version: string; content: string }>(
      'select version, content from bank_version',
    );
    assert.equal(row!.version, held.bank.version);
    const stored = JSON.parse(row!.content) as BankFiles;
    assert.equal(stored.number, files.number + 1);
    assert.equal(contentHash(stored), held.bank.sha256);
    assert.deepEqual(stored.shares, domainShares);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a result names the version that its sitting began with, whatever templates of a later release make of it', async () => {
  const service = await withService();
  const org = await service.organisation();
  const learner = await invited(service, org);
  const sitting = await learner.starts();
  const stored = '1-0123456789ab';
  const set = (sql: string, of: string) => service.app.db.query(sql, [stored, of]);
  await set(
    'insert into bank_version (version, content, created_at) select $1, content, created_at from bank_version where version = $2',
    sitting.bank_version,
  );
  await set('update sitting set bank_version = $1 where sitting_id = $2', sitting.sitting_id);
  while ((await learner.answers()) !== null);
  assert.equal(await learner.finishes(sitting), 'completed');
  const [row] = await service.app.db.query<{ result: string; input: string }>(
    'select s.result, e.input from sitting s join evidence e using (organisation_id, assessment_id) where s.sitting_id = $1',
    [sitting.sitting_id],
  );
  assert.equal((JSON.parse(row!.result) as ScoredResult).versions.bank, stored);
  const { versions } = (JSON.parse(row!.input) as EvidenceInput).sitting!;
  assert.deepEqual(versions[0], { name: 'Item bank', version: stored });
});
