import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, readdir, rm, stat, watch, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { readAmendment } from '../../../src/records/results/amend.ts';
import { RecordRefused } from '../../../src/records/results/result-fields.ts';
import type { Call } from '../../../cli/kit/command.ts';
import { writeSheet } from '../../../cli/commands/records/results-list.ts';
import { readOrganisation } from '../../../src/organisations/organisations.ts';
import { ars, program } from '../../support/ars.ts';
import { withService } from '../../support/service.ts';

suite('ars results, key and audit', async () => {
  const service = await withService();
  const org = await service.organisation();
  const organisation = await readOrganisation(service.app.db, org.id);
  const folder = await mkdtemp(join(tmpdir(), 'ars-results-'));
  after(() => rm(folder, { recursive: true }));
  const env = { ...process.env, ...service.environment };
  const run = (words: string[], input = '') =>
    ars([...words, '--json', '--organisation', org.publicId], service.environment, { input });
  const id = '11111111-1111-4111-8111-111111111111';
  const record = {
    assessment_id: id,
    learner: { ref: 'ana', full_name: 'Ana Silva' },
    assessed_at: '2026-01-15T10:00:00Z',
    subject: 'maths',
    framework: 'F',
    rqf_level: 'Level 1',
    rqf_level_code: 2,
    below_level_1: false,
  };
  const kept = async () => (await org.get(`/assessments/${id}`)).body.data;
  const oneSentence = /^ars: [^\n]+\n$/;

  test('an import tells what became of each line, and what is in the log is in the transaction of its batch', async () => {
    const file = join(folder, 'r.ndjson');
    await writeFile(
      file,
      `${JSON.stringify(record)}\n${JSON.stringify({ ...record, assessment_id: undefined, 'Jane Doe': 1 })}\n`,
    );
    const ended = await run(['results', 'import', file]);
    assert.deepEqual(ended.json, { imported: 1, updated: 0, unchanged: 0, rejected: 1 });
    assert.equal(ended.code, 1);
    const refused = await readFile(`${file}.rejected.ndjson`, 'utf8');
    const { line, reason, faults, record: again } = JSON.parse(refused);
    const { assessment_id: _, ...given } = record;
    assert.deepEqual([line, faults.length, again], [2, 1, { ...given, 'Jane Doe': 1 }]);
    assert.match(reason, /^the record must be an object with no other fields than assessment_id, .+, such as /);
    const rows = await service.app.db.query<{ resource: string; same: boolean }>(
      `
      select resource, xmin = (select xmin from assessment where organisation_id = $2 and assessment_id = $1) as same from audit
       where organisation_id = $2 and action = 'results import'`,
      [id, org.id],
    );
    assert.deepEqual(rows, [{ resource: '1 imported, 0 updated, 0 unchanged, 0 rejected', same: true }]);
  });

  test('the example of an import imports each of its results from standard input', async () => {
    const example = await readFile(join(import.meta.dirname, '../../../examples/import/results.ndjson'), 'utf8');
    const { code, json } = await run(['results', 'import', '-'], example);
    assert.deepEqual([code, json], [0, { imported: 2, updated: 0, unchanged: 0, rejected: 0 }]);
  });

  test('a CSV with faults: each is told, and what was refused is mended and imported again as it stands', async () => {
    const file = join(folder, 'semicolons.csv');
    const head = 'learner_ref;learner_full_name;assessed_at;subject;framework;rqf_level;rqf_level_code;below_level_1';
    const right = (ref: string, name: string) => `${ref};${name};31/07/2026 09:30;maths;F;Level 1;2;FALSE`;
    const wrong = 'x y;=Jos\xe9;07/31/2026;physics;F;Level 1;3;no';
    await writeFile(file, Buffer.from(`${head}\r\n${right('u1', 'Zo\xeb')}\r\n${wrong}\r\n`, 'latin1'));
    const dry = await run(['results', 'import', '--dates', 'uk', '--dry-run', file]);
    const real = await run(['results', 'import', '--dates', 'uk', file]);
    assert.deepEqual([dry.code, dry.json], [1, { imported: 1, updated: 0, unchanged: 0, rejected: 1 }]);
    assert.deepEqual([real.code, real.json], [dry.code, dry.json]);
    const kept = (await org.get('/assessments?learner_ref=u1')).body.data[0];
    assert.deepEqual([kept.learner.full_name, kept.assessed_at], ['Zoë', '2026-07-31T08:30:00.000Z']);

    const rejected = `${file}.rejected.csv`;
    const [first, second] = (await readFile(rejected, 'latin1')).split('\r\n');
    assert.equal(first, `${head};rejected_because`);
    for (const column of ['learner_ref', 'assessed_at', 'subject', 'below_level_1'])
      assert.match(second!, new RegExp(`${column} must be [^;]+, such as `));
    assert.ok(second!.startsWith("x y;'=Jos\xe9;07/31/2026;physics;"), 'as it stood, and no formula');
    const mended = second!.replace("x y;'=", 'u2;').replace('07/31', '31/07').replace('physics', 'maths');
    await writeFile(rejected, Buffer.from(`${first}\r\n${mended.replace('3;no', '2;false')}\r\n`, 'latin1'));
    const again = await run(['results', 'import', '--dates', 'uk', rejected]);
    assert.deepEqual([again.code, again.json.imported], [0, 1], again.said);
    assert.equal((await org.get('/learners/u2')).body.data.full_name, 'José');
  });

  test('a file of its own for what is refused: never the one that is imported', async () => {
    const file = join(folder, 'itself.ndjson');
    await writeFile(file, 'x\n');
    assert.equal((await run(['results', 'import', file, '--rejected', file])).code, 2);
    assert.equal(await readFile(file, 'utf8'), 'x\n');
  });

  test('a report of rejected lines that cannot be written stops the import before it begins; a named one is never removed', async () => {
    const file = join(folder, 's.ndjson');
    await writeFile(file, `${JSON.stringify({ ...record, assessment_id: '22222222-2222-4222-8222-222222222222' })}\n`);
    const refused = await run(['results', 'import', file, '--rejected', join(folder, 'none', 'x')]);
    assert.deepEqual([refused.code, oneSentence.test(refused.said)], [1, true], refused.said);
    const named = join(folder, 'named');
    assert.deepEqual((await run(['results', 'import', file, '--rejected', named])).json, {
      imported: 1,
      updated: 0,
      unchanged: 0,
      rejected: 0,
    });
    assert.equal((await stat(named)).size, 0);
  });

  /** What imports are writing beside a file of refused lines. */
  const besideOf = async (name: string) =>
    (await readdir(folder)).filter(
      (one) => one.startsWith(name) && /^\.[0-9a-f]{12}\.part$/.test(one.slice(name.length)),
    );

  test('an import from standard input ends when it is told to, however long nothing comes', async () => {
    const named = join(folder, 'waiting');
    const made = watch(folder)[Symbol.asyncIterator]();
    const child = spawn(
      process.execPath,
      [program, 'results', 'import', '--organisation', org.publicId, '--rejected', named, '-'],
      { env, stdio: ['pipe', 'ignore', 'inherit'] },
    );
    const ended = once(child, 'exit');
    child.stdin!.write('{"half');
    while (!/^waiting\.[0-9a-f]{12}\.part$/.test((await made.next()).value!.filename!));
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [1, null]);
    await made.return!();
  });

  test('an import that is broken off leaves the file of refused lines of the run before, and puts its own beside', async () => {
    const named = join(folder, 'before');
    await writeFile(named, 'of the run before\n');
    const left = async (lines: string) => {
      const child = spawn(
        process.execPath,
        [program, 'results', 'import', '--organisation', org.publicId, '--rejected', named, '-'],
        { env, stdio: ['pipe', 'pipe', 'inherit'] },
      );
      const [ended, said] = [once(child, 'exit'), text(child.stdout)];
      child.stdin.write(lines);
      const written = async () => {
        const [name] = await besideOf('before');
        return name === undefined ? null : (await stat(join(folder, name)).catch(() => null))?.size;
      };
      while (lines.length > 0 ? !(await written()) : (await written()) !== 0);
      child.kill('SIGTERM');
      assert.deepEqual(await ended, [1, null]);
      return said;
    };
    assert.match(await left(`no JSON\n${'\n'.repeat(70_000)}`), /The rejected lines so far, and why: .*before\.part/);
    assert.equal(JSON.parse(await readFile(`${named}.part`, 'utf8')).line, 1);
    await left('');
    await assert.rejects(stat(`${named}.part`));
    assert.equal(await readFile(named, 'utf8'), 'of the run before\n');
    assert.equal((await run(['results', 'import', '--rejected', named, '-'], 'no JSON\n')).code, 1);
    assert.equal(JSON.parse(await readFile(named, 'utf8')).text, 'no JSON');
    assert.equal((await run(['results', 'import', '--rejected', named, '-'])).code, 0);
    assert.deepEqual([(await stat(named)).size, await stat(`${named}.part`).catch(() => null)], [0, null]);
  });

  test(
    'of two imports at once with one file of refused lines each puts its own there, as a whole',
    { timeout: 60_000 },
    async () => {
      const named = join(folder, 'shared');
      const begin = async (lines: string) => {
        const child = spawn(
          process.execPath,
          [program, 'results', 'import', '--organisation', org.publicId, '--rejected', named, '-'],
          { env, stdio: ['pipe', 'ignore', 'ignore'] },
        );
        const ended = once(child, 'exit');
        child.stdin.write(lines);
        return { end: (more: string) => (child.stdin.end(more), ended) };
      };
      // Each has refused lines on the disk before the other one ends.
      const padding = '\n'.repeat(70_000);
      const one = await begin(`one\n${padding}`);
      const other = await begin(`other\n${padding}`);
      const sizes = async () =>
        Promise.all((await besideOf('shared')).map(async (name) => (await stat(join(folder, name))).size));
      while ((await sizes()).filter((size) => size > 0).length < 2) await delay(20);
      const texts = async () =>
        (await readFile(named, 'utf8'))
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line).text);
      assert.deepEqual(await one.end('one again\n'), [1, null]);
      assert.deepEqual(await texts(), ['one', 'one again']);
      assert.deepEqual(await other.end('other again\n'), [1, null]);
      assert.deepEqual(await texts(), ['other', 'other again']);
      assert.deepEqual(
        (await readdir(folder)).filter((name) => name.startsWith('shared')),
        ['shared'],
      );
    },
  );

  test('a folder is not a file of results', async () => {
    assert.deepEqual(await run(['results', 'import', folder]), {
      code: 1,
      out: '',
      said: `ars: cannot read ${folder}\n`,
      lines: [],
      json: undefined,
    });
  });

  test('an amendment holds nothing that an import may not hold, however it is written', async () => {
    const before = await kept();
    const wrong = [
      {},
      [],
      null,
      { subject: 'english' },
      { framework: '' },
      { framework: 'a\0b' },
      { framework: 'a\ud800' },
      { framework: 'x'.repeat(201) },
      { working_level: ' ' },
      { domains: [{ name: 'a\nb', score_pct: null, status: null }] },
      { domains: [{ name: 'a', score_pct: null, status: '\0' }] },
    ];
    for (const value of wrong) assert.throws(() => readAmendment(value), RecordRefused);
    for (const { code, said } of await Promise.all(
      ['x', '{"framework": "\\u0041B123456C"}', '{"framework": "A", "framew\\u006frk": "B"}'].map((text) =>
        run(['results', 'amend', id, '--reason', 'Reviewed', '-'], text),
      ),
    )) {
      assert.equal(code, 1);
      assert.match(said, oneSentence);
    }
    assert.deepEqual(await kept(), before);
    assert.equal(
      (await run(['results', 'amend', id.toUpperCase(), '--reason', 'Reviewed', '-'], '\uFEFF{"framework": "G"}')).json
        .changed,
      true,
    );
    assert.equal((await kept()).framework, 'G');
  });

  test('results history: who, when, why, before and after; reading it is in the log; unknown ids are one sentence', async () => {
    const { code, json } = await run(['results', 'history', id.toUpperCase()]);
    assert.deepEqual([code, json.assessment_id], [0, id]);
    const last = json.data.at(-1);
    assert.deepEqual([last.kind, last.actor, last.reason], ['amended', 'operator', 'Reviewed']);
    assert.deepEqual(
      last.changes.map((one: { field: string; after: unknown }) => [one.field, one.after]),
      [['framework', 'G']],
    );
    const rows = await service.app.db.query("select from audit where action = 'results history' and resource = $1", [
      id,
    ]);
    assert.equal(rows.length, 1);
    for (const [unknown, expected] of [
      ['x', 2],
      ['99999999-9999-4999-8999-999999999999', 1],
    ] as const) {
      const refused = await run(['results', 'history', unknown]);
      assert.deepEqual([refused.code, oneSentence.test(refused.said)], [expected, true], refused.said);
    }
  });

  test('results list: the list of the console, as lines or as a file; what it is asked for is in the log', async () => {
    const all = await run(['results', 'list', '--subject', 'maths', '--level', 'level-1']);
    assert.equal(
      all.lines.length,
      (await org.get('/assessments?subject=maths&rqf_level_code=2')).body.data.filter(
        (one: any) => one.status === 'completed',
      ).length,
    );
    assert.deepEqual(JSON.parse(all.said), { results: all.lines.length });
    assert.equal(all.lines.at(-1).subject, 'maths');
    const out = join(folder, 'list.csv');
    const csv = await run(['results', 'list', '--out', out, '--from', '2026-01-15', '--to', '2026-01-15']);
    assert.deepEqual([csv.json.file, csv.json.results > 0], [out, true]);
    assert.match(await readFile(out, 'utf8'), /^\uFEFFLearner,Reference,.*\r\nAna [^,]*,ana,maths,/);
    assert.equal((await stat(out)).mode & 0o777, 0o600);
    const rows = await service.app.db.query(
      "select resource from audit where organisation_id = $1 and action = 'results list' order by audit_id",
      [org.id],
    );
    assert.deepEqual(
      rows.map((row) => row.resource),
      ['results as json: subject=maths&level=level-1', 'results as csv: from=2026-01-15&to=2026-01-15'],
    );
    // A file that is there is replaced, and read by whom it was read.
    await chmod(out, 0o640);
    const { ino } = await stat(out);
    assert.equal((await run(['results', 'list', '--out', out])).code, 0);
    const replaced = await stat(out);
    assert.deepEqual([replaced.ino === ino, replaced.mode & 0o777], [false, 0o640]);
    for (const words of [
      ['--level', 'Level 1'],
      ['--group', 'x'],
      ['--from', '31/01/2026'],
      ['--format', 'pdf'],
      ['--format', 'xlsx'],
      ['--sort', 'name'],
    ]) {
      const refused = await run(['results', 'list', ...words]);
      assert.deepEqual([refused.code, oneSentence.test(refused.said)], [2, true], refused.said);
    }
    const before = await readFile(out, 'utf8');
    const broken = writeSheet(service.app, { json: false } as Call, organisation, {
      ...{ action: 'results list', resource: 'a test', out, format: 'csv' },
      sheetOf: () => ({
        name: 'Broken',
        columns: [{ head: 'A', key: 'a', kind: 'text', width: 9, value: (row: string) => row }],
        rows: (async function* () {
          yield ['x'];
          throw new Error('the database went away');
        })(),
      }),
    });
    await assert.rejects(broken, /the database went away/);
    assert.deepEqual([await readFile(out, 'utf8'), await stat(`${out}.part`).catch(() => null)], [before, null]);
    const nowhere = await run(['results', 'list', '--out', join(folder, 'no', 'such.csv')]);
    assert.deepEqual([nowhere.code, oneSentence.test(nowhere.said)], [1, true], nowhere.said);
  });

  test('date-times have a zone, days begin at midnight UTC, and a key ends in the future', async () => {
    for (const time of ['5', '2030-01-31T09:00:00', '2020-01-31T09:00:00Z']) {
      const { code, said } = await run(['key', 'create', '--expires', time]);
      assert.deepEqual([code, oneSentence.test(said)], [2, true], said);
    }
    const { json } = await run(['key', 'create', '--expires', '2999-01-31']);
    const listed = (await run(['key', 'list'])).json.data.find((key: any) => key.access_key_id === json.access_key_id);
    assert.equal(listed.expires_at, '2999-01-31T00:00:00.000Z');
    assert.equal((await run(['audit', 'export', '--from', '2030-01-31T09:00:00'])).code, 2);
    assert.deepEqual((await run(['audit', 'export', '--from', '2999-01-31'])).json, { exported: 0 });
  });

  test('an output that nobody reads to its end is a failure in one sentence', async () => {
    const child = spawn(process.execPath, [program, 'audit', 'export', '--organisation', org.publicId], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(child, 'exit');
    child.stdout!.destroy();
    assert.match(await text(child.stderr!), oneSentence);
    assert.deepEqual(await ended, [1, null]);
  });
});
