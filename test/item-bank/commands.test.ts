import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { commands } from '../../tools/item-bank/commands/bank.ts';
import { Failure, Misuse } from '../../cli/kit/command.ts';
import type { Output } from '../../cli/kit/command.ts';
import { itemsDirectory } from '../../src/engine/item-bank/load.ts';
import { readBankFiles } from '../../tools/item-bank/files.ts';
import { guideItems } from '../engine/item-bank/examples.ts';

const folder = mkdtempSync(join(tmpdir(), 'ars-bank-'));
after(() => rmSync(folder, { recursive: true }));
const place = (name: string): string => join(folder, name);

async function ars(
  name: string,
  positionals: string[],
  options: Record<string, string | boolean> = {},
): Promise<Output> {
  const command = commands.find((one) => one.name === `bank ${name}`)!;
  return command.run({
    options,
    positionals,
    json: true,
    progress: () => {},
    step: () => {},
    signal: new AbortController().signal,
  });
}

const written = guideItems.filter((item) => item.type !== 'template');
const source = place('items.json');
writeFileSync(source, JSON.stringify(written));

type Imported = {
  added: number;
  replaced: number;
  unchanged: number;
  rejected: { id: string; reason: string }[];
  bank_number: number;
};
const imported = async (file: string, options: Record<string, string | boolean>): Promise<Imported> =>
  (await ars('import', [file], options)).json as Imported;

suite('bank import and export', () => {
  test('carries items through every format into a new bank, and finds nothing changed when they come again', async () => {
    const first = place('first');
    assert.deepEqual(await imported(source, { dir: first }), {
      added: 8,
      replaced: 0,
      unchanged: 0,
      rejected: [],
      bank_number: 1,
    });
    for (const file of ['bank.json', 'bank.csv', 'bank.zip']) {
      const out = place(file);
      assert.equal(((await ars('export', [out], { dir: first })).json as { items: number }).items, 8);
      assert.deepEqual(
        await imported(out, { dir: first }),
        { added: 0, replaced: 0, unchanged: 8, rejected: [], bank_number: 1 },
        file,
      );
      const copy = place(`copy-of-${file}`);
      assert.equal((await imported(out, { dir: copy })).added, 8, file);
      assert.deepEqual(readdirSync(copy).toSorted(), ['bank.json', 'digital', 'english', 'maths']);
      assert.deepEqual(
        readFileSync(join(copy, 'english/level1.json')),
        readFileSync(join(first, 'english/level1.json')),
        file,
      );
    }
  });

  test('replaces only when asked, raises the number, and exits 1 for what it rejects', async () => {
    const dir = place('second');
    await imported(source, { dir });
    const changed = place('changed.json');
    writeFileSync(
      changed,
      JSON.stringify([
        { ...written[0]!, b: 0.2 },
        { ...written[1]!, a: 5 },
      ]),
    );
    const refused = await ars('import', [changed], { dir });
    assert.equal(refused.exitCode, 1);
    assert.deepEqual(
      (refused.json as Imported).rejected.map(({ id }) => id),
      [written[0]!.id, written[1]!.id],
    );
    const done = await imported(changed, { dir, replace: true });
    assert.deepEqual([done.replaced, done.rejected.length, done.bank_number], [1, 1, 2]);
  });

  test('moves what is replaced by an item of another level', async () => {
    const dir = place('moved');
    const [item] = written;
    const file = place('moved.json');
    for (const level of ['level1', 'level2']) {
      writeFileSync(file, JSON.stringify([{ ...item, level }]));
      await imported(file, { dir, replace: true });
    }
    assert.deepEqual((await imported(file, { dir })).unchanged, 1);
  });

  test('keeps a bank that the service can run on one, and leaves it as it was where a file can’t be written', async () => {
    const dir = place('running');
    cpSync(itemsDirectory, dir, { recursive: true });
    const url = pathToFileURL(`${dir}/`);
    const before = readBankFiles(url);
    const file = place('easier.json');
    const easier = before.items.filter((item) => item.subject === 'english' && item.level === 'level3');
    writeFileSync(file, JSON.stringify(easier.map((item) => ({ ...item, b: -4 }))));
    await assert.rejects(
      ars('import', [file], { dir, replace: true }),
      (cause) =>
        cause instanceof Failure && /Nothing was imported, as the service could not start/u.test(cause.message),
    );
    writeFileSync(file, JSON.stringify(before.items.slice(0, 1).map((item) => ({ ...item, skill: 'Another' }))));
    mkdirSync(join(dir, 'bank.json.new'));
    await assert.rejects(
      ars('import', [file], { dir, replace: true }),
      (cause) => cause instanceof Failure && /can't be written \(EISDIR/u.test(cause.message),
    );
    rmSync(join(dir, 'bank.json.new'), { recursive: true });
    assert.deepEqual(readBankFiles(url), before);
    assert.deepEqual(
      readdirSync(dir, { recursive: true }).filter((name) => String(name).endsWith('.new')),
      [],
    );
    assert.equal((await imported(file, { dir, replace: true })).replaced, 1);
  });

  test('exports one subject', async () => {
    const dir = place('third');
    await imported(source, { dir });
    const { json } = await ars('export', [place('maths.csv')], { dir, subject: 'maths' });
    assert.deepEqual((json as { items: number; passages: number }).items, 2);
  });

  test('says in a sentence what is wrong with the call or the file', async () => {
    await assert.rejects(ars('export', [place('bank.txt')]), Misuse);
    await assert.rejects(ars('export', [place('bank.csv')], { subject: 'physics' }), Misuse);
    await assert.rejects(ars('import', [source], { dir: place('x'), subject: 'maths' }), Misuse);
    await assert.rejects(ars('import', [place('nothing.json')], { dir: place('x') }), Failure);
    writeFileSync(place('broken.zip'), 'PK');
    await assert.rejects(ars('import', [place('broken.zip')], { dir: place('x') }), Failure);
    await assert.rejects(
      ars('import', [folder], { dir: place('x'), format: 'json' }),
      (cause: Error) => cause instanceof Failure && /directory/u.test(cause.message),
    );
    await assert.rejects(
      ars('export', [place('nowhere/bank.json')]),
      (cause: Error) => cause instanceof Failure && /can't be written \(ENOENT\)/u.test(cause.message),
    );
    writeFileSync(place('windows.csv'), Buffer.from('id,type,stem\nx,numeric,caf\xe9 \xa35\n', 'latin1'));
    await assert.rejects(
      ars('import', [place('windows.csv')], { dir: place('x') }),
      (cause: Error) => cause instanceof Failure && /UTF-8/u.test(cause.message),
    );
  });

  test('rejects what is no item, and goes on with the rest', async () => {
    const mixed = place('mixed.json');
    writeFileSync(mixed, JSON.stringify([null, 5, {}, written[0]]));
    const { added, rejected } = await imported(mixed, { dir: place('fifth') });
    assert.equal(added, 1);
    assert.deepEqual(
      rejected.map(({ id, reason }) => `${id}: ${reason}`),
      [
        '(without id): is not an object',
        '(without id): is not an object',
        '(without id): has no known type (undefined)',
      ],
    );
  });
});

suite('bank check', () => {
  test('exits 1 with its findings, in text and in JSON', async () => {
    const dir = place('fourth');
    await imported(source, { dir });
    const { json, text, exitCode } = await ars('check', [], { dir, seeds: '2' });
    const report = json as {
      ok: boolean;
      items: number;
      findings: { severity: string; rule: string; message: string }[];
    };
    assert.equal(exitCode, 1);
    assert.deepEqual([report.ok, report.items], [false, 8]);
    assert.ok(
      report.findings.some(
        ({ rule, message }) => rule === 'coverage' && message === 'english: 4 of at least 150 items.',
      ),
    );
    assert.match(text, /error: coverage: english: 4 of at least 150 items\./u);
    const english = (await ars('check', [], { dir, seeds: '2', subject: 'english' })).json as typeof report;
    assert.ok(english.findings.every(({ message }) => !message.startsWith('maths')));
  });
  test('refuses a number of seeds that is none', async () => {
    await assert.rejects(ars('check', [], { seeds: 'many' }), Misuse);
    await assert.rejects(ars('simulate', [], { learners: '3' }), Misuse);
  });
  test('refuses a file for the report of a simulation that is a folder, before it simulates', async () => {
    mkdirSync(place('report.d'));
    for (const out of [place('report'), place('report.d')]) {
      const refused = ars('simulate', [], { subject: 'digital', learners: '20', out });
      await assert.rejects(refused, (cause) => cause instanceof Misuse && cause.message.includes('report.md'));
    }
  });
});

test('bank mark goes on behind lines that it can’t mark, and tells of each', () => {
  const file = place('answers.ndjson');
  const lines = [
    '{"item":"dig-e-dev-014","answer":"3","id":7}',
    '{"item":"nobody","answer":"3"}',
    '',
    'three',
    '{"item":"dig-e-dev-014","answer":3}',
    '{"item":"dig-e-dev-014","answer":"two"}',
    '{"item":"dig-e-dev-014","answer":{"answer":null}}',
    '{"item":"dig-e-dev-014","answer":{"answer":{"text":"3"}}}',
    '{"item":"dig-e-dev-014","answer":{"answer":[true]}}',
    '{"item":"dig-e-dev-014","answer":"3","seed":{}}',
    '{"item":"dig-e-dev-014","answer":{"answer":[3]}}',
  ];
  writeFileSync(file, `\uFEFF${lines.join('\r\n')}`);
  const ran = spawnSync(process.execPath, [join(import.meta.dirname, '../../cli/ars.ts'), 'bank', 'mark', file]);
  assert.deepEqual(
    String(ran.stdout)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
    [
      { item: 'dig-e-dev-014', answer: '3', id: 7, verdict: 'right' },
      { item: 'dig-e-dev-014', answer: 3, verdict: 'right' },
      { item: 'dig-e-dev-014', answer: 'two', verdict: 'wrong' },
      { item: 'dig-e-dev-014', answer: { answer: [3] }, verdict: 'right' },
    ],
  );
  assert.equal(ran.status, 1);
  const neither = 'it has an answer with something that is neither a text nor a list of texts.';
  const told = [
    'Line 2: There is no item nobody. Line 4: it is not JSON.',
    ...[7, 8, 9].map((line) => `Line ${line}: ${neither}`),
    'Line 10: it has a seed that is no text. All other lines',
  ];
  assert.ok(String(ran.stderr).includes(told.join(' ')), String(ran.stderr));
});
