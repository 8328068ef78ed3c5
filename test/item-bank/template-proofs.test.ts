// Tier: full. Makes 1,000 items from each template.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readBankFiles } from '../../tools/item-bank/files.ts';
import { templates } from '../../src/engine/item-bank/templates.ts';
import { proveTemplate } from '../../tools/item-bank/checks/template-proof.ts';

suite('the shipped bank', () => {
  const { items } = readBankFiles();
  for (const template of new Set(items.flatMap((item) => (item.type === 'template' ? [item.template] : []))))
    test(`proves ${template} over 1,000 seeds`, () => {
      assert.deepEqual(proveTemplate(templates.get(template)!, 1000).faults, []);
    });
});
