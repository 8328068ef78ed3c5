import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { bankOf, contentHash, loadBank } from '../../../src/engine/item-bank/load.ts';
import { readBankFiles } from '../../../tools/item-bank/files.ts';
import { domainShares, firstDomainShares } from '../../../src/engine/item-bank/blueprint.ts';
import { domainNames, domainsOf, domainsOf as domains } from '../../../src/engine/item-bank/schema.ts';
import type { BankFiles } from '../../../src/engine/item-bank/load.ts';
import type { Item } from '../../../src/engine/item-bank/schema.ts';
import { probability } from '../../../src/engine/scoring/irt.ts';
import { guideItems } from './examples.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';

suite('the version', () => {
  const files = {
    number: 5,
    items: guideItems.filter((item) => item.type !== 'template'),
    passages: [],
  };
  test('changes with the content only', () => {
    const hash = contentHash(files);
    assert.equal(contentHash({ ...files, items: [...files.items].reverse() }), hash);
    assert.equal(
      contentHash({
        ...files,
        items: files.items.map((item) => Object.fromEntries(Object.entries(item).reverse()) as unknown as Item),
      }),
      hash,
    );
    assert.notEqual(
      contentHash({ ...files, items: files.items.map((item, n) => (n === 0 ? { ...item, b: item.b + 0.01 } : item)) }),
      hash,
    );
  });
  test('changes with the blueprint; versions without one have the first, which never changes', () => {
    assert.equal(
      JSON.stringify(Object.values(firstDomainShares)),
      '[0.2,0.2,0.2,0.2,0.2,0.26,0.19,0.18,0.19,0.18,0.4,0.35,0.25]',
    );
    const { number, items, passages } = readBankFiles();
    assert.equal(contentHash({ items, passages, shares: { ...firstDomainShares } }), contentHash({ items, passages }));
    const shares = { ...firstDomainShares, number: 0.5, data: 0.15 };
    const other = bankOf({ number, items, passages, shares });
    assert.notEqual(other.version, bankOf({ number, items, passages }).version);
    const again = bankOf(JSON.parse(JSON.stringify(other.files)) as BankFiles, 'stored').subjects.maths.version;
    assert.deepEqual(
      again.domains.map(({ share }) => share),
      [0.5, 0.35, 0.15],
    );
  });
  test('says which level keeps a bank from being scored', () => {
    assert.throws(() => bankOf(files), /digital bank has no Level 2 items/u);
  });
});

suite('the shipped bank', () => {
  const bank = loadBank();
  test('is loaded once', () => assert.equal(loadBank(), bank));
  test('has rising cuts, each solving a mean probability of 0.65 over its level', () => {
    for (const subject of subjects) {
      const { cuts, version } = bank.subjects[subject];
      cuts.forEach((cut, at) => {
        assert.ok(at === 0 || cut.theta > cuts[at - 1]!.theta);
        const own = version.items.filter((item) => item.level === cut.level);
        assert.ok(
          Math.abs(own.reduce((sum, item) => sum + probability(item, cut.theta), 0) / own.length - 0.65) < 1e-9,
        );
      });
    }
  });
  test('counts every item once, with its parameters, published domain and enemies', () => {
    for (const subject of subjects) {
      const { items, version } = bank.subjects[subject];
      assert.equal(version.version, bank.version);
      assert.deepEqual(
        version.items.map(({ id, a, b, c }) => ({ id, a, b, c })),
        items.map(({ id, a, b, c }) => ({ id, a, b, c })),
      );
      assert.deepEqual(
        version.domains.map(({ name }) => name),
        domains[subject].map((domain) => domainNames[domain]),
      );
      for (const item of version.items)
        assert.ok(version.domains.some(({ name }) => name === item.domain) && item.words > 0, item.id);
    }
  });
  test('finds items and passages by id', () => {
    const [item] = bank.subjects.english.items.filter((entry) => 'passage' in entry && entry.passage);
    assert.equal(bank.item(item!.id), item);
    assert.ok(bank.passage((item as { passage: string }).passage));
    assert.equal(bank.item('eng-l1-gram-999'), undefined);
  });
  test('has blueprint shares that add up to 1', () => {
    for (const subject of subjects)
      assert.ok(Math.abs(domainsOf[subject].reduce((sum, domain) => sum + domainShares[domain], 0) - 1) < 1e-9);
  });
});
