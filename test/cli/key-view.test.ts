import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ars } from '../ars.ts';
import { scenario } from '../scenario.ts';
import { withService } from '../service.ts';

/** `ars key view`: what the console's page says, with references and ids alone. */

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const run = (...words: string[]) => ars(['key', 'view', '--organisation', org.publicId, ...words], service.environment);

suite('ars key view', () => {
  test('says what a key receives next, for people and as JSON', async () => {
    const ana = await scene.learner('ana-17', 'Ana Silva');
    const client = await org.another({ label: 'Platform' });
    await client.get('/assessments?subject=maths');
    const result = await ana.completes();
    const english = await ana.completes({ subject: 'english' });
    const [text, asJson, unknown] = await Promise.all([
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
    const seen = asJson.json;
    assert.deepEqual([seen.state, seen.behind.changes, seen.behind.at_least], ['behind', 1, false]);
    assert.deepEqual(
      seen.next.entries.map((one: { assessment_id: string; learner_ref: string; kind: string }) => [
        one.assessment_id,
        one.learner_ref,
        one.kind,
      ]),
      [[result.id, 'ana-17', 'result']],
    );
    for (const { out } of [text, asJson])
      assert.ok(!out.includes('Ana') && !out.includes('Level'), 'no names, no levels');
    assert.deepEqual(unknown, {
      code: 1,
      out: '',
      said: 'ars: No key with the id ARSKNONE in this organisation; ars key list shows them.\n',
      lines: [],
      json: undefined,
    });
  });
});
