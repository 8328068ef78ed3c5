import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { readBankFiles } from '../../tools/item-bank/files.ts';
import { subjects } from '../../src/engine/scoring/levels.ts';
import { drawOutcome, outcomesFile, outcomeTable } from '../../src/sandbox/data/outcomes.ts';
import { outcomeMaker, outcomesText, outcomeSources } from '../../tools/item-bank/simulation/outcomes.ts';

suite("the table that the sandbox's results are drawn from", () => {
  const table = outcomeTable();

  test('is what the delivery and both engines make of the same seeds (law 7)', (context) => {
    const files = readBankFiles();
    try {
      assert.deepEqual(table.made_from, outcomeSources(files));
    } catch {
      return context.skip('made from another bank, which ars bank check warns of');
    }
    for (const subject of subjects) {
      const make = outcomeMaker(files, subject);
      for (const number of [0, 7, 140, 155, 299])
        assert.deepEqual(make(number), table.subjects[subject].outcomes[number], `${subject} ${number}`);
    }
  });

  test('is written in one form', () => {
    assert.equal(readFileSync(outcomesFile, 'utf8'), outcomesText(table));
  });

  test('stands in the order of abilities, and gives more ability and more luck the higher levels', () => {
    for (const subject of subjects) {
      const { outcomes } = table.subjects[subject];
      assert.deepEqual(
        outcomes,
        outcomes.toSorted((a, b) => a[0] - b[0]),
      );
      const max = subject === 'digital' ? 4 : 6;
      assert.ok(drawOutcome(subject, -9, 0).rung === 0 && drawOutcome(subject, 9, 0.999).rung === max);
      for (let ability = -3; ability <= 3; ability += 0.25)
        assert.ok(drawOutcome(subject, ability, 0).rung <= drawOutcome(subject, ability, 0.999).rung);
    }
  });
});
