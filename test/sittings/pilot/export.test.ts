import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { itemHash } from '../../../src/engine/item-bank/item-hash.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { withdrawAssessment } from '../../../src/governance/erasure/withdraw.ts';
import { updateOrganisation } from '../../../src/organisations/organisations.ts';
import { responseColumns } from '../../../src/sittings/responses/export.ts';
import { banksOf } from '../../../src/sittings/scoring/banks.ts';
import { findItems, type SittingRow } from '../../../src/sittings/store.ts';
import { ars } from '../../support/ars.ts';
import { withService } from '../../support/service.ts';
import { invited } from '../learner.ts';
import { bankWithPilots, useBank } from './bank.ts';

const folder = await mkdtemp(join(tmpdir(), 'ars-responses-'));
after(() => rm(folder, { recursive: true }));

suite('ars sittings export', async () => {
  const service = await withService({ own: 'Exports the answers of all organisations.' });
  const { db } = service.app;
  const bank = bankWithPilots();
  useBank(service, bank);
  const org = await service.organisation({ name: 'Riverside College' });
  const other = await service.organisation();
  const run = (...words: string[]) => ars(['sittings', 'export', ...words], service.environment);
  const rowsOf = async (...words: string[]) => (await run(...words, '--json')).lines;

  const names = ['ana-ref', 'ben-ref', 'cem-ref', 'dee-ref'];
  const sat: { ref: string; sitting: SittingRow }[] = [];
  for (const ref of names) {
    const learner = await invited(service, ref === 'dee-ref' ? other : org, { ref, name: `${ref} Zzyzx` });
    const { invitation_id } = (await learner.link()).invitation;
    if (ref === 'ben-ref')
      await db.query('update invitation set extra_time_pct = 25 where invitation_id = $1', [invitation_id]);
    sat.push({ ref, sitting: await learner.sits() });
  }
  const begun = await invited(service, org);
  await begun.starts();
  const sittingOf = (ref: string) => sat.find((one) => one.ref === ref)!.sitting;
  const rowsIn = async () => (await Promise.all(sat.map(({ sitting }) => findItems(db, sitting)))).flat();

  test('has a line for each question of completed sittings, with the agreed columns', async () => {
    const { code, out } = await run();
    assert.equal(code, 0);
    const [head, ...lines] = out.trimEnd().split('\r\n');
    assert.equal(
      head,
      'sitting,subject,item,item_hash,position,answered_at_month,score,max_score,state,working_ms,device,extra_time,language,bank_version,outcome',
    );
    assert.equal(lines.length, (await rowsIn()).length);
    assert.ok(lines.every((line) => line.split(',').length === responseColumns.length));
  });

  test('the lines say what was given, by the wording of the bank version', async () => {
    const exported = await rowsOf('--organisation', other.publicId);
    const rows = await findItems(db, sittingOf('dee-ref'));
    const month = new Date(service.app.clock.nowMs()).toISOString().slice(0, 7);
    assert.deepEqual(
      exported,
      rows.map((row) => {
        const item = bank.item(row.item_id)!;
        const passage = item.type === 'template' ? null : (bank.passage(item.passage ?? '') ?? null);
        return {
          sitting: 1,
          subject: 'digital',
          item: row.item_id,
          item_hash: itemHash(item, passage),
          position: row.position,
          answered_at_month: month,
          score: Number(row.outcome === 'right'),
          max_score: 1,
          state: row.pilot ? 'pilot' : 'live',
          working_ms: Math.round(row.working_ms! / 100) * 100,
          device: null,
          extra_time: 'no',
          language: null,
          bank_version: bank.version,
          outcome: 'answered',
        };
      }),
    );
    const all = await rowsOf();
    assert.ok(all.some(({ state }) => state === 'pilot'));
    const slower = new Set(all.filter(({ extra_time }) => extra_time === 'yes').map(({ sitting }) => sitting));
    assert.equal(slower.size, 1);
  });

  test('nothing in it names a person, a sitting or an organisation, and each export numbers sittings in another order', async () => {
    const text = (await Promise.all([run(), run('--json'), run('--organisation', org.publicId)])).map(({ out }) => out);
    const ids = sat.flatMap(({ ref, sitting }) => [
      ...[ref, 'Zzyzx', sitting.sitting_id, sitting.learner_id, sitting.invitation_id, sitting.assessment_id!],
    ]);
    for (const secret of [...ids, 'Riverside', org.publicId, other.publicId])
      assert.ok(
        text.every((one) => !one.toLowerCase().includes(secret.toLowerCase())),
        secret,
      );
    const orders = new Set<string>();
    for (let i = 0; i < 12 && orders.size < 2; i++) {
      const slow = (await rowsOf()).find(({ extra_time }) => extra_time === 'yes');
      orders.add(slow.sitting);
    }
    assert.equal(orders.size, 2);
  });

  test('an open sitting, a withdrawn result and an erased learner are not in it', async () => {
    const sittings = async () => new Set((await rowsOf()).map(({ sitting }) => sitting)).size;
    assert.equal(await sittings(), 4);
    await service.withUnitOfWork((work) =>
      withdrawAssessment(work, org.id, sittingOf('ana-ref').assessment_id!, { actor: 'operator', reason: 'A test' }),
    );
    assert.equal(await sittings(), 3);
    await db.query(`update sitting_item set device = 'phone', language = 'cy' where sitting_id = $1`, [
      sittingOf('cem-ref').sitting_id,
    ]);
    await service.withUnitOfWork((work) =>
      eraseLearner(work, org.id, sittingOf('cem-ref').learner_id, { actor: 'operator' }),
    );
    assert.equal(await sittings(), 2);
    assert.deepEqual(
      await db.query('select distinct device, language from sitting_item where sitting_id = $1', [
        sittingOf('cem-ref').sitting_id,
      ]),
      [{ device: null, language: null }],
    );
  });

  test('an organisation that has switched it off is not in it, nor a suspended one, nor a sandbox', async () => {
    const change = (pilot_items: boolean) =>
      service.withUnitOfWork((work) => updateOrganisation(work, other.id, { pilot_items }));
    const before = (await rowsOf()).length;
    const own = (await findItems(db, sittingOf('dee-ref'))).length;
    await change(false);
    assert.equal((await rowsOf()).length, before - own);
    const refused = await run('--organisation', other.publicId);
    assert.deepEqual([refused.code, refused.out], [1, '']);
    assert.match(refused.said, /does not allow its answers to be used/);
    await change(true);
    for (const state of ['suspended_at = now()', 'suspended_at = null, sandbox = true']) {
      await db.query(`update organisation set ${state} where organisation_id = $1`, [other.id]);
      assert.equal((await rowsOf()).length, before - own, state);
    }
    assert.equal((await rowsOf('--organisation', other.publicId)).length, own);
    await db.query('update organisation set sandbox = false where organisation_id = $1', [other.id]);
  });

  test('the subject narrows it, a file is written whole, and the audit log has each export', async () => {
    assert.deepEqual(await rowsOf('--subject', 'maths'), []);
    assert.equal((await run('--subject', 'welsh')).code, 2);
    const file = join(folder, 'answers.ndjson');
    const { json } = await run('--out', file, '--json');
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    assert.deepEqual(json, { sittings: 2, answers: lines.length, file });
    assert.deepEqual(Object.keys(JSON.parse(lines[0]!)), [...responseColumns]);
    const said = await run('--out', join(folder, 'answers.csv'), '--organisation', org.publicId);
    assert.match(said.out, /^\d+ answers of 1 sittings are in /);
    const audited = await db.query<{ organisation_id: number }>(
      "select organisation_id, resource from audit where action = 'sittings export'",
    );
    assert.ok(audited.some(({ organisation_id }) => organisation_id === org.id));
    assert.ok(audited.some(({ organisation_id }) => organisation_id === 0));
  });

  test('the file is of one moment, even if results are withdrawn while it is written', async () => {
    // More sittings than a part has, made from one.
    const { sitting_id } = sittingOf('dee-ref');
    await db.query(
      `insert into sitting select (jsonb_populate_record(s, jsonb_build_object('sitting_id', gen_random_uuid(), 'assessment_id', null))).*
         from sitting s, generate_series(1, 600) where s.sitting_id = $1`,
      [sitting_id],
    );
    await db.query(
      `insert into sitting_item select (jsonb_populate_record(i, jsonb_build_object('sitting_id', s.sitting_id))).*
         from sitting_item i, sitting s where i.sitting_id = $1 and s.learner_id = (select learner_id from sitting where sitting_id = $1) and s.sitting_id <> $1`,
      [sitting_id],
    );
    const { exportedResponses } = await import('../../../src/sittings/responses/export.ts');
    const seen = await db.snapshot(async (tx) => {
      let sittings = 0;
      for await (const rows of exportedResponses(service.app, tx, { organisationId: other.id, subject: null })) {
        assert.ok(rows.length <= 200 * 43);
        if (sittings === 0)
          await db.dedicated().query('update sitting set result = null where organisation_id = $1', [other.id]);
        sittings = rows.at(-1)!.sitting;
      }
      return sittings;
    });
    assert.equal(seen, 601);
    assert.deepEqual(await rowsOf('--organisation', other.publicId), []);
    assert.equal(banksOf(service.app).current().bank.version, bank.version);
  });
});
