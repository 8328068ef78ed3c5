import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Failure, Misuse } from '../../../cli/kit/command.ts';
import type { Output } from '../../../cli/kit/command.ts';
import { itemsDirectory, loadBank } from '../../../src/engine/item-bank/load.ts';
import { commands } from '../../../tools/item-bank/commands/bank.ts';
import { readBankFiles } from '../../../tools/item-bank/files.ts';
import { itemHash } from '../../../src/engine/item-bank/item-hash.ts';
import { standardNormal } from '../../../tools/item-bank/simulation/random.ts';
import { drawsOf, randomSittings } from './simulated.ts';

const folder = mkdtempSync(join(tmpdir(), 'ars-calibrate-'));
after(() => rmSync(folder, { recursive: true }));
const place = (name: string) => join(folder, name);
const copyOfBank = (name: string) => {
  cpSync(itemsDirectory, place(name), { recursive: true });
  return place(name);
};

const ars = (name: string, positionals: string[], options: Record<string, string | boolean> = {}): Promise<Output> =>
  commands
    .find((one) => one.name === `bank ${name}`)!
    .run({
      ...{ options, positionals, json: true },
      ...{ progress: () => {}, step: () => {}, signal: new AbortController().signal },
    });

/** Of 31 items, the first 30 get 260 answers each, and the last gets 100. */
const bank = loadBank();
const all = bank.subjects.maths.items.filter((item) => item.type !== 'template' && item.state !== 'retired');
const chosen = Array.from({ length: 31 }, (_, k) => all[Math.floor((k * all.length) / 31)]!);
const head = 'sitting,subject,item,item_hash,position,score,max_score,device,extra_time,language,bank_version,outcome';

function answersFile(name: string, changes: (line: string, n: number) => string = (line) => line): string {
  const draw = drawsOf('command');
  const truth = chosen.slice(0, 30).map(({ a, b, c }) => ({ a, b: b + 0.4 * standardNormal(draw), c }));
  const lines = randomSittings(truth, 260, 30, draw).flatMap((own, s) => {
    const asked = s < 100 ? [...own, { item: 30, right: s % 2 === 0 }] : own;
    return asked.map(({ item, right }, k) => {
      const { id, ...rest } = chosen[item]!;
      const passage = rest.type === 'template' ? undefined : bank.passage(rest.passage ?? '');
      const hash = itemHash(chosen[item]!, passage ?? null);
      const device = s % 2 === 0 ? 'phone' : 'computer';
      return `${s},maths,${id},${hash},${k + 1},${Number(right)},1,${device},no,en,1-abc,answered`;
    });
  });
  writeFileSync(place(name), `${[head, ...lines].map(changes).join('\r\n')}\r\n`);
  return place(name);
}

const file = answersFile('answers.csv');
type Found = {
  proposed: number;
  bank_number: number | null;
  subjects: { subject: string; sittings: number; answers: number; items: Record<string, unknown>[] }[];
};

const calibratedIn = (dir: string) =>
  readBankFiles(pathToFileURL(`${dir}/`)).items.filter(({ calibration }) => calibration === 'calibrated');

suite('bank calibrate', () => {
  test('proposes items with enough answers, and bank import takes the file over', async () => {
    const dir = copyOfBank('first');
    const out = place('proposal.json');
    const { json, text } = await ars('calibrate', [file], { dir, out });
    const { proposed, bank_number, subjects } = json as Found;
    assert.deepEqual([proposed, bank_number], [30, null]);
    const [maths] = subjects;
    assert.deepEqual([maths!.subject, maths!.sittings, maths!.answers], ['maths', 260, 7900]);
    assert.equal(maths!.items.length, 31);
    const last = maths!.items.find(({ item }) => item === chosen[30]!.id)!;
    assert.deepEqual([last.answers, last.is_proposed], [100, false]);
    assert.match(text, /The bank is unchanged\.$/);
    assert.match(text, /30 of 31 items have new parameters\./);
    assert.equal(calibratedIn(dir).length, 0);

    const imported = (await ars('import', [out], { dir, replace: true })).json as { replaced: number };
    assert.equal(imported.replaced, 30);
    const taken = calibratedIn(dir);
    assert.deepEqual(new Set(taken.map(({ id }) => id)), new Set(chosen.slice(0, 30).map(({ id }) => id)));
    const its = maths!.items.find(({ item }) => item === taken[0]!.id)!;
    assert.ok(Math.abs(taken[0]!.b - (its.b as number)) < 0.001);
  });

  test('writes a table, with the spelling of a spreadsheet', async () => {
    const out = place('table.csv');
    await ars('calibrate', [file], { out, model: '3pl', dif: 'device,language', link: 'mean-sigma' });
    const lines = readFileSync(out, 'utf8').trim().split('\r\n');
    assert.equal(lines.length, 32);
    assert.match(lines[0]!, /^subject,item,state,answers,right,a,a_se,b,b_se,c,c_se,/);
  });

  test('changes the bank only with --apply', async () => {
    const dir = copyOfBank('second');
    const { number } = readBankFiles(pathToFileURL(`${dir}/`));
    const { json } = await ars('calibrate', [file], { dir, apply: true });
    assert.equal((json as Found).bank_number, number + 1);
    assert.equal(calibratedIn(dir).length, 30);
    const checked = await ars('check', [], { dir, seeds: '1', subject: 'maths' });
    const { findings } = checked.json as { findings: { severity: string; rule: string }[] };
    // One seed is too few for the rule of templates.
    assert.deepEqual(
      findings.filter(({ severity, rule }) => severity === 'error' && rule !== 'templates'),
      [],
    );
  });

  test('a wrong line ends the command, and nothing is written', async () => {
    const dir = copyOfBank('third');
    const out = place('never.json');
    const bad = answersFile('bad.csv', (line, n) => (n === 4000 ? line.replace(/,1,(phone|computer)/, ',0,$1') : line));
    const wrong = answersFile('wrong.csv', (line, n) => (n === 7000 ? line.replace('maths,mat-', 'maths,mot-') : line));
    await assert.rejects(ars('calibrate', [wrong], { dir, out, apply: true }), {
      constructor: Failure,
      message: `${wrong}: Line 7001, column item, is not an item of the bank. Name its bank with --dir.`,
    });
    await assert.rejects(ars('calibrate', [bad], { dir, out, apply: true }), /Line 4001, column max_score/);
    assert.ok(!existsSync(out));
    assert.equal(calibratedIn(dir).length, 0);
  });

  test('what else is refused', async () => {
    await assert.rejects(ars('calibrate', [place('none.csv')]), /There is no file/);
    await assert.rejects(ars('calibrate', [file], { out: place('x.txt') }), Misuse);
    await assert.rejects(ars('calibrate', [file], { minAnswers: '20' }), Misuse);
    await assert.rejects(ars('calibrate', [file], { subject: 'english' }), /The file has no answers in english/);
    const old = answersFile('old.csv', (line, n) =>
      n === 0 ? line : line.replace(/,[0-9a-f]{16},/, ',0000000000000000,'),
    );
    await assert.rejects(ars('calibrate', [old]), /has no answers .* 7900 answers to another wording/);
    const stop = AbortSignal.abort();
    const command = commands.find(({ name }) => name === 'bank calibrate')!;
    const call = { options: {}, positionals: [file], json: true, progress: () => {}, step: () => {}, signal: stop };
    await assert.rejects(command.run(call), /Stopped before the end: nothing is written\./);
  });
});
