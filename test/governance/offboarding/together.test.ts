import assert from 'node:assert/strict';
import { test } from 'node:test';
import { feedQueue, withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { deleteOrganisation } from '../../../src/governance/offboarding/delete.ts';
import { suspendOrganisation } from '../../../src/governance/offboarding/suspend.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { findOrganisation, readOrganisation } from '../../../src/organisations/organisations.ts';
import { onCitus } from '../../support/postgres.ts';
import { withService } from '../../support/service.ts';

// A cluster has no triggers on what it distributes.
test(
  'an organisation that two delete at once is deleted, neither fails, and nothing is counted twice',
  { skip: onCitus },
  async () => {
    const service = await withService({ own: 'Slows a table down.' });
    const { app } = service;
    const org = await service.organisation();
    const learners = 2 * limits.deletedAtOnce + 1;
    await app.db.query(
      `insert into learner (organisation_id, learner_id, ref, full_name, created_at)
     select $1, gen_random_uuid(), 'learner-' || n, 'Learner ' || n, '2026-01-01' from generate_series(1, $2::int4) n`,
      [org.id, learners],
    );
    await app.db.query(
      `insert into learner_feed (organisation_id, learner_id, group_set_id, position)
     select l.organisation_id, l.learner_id, (select group_set_id from group_set where organisation_id = $1), row_number() over ()
       from learner l where l.organisation_id = $1`,
      [org.id],
    );
    // So that one is still at its batches of a table when the other finds that somebody has deleted what it was to delete.
    await app.db.query(
      `create function slow() returns trigger language plpgsql as $$
     begin if exists (select from gone) then perform pg_sleep(0.5); end if; return null; end $$`,
    );
    await app.db.query(
      'create trigger slow after delete on learner_feed referencing old table as gone for each statement execute function slow()',
    );
    await withUnitOfWork(app, feedQueue(org.id), (work) => suspendOrganisation(work, org.id, 'The end'));
    const organisation = await readOrganisation(app.db, org.id);
    const sibling = await service.sibling();
    const certificates = await Promise.all(
      [app, sibling.app].map((one) =>
        deleteOrganisation(
          one,
          organisation,
          { actor: 'operator', requestId: one.random.uuid(), withoutExport: true },
          () => {},
          new AbortController().signal,
        ),
      ),
    );
    for (const certificate of certificates) {
      assert.ok(typeof certificate !== 'string');
      assert.deepEqual([certificate.deleted.learner, certificate.deleted.learner_feed], [learners, learners]);
    }
    assert.equal(await findOrganisation(app.db, org.publicId), undefined);
  },
);
