import assert from 'node:assert/strict';
import { test } from 'node:test';
import { templates } from '../../src/bank/templates.ts';
import type { EvidenceInput } from '../../src/evidence/document.ts';
import type { ScoredResult } from '../../src/scoring/score.ts';
import { withService } from '../service.ts';
import { invited } from '../sittings/learner.ts';

/** Every template that a version of the bank was ever stored with, by level. Add new ones; none is taken away. */
const everUsed = {
  e1: 'add_more change_from_20p hours_later table_more take_away',
  e2: 'add_carry bar_compare change_from_pound groups hours_open left_over',
  e3: 'bill fraction_of line_change minutes_between round round_100 stock_left weekly_pay',
  l1: 'call_out fence map_scale mean percentage_of probability recipe sale_price simple_interest',
  l2: 'average_speed both_happen cylinder_litres fraction_left mean_of_frequencies percentage_change reverse_percentage share_in_ratio take_home',
  l3: 'at_least_one compound_interest fill_a_tank height_from_angle interquartile_range rectangle_sides standard_deviation two_prices two_without_replacement years_to_fall',
};

test('templates never go: stored versions of the bank have items but no templates, and need them to be shown and scored', () => {
  const ids = Object.entries(everUsed).flatMap(([level, names]) => names.split(' ').map((name) => `${level}_${name}`));
  assert.deepEqual([...templates.keys()].toSorted(), ids.toSorted());
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
