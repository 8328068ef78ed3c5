import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { grantCredits } from '../../../../src/organisations/credits.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';

suite('credits', async () => {
  const service = await withService();
  const org = await service.organisation({ name: 'Northfield College', plan: 'standard', credits: 30 });
  const page = `/console/${org.publicId}/credits`;
  const rowsOf = (text: string) =>
    [...text.matchAll(/<tr><th scope="row".*?<\/tr>/g)].map(([row]) =>
      [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/g)].map(([, cell]) => cell!.replaceAll(/<[^>]+>/g, '')),
    );

  test('the ledger names people and learners, and says how to ask for more', async () => {
    const owner = await personOf(service, org.id, 'owner', { name: 'Olu Owner' });
    const gone = await personOf(service, org.id, 'admin', { name: 'Gil Gone' });
    const auditor = await personOf(service, org.id, 'auditor');
    for (const { userId } of [owner, gone])
      await service.withUnitOfWork((work) => grantCredits(work, org.id, 5, { actor: userId }));
    assert.equal((await org.post('/learners', { ref: 'C-1', full_name: 'Ana Able' })).status, 201);
    await service.app.db.query('delete from user_membership where organisation_id = $1 and user_id = $2', [
      org.id,
      gone.userId,
    ]);
    const { text } = await owner.get(page);
    const [use, second, first, opening] = rowsOf(text.slice(text.indexOf('<table')));
    assert.equal(use!.at(-1), 'Ana Able');
    assert.match(text, /<a href="[^"]*\/invitations\/[0-9a-f-]{36}"><bdi>Ana Able<\/bdi><\/a>/);
    assert.equal(second![5], 'A colleague');
    assert.equal(first![5], 'Olu Owner');
    assert.equal(opening![5], 'The operator');
    assert.match(text, new RegExp(`To get more, ask the operator[^<]*</p>.*<code>${org.publicId}</code>`));
    const seen = rowsOf((await auditor.get(page)).text);
    assert.deepEqual(
      seen.map((row) => row[5]),
      [use![5], 'A colleague', 'Olu Owner', 'The operator'],
    );
    assert.ok(seen.flat().every((cell) => !/[0-9a-f]{8}-[0-9a-f]{4}-/.test(cell)));
  });
});
