import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Block } from '../../../src/records/evidence/document.ts';
import { buildDocument } from '../../../src/records/evidence/document.ts';
import { date, dateTime, decimal, plainText, suspendedWords } from '../../../src/records/evidence/wording.ts';
import {
  askedResult,
  bareResult,
  belowEntryResult,
  hostileNames,
  importedResult,
  placedResult,
  sitting,
  sittingResult,
  supervisedResult,
  topResult,
} from './samples.ts';

const textOf = (value: unknown): string => JSON.stringify(value);
function block<K extends Block['kind']>(blocks: readonly Block[], kind: K): Block & { kind: K } {
  const found = blocks.find((candidate): candidate is Block & { kind: K } => candidate.kind === kind);
  assert.ok(found, `a ${kind} block`);
  return found;
}

suite("the content of a sitting's evidence", () => {
  const document = buildDocument(sittingResult());
  const all = textOf(document);

  test('says who, when, which result and which edition', () => {
    assert.equal(document.learner.value, 'Zoë Nguyễn-Ångström');
    assert.equal(document.organisation, 'Northgate Skills College');
    for (const part of [
      'NG-2026-00981',
      '5 October 2026, 09:41 UTC',
      '5f2a9e0c-77d1-4c39-b6c8-1b0e4fd2a963',
      '2 (replaces edition 1)',
    ])
      assert.ok(all.includes(part), part);
  });

  test('says the placement, what its code means, and that it is no qualification', () => {
    const placement = block(document.blocks, 'placement');
    assert.equal(placement.level, 'Level 1');
    assert.match(
      placement.sentences.join(' '),
      /RQF level: Level 1 \(ILR PriorLevel code 2, used here for assessed skill, not for a qualification held\)/,
    );
    assert.match(placement.sentences.join(' '), /Recommended next level: Level 2\./);
    assert.match(placement.sentences.join(' '), /not a qualification/);
    assert.deepEqual(
      placement.flags.map((flag) => flag.label),
      ['Borderline', 'Needs review'],
    );
  });

  test('says that the level is provisional, and nothing of it where the sitting said nothing', () => {
    assert.match(
      block(document.blocks, 'placement').sentences.join(' '),
      /The level is provisional: .* judged .* not yet been measured/,
    );
    const { provisional: _, ...before } = sitting;
    assert.doesNotMatch(textOf(buildDocument(sittingResult({ sitting: before }))), /The level is provisional/);
  });

  test('says how long the service was suspended meanwhile, and nothing of it where it was not', () => {
    const suspended = { count: 1, seconds: 21 * 86_400 };
    const facts = textOf(buildDocument(sittingResult({ sitting: { ...sitting, suspended } })));
    assert.ok(facts.includes(textOf({ label: 'Service suspended', value: suspendedWords(suspended) })));
    assert.doesNotMatch(all, /suspended/i);
    for (const [count, seconds, words] of [
      [1, 0, 'Once, for 1 minute'],
      [1, 7199, 'Once, for 120 minutes'],
      [1, 7200, 'Once, for 2 hours'],
      [1, 21 * 86_400, 'Once, for 21 days'],
      [3, 42 * 86_400 + 7, '3 times, for 42 days together'],
    ] as const)
      assert.equal(suspendedWords({ count, seconds }), `${words}: nobody could go on meanwhile`);
  });

  test('says which level is most likely, and how likely each is', () => {
    assert.ok(
      all.includes(
        'Most likely Level 1. How likely each level is, given the answers, by the IRT engine: ' +
          'Entry Level 3 16.3%, Level 1 82.5%, Level 2 1.2%; any other level less than 0.1%.',
      ),
    );
    assert.doesNotMatch(textOf(buildDocument(sittingResult({ level_probabilities: null }))), /Most likely/);
    const imported = buildDocument(importedResult({ level_probabilities: { 'Level 1': 0.5, 'Level 2': 0.5 } }));
    assert.match(
      textOf(imported),
      /Most likely Level 1\. How likely each level is, as recorded with the result: Level 1 50\.0%, Level 2 50\.0%\./,
    );
  });

  test('gives the ladder with the estimate, its interval and the deciding cut', () => {
    const ladder = block(document.blocks, 'ladder');
    assert.deepEqual(
      ladder.rungs.map((rung) => rung.label),
      [
        'Working towards Entry Level',
        'Entry Level 1',
        'Entry Level 2',
        'Entry Level 3',
        'Level 1',
        'Level 2',
        'Level 3',
      ],
    );
    assert.deepEqual(
      ladder.rungs.filter((rung) => rung.placed).map((rung) => rung.label),
      ['Level 1'],
    );
    assert.deepEqual(ladder.scale, {
      estimate: 0.318,
      low: -0.233,
      high: 0.869,
      deciding: 'Level 1',
      cuts: sitting.cuts,
    });
    assert.match(ladder.description, /interval \u22120\.23 to 0\.87/);
  });

  test('says the deciding rule, its threshold and the interval in words', () => {
    assert.match(
      all,
      /The Level 1 rule: a learner meets Level 1 from the ability at which 65% of the bank’s Level 1 questions/,
    );
    assert.match(all, /that threshold is 0\.04\. The estimate is 0\.32 \(standard error 0\.28\), so Level 1 is met\./);
    assert.match(all, /holds the threshold: the result is borderline/);
  });

  test('puts both engines side by side, with right, given and needed per level', () => {
    const [engines, levels] = document.blocks.filter(
      (candidate): candidate is Block & { kind: 'table' } => candidate.kind === 'table',
    );
    assert.deepEqual(
      engines!.rows.map((row) => [row[0], row[2]]),
      [
        ['IRT engine', 'Level 1'],
        ['Rule engine', 'Entry Level 3'],
        ['Reconciled', 'Level 1'],
      ],
    );
    assert.deepEqual(levels!.rows[0], ['Entry Level 1', '5', '5', 'None', 'Too few questions to judge']);
    assert.deepEqual(levels!.rows[2], ['Entry Level 3', '12', '20', '11.87', 'Passed']);
    assert.deepEqual(levels!.rows[3], ['Level 1', '13', '25', '15.06', 'Not passed']);
  });

  test('counts exactly the number needed as passed', () => {
    const document = buildDocument(
      sittingResult({
        sitting: {
          ...sitting,
          levels: [
            { level: 'Level 1', right: 12, given: 20, needed: 12 },
            { level: 'Level 2', right: 12, given: 20, needed: 12.001 },
          ],
        },
      }),
    );
    const tables = document.blocks.filter(
      (candidate): candidate is Block & { kind: 'table' } => candidate.kind === 'table',
    );
    assert.deepEqual(
      tables[1]!.rows.map((row) => row[4]),
      ['Passed', 'Not passed'],
    );
  });

  test('gives each domain its figure, its status in words and its number of answers', () => {
    assert.deepEqual(
      block(document.blocks, 'bars').rows.map((row) => [row.name, row.figure, row.status, row.answered]),
      [
        ['Reading', '74%', 'Secure', '9'],
        ['Spelling', '58%', 'Developing', '7'],
        ['Punctuation', '38%', 'Needs support', '7'],
        ['Grammar', '66%', 'Secure', '9'],
        ['Writing composition', 'No score', 'Not judged', '2'],
      ],
    );
  });

  test('says of every question what it asked, where that is known', () => {
    const { rows, columns } = block(
      buildDocument(askedResult()).blocks.filter((one) => one.kind === 'table' && one.small === true),
      'table',
    );
    const heads = ['No', 'Area', 'Skill', 'Format', 'Question', 'Answer', 'Time'];
    assert.deepEqual(
      columns.map(({ label }) => label),
      heads,
    );
    const { id } = sitting.items[0]!;
    assert.deepEqual(rows[0], ['1', 'Reading', 'Find a detail in a short text', 'Choose one', id, 'right', '0:02']);
    assert.deepEqual([rows.length, rows[4]![5]], [40, 'skipped']);
  });

  test('lists every question with its outcome, and conditions, versions, declaration and what was not assessed', () => {
    assert.deepEqual(
      block(document.blocks, 'answers').answers,
      sitting.items.map(({ id, right }) => ({ id, outcome: right ? 'right' : 'wrong' })),
    );
    for (const part of [
      'In person, supervised',
      '41 minutes',
      'version 2018, 28 February 2018',
      '25% extra time; Enlarged text',
      'IRT engine',
      'english 1.4.0',
      'the answers are my own work',
      'Declared 5 October 2026, 08:58 UTC',
      'Speaking, listening and communicating',
    ])
      assert.ok(all.includes(part), part);
    block(document.blocks, 'countersign');
  });

  test('says so when nothing was adjusted, declared or left out', () => {
    const quiet = textOf(buildDocument(belowEntryResult()));
    assert.match(quiet, /"Adjustments","value":"None"/);
    assert.match(quiet, /No declaration was recorded\./);
    assert.match(quiet, /Nothing in the standard’s content/);
    assert.match(quiet, /No answer was right/);
    assert.match(quiet, /RQF level: none\. The result is below Entry Level, so no level or level code is given\./);
    assert.match(textOf(buildDocument(topResult())), /Every answer was right/);
  });
});

suite("an amendment of a sitting's result", () => {
  test('that removes the flags leaves what the engines found', () => {
    const all = textOf(buildDocument(sittingResult({ is_borderline: false, needs_review: false })));
    assert.match(all, /A full level or more apart: an amendment has removed the flag/);
    assert.match(all, /holds the threshold: the result is borderline; an amendment has removed the flag\./);
    assert.ok(!all.includes('Less than a full level apart'));
  });

  test('that sets flags is not laid to the engines', () => {
    const { blocks } = buildDocument({ ...topResult(), is_borderline: true, needs_review: true });
    const [borderline, review] = block(blocks, 'placement').flags;
    assert.match(
      borderline!.text,
      /^Flagged by an amendment\. The 95% confidence interval of the sitting does not hold/,
    );
    assert.match(review!.text, /^Flagged by an amendment; /);
    assert.match(textOf(blocks), /Less than a full level apart; an amendment has flagged it for review/);
  });

  test('that moves the placement names what the sitting ended at', () => {
    const sentences = (changes: Parameters<typeof sittingResult>[0]) =>
      block(buildDocument(sittingResult(changes)).blocks, 'placement').sentences.join(' ');
    assert.match(
      sentences({ working_level: 'Entry Level 3' }),
      /An amendment has changed the placement: the sitting itself ended at Level 1\./,
    );
    assert.ok(!sentences({}).includes('amendment'));
  });
});

suite('an edition of a result whose level a person has set', () => {
  const replaced = (changes: Parameters<typeof placedResult>[0] = {}) => textOf(buildDocument(placedResult(changes)));

  test('says that a person ended the flags, and at which level its domains are', () => {
    const all = replaced();
    assert.match(all, /questions at Level 2, the level of this result, that/);
    assert.match(
      all,
      /what the engines found is borderline; the flag ended when a person at the provider set the level/,
    );
    assert.match(all, /A full level or more apart: the flag ended when a person at the provider set the level/);
    assert.doesNotMatch(all, /an amendment/);
  });

  test('names the level of the domains where it is another one', () => {
    const at = (level: string, working_level: string) =>
      /questions at ([^,]+, [^,]+),/.exec(
        replaced({ working_level, sitting: { ...sitting, domains_level: level } }),
      )?.[1];
    assert.equal(at('Level 1', 'Level 2'), 'Level 1, the level before the placement was changed');
    assert.equal(at('Entry Level 1', 'Working towards Entry Level'), 'Entry Level 1, the lowest level');
    assert.equal(at('Entry Level 1', 'Entry Level 1'), 'Entry Level 1, the level of this result');
  });

  test('was told otherwise before: those editions keep their words', () => {
    const all = replaced({ version: 1, sitting: { ...sitting, domains_level: 'Level 1' } });
    assert.match(all, /questions at Level 1, the level of this result, that/);
    assert.match(all, /the result is borderline; an amendment has removed the flag/);
  });
});

suite('engines that disagree', () => {
  test('two levels apart: the level midway is explained, and the cut is met by one engine only', () => {
    const all = textOf(
      buildDocument(
        sittingResult({
          rqf_level: 'Level 2',
          rqf_level_code: 3,
          working_level: 'Level 2',
          sitting: {
            ...sitting,
            theta: 2.1,
            ci: [1.7, 2.5],
            irt_level: 'Level 3',
            rule_level: 'Level 1',
            reconciled_level: 'Level 2',
            deciding_rule: { level: 'Level 3', theta: 1.884, met: true, inside_interval: true },
          },
        }),
      ),
    );
    assert.match(all, /so by the IRT engine alone Level 3 is met/);
    assert.match(all, /two or more levels apart, so the result is placed midway between them, at Level 2\./);
  });

  test('a rule engine that could judge nothing is not said to agree', () => {
    const all = textOf(
      buildDocument(sittingResult({ needs_review: false, sitting: { ...sitting, rule_level: 'Not judged' } })),
    );
    assert.match(all, /Only one engine could judge: its level stands/);
    assert.ok(!all.includes('a full level apart') && !all.includes('A full level or more apart'));
  });
});

suite("the content of an imported result's evidence", () => {
  test('shows what was recorded and says what is not known', () => {
    const document = buildDocument(importedResult());
    const all = textOf(document);
    assert.match(all, /made elsewhere/);
    assert.match(all, /Not recorded here: start and finish, supervision/);
    assert.match(all, /recorded as not close to a level boundary, and not needing review/);
    assert.equal(block(document.blocks, 'ladder').scale, null);
    assert.ok(!all.includes('declaration was recorded') && !all.includes('IRT'));
  });

  test('an imported flag claims no interval that was not recorded', () => {
    const said = JSON.stringify(buildDocument(importedResult({ is_borderline: true })));
    assert.match(said, /The interval behind the flag was not recorded/);
    assert.ok(!said.includes('95% confidence interval'));
  });

  test('claims nothing about a result of which nothing is known', () => {
    const document = buildDocument(bareResult());
    assert.equal(block(document.blocks, 'placement').level, 'Not placed');
    assert.match(textOf(document), /RQF level: not recorded/);
    assert.match(textOf(document), /No domain scores were recorded/);
    assert.ok(!document.blocks.some(({ kind }) => kind === 'ladder'));
  });

  test('draws no ladder for a level that is not on it', () => {
    assert.ok(
      !buildDocument(importedResult({ working_level: 'Stage 4' })).blocks.some(({ kind }) => kind === 'ladder'),
    );
  });
});

suite('personal data and hostile text', () => {
  test('names the provider by its UKPRN and the supervisor where they are known', () => {
    const { organisation, blocks } = buildDocument(supervisedResult());
    assert.equal(organisation, 'Northgate Skills College · UKPRN 10004321');
    assert.match(JSON.stringify(blocks), /"Supervisor","value":"Zuzana Ďurčeková"/);
    const unknown = JSON.stringify(buildDocument(sittingResult()));
    assert.doesNotMatch(unknown, /UKPRN|"Supervisor"/);
  });

  test('keeps the learner out of the title and the running line', () => {
    for (const input of [sittingResult(), importedResult()]) {
      const { title, reference } = buildDocument(input);
      for (const text of [title, reference])
        assert.ok(!text.includes(input.learner.full_name) && !text.includes(input.learner.ref!), text);
      assert.ok(title.includes(input.assessment_id));
    }
  });

  for (const { what, name, shown } of hostileNames) {
    test(`shows a name with ${what} as text`, () => {
      assert.equal(buildDocument(importedResult({ learner: { full_name: name, ref: null } })).learner.value, shown);
    });
  }

  test('refuses an address that is not plain ASCII', () => {
    for (const verify_url of ['javascript:alert(1)', 'https://exämple.org/', 'https://a b.org/', '']) {
      assert.throws(() => buildDocument(importedResult({ verify_url })), RangeError);
    }
  });

  test('does not change its input', () => {
    const input = sittingResult();
    const before = textOf(input);
    buildDocument(input);
    assert.equal(textOf(input), before);
  });
});

suite('wording', () => {
  test('writes dates without a clock or a locale', () => {
    assert.equal(date('2024-02-29'), '29 February 2024');
    assert.equal(dateTime('2026-03-29T00:30:59.999Z'), '29 March 2026, 00:30 UTC');
    for (const wrong of ['2026-13-01', '29/03/2026', '', '2026-03-29T00:30:00+01:00'])
      assert.throws(() => dateTime(wrong), RangeError, wrong);
  });

  test('writes numbers with a real minus and no negative zero', () => {
    assert.deepEqual(
      [decimal(-0.233), decimal(-0.001), decimal(0), decimal(12.345, 1)],
      ['\u22120.23', '0.00', '0.00', '12.3'],
    );
  });

  test('keeps joiners, which several scripts need', () => {
    assert.equal(plainText('علی\u200cرضا ශ්\u200dරී'), 'علی\u200cرضا ශ්\u200dරී');
  });
});
