// Tier: full. Makes thousands of items from each template.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { fieldNames, mark, rightAnswer } from '../../../src/engine/item-bank/mark.ts';
import type { Figure, RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { templates } from '../../../src/engine/item-bank/templates.ts';
import { fastRandom } from '../../../src/platform/crypto/random.ts';

const seeds = 1000;

/** The numbers in a question's text, in order; commas between thousands are part of a number. */
const numbersIn = (text: string): number[] =>
  (text.match(/\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?/gu) ?? []).map((found) => Number(found.replaceAll(',', '')));

/** A figure's values by label. */
function valuesOf(figure: Figure | undefined): Map<string, number> {
  if (figure?.kind === 'table') return new Map(figure.rows.map(([label, value]) => [label!, Number(value)]));
  if (figure && 'points' in figure) return new Map(figure.points.map(({ label, value }) => [label, value]));
  return new Map();
}

const total = (values: Iterable<number>): number => [...values].reduce((sum, value) => sum + value, 0);
const cents = (value: number): number => Math.round(value * 100) / 100;
const tenths = (value: number): number => Math.round(value * 10) / 10;
const emphasised = (text: string): string[] => [...text.matchAll(/\*\*(.+?)\*\*/gu)].map(([, words]) => words!);
const quoted = (text: string): string[] => [...text.matchAll(/“(.+?)”/gu)].map(([, words]) => words!);

type Question = { n: number[]; text: string; values: Map<string, number> };

const words: Record<string, number> = {
  'Two thirds': 2 / 3,
  'Three quarters': 3 / 4,
  'Two fifths': 2 / 5,
  'Three fifths': 3 / 5,
  'Three tenths': 3 / 10,
  'Four fifths': 4 / 5,
};

/** Each template's answer from what the learner reads, worked out another way than the template does. */
const solve: Record<string, (question: Question) => number> = {
  e1_add_more: ({ n }) => n[0]! + n[1]!,
  e1_take_away: ({ n }) => n[0]! - n[1]!,
  e1_hours_later: ({ n }) => n[0]! + n[1]!,
  e1_change_from_20p: ({ n }) => 20 - n[0]!,
  e1_table_more: ({ text, values }) => {
    const [, more, less] = /there on (\w+) than on (\w+)/u.exec(text)!;
    return values.get(more!)! - values.get(less!)!;
  },
  e2_add_carry: ({ n }) => n[0]! + n[1]!,
  e2_groups: ({ n }) => n[0]! * n[1]!,
  e2_left_over: ({ n }) => n[0]! % n[1]!,
  e2_change_from_pound: ({ n }) => 100 - n[0]! - n[1]!,
  e2_hours_open: ({ n }) => n[2]! - n[0]!,
  e2_bar_compare: ({ text, values }) => values.get(quoted(text)[0]!)! - values.get(quoted(text)[1]!)!,
  e3_stock_left: ({ n }) => n[0]! - n[1]!,
  e3_round: ({ n }) => Math.round(n[0]! / n[2]!) * n[2]!,
  e3_round_100: ({ n }) => Math.round(n[0]! / n[2]!) * n[2]!,
  e3_fraction_of: ({ n, text }) => Math.round(n[0]! * words[Object.keys(words).find((word) => text.includes(word))!]!),
  e3_weekly_pay: ({ n }) => n[0]! * n[1]!,
  e3_bill: ({ n }) => cents(n[0]! * n[1]!),
  e3_minutes_between: ({ n }) => (n[2]! - n[0]!) * 60 + n[3]! - n[1]!,
  e3_line_change: ({ text, values }) => {
    const [, from, to] = /rise from (.+?) to (.+?)\?/u.exec(text)!;
    return values.get(to!)! - values.get(from!)!;
  },
  l1_percentage_of: ({ n }) => (n[0]! * n[1]!) / 100,
  l1_recipe: ({ n }) => (n[1]! * n[2]!) / n[0]!,
  l1_call_out: ({ n }) => n[0]! + n[1]! * n[2]!,
  l1_sale_price: ({ n }) => cents(n[0]! * (1 - n[1]! / 100)),
  l1_fence: ({ n }) => n[0]! + n[0]! + n[1]! + n[1]! - n[2]!,
  l1_simple_interest: ({ n }) => (n[0]! * n[1]! * n[2]!) / 100,
  l1_map_scale: ({ n }) => tenths(n[1]! * n[2]!),
  l1_mean: ({ values }) => total(values.values()) / values.size,
  l1_probability: ({ n, text }) => {
    const colours = [...text.matchAll(/(\d+) (\w+)/gu)]
      .map(([, count, colour]) => [colour!, Number(count)] as const)
      .slice(0, 3);
    return new Map(colours).get(emphasised(text)[0]!)! / (n[0]! + n[1]! + n[2]!);
  },
  l2_percentage_change: ({ n }) => Math.round(Math.abs(n[1]! / n[0]! - 1) * 1e6) / 1e4,
  l2_reverse_percentage: ({ n }) => cents(n[1]! / (1 - n[0]! / 100)),
  l2_share_in_ratio: ({ n, text }) => {
    const [, first, second, third] = /^(\w+), (\w+) and (\w+) share/u.exec(text)!;
    const at = [first, second, third].indexOf(/does (\w+) get/u.exec(text)![1]!);
    return (n[3]! / (n[0]! + n[1]! + n[2]!)) * n[at]!;
  },
  l2_fraction_left: ({ n }) => 1 - n[0]! / n[1]! - n[2]! / n[3]!,
  l2_average_speed: ({ n }) => (60 * n[0]!) / (60 * n[1]! + n[2]!),
  l2_cylinder_litres: ({ n }) => Math.round(Math.PI * (n[0]! / 10) ** 2 * (n[1]! / 10)),
  l2_take_home: ({ n }) => cents(242 + 0.8 * (n[0]! * n[1]! - 242)),
  l2_mean_of_frequencies: ({ values }) =>
    total([...values].map(([value, count]) => Number(value) * count)) / total(values.values()),
  l2_both_happen: ({ n }) => cents(n[0]! * n[1]!),
  l3_compound_interest: ({ n }) => cents(n[0]! * Math.exp(n[2]! * Math.log1p(n[1]! / 100))),
  l3_years_to_fall: ({ n }) => Math.ceil(Math.log(n[2]! / n[0]!) / Math.log(1 - n[1]! / 100)),
  l3_two_prices: ({ n }) => {
    const [a, b, p, c, d, q] = n as [number, number, number, number, number, number];
    return cents((p * d - q * b) / (a * d - b * c));
  },
  l3_rectangle_sides: ({ n }) => (-n[0]! + Math.sqrt(n[0]! ** 2 + 4 * n[1]!)) / 2,
  l3_height_from_angle: ({ n }) => tenths(n[0]! / Math.tan(((90 - n[1]!) * Math.PI) / 180) + n[2]!),
  l3_fill_a_tank: ({ n }) => Math.round((n[0]! * n[1]! * n[2]! * 1000) / n[3]!),
  l3_two_without_replacement: ({ n }) => (n[1]! * (n[1]! - 1)) / ((n[0]! + n[1]!) * (n[0]! + n[1]! - 1)),
  l3_at_least_one: ({ n }) => {
    const [p, trials] = n as [number, number];
    return Array.from({ length: trials }, (_, at) => p * (1 - p) ** at).reduce((sum, chance) => sum + chance, 0);
  },
  l3_interquartile_range: ({ text }) => {
    const values = numbersIn(text.split('> ')[1]!.split('Find')[0]!);
    const median = (list: number[]): number => list[Math.floor(list.length / 2)]!;
    const middle = median(values);
    return median(values.filter((value) => value > middle)) - median(values.filter((value) => value < middle));
  },
  l3_standard_deviation: ({ text }) => {
    const values = numbersIn(text.split('> ')[1]!.split('Work')[0]!);
    return tenths(
      Math.sqrt(total(values.map((value) => value ** 2)) / values.length - (total(values) / values.length) ** 2),
    );
  },
};

function questionOf(item: RenderedItem): Question {
  const text = item.stem.join(' ');
  return { n: numbersIn(text), text, values: valuesOf(item.figure) };
}

const fraction = (text: string): number => {
  const [n, d] = text.split('/');
  return d === undefined ? Number(n) : Number(n) / Number(d);
};

/** The key as a number, and every wrong answer that is named or offered, as a learner would send it. */
function keyOf(item: RenderedItem): { key: number; wrong: string[] } {
  if (item.type === 'numeric') return { key: fraction(item.key.value), wrong: Object.keys(item.distractor_rationales) };
  assert.equal(item.type, 'single_choice');
  const option = item.options.find(({ id }) => id === item.key)!;
  return { key: numbersIn(option.text)[0]!, wrong: item.options.map(({ id }) => id).filter((id) => id !== item.key) };
}

/** Largest number that a question may show or ask for, by level. */
const largest: Record<string, number> = { e1: 20, e2: 200, e3: 1000, l1: 100_000, l2: 1_000_000, l3: 1_000_000 };

suite('maths templates', () => {
  test('each has an independent solution here, and the other way round', () => {
    assert.deepEqual([...templates.keys()].sort(), Object.keys(solve).sort());
  });

  for (const [id, template] of templates) {
    test(`${id}: one right key, distinct wrong answers and sane numbers for ${seeds} seeds`, () => {
      const questions = new Set<string>();
      for (let seed = 0; seed < seeds; seed += 1) {
        const item = template.make(fastRandom(`${id}/${seed}`));
        const at = `${id}/${seed}: ${item.stem.join(' ')}`;
        const question = questionOf(item);
        const { key, wrong } = keyOf(item);
        questions.add(question.text + JSON.stringify(item.figure ?? null));

        assert.ok(Math.abs(solve[id]!(question) - key) < 1e-9, `${at} → ${key}, independently ${solve[id]!(question)}`);
        assert.ok(mark(item, rightAnswer(item)).correct, `the key is marked right: ${at}`);
        assert.ok(wrong.length >= 1 && new Set(wrong).size === wrong.length, `there are distinct wrong answers: ${at}`);
        for (const answer of wrong) {
          const marked = mark(item, { [fieldNames.answer]: answer });
          assert.ok(
            marked.answered && !marked.correct && marked.problem === null,
            `“${answer}” is a wrong answer: ${at}`,
          );
          assert.ok(item.distractor_rationales[answer], `“${answer}” has a reason: ${at}`);
        }
        if (item.type === 'numeric')
          assert.equal(new Set(wrong.map(fraction)).size, wrong.length, `wrong answers are different numbers: ${at}`);
        if (item.type === 'single_choice') {
          assert.equal(item.options.length, 4);
          assert.equal(
            new Set(item.options.map(({ text }) => numbersIn(text)[0])).size,
            4,
            `options are different numbers: ${at}`,
          );
        }

        assert.ok(key > 0 && key <= largest[id.slice(0, 2)]!, `the key is within bounds: ${at} → ${key}`);
        for (const number of [...question.n, ...question.values.values()])
          assert.ok(number <= largest[id.slice(0, 2)]!, `${number} is within bounds: ${at}`);
        const shown = JSON.stringify(item);
        assert.doesNotMatch(shown, /NaN|undefined|Infinity|null|-\d|−£|\d\.\d{5,}/u, at);
        assert.doesNotMatch(shown, /£[\d,]+\.\d(?!\d)|£[\d,]+\.\d{3,}/u, `money has two places or none: ${at}`);
        const shownNumbers = [...question.n, ...question.values.values()];
        assert.ok(!shownNumbers.includes(key), `the key can't be copied from the question: ${at} → ${key}`);
        assert.match(item.rationale, /\d/u);
      }
      assert.ok(questions.size >= 30, `only ${questions.size} different questions`);
    });
  }
});
