import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { suite, test } from 'node:test';
import { scenario } from '../scenario.ts';
import { withService } from '../service.ts';

/** `ars key view`: what the console's page says, with references and ids alone. */

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const ars = new URL('../../cli/ars.ts', import.meta.url).pathname;
const env = {
  ...process.env,
  DATABASE_URL: service.databaseUrl,
  ARS_SECRET: service.app.settings.secret!,
  ARS_BASE_URL: service.url,
};

const run = (...words: string[]) =>
  new Promise<{ code: number; out: string; said: string }>((resolve) => {
    execFile(
      process.execPath,
      [ars, 'key', 'view', '--organisation', org.publicId, ...words],
      { env },
      (error, out, said) => resolve({ code: Number(error?.code ?? 0), out, said }),
    );
  });

suite('ars key view', () => {
  test('says what a key receives next, for people and as JSON', async () => {
    const ana = await scene.learner('ana-17', 'Ana Silva');
    const client = await org.another({ label: 'Platform' });
    await client.get('/assessments?subject=maths');
    const result = await ana.completes();
    const english = await ana.completes({ subject: 'english' });
    const [text, json, unknown] = await Promise.all([
      run(client.key.access_key_id),
      run(client.key.access_key_id, '--json'),
      run('ARSKNONE'),
    ]);
    assert.match(
      text.out,
      /^Platform is 1 change behind, the oldest of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, \d+ seconds? ago\.\n/,
    );
    assert.match(text.out, /\nGET \/assessments\?since=[^&\n]+&subject=maths&limit=100\n/);
    assert.match(text.out, new RegExp(`\n${result.id} +result +\\S+Z +ana-17 +It is new\\.`));
    assert.match(text.out, new RegExp(`\n${english.id} +it filters another subject`));
    const seen = JSON.parse(json.out.trim().split('\n').at(-1)!);
    assert.deepEqual([seen.state, seen.behind.changes, seen.behind.at_least], ['behind', 1, false]);
    assert.deepEqual(
      seen.next.entries.map((one: { assessment_id: string; learner_ref: string; kind: string }) => [
        one.assessment_id,
        one.learner_ref,
        one.kind,
      ]),
      [[result.id, 'ana-17', 'result']],
    );
    for (const { out } of [text, json])
      assert.ok(!out.includes('Ana') && !out.includes('Level'), 'no names, no levels');
    assert.deepEqual(unknown, {
      code: 1,
      out: '',
      said: 'ars: No key with the id ARSKNONE in this organisation; ars key list shows them.\n',
    });
  });
});
