// Tier: full. Measures times, in every cell of the tables.
// Process: own. Measures how long the process does not answer.
import { after, suite, test } from 'node:test';
import { inviteColumns } from '../../src/sittings/invitations/runs/table.ts';
import { limits } from '../../src/platform/config/limits.ts';
import { largeXlsx, xlsx } from '../support/workbooks.ts';
import { personOf } from '../web/console/visitor.ts';
import { withService } from '../support/service.ts';
import { fileForm, hangUpAll, multipart, mustBeQuick, textsOf } from './turns.ts';

/** The worst texts in every cell of the tables that the console takes, and as whole tables. */

const service = await withService({ own: 'Trusts a proxy.', settings: { ARS_TRUSTED_PROXIES: '127.0.0.0/8' } });
after(hangUpAll);
const org = await service.organisation();
const cookie = (await personOf(service, org.id, 'owner')).cookie!;

// Beside its other cells, a row has room for so much.
const texts = textsOf(limits.inviteLineBytes / 2 - 1000);
const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;

async function upload(what: string, path: string, file: string, encoding: BufferEncoding = 'utf8'): Promise<void> {
  const once = `------x\r\nContent-Disposition: form-data; name="once"\r\n\r\n${service.app.random.uuid()}\r\n`;
  const body = Buffer.from(once + fileForm('file', file), encoding);
  await mustBeQuick(service, what, {
    method: 'POST',
    path: `/console/${org.publicId}/${path}`,
    headers: { ...multipart, cookie },
    body,
  });
}

test('the largest workbooks keep the event loop busy for at most 50 ms', async () => {
  const large = await largeXlsx(['ref', 'full_name', 'email'], 19_000, (n) => [
    `L-${n}`,
    `Ana Silva ${'x'.repeat(9)}`,
    '',
  ]);
  const wrong = await largeXlsx(['Pupil', 'ULN'], 150_000, (n) => [`L-${n}`, '1']);
  for (const [what, file] of [
    ['20,000 rows', large],
    ['150,000 rows to map', wrong],
    ['a bomb', xlsx([['ref', ' '.repeat(70 * 1024 * 1024)]])],
  ] as const)
    for (const path of ['invite', 'results/import'])
      await upload(`${what} to ${path}`, path, file.toString('latin1'), 'latin1');
});

suite('64 KB of the worst texts keep the event loop busy for at most 50 ms', () => {
  for (const [path, columns, row] of [
    ['invite', ['learner_id', ...inviteColumns], { ref: 'L-1', full_name: 'Ana Silva' }],
    [
      'results/import',
      ['learner_ref', 'learner_full_name', 'assessed_at', 'subject', 'framework', 'groups'],
      { learner_ref: 'L-1', learner_full_name: 'Ana Silva', assessed_at: '2026-01-15T10:00:00Z', subject: 'maths' },
    ],
  ] as [string, readonly string[], Record<string, string>][]) {
    for (const column of path === 'invite' ? columns : ['learner_full_name', 'framework', 'groups'])
      test(`${path}: in a cell of ${column}`, async () => {
        for (const [kind, text] of texts) {
          const cells = columns.map((one) => (one === column ? text : (row[one] ?? '')));
          const line = cells.map(quoted).join();
          await upload(`${kind} in ${column}`, path, `${columns.join()}\n${line}\n`);
        }
      });

    test(`${path}: as the head, as the rows, and as the whole table`, async () => {
      for (const [kind, text] of texts) {
        await upload(`${kind} as a head`, path, `${quoted(text)}\n${Object.values(row).join()}\n`);
        await upload(`${kind} as rows`, path, `${columns.join()}\n${text}\n`);
        await upload(`${kind} as a table`, path, text);
      }
      for (const one of ['a\n', ',\n', '"a\n', '"\n', 'a,"b\n', '{}\n', '{"a":1}\n', '[\n', ';;;;;;;;;;;;;;\n'])
        await upload(`${one} often`, path, `${columns.join()}\n${one.repeat(64_000 / one.length)}`);
    });
  }
});
