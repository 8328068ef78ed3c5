import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { checkBank, reportText } from '../../tools/item-bank/check.ts';
import { syllables, readingGrade } from '../../tools/item-bank/checks/reading-level.ts';
import { fixedC, guessChance } from '../../tools/item-bank/checks/guessing.ts';
import { keyFaults } from '../../tools/item-bank/checks/keys.ts';
import { proveTemplate } from '../../tools/item-bank/checks/template-proof.ts';
import { statementCounts } from '../../tools/item-bank/checks/statements.ts';
import { readBankFiles } from '../../tools/item-bank/files.ts';
import type { Item, Passage, RenderedItem } from '../../src/engine/item-bank/schema.ts';
import { templates } from '../../src/engine/item-bank/templates.ts';
import type { Random } from '../../src/platform/crypto/random.ts';
import { pick, seededRandom } from '../../src/platform/crypto/random.ts';
import { examples, guideItems } from '../engine/item-bank/examples.ts';

/** The findings about a few items, apart from those about the bank as a whole. */
function findings(items: readonly object[], passages: readonly object[] = []): string[] {
  const report = checkBank({ number: 1, items: items as Item[], passages: passages as Passage[] }, [], 1);
  return report.findings
    .filter(
      ({ rule, message }) =>
        !['coverage', 'cuts', 'exposure', 'choice share'].includes(rule) && message !== 'is used by no item',
    )
    .map(({ rule, message }) => `${rule}: ${message}`);
}

const example = (type: Item['type']): Item => structuredClone(guideItems.find((item) => item.type === type)!);
const changed = (type: Item['type'], change: object): object => ({ ...example(type), ...change });
const matches = (found: readonly string[], pattern: RegExp): void =>
  assert.ok(
    found.some((finding) => pattern.test(finding)),
    `${pattern} in ${JSON.stringify(found)}`,
  );

suite('the guide', () => {
  test('has one example of every type, and the check finds nothing wrong with any', () => {
    assert.deepEqual(new Set(guideItems.map((item) => item.type)).size, 9);
    assert.deepEqual(findings(guideItems.filter((item) => item.type !== 'template')), []);
  });
});

suite('keys', () => {
  const faulty: [string, Item['type'], object, RegExp][] = [
    ['a key that is no option', 'single_choice', { key: 'e' }, /keys: the key e is not an option/u],
    [
      'two options alike',
      'single_choice',
      {
        options: [
          { id: 'a', text: 'is' },
          { id: 'b', text: ' is' },
          { id: 'c', text: 'were' },
        ],
      },
      /keys: two options read/u,
    ],
    [
      'a wrong option without its reason',
      'single_choice',
      { distractor_rationales: { a: 'A.', c: 'C.' } },
      /keys: option d has no distractor rationale/u,
    ],
    [
      'a reason for the right option',
      'single_choice',
      { distractor_rationales: { a: 'A.', b: 'B.', c: 'C.', d: 'D.' } },
      /keys: there is a distractor rationale for b/u,
    ],
    ['every option right', 'multiple_choice', { key: ['a', 'b', 'c', 'd', 'e'] }, /keys: every option is right/u],
    [
      'a named error that is marked right',
      'numeric',
      { distractor_rationales: { '£7.2': 'x' } },
      /keys: “£7.2” is named as a wrong answer but is marked right/u,
    ],
    ['no named error', 'short_text', { distractor_rationales: {} }, /keys: names no likely wrong answer/u],
    ['a variant given twice', 'short_text', { key: { accept: ['know', 'Know'] } }, /keys: accepts “know” twice/u],
    [
      'an order that is already there',
      'ordering',
      { key: ['a', 'b', 'c', 'd'] },
      /keys: the options already stand in the right order/u,
    ],
    ['an incomplete order', 'ordering', { key: ['c', 'd', 'a'] }, /keys: the key is not an order of all options/u],
    ['a pair that is not there', 'matching', { key: { f1: 'p3', f2: 'p2', f3: 'p9' } }, /keys: the key names p9/u],
    ['a spot that is not there', 'hotspot', { key: ['w9'] }, /keys: the key w9 is not a spot/u],
    [
      'a field that stands nowhere',
      'task',
      { screen: [{ block: 'field', field: 'to' }] },
      /keys: field cc must stand on the screen exactly once/u,
    ],
    [
      'a task that is done before it begins',
      'task',
      { key: { to: 'none', cc: 'none' } },
      /keys: is right before anything is done/u,
    ],
    [
      'a task that is easily guessed',
      'task',
      { key: { to: 'dana' } },
      /keys: a guess is right with probability 0\.25/u,
    ],
  ];
  for (const [name, type, change, pattern] of faulty)
    test(`finds ${name}`, () => matches(findings([changed(type, change)]), pattern));

  test('finds spots that overlap or leave the board', () => {
    const spot = { x: 0, y: 0, width: 20, height: 10 };
    const surface = {
      kind: 'picture',
      description: 'A page.',
      spots: [
        { ...spot, id: 'w1', label: 'A' },
        { ...spot, id: 'w2', label: 'B', x: 19 },
        { ...spot, id: 'w3', label: 'C', y: 55 },
        { ...spot, id: 'w4', label: 'A', x: 60 },
      ],
    };
    const found = findings([changed('hotspot', { surface })]);
    for (const pattern of [/w1 and w2 overlap/u, /w3 reaches over the edge/u, /the label “A”/u])
      matches(found, pattern);
  });
});

suite('heads and relations', () => {
  test('finds an id, a domain or a c that does not fit', () => {
    matches(findings([changed('single_choice', { id: 'eng-l2-gram-001' })]), /id: should begin with eng-l1-gram-/u);
    matches(findings([changed('single_choice', { domain: 'data' })]), /domain: data is not a domain of english/u);
    matches(findings([changed('single_choice', { c: 0.2 })]), /parameters: c is 0.2, and must be 0.25/u);
    matches(findings([changed('single_choice', { b: 2 })]), /parameters: b is 2; level1 aims at/u);
    matches(findings([changed('numeric', { calculator: undefined })]), /calculator: must say/u);
  });
  test('finds a chart that cannot be read off, where the answer is typed', () => {
    const chart = (kind: string, values: readonly number[], other: object = {}) => ({
      figure: { kind, caption: 'Tea', points: values.map((value, at) => ({ label: `Day ${at}`, value })) },
      ...other,
    });
    const off = /charts: the chart “Tea” has a value off its lines/u;
    matches(findings([changed('numeric', chart('bar_chart', [160, 210, 125]))]), off);
    matches(findings([changed('numeric', chart('line_graph', [4, 8, 3]))]), off);
    matches(findings([changed('numeric', chart('pie_chart', [3, 7]))]), off);
    matches(findings([changed('numeric', { figure: { ...chart('pictogram', [3, 7]).figure, per_symbol: 4 } })]), off);
    const sound = [
      chart('bar_chart', [50, 300, 200]),
      chart('bar_chart', [160, 210, 125], { state: 'retired' }),
      { figure: { ...chart('pie_chart', [3, 7]).figure, marks: 10 } },
    ];
    for (const one of sound)
      assert.deepEqual(
        findings([changed('numeric', one)]).filter((finding) => off.test(finding)),
        [],
      );
    const chosen = findings([changed('single_choice', chart('bar_chart', [160, 210, 125]))]);
    assert.ok(!chosen.some((finding) => off.test(finding)));
  });
  test('finds a drawn scale or graph that cannot be read', () => {
    const scale = { look: 'dial', unit: 'g', from: 0, to: 500, mark: 20, label: 100, value: 340 };
    const axis = { title: 'Miles', to: 50, mark: 5, label: 10 };
    const graph = {
      x: axis,
      y: axis,
      line: [
        [0, 0],
        [50, 50],
      ],
      reads: [[20, 20]],
    };
    const faultsOf = (figure: object, type: 'numeric' | 'single_choice' = 'numeric') =>
      findings([changed(type, { figure: { caption: 'Drawing', ...figure } })]).filter((one) =>
        one.startsWith('charts'),
      );
    const scaleFaults = (change: object) => faultsOf({ kind: 'scales', scales: [{ ...scale, ...change }] });
    const graphFaults = (change: object, type?: 'single_choice') =>
      faultsOf({ kind: 'graphs', graphs: [{ ...graph, ...change }] }, type);
    assert.deepEqual(
      [...scaleFaults({}), ...graphFaults({}), ...graphFaults({ reads: undefined }, 'single_choice')],
      [],
    );
    matches(scaleFaults({ value: 345 }), /a value between two marks/u);
    matches(scaleFaults({ value: 540 }), /a value outside its range/u);
    matches(scaleFaults({ label: 50 }), /a number that is not at a mark/u);
    matches(graphFaults({ reads: undefined }), /needs points on marks/u);
    matches(graphFaults({ reads: [[22, 22]] }), /lies between its marks/u);
    matches(graphFaults({ reads: [[20, 25]] }), /is not on the line/u);
    matches(
      graphFaults({
        line: undefined,
        reads: undefined,
        dots: [
          [1, 5],
          [10, 10],
          [15, 5],
        ],
      }),
      /points on marks/u,
    );
  });
  test('counts a statement about what can be seen as asked only by items that draw it', () => {
    const points = [
      { label: 'Tea', value: 2 },
      { label: 'Coffee', value: 3 },
    ];
    const ask = (change: object) => changed('numeric', { ...change, statement: 'mat-e2-23' }) as Item;
    const items = [
      ask({ figure: { kind: 'notice', caption: 'Drinks', lines: ['The bar for tea ends at 2.'] } }),
      ask({ id: 'mat-e1-meas-101', figure: { kind: 'bar_chart', caption: 'Drinks', points } }),
      ask({}),
    ];
    const { items: counted } = statementCounts(items).find(({ id }) => id === 'mat-e2-23')!;
    assert.deepEqual(counted, ['mat-e1-meas-101']);
    const report = checkBank({ number: 1, items, passages: [] }, [], 1);
    matches(
      report.findings.map(({ id, message }) => `${id} ${message}`),
      /^mat-e2-23 .* has 1 of at least 4 items with a drawing$/u,
    );
  });
  test('finds enemies that do not exist or do not know of it', () => {
    const two = [
      changed('single_choice', { enemies: ['eng-l1-gram-002'] }),
      changed('single_choice', { id: 'eng-l1-gram-002', stem: ['Another one altogether.'] }),
    ];
    matches(findings(two), /enemies: names eng-l1-gram-002, which does not name it/u);
    matches(findings(two.slice(0, 1)), /enemies: names eng-l1-gram-002, which does not exist/u);
  });
  test('finds passages that are missing or unused', () => {
    matches(
      findings([changed('single_choice', { passage: 'pas-l1-none' })]),
      /passages: is on pas-l1-none, which does not exist/u,
    );
    matches(
      findings([], [{ id: 'pas-l1-some', level: 'level1', title: 'T', genre: 'note', paragraphs: ['Some text.'] }]),
      /passages: has no items/u,
    );
  });
});

suite('language', () => {
  const found = (text: string) => findings([changed('single_choice', { stem: ['Choose one.', text] })]);
  test('refuses anything shaped like a National Insurance number', () => {
    for (const text of ['Her number is AB123456C.', 'QQ 12 34 56 Z', 'zz-12-34-56-x'])
      matches(found(text), /National Insurance/u);
    assert.deepEqual(found('The room is B12 and the code is 123456.'), []);
  });
  test('refuses brands, live addresses, real telephone and card numbers', () => {
    for (const [text, pattern] of [
      ['Open Facebook and look.', /brand/u],
      ['Go to www.shop.co.uk now.', /address/u],
      ['Write to ana@mail.com please.', /address/u],
      ['Call 020 7946 1234 today.', /telephone/u],
      ['The card is 4111 1111 1111 1111.', /card number/u],
    ] as const)
      matches(found(text), pattern);
    assert.deepEqual(found('Go to `shop.example` or write to ana@mail.example; call 01632 960123.'), []);
  });
  test('refuses broken markup, HTML and invisible characters', () => {
    for (const text of [
      'A **bold word.',
      'An `exact word.',
      'A <b>tag</b>.',
      'A zero\u200bwidth space.',
      'Two  spaces.',
    ])
      matches(found(text), /language/u);
    assert.deepEqual(found('5 < 6 and 7 > 6 are both true.'), []);
  });
});

suite('duplicates', () => {
  test('finds the same question twice, and one with a word changed, unless they are enemies', () => {
    const [one, same, near] = ['eng-l1-gram-001', 'eng-l1-gram-002', 'eng-l1-gram-003'].map((id) =>
      changed('single_choice', {
        id,
        stem: [
          'Sana and her brother go to the market every Saturday morning to buy fruit, bread and fish for the week.',
          'Which word is a verb?',
        ],
      }),
    ) as [Item, Item, Item & { stem: string[] }];
    near.stem = [near.stem[0]!.replace('fish', 'milk'), near.stem[1]!];
    matches(findings([one, same]), /^duplicate: the same question as eng-l1-gram-001/u);
    matches(findings([one, near]), /near-duplicate: \d+ % like eng-l1-gram-001/u);
    assert.deepEqual(
      findings([
        { ...one, enemies: [near.id] },
        { ...near, enemies: [one.id] },
      ]),
      [],
    );
  });
});

suite('reading level', () => {
  test('counts syllables and grades as a person would', () => {
    for (const [word, count] of [
      ['cat', 1],
      ['table', 2],
      ['water', 2],
      ['important', 3],
      ['jumped', 1],
      ['wanted', 2],
      ['information', 4],
      ['make', 1],
      ['university', 5],
    ] as const)
      assert.equal(syllables(word), count, word);
    assert.ok(readingGrade('The cat sat on the mat. It was warm.').grade < 2);
    assert.ok(
      readingGrade(
        'Notwithstanding considerable institutional opposition, the administration implemented comprehensive organisational restructuring.',
      ).grade > 15,
    );
  });
  test('finds a question that is too hard to read for its level', () => {
    const stem = [
      'Notwithstanding considerable institutional opposition, the administration implemented comprehensive organisational restructuring throughout every department.',
    ];
    matches(findings([changed('ordering', { stem })]), /reading level: reading grade/u);
  });
});

suite('guessing', () => {
  test('fixes c by the rule', () => {
    assert.deepEqual(
      [
        examples.single_choice,
        examples.multiple_choice,
        examples.hotspot,
        examples.numeric,
        examples.ordering,
        examples.task,
      ].map(fixedC),
      [0.25, 0.1, 0.25, 0, 0.0417, 0],
    );
  });
  test('knows the chance of a blind answer', () => {
    assert.equal(guessChance(examples.multiple_choice), 0.1);
    assert.equal(guessChance(examples.ordering), 1 / 24);
    assert.equal(guessChance(examples.task), 1 / (4 * 3 * 3 * 3 * 3));
  });
});

suite('templates', () => {
  type Numeric = Extract<RenderedItem, { type: 'numeric' }>;
  const plain: Numeric = {
    type: 'numeric',
    stem: ['How many?'],
    key: { value: '7' },
    rationale: 'Count.',
    distractor_rationales: { 8: 'Counted one twice.' },
  };
  const made = (make: (random: Random) => Partial<Numeric>) =>
    proveTemplate({ id: 'test', make: (random) => ({ ...plain, ...make(random) }) }, 200);
  const n = (random: Random) => 2 + Math.floor(random.float() * 60);

  test('passes one that is sound', () => {
    const proof = made((random) => {
      const a = n(random);
      return {
        stem: [`What is ${a} + 3?`],
        key: { value: String(a + 3) },
        rationale: `${a} + 3 = ${a + 3}`,
        distractor_rationales: { [String(a * 3)]: 'Multiplied.' },
      };
    });
    // 2 + 3 = 5 and 2 × 3 = 6, so the named error is always wrong.
    assert.deepEqual(proof.faults, []);
    assert.ok(proof.variety > 40);
  });
  test('finds the seed for which an error is right after all', () => {
    const proof = made((random) => {
      const a = 2 + Math.floor(random.float() * 30);
      return {
        stem: [`What is ${a} + 2?`],
        key: { value: String(a + 2) },
        distractor_rationales: { [String(a * 2)]: 'Multiplied.' },
      };
    });
    assert.match(
      proof.faults.map(({ fault }) => fault).join('\n'),
      /“4” is named as a wrong answer but is marked right/u,
    );
  });
  test('finds rounding, hidden state and too little variety', () => {
    let calls = 0;
    const proof = made((random) => ({
      stem: [`What is ${pick(random, ['one', 'two'])}?`],
      rationale: `${0.1 + 0.2} and ${(calls += 1)}`,
    }));
    const faults = proof.faults.map(({ fault }) => fault).join('\n');
    for (const pattern of [/0\.30000000/u, /another question for the same seed/u, /only 2 different questions/u])
      assert.match(faults, pattern);
  });
  test('finds options that are equal in value', () => {
    const options = [
      { id: 'a', text: '1/2' },
      { id: 'b', text: '0.5' },
      { id: 'c', text: '3' },
    ];
    const proof = proveTemplate(
      { id: 'test', make: () => ({ ...examples.single_choice, options, distractor_rationales: { a: 'x', c: 'y' } }) },
      1,
    );
    assert.match(proof.faults.map(({ fault }) => fault).join('\n'), /the same number/u);
  });
});

suite('the shipped bank', () => {
  const files = readBankFiles();
  test('has one right key and nothing else to mend in any item, over 25 seeds of each template', () => {
    const report = checkBank(files, [], 25);
    const errors = report.findings.filter(({ severity }) => severity === 'error');
    assert.deepEqual(errors, [], reportText({ ...report, findings: errors }));
  });
  test('marks every item’s own key right, for any seed of a template', () => {
    for (const item of files.items) {
      const rendered =
        item.type === 'template' ? templates.get(item.template)!.make(seededRandom(`${item.id}:mark`)) : item;
      assert.deepEqual(keyFaults(rendered), [], item.id);
    }
  });
});
