// Tier: full. Installs Spectral, and lints both OpenAPI documents.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeOpenApi, referenceFiles } from '../../../src/api/reference/openapi.ts';
import { exampleOrigin } from '../../../src/platform/config/settings.ts';
import { installTools } from '../../support/npm-tools.ts';

test('Spectral has no warning of either OpenAPI document', async (context) => {
  const spectral = await installTools('@stoplight/spectral-cli@6.16.3');
  if (spectral.missing !== null) return context.skip(spectral.missing);
  const document = await makeOpenApi(exampleOrigin);
  await writeFile(join(spectral.folder, '.spectral.json'), '{ "extends": ["spectral:oas"] }');
  const lint = async (text: string) => {
    await writeFile(join(spectral.folder, 'document.json'), text);
    const words = ['--ruleset', '.spectral.json', '--fail-severity', 'hint', '--format', 'text'];
    return spectral.call('spectral', 'lint', 'document.json', ...words);
  };
  for (const name of ['openapi.json', 'openapi-3.0.json']) {
    const { code, output } = await lint(referenceFiles[name]!(document));
    assert.equal(code, 0, `${name}\n${output}`);
  }
  const { info, ...rest } = document;
  const { output } = await lint(JSON.stringify({ ...rest, info: { ...info, contact: undefined } }));
  assert.match(output, /info-contact/, 'a fault is found');
});
