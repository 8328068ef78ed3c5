import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { code, sources } from '../../support/structure/source-tree.ts';

const src = await sources('src');

suite('limits are stated once', () => {
  const files = src.filter(
    (file) =>
      !/^src\/(platform\/config\/limits\.ts$|engine\/|sittings\/(?!invitations)|records\/evidence\/|sandbox\/)/.test(
        file,
      ),
  );

  test('schemas take their numbers from the table', () => {
    assert.deepEqual(
      files.flatMap((file) =>
        [...code(file).matchAll(/\b(maxLength|maxItems): *(\d{2,})/g)].map(([text]) => `${file}: ${text}`),
      ),
      [],
    );
  });

  test('messages and descriptions take their numbers from the table', () => {
    assert.deepEqual(
      files.flatMap((file) =>
        (code(file).match(/`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)*'/g) ?? []).flatMap((text) =>
          [...text.matchAll(/\b(at most|up to|already has|1 to|more than|maximum of) \d[\d,]+/g)].map(
            ([found]) => `${file}: ${found}`,
          ),
        ),
      ),
      [],
    );
  });
});
